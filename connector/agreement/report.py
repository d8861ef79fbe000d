"""The agreement report: everything a careful person reads beside the coefficient, as plain data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from connector.agreement.alpha import Prepared, alpha, level_and_distance, prepare
from connector.agreement.consensus import UnitResults, unit_results
from connector.agreement.diagnosis import (
    CategoryFinding,
    PairFinding,
    category_findings,
    disagreeing_pairs,
    label_findings,
)
from connector.agreement.distances import SET_DISTANCES
from connector.agreement.intervals import SEED, Coefficient
from connector.agreement.kappa import cohen_kappa, fleiss_kappa, percent_agreement, weighted_kappa
from connector.agreement.patterns import Patterns
from connector.agreement.ratings import Level, Ratings

if TYPE_CHECKING:
    from connector.agreement.gate import GateDecision

VERSION = 1
CONFIDENCE = 0.95
FEW_OUTSIDE = 20
"""Ratings outside the commonest category under which an interval is not to be trusted (`low_variation`)."""
MANY_PATTERNS = 5_000
"""Distinct count vectors above which alpha alone gets an interval."""
MOST_LISTED = 500
"""Categories and pairs listed in the JSON report; the number left out stands beside them."""


@dataclass(frozen=True, eq=False)
class QuestionRatings:
    """One question's ratings with what its tool declares about it.

    name : the question; kind : of annotation (choice, rating, choices, ...), for the reader.
    ratings : its ratings; their `unit_ids` are all units the question stands for, those without a rating included.
    level, distance : of measurement; the distance is the level's own unless given (sets: masi or jaccard at nominal
        level).
    categories : declared ones in the tool's order; for sets the declared labels (or paths). None: not declared.
    bounds : declared lowest and highest number, None where there is no declared range.
    left_out : annotations that are no rating here, counted by reason.
    required : a gate decides it; conditional : raters see it only under a condition.
    times_shown : by unit, how many raters a conditional question was shown to; None: as many as rated it.
    """

    name: str
    kind: str
    ratings: Ratings
    level: str = "nominal"
    distance: str | None = None
    categories: Sequence[Any] | None = None
    bounds: tuple[float, float] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    required: bool = True
    conditional: bool = False
    times_shown: Mapping[Any, int] | None = None


@dataclass(frozen=True, eq=False)
class QuestionReport:
    """What was found for one question.

    n_units : units with a counted rating; n_pairable_units : with two; n_categories : m, declared else seen.
    coefficients : by name. categories : one finding per category (sets: per label). pairs : commonest first.
    notes : `low_variation` where under 20 ratings lie outside the commonest category.
    units : results of every known unit.
    """

    source: QuestionRatings
    level: Level
    distance: str
    n_units: int
    n_pairable_units: int
    n_raters: int
    n_ratings: int
    n_categories: int
    coefficients: Mapping[str, Coefficient]
    categories: Sequence[CategoryFinding]
    pairs: Sequence[PairFinding]
    notes: Sequence[str]
    units: UnitResults
    prepared: Prepared = field(repr=False)

    @property
    def name(self) -> str:
        """The question."""
        return self.source.name

    @property
    def kind(self) -> str:
        """The kind of annotation."""
        return self.source.kind

    @property
    def left_out(self) -> Mapping[str, int]:
        """Annotations that are no rating here, counted by reason."""
        return self.source.left_out

    @property
    def alpha(self) -> Coefficient:
        """Krippendorff's alpha by the question's level and distance."""
        return self.coefficients["krippendorff_alpha"]

    @property
    def patterns(self) -> Patterns:
        """The folded units."""
        return self.prepared.patterns

    @cached_property
    def outside_commonest(self) -> int:
        """Pairable ratings that lie outside the commonest category."""
        counts = self.patterns.pairable.marginals
        return int(counts.sum() - counts.max(initial=0))

    def to_json(self) -> dict[str, Any]:
        """The question's part of the JSON report."""
        interval = self.alpha.interval
        body: dict[str, Any] = {
            "kind": self.kind,
            "level": str(self.level.value),
            "distance": self.distance,
            "n_units": self.n_units,
            "n_pairable_units": self.n_pairable_units,
            "n_raters": self.n_raters,
            "n_ratings": self.n_ratings,
            "n_categories": self.n_categories,
            "left_out": dict(self.left_out),
            "coefficients": {name: one.to_json() for name, one in self.coefficients.items()},
            "interval": interval.to_json() if interval else None,
            "categories": _categories_json(self.categories),
            "pairs": [
                {"a": json_value(pair.a), "b": json_value(pair.b), "n": pair.n, "share": pair.share}
                for pair in self.pairs[:MOST_LISTED]
            ],
            "notes": list(self.notes),
        }
        for listed, name in ((self.categories, "categories_left_out"), (self.pairs, "pairs_left_out")):
            if len(listed) > MOST_LISTED:
                body[name] = len(listed) - MOST_LISTED
        return body


@dataclass(frozen=True, eq=False)
class AgreementReport:
    """The report of all questions; `gate` is set by `with_gate`."""

    questions: Mapping[str, QuestionReport]
    not_measured: Sequence[Mapping[str, str]] = ()
    confidence: float = CONFIDENCE
    seed: int = SEED
    share_below: float = 0.6
    gate: GateDecision | None = None

    def with_gate(self, decision: GateDecision) -> AgreementReport:
        """The same report with a gate's decision in it."""
        return replace(self, gate=decision)

    def to_json(self) -> dict[str, Any]:
        """JSON report, version 1: plain data without NaN or Infinity."""
        body: dict[str, Any] = {
            "version": VERSION,
            "confidence": self.confidence,
            "seed": self.seed,
            "questions": {name: question.to_json() for name, question in self.questions.items()},
            "not_measured": [dict(one) for one in self.not_measured],
        }
        if self.gate is not None:
            body["gate"] = self.gate.to_json()
        return body


def assess(
    ratings: Ratings | QuestionRatings | Mapping[str, Ratings] | Sequence[QuestionRatings],
    *,
    confidence: float | None = CONFIDENCE,
    seed: int = SEED,
    share_below: float = 0.6,
    not_measured: Sequence[Mapping[str, str]] = (),
) -> AgreementReport:
    """The agreement report of one question or several.

    Parameters
    ----------
    ratings : a `Ratings` (one question, `value`, nominal), ratings by question name, or `QuestionRatings` with what
        the tool declares.
    confidence : of the intervals; None for none.
    share_below : a unit whose commonest answer has a smaller share is a conflict.
    not_measured : {question, kind, reason} of the questions that have no coefficient yet.

    Raises ValueError for an unknown level or distance, InvalidRatings for ratings that do not fit the distance.
    """
    questions = _as_questions(ratings)
    found = {one.name: _assess_question(one, confidence, seed, share_below) for one in questions}
    return AgreementReport(found, tuple(not_measured), confidence or CONFIDENCE, seed, share_below)


def _as_questions(
    ratings: Ratings | QuestionRatings | Mapping[str, Ratings] | Sequence[QuestionRatings],
) -> list[QuestionRatings]:
    if isinstance(ratings, Ratings):
        return [QuestionRatings("value", "choice", ratings)]
    if isinstance(ratings, QuestionRatings):
        return [ratings]
    if isinstance(ratings, Mapping):
        return [QuestionRatings(name, "choice", one) for name, one in ratings.items()]
    return list(ratings)


def _assess_question(
    question: QuestionRatings, confidence: float | None, seed: int, share_below: float
) -> QuestionReport:
    level, distance = level_and_distance(question.level, question.distance)
    prepared = prepare(_declared(question, distance), level, distance)
    ratings, patterns = prepared.ratings, prepared.patterns
    findings = _findings(question, prepared, distance)
    report = QuestionReport(
        question,
        level,
        distance,
        patterns.n_units,
        patterns.pairable.n_units,
        ratings.n_raters,
        ratings.n_ratings,
        _n_categories(question, prepared, findings, distance),
        _coefficients(prepared, level, distance, confidence, seed),
        findings,
        disagreeing_pairs(patterns, ratings.codebook.categories),
        (),
        unit_results(
            patterns,
            ratings.unit_ids,
            ratings.codebook,
            level=level,
            distance=distance,
            bounds=question.bounds,
            share_below=share_below,
        ),
        prepared,
    )
    few = report.n_pairable_units > 0 and report.outside_commonest < FEW_OUTSIDE
    return replace(report, notes=("low_variation",)) if few else report


def _declared(question: QuestionRatings, distance: str) -> Ratings:
    """The ratings with the question's declared categories in their codebook; a set's are labels, not sets."""
    ratings = question.ratings
    if question.categories is None or distance in SET_DISTANCES or ratings.codebook.n_declared:
        return ratings
    return ratings.declare(question.categories)


def _coefficients(
    prepared: Prepared, level: Level, distance: str, confidence: float | None, seed: int
) -> dict[str, Coefficient]:
    ratings, patterns = prepared.ratings, prepared.patterns
    found = {"krippendorff_alpha": alpha(prepared, distance, confidence, seed)}
    if distance in SET_DISTANCES:
        found["krippendorff_alpha_exact"] = alpha(prepared, "nominal", confidence, seed)
    # where units hardly repeat, each interval costs seconds: alpha's, which decides, is the one worth them
    if patterns.n_patterns > MANY_PATTERNS:
        confidence = None
    found["percent_agreement"] = percent_agreement(patterns, confidence, seed)
    found["cohen_kappa"] = cohen_kappa(ratings, confidence, seed)
    if level.ordered:
        found["weighted_kappa"] = weighted_kappa(ratings, "quadratic", confidence, seed)
    found["fleiss_kappa"] = fleiss_kappa(patterns, confidence, seed)
    return found


def _findings(question: QuestionRatings, prepared: Prepared, distance: str) -> list[CategoryFinding]:
    categories = prepared.ratings.codebook.categories
    if distance in SET_DISTANCES:
        return label_findings(prepared.patterns, categories, question.categories or ())
    return category_findings(prepared.patterns, categories)


def _n_categories(
    question: QuestionRatings, prepared: Prepared, findings: Sequence[CategoryFinding], distance: str
) -> int:
    if question.categories is not None:
        return len(question.categories)
    if distance in SET_DISTANCES:
        return len(findings)
    book = prepared.ratings.codebook
    return book.n_declared or int(np.count_nonzero(prepared.patterns.marginals))


def category_key(category: Any) -> str:
    r"""A category as a JSON key: text as it is, whole numbers without ".0", a path's labels joined by "/", with "/"
    and "\" inside a label escaped by "\".

    >>> category_key(("a/b", "c"))
    'a\\/b/c'
    """
    if isinstance(category, str):
        return category
    if isinstance(category, int | float):
        return str(int(category)) if float(category).is_integer() else repr(float(category))
    return "/".join(_escaped(str(label)) for label in category)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("/", "\\/")


def json_value(value: Any) -> Any:
    """A value as JSON: text and numbers as they are, a set as an array of its labels (of its paths' keys)."""
    if isinstance(value, tuple):
        return [category_key(member) for member in value]
    return value


def _categories_json(findings: Sequence[CategoryFinding]) -> dict[str, Any]:
    listed = findings
    if len(findings) > MOST_LISTED:
        listed = sorted(findings, key=lambda one: -one.share)[:MOST_LISTED]
    times = Counter(category_key(one.category) for one in listed)
    body: dict[str, Any] = {}
    for one in listed:
        entry: dict[str, Any] = {
            "share": one.share,
            "specific_agreement": one.specific_agreement,
            "one_vs_rest": one.one_vs_rest,
        }
        if one.reason:
            entry["reason"] = one.reason
        key = category_key(one.category)
        # a number and the text of it are two categories: the text is quoted
        body[json.dumps(key) if times[key] > 1 and isinstance(one.category, str) else key] = entry
    return body
