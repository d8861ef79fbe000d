"""Consensus by Dawid and Skene (1979), Applied Statistics 28(1): each rater errs in their own way, and so counts.

Expectation maximisation over the class of every unit, the shares of the classes, and a confusion table per rater. Units
with the same row of answers have the same class probabilities, so the work is that of the distinct rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from connector.agreement.patterns import DENSE, tally
from connector.agreement.ratings import Floats, Ints, Ratings
from connector.agreement.rows import Rows, fold_rows

ITERATIONS = 500
GAIN = 1e-10
"""Gain of the log-likelihood per unit under which the iteration has come to rest."""
TIED = 1e-9


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """The consensus and how it was reached.

    unit_ids : all known units. classes : the V values that somebody gave. rater_ids : raters with a rating.
    shares : (V,) estimated share of each class. confusion : (R, V, V) chance that a rater answers [k] where the class
        is [c]; a row is NaN for a class that none of the rater's units has any chance of.
    iterations, log_likelihood : at the end. converged : False where `ITERATIONS` did not suffice.
    """

    unit_ids: Sequence[Any]
    classes: Sequence[Any]
    rater_ids: Sequence[Any]
    shares: Floats
    confusion: Floats
    iterations: int
    log_likelihood: float
    converged: bool
    row_probabilities: Floats
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
        top = self.row_probabilities.max(axis=1, initial=0.0)
        near = self.row_probabilities >= top[:, None] - TIED
        of_row: list[Any] = [
            None if tied else self.classes[place]
            for tied, place in zip((near.sum(axis=1) > 1).tolist(), near.argmax(axis=1).tolist(), strict=True)
        ]
        return [of_row[row] if row >= 0 else None for row in self.index.tolist()]

    @cached_property
    def tied(self) -> list[bool]:
        """Whether the likeliest class of a unit is a tie."""
        return [label is None and row >= 0 for label, row in zip(self.labels, self.index.tolist(), strict=True)]


def dawid_skene(ratings: Ratings, iterations: int = ITERATIONS) -> DawidSkene:
    """Classes of the units by expectation maximisation, started from each unit's shares of answers.

    Every value somebody gave is a class. Raises ValueError for no rating at all, or where raters times classes squared
    is more than memory should hold.
    """
    used = np.flatnonzero(ratings.value_counts) if ratings.n_ratings else np.zeros(0, dtype=np.int64)
    raters = np.flatnonzero(np.bincount(ratings.raters)) if ratings.n_ratings else used
    v, r = len(used), len(raters)
    if not v:
        raise ValueError("there is no rating to find a consensus of")
    if r * v * v > DENSE:
        raise ValueError(f"{r} raters and {v} classes are too many for a confusion table each")
    rows = fold_rows(ratings)
    answers = _Answers(rows, np.searchsorted(raters, rows.rater), np.searchsorted(used, rows.value), r, v)
    probabilities = answers.shares_of_answers()
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
        done,
        float(likelihood),
        bool(converged),
        probabilities,
        rows.index,
    )


class _Answers:
    """Rows of answers of r raters to v classes, with the two steps of the iteration."""

    def __init__(self, rows: Rows, rater: Ints, value: Ints, r: int, v: int) -> None:
        self.row, self.weights = rows.row, rows.weights.astype(np.float64)
        self.weight, self.n_rows = rows.weight, len(rows.size)
        self.size = rows.size
        self.said = rater * v + value
        self.value = value
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


def _logarithm(chances: Floats) -> Floats:
    """Minus infinity for what is impossible, without a warning."""
    return np.log(chances, out=np.full_like(chances, -np.inf), where=chances > 0)
