"""How single things are shown, the same on every surface: numbers, labels, reasons.

What comes from a tool is made harmless here first; each surface then escapes for its own language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from connector.agreement.report import category_key
from connector.annotations.display import text_of

TOLERANCE = 1e-9
"""As the gate's: a value this little under a threshold has reached it."""

LONGEST = 160
"""Signs of a label that are shown."""

NOTHING = "–"
"""Stands where there is no number."""

COEFFICIENTS = {
    "krippendorff_alpha": "Krippendorff's alpha",
    "krippendorff_alpha_exact": "Krippendorff's alpha, whole sets",
    "krippendorff_alpha_u": "Krippendorff's alpha, unitized",
    "cohen_kappa": "Cohen's kappa",
    "weighted_kappa": "Weighted kappa, quadratic",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "scott_pi": "Scott's pi",
    "brennan_prediger": "Brennan-Prediger (PABAK)",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "percent_agreement": "Percent agreement",
}

NO_NUMBER = {
    "no_variation": "every rating is the same category, so there is nothing to agree on beyond chance",
    "no_pairable_units": "no unit has two ratings",
    "not_two_raters": "it is defined for exactly two raters",
    "wrong_level": "this level needs numbers or a declared order, which these values are not; measure them as nominal",
    "not_comparable": "the answers of different tasks cannot be compared",
}
BESIDE_A_NUMBER = {
    "ragged": "units have unequal numbers of ratings; alpha is made for that, this is Gwet's generalisation"
}

LEFT_OUT = {
    "cancelled": "skipped or cancelled",
    "draft": "drafts",
    "repeat": "replaced by the same rater's newer one",
    "no_rater": "without a rater",
    "reviewer": "made by reviewers",
    "excluded": "made by excluded raters",
    "ground_truth": "marked as ground truth",
    "ours": "written by this program",
    "empty": "with a question left empty",
    "not_shown": "not asked, by a condition",
    "stale_child": "left from a condition that no longer holds",
    "unreadable": "unreadable",
}


def clean(text: object) -> str:
    r"""Text in which nothing acts on a terminal, a page or a reader's eye.

    Control characters, line ends, bidirectional overrides, invisible format characters and lone surrogates are written
    as their escapes. The joiners that emoji and several scripts need stay.

    >>> clean("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    return "".join(_harmless(sign) for sign in str(text))


def _harmless(sign: str) -> str:
    if sign in ("\u200c", "\u200d"):
        return sign
    if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return sign.encode("unicode_escape", "backslashreplace").decode("ascii")
    return sign


def label(value: Any, kind: str = "") -> str:
    """An answer as people read it: a set as its members with commas, harmless, a very long one by its ends."""
    return NOTHING if value is None else _ends(clean(text_of(value, kind)))


def category(value: Any, kind: str = "") -> str:
    """One category as people read it: of a set one label, of a set of paths one path."""
    return _ends(clean(category_key(value))) if isinstance(value, tuple) else label(value, kind)


def _ends(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]}…{text[-LONGEST // 3 :]}"


def number(value: float | None, *guards: float, places: int = 3) -> str:
    """A number with as many digits as keep it on its own side of every guard.

    Guards are thresholds; 1 is always one, so that only full agreement shows as 1.

    >>> number(0.69996, 0.7), number(0.7), number(0.99999)
    ('0.69996', '0.700', '0.99999')
    """
    if value is None:
        return NOTHING
    for digits in range(places, 13):
        text = f"{value:.{digits}f}"
        if all((value >= guard - TOLERANCE) == (float(text) >= guard - TOLERANCE) for guard in (1.0, *guards)):
            break
    else:
        text = repr(value)
    return text.removeprefix("-") if not float(text) else text


def threshold(value: float) -> str:
    """A threshold as it was set, with two digits at least."""
    return f"{value:.2f}" if round(value, 2) == value else repr(value)


def interval(low: float | None, high: float | None, *guards: float) -> str:
    """Two bounds in words, "" without them."""
    return "" if low is None or high is None else f"{number(low, *guards)} to {number(high, *guards)}"


def percent(share: float) -> str:
    """A share with one digit; one that is neither nothing nor all never shows as such."""
    text = f"{100 * share:.1f}%"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return ">99.9%" if text == "100.0%" and share < 1 else text


def count(n: int) -> str:
    """A count with its thousands set off."""
    return f"{n:,}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def listed(parts: Iterable[str]) -> str:
    """Parts of a sentence with commas and "and"."""
    parts = list(parts)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def coefficient(name: str) -> str:
    """A coefficient's name in words."""
    return COEFFICIENTS.get(name, clean(name))


def no_number(reason: str | None) -> str:
    """Why there is no number, in words."""
    return NO_NUMBER.get(reason or "", clean(reason or "no reason is known"))


def left_out(reason: str) -> str:
    """Why annotations were left out, in words."""
    return LEFT_OUT.get(reason, clean(reason))


def safe_link(url: str | None) -> str | None:
    """The address if it is a web page's, else None: a tool's text must not become a script."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    plain = not re.search(r"[\x00-\x20\x7f<>\"'`\\]", url)
    return url if plain and parts.scheme in ("http", "https") and parts.netloc else None
