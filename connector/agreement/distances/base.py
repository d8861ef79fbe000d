"""What a distance between whole answers is: the one seam for sets, rankings, texts, marked stretches, regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from connector.agreement.intervals import Case, Coefficient, Statistic
from connector.agreement.patterns import Patterns
from connector.agreement.ratings import Floats, Ints

if TYPE_CHECKING:
    from connector.agreement.alpha import Prepared
    from connector.agreement.diagnosis import CategoryFinding, PairFinding

MOST_VALUES = 2_000
"""Above this many distinct values no V x V matrix is made."""
SAMPLED_PAIRS = 1_000_000


class Alpha(Statistic, Protocol):
    """Krippendorff's alpha as a function of pattern weights, with what the diagnosis takes it apart by."""

    @property
    def patterns(self) -> Patterns:
        """The pairable patterns that it was made of."""

    @property
    def found(self) -> Coefficient:
        """Its value with observed and expected disagreement; no value, and the reason, where it is undefined."""

    @property
    def sampled(self) -> bool:
        """Whether expected disagreement was estimated from sampled pairs."""

    @property
    def cost(self) -> Floats:
        """(G,) points of alpha that the disagreement in one unit of each pattern takes away; 1 - alpha over all."""

    def apart(self, a: Ints, b: Ints) -> Floats:
        """(K,) points of alpha that two ratings with the codes a[k] and b[k] cost each other, times (m_u - 1)."""

    def without_one(self) -> Floats | None:
        """(G,) alpha without one unit of each pattern, NaN where undefined then; None if not known."""

    def on(self, patterns: Patterns) -> Alpha:
        """The same of other pairable patterns of the same values; what was compared once is not compared again."""


class Comparison(ABC):
    """How whole answers are compared: a distance by name, and what else is said of such answers.

    `comparable` and `pairs` are all that a distance needs; the rest has a default. `distances.register` makes it known.

    name : as settings and reports give it.
    most_values : distinct answers above which not all of them are compared with each other; expected disagreement is
        then estimated from so many `sampled_pairs` of ratings. Both are to be lowered where a comparison is dear.
    graded : a unit's status goes by its agreement; else by the share of the commonest answer.
    labelled : an answer is a set of labels: each label stands one against the rest beside the coefficient.
    note : how its numbers were made, for the report's reader.
    not_comparable : answers of different units cannot be compared, so that nothing is expected by chance.
    headline : the coefficient that stands for the question in a report. majority_by : what `consensus` gives, by name.
    confused : what `confusions` counts, one of it and several.
    """

    name: str
    most_values: int = MOST_VALUES
    sampled_pairs: int = SAMPLED_PAIRS
    graded: bool = True
    labelled: bool = False
    not_comparable: bool = False
    note: str = ""
    headline: str = "krippendorff_alpha"
    majority_by: str = "commonest"
    confused: tuple[str, str] = ("pair of ratings", "pairs of ratings")

    @abstractmethod
    def comparable(self, value: Any) -> bool:
        """Whether a value is what the distance compares."""

    @abstractmethod
    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances, 0 to 1, of the values a[k] and b[k]. They stand in d2's place, unsquared."""

    def matrix(self, values: Sequence[Any]) -> Floats:
        """(V, V) distances of V values."""
        a, b = np.triu_indices(len(values), 1)
        matrix = np.zeros((len(values), len(values)))
        matrix[a, b] = matrix[b, a] = self.pairs(values, a, b)
        return matrix

    def apart_from(self, values: Sequence[Any], codes: Ints, others: Sequence[Any], which: Ints) -> Floats:
        """(K,) distances of values[codes[k]] to others[which[k]], which need be none of the values."""
        used, place = np.unique(codes, return_inverse=True)
        known: dict[Any, int] = {}
        own = [known.setdefault(values[code], len(known)) for code in used.tolist()]
        new = np.array([known.setdefault(one, len(known)) for one in others], dtype=np.int64)
        # a copy, since a comparison may keep what it compared last: that of all values is still wanted
        return copy(self).pairs(list(known), np.array(own, dtype=np.int64)[place], new[which])

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        """One answer for a unit of which `times[k]` raters gave the distinct answer values[k], two of them at least.

        The commonest; None where there is no such thing, a tie say.
        """
        most = max(times)
        return values[times.index(most)] if times.count(most) == 1 else None

    def consensus_each(self, values: Sequence[Any], patterns: Patterns) -> Sequence[Any]:
        """(G,) the consensus of every pattern; None where all its ratings are the same."""
        start = np.searchsorted(patterns.row, np.arange(patterns.n_patterns + 1)).tolist()
        n, col = patterns.n.tolist(), patterns.col.tolist()
        found: list[Any] = [None] * patterns.n_patterns
        for g in np.flatnonzero(patterns.distinct > 1).tolist():
            part = slice(start[g], start[g + 1])
            found[g] = self.consensus([values[code] for code in col[part]], n[part])
        return found

    def statistic(self, patterns: Patterns, values: Sequence[Any]) -> Alpha | None:  # noqa: ARG002 - for who has one
        """An own form of alpha, where its unit is less than the answer; None: from the distances.

        patterns : the pairable ones. values : of the codebook, all comparable.
        """
        return None

    def companions(self, prepared: Prepared) -> Mapping[str, Case]:  # noqa: ARG002
        """Further coefficients by name, to stand beside alpha: each a `Case` over `prepared.patterns.pairable`, whose
        tasks are redrawn for its interval."""
        return {}

    def findings(
        self,
        prepared: Prepared,  # noqa: ARG002
        declared: Sequence[Any],  # noqa: ARG002
        confidence: float | None,  # noqa: ARG002
        seed: int,  # noqa: ARG002
    ) -> Sequence[CategoryFinding]:
        """Each category by itself. `declared` are the tool's."""
        return []

    def confusions(self, prepared: Prepared) -> Sequence[PairFinding]:  # noqa: ARG002
        """What raters disagreed between, commonest first."""
        return []
