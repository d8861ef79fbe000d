"""Relations between marked regions as answers to be compared: an answer is a set of relations, a tuple of (region,
label, region, direction) whose regions are matched ones, the same for all raters of one task and for no two tasks.

masi_of_relations, jaccard_of_relations : the distance of the two sets, as `distances.sets` has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from connector.agreement.alpha import Prepared, krippendorff_alpha
from connector.agreement.continua import spread
from connector.agreement.diagnosis import CategoryFinding, PairFinding
from connector.agreement.distances.sets import Sets
from connector.agreement.patterns import tally
from connector.agreement.ratings import Codebook, Floats, Ints, Ratings

NO_LABEL = ""
"""Stands for the label of a relation that carries none."""
NO_LABEL_SHOWN = "(no label)"
NONE_SHOWN = "(no relation)"


class Relations(Sets):
    """Sets of relations."""

    graded = True
    labelled = False
    majority_by = "half"
    note = (
        "Relations are compared by task, as sets of (region, label, region): regions of raters are the same where they "
        "were matched, whatever their labels. Relations of different tasks are never the same, so that by chance only "
        "two answers without any agree. A label's one-vs-rest is the same alpha over its own relations alone, its "
        "specific agreement the F1 of them."
    )

    def comparable(self, value: Any) -> bool:
        """A tuple of relations."""
        return isinstance(value, tuple) and all(isinstance(one, tuple) and len(one) == 4 for one in value)

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        """The relations that at least half of the raters drew."""
        held = Counter[Any]()
        for value, n in zip(values, times, strict=True):
            held.update(dict.fromkeys(value, n))
        return tuple(sorted(one for one, n in held.items() if 2 * n >= sum(times)))

    def findings(
        self,
        prepared: Prepared,
        declared: Sequence[Any],
        confidence: float | None,  # noqa: ARG002 - no interval by label
        seed: int,  # noqa: ARG002
    ) -> Sequence[CategoryFinding]:
        """Each label, declared ones first: the distance over its own relations alone."""
        if prepared.reason is not None:
            return []
        values = prepared.ratings.codebook.categories
        seen = {label for value in values for _, label, _, _ in value}
        labels = [*dict.fromkeys(declared), *sorted(seen.difference(declared))]
        held = _Held(values, labels)
        marginals = prepared.patterns.marginals
        of_label = tally(held.label, marginals[held.value], len(labels))
        whole = float(of_label.sum())
        specific = self._specific(prepared, held, len(labels))
        found = []
        for label, n, own in zip(labels, of_label.tolist(), specific.tolist(), strict=True):
            alpha = krippendorff_alpha(_restricted(prepared.ratings, label), distance=self.name)
            found.append(
                CategoryFinding(
                    label or NO_LABEL_SHOWN,
                    n / whole if whole else 0.0,
                    None if np.isnan(own) else own,
                    alpha.value,
                    alpha.reason,
                    too_rare=bool(np.isnan(own)),
                )
            )
        return found

    def confusions(self, prepared: Prepared) -> Sequence[PairFinding]:
        """Every two labels that raters gave to the same two regions; no relation between them is one too."""
        patterns, values = prepared.patterns.pairable, prepared.ratings.codebook.categories
        between = [_by_ends(value) for value in values]
        first, second = patterns.entry_pairs
        times = patterns.weights[patterns.row[first]] * patterns.n[first] * patterns.n[second]
        found = Counter[tuple[str, str]]()
        for a, b, n in zip(patterns.col[first].tolist(), patterns.col[second].tolist(), times.tolist(), strict=True):
            for ends in between[a].keys() | between[b].keys():
                mine, theirs = between[a].get(ends, frozenset()), between[b].get(ends, frozenset())
                for one in mine - theirs or ({NONE_SHOWN} if not mine else ()):
                    for other in theirs - mine or ({NONE_SHOWN} if not theirs else ()):
                        low, high = sorted((one, other), key=lambda label: (label == NONE_SHOWN, label))
                        found[low, high] += n
        whole = sum(found.values())
        ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
        return [PairFinding(low, high, n, n / whole) for (low, high), n in ordered]

    def _specific(self, prepared: Prepared, held: _Held, n_labels: int) -> Floats:
        """(L,) F1 of each label's relations over pairs of ratings of one unit, each unit by its ratings as in alpha."""
        patterns = prepared.patterns.pairable
        first, second = patterns.entry_pairs
        twice = np.flatnonzero(patterns.n > 1)
        row = np.concatenate([patterns.row[first], patterns.row[twice]])
        times = np.concatenate(
            [2 * patterns.n[first] * patterns.n[second], patterns.n[twice] * (patterns.n[twice] - 1)]
        )
        weight = patterns.weights[row] * times / (patterns.size[row] - 1)
        a = np.concatenate([patterns.col[first], patterns.col[twice]])
        b = np.concatenate([patterns.col[second], patterns.col[twice]])
        k, mine = held.of(a)
        other, theirs = held.of(b)
        marked = tally(held.label[mine], weight[k], n_labels) + tally(held.label[theirs], weight[other], n_labels)
        shared = np.isin(b[k] * held.n_relations + held.relation[mine], held.places)
        same = 2 * tally(held.label[mine[shared]], weight[k[shared]], n_labels)
        found: Floats = np.divide(same, marked, out=np.full(n_labels, np.nan), where=marked > 0)
        return found


class _Held:
    """The relations of V answers.

    value, relation, label : (R,) of each. places : (R,) value and relation as one number.
    """

    def __init__(self, values: Sequence[Any], labels: Sequence[str]) -> None:
        code_of = {label: code for code, label in enumerate(labels)}
        known: dict[Any, int] = {}
        self._sizes = np.fromiter(map(len, values), np.int64, len(values))
        self.value: Ints = np.repeat(np.arange(len(values)), self._sizes)
        flat = [one for value in values for one in value]
        self.relation: Ints = np.array([known.setdefault(one, len(known)) for one in flat], dtype=np.int64)
        self.label: Ints = np.array([code_of[one[1]] for one in flat], dtype=np.int64)
        self.n_relations = max(len(known), 1)
        self.places: Ints = self.value * self.n_relations + self.relation

    def of(self, values: Ints) -> tuple[Ints, Ints]:
        """The rows of values[k], one after the other: k, and the row."""
        starts = np.cumsum(self._sizes) - self._sizes
        sizes = self._sizes[values]
        return np.repeat(np.arange(len(values)), sizes), spread(starts[values], sizes)


def _restricted(ratings: Ratings, label: str) -> Ratings:
    """The same ratings with the relations of one label alone."""
    kept = [tuple(one for one in value if one[1] == label) for value in ratings.codebook.categories]
    codes: dict[Any, int] = {}
    recode = np.array([codes.setdefault(value, len(codes)) for value in kept], dtype=np.int64)
    return replace(ratings, values=recode[ratings.values], codebook=Codebook(tuple(codes)))


def _by_ends(value: Any) -> dict[Any, frozenset[str]]:
    """The labels of relations between each two regions."""
    found: dict[Any, set[str]] = {}
    for start, label, end, direction in value:
        found.setdefault((start, end, direction), set()).add(label or NO_LABEL_SHOWN)
    return {ends: frozenset(labels) for ends, labels in found.items()}


MASI_OF_RELATIONS = Relations("masi_of_relations", monotonic=True)
JACCARD_OF_RELATIONS = Relations("jaccard_of_relations", monotonic=False)
