"""Consensus by Dawid and Skene (1979), Applied Statistics 28(1): each rater errs in their own way, and so counts.

Expectation maximisation over the class of every unit, the shares of the classes, and a confusion table per rater. Units
with the same row of answers have the same class probabilities, so the work is that of the distinct rows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.keys import brief_value, id_order
from connector.agreement.patterns import DENSE, tally
from connector.agreement.ratings import Floats, Ints, Ratings, as_ratings
from connector.agreement.rows import Rows, fold_rows

ITERATIONS = 500
GAIN = 1e-10
"""Gain of the log-likelihood per unit under which the iteration has come to rest."""
TIED = 1e-9
FEWEST_ITERATIONS = 20
WORK = 600_000_000
"""Answers x classes x iterations that a report spends on it; above it the iteration is cut short, and says so."""
MOST_LISTED = 500
"""Units listed as plain data; the number left out stands beside them."""
MOST_RATERS = 200
MOST_CONFUSIONS = 10_000
"""Numbers of all confusion tables up to which they are written out as plain data."""
NOBODY = -1


class UnitConsensus(NamedTuple):
    """A unit's consensus beside the majority of its ratings; either is None on a tie.

    probability : of the label, or of each of the tied ones.
    """

    unit: Any
    majority: Any
    label: Any
    probability: float


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """The consensus and how it was reached.

    unit_ids : all known units. classes : the V values that somebody gave. rater_ids : raters with a rating.
    shares : (V,) estimated share of each class. confusion : (R, V, V) chance that a rater answers [k] where the class
        is [c]; a row is NaN for a class that none of the rater's units has any chance of.
    answers : (R,) ratings of each rater. errors : (R,) the share of them that is wrong by these classes.
    iterations, log_likelihood : at the end. converged : False where the iterations allowed did not suffice.
    row_probabilities, row_majority, row_weights : (G, V), (G,), (G,) class probabilities, place of the commonest answer
        (-1 on a tie) and number of units of every distinct row of answers. index : (N,) row of every unit, -1 for a
        unit without a rating.
    """

    unit_ids: Sequence[Any]
    classes: Sequence[Any]
    rater_ids: Sequence[Any]
    shares: Floats
    confusion: Floats
    answers: Ints
    errors: Floats
    iterations: int
    log_likelihood: float
    converged: bool
    row_probabilities: Floats
    row_majority: Ints
    row_weights: Ints
    index: Ints

    @cached_property
    def probabilities(self) -> Floats:
        """(N, V) chance of each class, NaN for a unit without a rating."""
        missing = np.full((1, len(self.classes)), np.nan)
        probabilities: Floats = np.concatenate([self.row_probabilities, missing])[self.index]
        return probabilities

    @cached_property
    def labels(self) -> list[Any]:
        """The likeliest class of every unit, None on a tie and for a unit without a rating."""
        # a unit without a rating, index -1, finds the last place
        of_row = [*(self._class(place) for place in self._row_label.tolist()), None]
        return [of_row[row] for row in self.index.tolist()]

    @cached_property
    def tied(self) -> list[bool]:
        """Whether the likeliest class of a unit is a tie."""
        return [label is None and row >= 0 for label, row in zip(self.labels, self.index.tolist(), strict=True)]

    @cached_property
    def certainty(self) -> list[float | None]:
        """Probability of every unit's likeliest class, None for a unit without a rating."""
        of_row = [*self._row_top.tolist(), None]
        return [of_row[row] for row in self.index.tolist()]

    @property
    def n_units(self) -> int:
        """Units with a rating."""
        return int(self.row_weights.sum())

    @property
    def n_other(self) -> int:
        """Units whose consensus is another class than the majority of their ratings."""
        return self._count((self._standing == 0) & (self._row_label != NOBODY))

    @property
    def n_ties(self) -> int:
        """Units whose ratings are tied."""
        return self._count(self.row_majority == NOBODY)

    @property
    def n_settled(self) -> int:
        """Units whose ratings are tied and whose consensus is not."""
        return self._count((self.row_majority == NOBODY) & (self._row_label != NOBODY))

    @property
    def n_tied(self) -> int:
        """Units whose consensus is a tie."""
        return self._count(self._row_label == NOBODY)

    def units(self, most: int = MOST_LISTED) -> list[UnitConsensus]:
        """Units whose consensus is not the majority first, then those of tied ratings, then the others; among each the
        least certain first, then by id. At most so many."""
        order = np.lexsort((self._row_top, self._standing))
        enough = int(np.searchsorted(np.cumsum(self.row_weights[order]), most)) + 1
        # a unit without a rating, index -1, finds the last place
        chosen = np.zeros(len(order) + 1, dtype=np.bool_)
        chosen[order[:enough]] = True
        standing = list(zip(self._standing.tolist(), self._row_top.tolist(), strict=True))
        listed = heapq.nsmallest(
            most,
            np.flatnonzero(chosen[self.index]).tolist(),
            key=lambda unit: (*standing[self.index[unit]], *id_order(self.unit_ids[unit])),
        )
        return [
            UnitConsensus(
                self.unit_ids[unit],
                self._class(int(self.row_majority[row])),
                self._class(int(self._row_label[row])),
                float(self._row_top[row]),
            )
            for unit, row in zip(listed, self.index[listed].tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data; lists are bounded, `units_left_out` and `raters_left_out` say by how much."""
        written_out = self.confusion.size <= MOST_CONFUSIONS
        units = self.units()
        body: dict[str, Any] = {
            "converged": self.converged,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            "n_units": self.n_units,
            "n_other_than_majority": self.n_other,
            "n_ties": self.n_ties,
            "n_ties_settled": self.n_settled,
            "n_tied": self.n_tied,
            "classes": [brief_value(one) for one in self.classes],
            "shares": self.shares.tolist(),
            "raters": [
                {
                    "rater": self.rater_ids[place],
                    "n_ratings": int(self.answers[place]),
                    "error": float(self.errors[place]),
                    "confusion": _without_nan(self.confusion[place]) if written_out else None,
                }
                for place in self.worst_raters[:MOST_RATERS]
            ],
            "units": [
                {
                    "unit": one.unit,
                    "majority": brief_value(one.majority),
                    "label": brief_value(one.label),
                    "probability": one.probability,
                }
                for one in units
            ],
        }
        left_out = {"units": self.n_units - len(units), "raters": max(len(self.rater_ids) - MOST_RATERS, 0)}
        return body | {f"{name}_left_out": n for name, n in left_out.items() if n}

    @cached_property
    def worst_raters(self) -> list[int]:
        """Places of the raters, the highest share of wrong answers first, then by id."""
        errors = np.round(self.errors, 12).tolist()
        return sorted(range(len(errors)), key=lambda place: (-errors[place], *id_order(self.rater_ids[place])))

    @cached_property
    def _row_top(self) -> Floats:
        """(G,) probability of a row's likeliest class, sums of rounding left aside."""
        top: Floats = np.round(np.minimum(self.row_probabilities.max(axis=1, initial=0.0), 1.0), 12)
        return top

    @cached_property
    def _row_label(self) -> Ints:
        """(G,) place of a row's likeliest class, -1 on a tie."""
        return _top(self.row_probabilities, TIED)

    @cached_property
    def _standing(self) -> Ints:
        """(G,) 0 where there is a majority that is not the consensus, 1 where ratings are tied, else 2."""
        return np.where(self.row_majority == NOBODY, 1, np.where(self.row_majority == self._row_label, 2, 0))

    def _count(self, rows: NDArray[np.bool_]) -> int:
        return int(self.row_weights[rows].sum())

    def _class(self, place: int) -> Any:
        return None if place == NOBODY else self.classes[place]


def dawid_skene(data: Ratings | Any, iterations: int = ITERATIONS, rows: Rows | None = None) -> DawidSkene:
    """Classes of the units by expectation maximisation, started from each unit's shares of answers.

    data : a `Ratings`, or a units x raters table as `Ratings.from_wide` takes it. Every value somebody gave is a
    class. `rows` are the ratings' own distinct rows where they are known already. Raises
    ValueError for no rating at all, or where raters times classes squared is more than memory should hold.

    >>> table = [["a", "a", "b"], ["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "b", "b"], ["b", None, "a"]]
    >>> found = dawid_skene(Ratings.from_wide(table, rater_ids=["ann", "bob", "cy"]))
    >>> found.labels, found.converged
    (['a', 'a', 'b', 'b', 'a', 'b'], True)
    >>> {rater: round(error, 2) for rater, error in zip(found.rater_ids, found.errors.tolist())}
    {'ann': 0.0, 'bob': 0.2, 'cy': 0.67}
    """
    ratings = as_ratings(data)
    used = np.flatnonzero(ratings.value_counts) if ratings.n_ratings else np.zeros(0, dtype=np.int64)
    raters = np.flatnonzero(np.bincount(ratings.raters)) if ratings.n_ratings else used
    v, r = len(used), len(raters)
    if not v:
        raise ValueError("there is no rating to find a consensus of")
    if r * v * v > DENSE:
        raise ValueError(f"{r} raters and {v} classes are too many for a confusion table each")
    rows = fold_rows(ratings) if rows is None else rows
    answers = _Answers(rows, np.searchsorted(raters, rows.rater), np.searchsorted(used, rows.value), r, v)
    probabilities = answers.shares_of_answers()
    majority = _top(probabilities, 0.0)
    shares, confusion = answers.maximise(probabilities)
    before, likelihood, done = -np.inf, -np.inf, 0
    converged = False
    while done < iterations and not converged:
        probabilities, likelihood = answers.expect(shares, confusion)
        shares, confusion = answers.maximise(probabilities)
        done += 1
        converged = likelihood - before <= GAIN * answers.n_units
        before = likelihood
    return DawidSkene(
        ratings.unit_ids,
        [ratings.codebook.categories[code] for code in used.tolist()],
        [ratings.rater_ids[code] for code in raters.tolist()],
        shares,
        confusion,
        *answers.errors(probabilities),
        done,
        float(likelihood),
        bool(converged),
        probabilities,
        majority,
        rows.weights,
        rows.index,
    )


def consensus_of(ratings: Ratings, rows: Rows) -> DawidSkene | str:
    """The consensus of the ratings' distinct rows for a report, or the reason why there is none: no_pairable_units, or
    too_large where raters and classes or answers are too many for it."""
    if not len(rows.size) or int(rows.size.max()) < 2:
        return "no_pairable_units"
    v = np.count_nonzero(ratings.value_counts)
    cells = len(rows.row) * v
    if ratings.n_raters * v * v > DENSE or cells * FEWEST_ITERATIONS > WORK:
        return "too_large"
    return dawid_skene(ratings, min(ITERATIONS, WORK // cells), rows)


class _Answers:
    """Rows of answers of r raters to v classes, with the two steps of the iteration."""

    def __init__(self, rows: Rows, rater: Ints, value: Ints, r: int, v: int) -> None:
        self.row, self.weights = rows.row, rows.weights.astype(np.float64)
        self.weight, self.n_rows = rows.weight, len(rows.size)
        self.size = rows.size
        self.said = rater * v + value
        self.rater, self.value = rater, value
        self.r, self.v = r, v
        self.n_units = float(self.weights.sum())

    def shares_of_answers(self) -> Floats:
        """(G, V) share of each class among a row's answers."""
        counts = np.bincount(self.row * self.v + self.value, minlength=self.n_rows * self.v)
        start: Floats = counts.reshape(self.n_rows, self.v) / self.size[:, None]
        return start

    def maximise(self, probabilities: Floats) -> tuple[Floats, Floats]:
        """Shares of the classes and confusion tables that fit these class probabilities best."""
        shares: Floats = self.weights @ probabilities / self.n_units
        confusion = np.empty((self.r, self.v, self.v))
        for c in range(self.v):
            chance = probabilities[self.row, c] * self.weight
            confusion[:, c, :] = tally(self.said, chance, self.r * self.v).reshape(self.r, self.v)
        of_class = confusion.sum(axis=2, keepdims=True)
        return shares, np.divide(confusion, of_class, out=np.full_like(confusion, np.nan), where=of_class > 0)

    def expect(self, shares: Floats, confusion: Floats) -> tuple[Floats, float]:
        """(G, V) class probabilities under these shares and tables, and the log-likelihood of all answers."""
        logs = np.empty((self.n_rows, self.v))
        # a class that none of a rater's units has any chance of stays without one
        known = _logarithm(np.nan_to_num(confusion))
        for c in range(self.v):
            logs[:, c] = tally(self.row, known[:, c, :].ravel()[self.said], self.n_rows)
        logs += _logarithm(shares)
        top = logs.max(axis=1)
        chances = np.exp(logs - top[:, None])
        total = chances.sum(axis=1)
        return chances / total[:, None], float(self.weights @ (top + np.log(total)))

    def errors(self, probabilities: Floats) -> tuple[Ints, Floats]:
        """(R,) ratings of each rater, and the share of them that is not the unit's class."""
        given = tally(self.rater, self.weight, self.r)
        right = tally(self.rater, self.weight * probabilities[self.row, self.value], self.r)
        return np.rint(given).astype(np.int64), np.clip(1 - right / given, 0.0, 1.0)


def _top(chances: Floats, tolerance: float) -> Ints:
    """(G,) place of the largest number of each row, -1 where another one equals it."""
    near = chances >= chances.max(axis=1, initial=0.0)[:, None] - tolerance
    return np.where(near.sum(axis=1) > 1, NOBODY, near.argmax(axis=1))


def _without_nan(table: Floats) -> list[list[float | None]]:
    return [[None if math.isnan(one) else one for one in row] for row in table.tolist()]


def _logarithm(chances: Floats) -> Floats:
    """Minus infinity for what is impossible, without a warning."""
    return np.log(chances, out=np.full_like(chances, -np.inf), where=chances > 0)
