"""Whole tasks redrawn where several units belong to one: the items of a task, the regions matched in it.

Units of one task are not independent: one text is hard, another easy. Drawn one by one they would make intervals too
narrow, so that tasks are drawn with all that belongs to them (Davison and Hinkley 1997, Bootstrap Methods and their
Application, section 3.8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.intervals import Case, Statistic
from connector.agreement.patterns import Patterns, Skew
from connector.agreement.ratings import Floats, Ints


class Tasks:
    """The tasks of N units whose patterns these are.

    task_of : unit -> task. unit_ids : (N,) as the patterns' `index` has them.
    """

    def __init__(self, task_of: Mapping[Any, Any], unit_ids: Sequence[Any], patterns: Patterns) -> None:
        self._task = task_codes(task_of, unit_ids)
        self._patterns = patterns

    def case(self, case: Case) -> Case:
        """The coefficient over whole tasks; without a form to be resampled where its patterns are others."""
        return case if case.statistic is None else case._replace(statistic=self.whole(case.statistic))

    def whole(self, statistic: Statistic) -> WholeTasks | None:
        """The statistic over tasks; None for one of other patterns than these or the pairable ones."""
        patterns, index = self._patterns, self._patterns.index
        if not np.array_equal(statistic.weights, patterns.weights):
            pairable = patterns.size >= 2
            if not np.array_equal(statistic.weights, patterns.weights[pairable]):
                return None
            index = np.append(np.where(pairable, np.cumsum(pairable) - 1, -1), -1)[index]
        return WholeTasks(statistic, units_by_task(self._task, index, len(statistic.weights)))


class WholeTasks:
    """A statistic as a function of how often each of T tasks is drawn.

    statistic : over G patterns of units. parts : (T, G) sparse, the units of each pattern that belong to each task.
    """

    def __init__(self, statistic: Statistic, parts: Any) -> None:
        self._statistic, self._parts = statistic, parts
        self.weights: Ints = np.ones(parts.shape[0], dtype=np.int64)
        self.disagreeing: NDArray[np.bool_] = parts @ statistic.disagreeing.astype(np.float64) > 0
        self.cells = max(statistic.cells, parts.shape[0])

    @property
    def skew(self) -> Skew | None:
        """That of the units."""
        return self._statistic.skew

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient for (B, T) weights of tasks."""
        return self._statistic.evaluate(np.ascontiguousarray((self._parts.T @ weights.T).T))

    def influence(self) -> Floats | None:
        """(T,) what the units of each task add together, times the number of tasks."""
        each = self._statistic.influence()
        if each is None:
            return None
        found: Floats = self._parts @ each * (len(self.weights) / float(self._statistic.weights.sum()))
        return found

    def linearised(self) -> None:
        """None: Gwet's interval is one of independent units."""

    def with_conflict(self) -> WholeTasks:
        """The same with one task more, of one unit in conflict."""
        return self._with(self._statistic.with_conflict())

    def with_agreement(self) -> WholeTasks:
        """The same with one task more, of one unit that agrees."""
        return self._with(self._statistic.with_agreement())

    def _with(self, statistic: Statistic) -> WholeTasks:
        from scipy.sparse import csr_matrix, vstack

        g = len(statistic.weights)
        parts = self._parts.copy()
        parts.resize((parts.shape[0], g))
        more = statistic.weights - np.asarray(parts.sum(axis=0)).ravel()
        return WholeTasks(statistic, vstack([parts, csr_matrix(more)], "csr") if more.any() else parts)


def task_codes(task_of: Mapping[Any, Any], unit_ids: Sequence[Any]) -> Ints:
    """(N,) a number for the task of each unit; a unit of no task is one itself."""
    codes: dict[Any, int] = {}
    tasks = (task_of.get(unit, unit) for unit in unit_ids)
    return np.array([codes.setdefault(task, len(codes)) for task in tasks], dtype=np.int64)


def units_by_task(task: Ints, index: Ints, g: int) -> Any:
    """(T, G) sparse: units of each pattern by task.

    task, index : (N,) the task of each unit, and its pattern (-1 for none). Tasks without a unit are left out.
    """
    from scipy.sparse import coo_matrix

    kept = index >= 0
    _, row = np.unique(task[kept], return_inverse=True)
    shape = (int(row.max(initial=-1)) + 1, g)
    return coo_matrix((np.ones(len(row)), (row, index[kept])), shape).tocsr()
