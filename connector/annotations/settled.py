"""Which of the annotations that came count, and which do not and why."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.ratings import Floats, Ints
from connector.annotations.columns import AnnotationColumns
from connector.annotations.order import natural_key, natural_order

ANNOTATION_REASONS = ("cancelled", "draft", "ours", "no_rater", "reviewer", "excluded", "ground_truth", "repeat")
"""Why a whole annotation does not count, in the order in which the reasons are tried."""
COUNTS = 0
CODE = {reason: code for code, reason in enumerate(ANNOTATION_REASONS, start=1)}

NO_RATER = "(no rater)"
"""Stands for the missing rater where ground truth marks are counted by rater."""

Mask = NDArray[np.bool_]


class Settled:
    """Every annotation that came, as arrays, once repeats are settled. Units and raters are coded in their ids' order.

    unit : (n,) unit code. rater : (n,) code into `rater_ids`, -1 for those without an annotation that counts.
    reason : (n,) 0 or why the annotation does not count. alive : (n,) False for older states.
    counted : (n,) the annotation counts. seconds : (n,) time spent on it, NaN unknown.
    """

    def __init__(self, columns: AnnotationColumns) -> None:
        self._columns = columns
        self.n = len(columns.ids)
        units, raters = list(columns.unit_code), list(columns.rater_code)
        unit_order, rater_order = natural_order(units), natural_order(raters)
        self.unit_ids = [units[code] for code in unit_order.tolist()]
        self._all_raters = [raters[code] for code in rater_order.tolist()]
        self._declared = np.array(columns.declared, dtype=np.int64)[unit_order]
        batch_unit = _inverse(unit_order)[np.array(columns.batch_unit, dtype=np.int64)]
        self.unit: Ints = np.repeat(batch_unit, np.array(columns.batch_n, dtype=np.int64))
        self._any_rater: Ints = np.append(_inverse(rater_order), -1)[np.array(columns.rater, dtype=np.int64)]
        self.alive: Mask = np.ones(self.n, dtype=np.bool_)
        self.alive[list(columns.superseded)] = False
        self.seconds: Floats = np.array(columns.seconds, dtype=np.float64)
        self.reason = np.array(columns.reason, dtype=np.int8)
        self._settle_repeats()
        self.counted: Mask = (self.reason == COUNTS) & self.alive
        self.left_out = self._count_reasons()
        used = np.unique(self._any_rater[self.counted])
        self.rater_ids = [self._all_raters[code] for code in used.tolist()]
        recode = np.full(len(raters) + 1, -1, dtype=np.int64)
        recode[used] = np.arange(len(used))
        self.rater: Ints = recode[self._any_rater]

    @property
    def n_annotations(self) -> int:
        """Distinct annotations, drafts left out."""
        return int(np.count_nonzero(self.alive)) - self.left_out.get("draft", 0)

    def incomplete(self) -> list[str]:
        """Units for which more submitted annotations are declared than came."""
        submitted = self.alive & (self.reason != CODE["cancelled"]) & (self.reason != CODE["draft"])
        found = np.bincount(self.unit[submitted], minlength=len(self.unit_ids))
        return [self.unit_ids[code] for code in np.flatnonzero(self._declared > found).tolist()]

    def n_alive(self, rows: array[int]) -> int:
        """How many of these annotations are in their newest state."""
        return int(np.count_nonzero(self.alive[np.array(rows, dtype=np.int64)]))

    def marks(self) -> dict[str, int]:
        """Ground truth marks by rater."""
        found: dict[str, int] = {}
        for row in self._columns.marked:
            if self.alive[row]:
                code = int(self._any_rater[row])
                name = NO_RATER if code < 0 else self._all_raters[code]
                found[name] = found.get(name, 0) + 1
        return dict(sorted(found.items(), key=lambda item: natural_key(item[0])))

    def gold_rows(self) -> list[int]:
        """Annotations marked as ground truth, oldest first, without our own."""
        rows = [row for row in self._columns.marked if self.alive[row] and self.reason[row] != CODE["ours"]]
        return sorted(rows, key=self.age)

    def age(self, row: int) -> tuple[float, Any]:
        """Sorts annotations by time, ties by the larger id."""
        return self._columns.time(row), natural_key(self._columns.ids[row])

    def _settle_repeats(self) -> None:
        """Of several annotations of one rater on one unit that would count, all but the newest are repeats."""
        rows = np.flatnonzero((self.reason == COUNTS) & self.alive)
        keys = self.unit[rows] * max(len(self._all_raters), 1) + self._any_rater[rows]
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        groups: dict[int, set[int]] = {}
        for place in np.flatnonzero(keys[1:] == keys[:-1]).tolist():
            groups.setdefault(int(keys[place]), set()).update((int(rows[place]), int(rows[place + 1])))
        for group in groups.values():
            newest = max(group, key=self.age)
            self.reason[list(group - {newest})] = CODE["repeat"]

    def _count_reasons(self) -> dict[str, int]:
        counts = np.bincount(self.reason[self.alive], minlength=len(ANNOTATION_REASONS) + 1).tolist()
        return {reason: counts[code] for reason, code in CODE.items() if counts[code]}


def _inverse(order: Ints) -> Ints:
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse
