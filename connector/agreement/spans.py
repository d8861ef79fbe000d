"""Spans as answers to be compared: an answer is (length, marks), a mark (start, end, labels).

Alpha is by character (on a time line by time) over labels, since two raters' spans are hardly ever equal as a whole.
A document's own score is 1 - the mean distance of its answers, the distance of two answers 1 - F1 over (position,
label), 0 where both marked nothing. `unitizing` says how each coefficient is defined.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from connector.agreement.alpha import Prepared
from connector.agreement.continua import Documents, Marks
from connector.agreement.diagnosis import MOST_INTERVALS, CategoryFinding, PairFinding
from connector.agreement.distances import Comparison
from connector.agreement.intervals import Case, interval_of
from connector.agreement.patterns import Patterns
from connector.agreement.ratings import Floats, Ints
from connector.agreement.unitizing import Unitizing, case_of, consensus, distances
from connector.agreement.unitizing_2004 import alpha_u_2004

if TYPE_CHECKING:
    from connector.agreement.unitizing import CharacterAlpha, ContinuumAlpha, LabelAgreement, SpanF1


BLANK_SHOWN = "(blank)"
NO_LABEL_SHOWN = "(no label)"


class Spans(Comparison):
    """Marked stretches of texts and time lines, compared by character."""

    name = "character"
    majority_by = "half"
    confused = ("position", "positions")
    note = (
        "Spans are compared by character, on a time line by time: alpha, the shares of labels and what raters differ "
        "on count what each rater says of each, blank included. Intervals redraw whole documents, never characters. An "
        "answer's agreement with another is F1 over (character, label); both blank agree."
    )

    def __init__(self) -> None:
        self._last: weakref.ref[Marks] | None = None

    def comparable(self, value: Any) -> bool:
        """A length and marks."""
        match value:
            case (int() | float(), tuple(marks)):
                return not marks or (isinstance(marks[0], tuple) and len(marks[0]) == 3)
            case _:
                return False

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) 1 - F1 over (position, label) of the answers a[k] and b[k]."""
        return distances(self._marks(values), a, b)

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        """The stretches that at least half of the raters marked with a label."""
        return consensus(values, times)

    def statistic(self, patterns: Patterns, values: Sequence[Any]) -> CharacterAlpha:
        """Alpha by character."""
        return self._unitizing(patterns, values).by_character

    def companions(self, prepared: Prepared) -> Mapping[str, Case]:
        """Krippendorff's unitized family, F1 of the spans, and what older programs call unitized alpha."""
        found = self._of(prepared)
        statistics: dict[str, ContinuumAlpha | SpanF1] = {
            "krippendorff_alpha_u": found.unitized,
            "krippendorff_alpha_u_binary": found.marked,
            "krippendorff_alpha_cu": found.coding,
            "span_f1_exact": found.exact,
            "span_f1_partial": found.partial,
        }
        cases = {name: case_of(statistic) for name, statistic in statistics.items()}
        older = alpha_u_2004(found.documents)
        return cases if older is None else cases | {"krippendorff_alpha_u_2004": Case(None, older.alpha)}

    def findings(
        self, prepared: Prepared, declared: Sequence[Any], confidence: float | None, seed: int
    ) -> Sequence[CategoryFinding]:
        """Each label, declared ones first."""
        if prepared.reason is not None:
            return []
        found = {one.label: one for one in self._of(prepared).labels}
        shares = self._shares(prepared)
        order = [*declared, *(label for label in found if label not in set(declared))]
        often = sorted(found, key=lambda label: -found[label].share)[:MOST_INTERVALS]
        return [
            self._finding(label, shares.get(label, 0.0), found.get(label), confidence if label in often else None, seed)
            for label in order
        ]

    def confusions(self, prepared: Prepared) -> Sequence[PairFinding]:
        """Every two values (a label, a set of several, blank) that raters gave one position: over how many positions,
        for each pair of raters (on a time line in its own unit, rounded up)."""
        if prepared.reason is not None:
            return []
        pairs = self._of(prepared).pairs()
        whole = sum(length for _, _, length in pairs)
        found = []
        for one, other, length in pairs:
            a, b = sorted((one, other), key=lambda labels: (not labels, labels))
            found.append(PairFinding(_shown(a), _shown(b), math.ceil(length - 1e-6), length / whole))
        return found

    def _finding(
        self, label: str, share: float, one: LabelAgreement | None, confidence: float | None, seed: int
    ) -> CategoryFinding:
        if one is None:
            return CategoryFinding(label, share, None, None, "no_variation", too_rare=True)
        interval = None
        if confidence is not None and one.one_vs_rest is not None:
            interval = interval_of(one.statistic, one.one_vs_rest, confidence, seed)
        reason = "no_variation" if one.one_vs_rest is None else None
        further = {"krippendorff_alpha_ku": one.coding, "coverage": one.coverage}
        return CategoryFinding(label, share, one.specific, one.one_vs_rest, reason, interval, one.too_rare, further)

    def _shares(self, prepared: Prepared) -> Mapping[str, float]:
        """Each label's share of all positions judged, documents with one rater included."""
        marks = self._marks(prepared.ratings.codebook.categories)
        documents = Documents(prepared.patterns, marks)
        whole = float((prepared.patterns.weights * prepared.patterns.size) @ documents.length)
        covered = marks.cover.length * prepared.patterns.marginals[marks.cover.of]
        by_label = np.bincount(marks.cover.code, covered, len(marks.labels)) if len(covered) else np.zeros(0)
        return {label: part / whole for label, part in zip(marks.labels, by_label.tolist(), strict=False) if part}

    def _of(self, prepared: Prepared) -> Unitizing:
        return self._unitizing(prepared.patterns.pairable, prepared.ratings.codebook.categories)

    def _unitizing(self, patterns: Patterns, values: Sequence[Any]) -> Unitizing:
        """Made once for each patterns, as long as they live."""
        found = patterns.kept.get(self.name)
        if not isinstance(found, Unitizing) or found.documents.marks.answers is not values:
            found = patterns.kept[self.name] = Unitizing(Documents(patterns, self._marks(values)))
        return found

    def _marks(self, values: Sequence[Any]) -> Marks:
        """The same for the same answers as long as somebody keeps them."""
        last = self._last() if self._last else None
        if last is None or last.answers is not values:
            last = Marks.of(values)
            self._last = weakref.ref(last)
        return last


CHARACTER = Spans()


def _shown(labels: tuple[str, ...]) -> Any:
    """A set of labels as a category of the report."""
    if len(labels) > 1:
        return labels
    return (labels[0] or NO_LABEL_SHOWN) if labels else BLANK_SHOWN
