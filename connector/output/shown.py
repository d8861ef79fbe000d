"""How single things are shown, the same on every surface: numbers, labels, reasons.

What comes from a tool is made harmless here first; each surface then escapes for its own language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from connector.agreement.report import category_key
from connector.annotations.display import counted as counted  # noqa: PLC0414 - one of this module's names
from connector.annotations.display import text_of
from connector.annotations.kinds import KINDS
from connector.output.harmless import clean as clean  # noqa: PLC0414 - one of this module's names

TOLERANCE = 1e-9
"""As the gate's: a value this little under a threshold has reached it."""

LONGEST = 160
"""Signs of a label that are shown."""

LONGEST_IN_A_SENTENCE = 40

NOTHING = "–"
"""Stands where there is no number."""

COEFFICIENTS = {
    "krippendorff_alpha": "Krippendorff's alpha",
    "krippendorff_alpha_exact": "Krippendorff's alpha (whole answers)",
    "krippendorff_alpha_u": "Krippendorff's alpha, unitized",
    "krippendorff_alpha_u_binary": "Unitized alpha, marked or not",
    "krippendorff_alpha_cu": "Unitized alpha, labels of what is marked",
    "krippendorff_alpha_u_2004": "Unitized alpha of 2004",
    "span_f1_exact": "F1 of spans, exact",
    "span_f1_partial": "F1 of spans, overlapping",
    "krippendorff_alpha_labels": "Krippendorff's alpha of the labels of matched regions",
    "detection_f1": "F1 of detection, whatever the label",
    "mean_iou": "Mean overlap of matched regions (IoU)",
    "kendall_tau_b": "Kendall's tau-b",
    "cohen_kappa": "Cohen's kappa",
    "weighted_kappa": "Weighted kappa (quadratic)",
    "weighted_kappa_linear": "Weighted kappa (linear)",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "scott_pi": "Scott's pi",
    "brennan_prediger": "Brennan-Prediger (PABAK)",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "percent_agreement": "Percent agreement",
    "icc_1": "ICC(1), one rating",
    "icc_2": "ICC(2), one rating",
    "icc_3": "ICC(3), one rating",
    "icc_1k": "ICC(1), mean of raters",
    "icc_2k": "ICC(2), mean of raters",
    "icc_3k": "ICC(3), mean of raters",
}
FAMILIES = {
    **dict.fromkeys(("weighted_kappa", "weighted_kappa_linear"), "weighted kappa"),
    **dict.fromkeys(("icc_1", "icc_2", "icc_3", "icc_1k", "icc_2k", "icc_3k"), "ICC"),
}
"""What coefficients that apply or not together are called together."""

MAJORITIES = {
    "median": "the median",
    "borda": "Borda's order of the items",
    "half": "what at least half of the raters marked",
}
"""What stands for a unit's common answer, where that is not the commonest one."""

NO_NUMBER = {
    "no_variation": "every rating is the same category, so there is nothing to agree on beyond chance",
    "no_pairable_units": "no unit has two ratings",
    "not_two_raters": "it is defined for exactly two raters",
    "wrong_level": "this level needs numbers or a declared order, which these values are not; measure them as nominal",
    "not_comparable": "the answers of different units cannot be compared",
}
NOT_APPLICABLE = {
    "not_two_raters": "defined for exactly two raters",
    "ragged": "a rater left out a unit",
    "wrong_level": "needs numbers or a declared order",
    "not_comparable": "the answers of different units cannot be compared",
}
"""Reasons that lie in the kind of data, for coefficients named together."""
NO_VARIATION_BESIDE = "the units vary too little in what it compares"
"""The ratings are not all the same where another coefficient has a number: the units' means may be, for an ICC."""

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
    "nothing_to_ask": "with nothing to ask about",
    "not_shown": "not asked, by a condition",
    "stale_child": "left from a condition that no longer holds",
    "unreadable": "unreadable",
}


def label(value: Any, kind: str = "") -> str:
    """An answer as people read it: a set as its members with commas, harmless, a very long one by its ends."""
    return NOTHING if value is None else ends(clean(text_of(value, kind)))


def category(value: Any, kind: str = "") -> str:
    """One category as people read it: of a set one label, of a set of paths one path."""
    own = kind in KINDS and KINDS[kind].text is not None
    return ends(clean(category_key(value))) if isinstance(value, tuple) and not own else label(value, kind)


def quoted(value: Any, kind: str = "") -> str:
    """An answer inside a sentence, in quotation marks and short."""
    return f'"{ends(clean(text_of(value, kind)), LONGEST_IN_A_SENTENCE)}"'


def ends(text: str, longest: int = LONGEST) -> str:
    """The text, a very long one by its ends."""
    return text if len(text) <= longest else f"{text[: longest * 2 // 3]}…{text[-longest // 3 :]}"


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


def signed(value: float, places: int = 3) -> str:
    """A change with its sign and as many digits as show that it is one.

    >>> signed(0.054), signed(-0.00041), signed(0.0)
    ('+0.054', '-0.0004', '0')
    """
    if abs(value) < TOLERANCE:
        return "0"
    while not float(f"{value:.{places}f}"):
        places += 1
    return f"{value:+.{places}f}"


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


def beside(reason: str) -> str:
    """Why coefficients have no number beside one that has one, or that lacks it for another reason."""
    if reason == "no_variation":
        return NO_VARIATION_BESIDE
    return NOT_APPLICABLE.get(reason, no_number(reason))


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
