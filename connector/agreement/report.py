"""The agreement report: everything a careful person reads beside the coefficient, as plain data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.alpha import Prepared, alpha_case, level_and_distance, prepare
from connector.agreement.comparison import Compared
from connector.agreement.consensus import UnitResults, by_task, unit_results
from connector.agreement.dawid_skene import DawidSkene, consensus_of
from connector.agreement.diagnosis import (
    CategoryFinding,
    Diagnosis,
    PairFinding,
    category_findings,
    concentration,
    diagnose,
    disagreeing_pairs,
    paradox,
)
from connector.agreement.diagnosis_json import diagnosis_json
from connector.agreement.distances import COMPARISONS, Comparison
from connector.agreement.gwet import (
    Scale,
    chance_family_case,
    conger_case,
    count_categories,
    declared_line,
    quadratic_scale,
)
from connector.agreement.icc import intraclass
from connector.agreement.intervals import FEW_OUTSIDE, SEED, Case, Coefficient, Statistic, measured
from connector.agreement.kappa import chance_case, cohen_statistic, percent_case, weighted_statistic
from connector.agreement.keys import brief_key, brief_value, category_key, json_value
from connector.agreement.patterns import Patterns, fold
from connector.agreement.power import HALF_WIDTH, Power, check_half_width, units_of
from connector.agreement.ratings import Level, Ratings, as_value
from connector.agreement.whole_tasks import Tasks

if TYPE_CHECKING:
    from connector.agreement.gate import GateDecision

__all__ = [
    "FEW_OUTSIDE",
    "AgreementReport",
    "QuestionRatings",
    "QuestionReport",
    "assess",
    "category_key",
    "json_value",
]

VERSION = 1
CONFIDENCE = 0.95
THRESHOLD = 0.70
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
    times_shown : by unit, how many raters a conditional question, or one about parts of a task, was shown to; None: as
        many as rated it. annotated : by task, how many raters worked on it, where the question is asked of its parts.
    gold : by unit, its known answer; gold_by : by unit, the rater whose answer that is. lead_times : (n,) seconds spent
        on each rating, in the order of `ratings`, NaN where unknown. repeats : (unit, rater, value) of answers that a
        later one of the same rater on the same unit replaced. All of them serve the diagnosis of raters; None: unknown.
    mended : what was mended or left out while the answers were read, by code.
    task_of : unit -> task, where each item of a task was asked about and is a unit of its own; of_regions : the items
        are regions that raters marked, one with those of others where they match.
    position : what one place of marked stretches is called: character, frame, second; None: not known.
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
    gold: Mapping[Any, Any] | None = None
    gold_by: Mapping[Any, Any] | None = None
    lead_times: NDArray[np.float64] | None = None
    repeats: Sequence[tuple[Any, Any, Any]] | None = None
    mended: Mapping[str, int] = field(default_factory=dict)
    task_of: Mapping[Any, Any] | None = None
    position: str | None = None
    of_regions: bool = False
    annotated: Mapping[Any, int] | None = None


@dataclass(frozen=True, eq=False)
class QuestionReport:
    """What was found for one question.

    n_units : units with a counted rating; n_pairable_units : with two; n_categories : m, declared else seen.
    coefficients : by name. categories : one finding per category (sets: per label). pairs : commonest first.
    notes : `low_variation` where under 20 ratings lie outside the commonest category; `no_interval` where alpha has
        none, because resampling shows no spread of it; codes of `ratings.NOTES`.
    units : results of every known unit.
    threshold : to which the diagnosis looks for a way; None: no diagnosis was asked for.
    half_width : of the interval for which units are counted. difference : from another coefficient, other raters or
        another batch, where it was asked for.
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
    threshold: float | None = None
    half_width: float = HALF_WIDTH
    difference: Compared | None = None

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
    def tasks(self) -> UnitResults:
        """Results of every task: those of its unit, or of its items together."""
        source = self.source
        if source.task_of is None:
            return self.units
        return by_task(self.units, source.task_of, of_regions=source.of_regions)

    @property
    def comparison(self) -> Comparison | None:
        """How whole answers are compared; None where the distance belongs to a level of measurement."""
        return COMPARISONS.get(self.distance)

    @property
    def majority_by(self) -> str:
        """What stands for a unit's common answer: the commonest one, the median, or what whole answers have."""
        if self.comparison is not None:
            return self.comparison.majority_by
        return "median" if self.level in (Level.INTERVAL, Level.RATIO) else "commonest"

    @cached_property
    def outside_commonest(self) -> int:
        """Pairable ratings that lie outside the commonest category."""
        counts = self.patterns.pairable.marginals
        return int(counts.sum() - counts.max(initial=0))

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Who and what keeps raters from agreeing, worked out when first asked for; None where it was not wanted."""
        if self.threshold is None:
            return None
        labelled = self.comparison is not None and self.comparison.labelled
        found = diagnose(
            self.prepared,
            self.distance,
            threshold=self.threshold,
            ordered=self.level.ordered,
            labels=[one.category for one in self.categories] if labelled else None,
            gold=self.source.gold,
            gold_by=self.source.gold_by,
            lead_times=self.source.lead_times,
            repeats=self.source.repeats,
        )
        values = {name: one.value for name, one in self.coefficients.items()}
        pabak, ac1 = values.get("brennan_prediger"), values.get("gwet_ac1")
        return replace(
            found,
            paradox=None
            if self.level.ordered or self.comparison is not None
            else paradox(
                values["percent_agreement"], self.alpha.value, self.categories, brennan_prediger=pabak, gwet_ac1=ac1
            ),
            mend=concentration(self.pairs, self.n_categories),
        )

    @cached_property
    def dawid_skene(self) -> DawidSkene | str:
        """The consensus of choices without order, worked out when first asked for, or the reason why there is none:
        not_asked_for without a diagnosis, wrong_level, no_pairable_units, too_large."""
        if self.diagnosis is None:
            return "not_asked_for"
        if self.level.ordered or self.comparison is not None:
            return "wrong_level"
        return consensus_of(self.diagnosis.data.ratings, self.diagnosis.data.rows)

    @cached_property
    def power(self) -> Power | None:
        """Units that would give alpha a narrow interval; None where neither interval nor diagnosis was asked for."""
        interval = self.alpha.interval
        influence = self.diagnosis.data.influence if self.diagnosis else None
        if interval is None or influence is None:
            return None
        statistic = self.drawn(influence.statistic)
        if statistic is None:
            return None
        units = units_of(statistic, self.half_width, interval.confidence, interval.seed or SEED)
        return Power(self.half_width, interval.confidence, units)

    def drawn(self, statistic: Statistic) -> Statistic | None:
        """The statistic as its resamples draw it, task by task where units are parts of tasks; None where that is not
        known."""
        task_of = self.source.task_of
        if task_of is None:
            return statistic
        return Tasks(task_of, self.prepared.ratings.unit_ids, self.prepared.patterns).whole(statistic)

    def declared(self) -> Ratings:
        """The ratings with the declared categories in their codebook, as the coefficients see them."""
        return _declared(self.source, self.comparison)

    def to_json(self) -> dict[str, Any]:
        """The question's part of the JSON report; the diagnosis adds the keys of `diagnosis_json`, `dawid_skene` and
        `power`. `difference` is there where it was asked for."""
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
            "majority_by": self.majority_by,
            "left_out": dict(self.left_out),
            "coefficients": {name: one.to_json() for name, one in self.coefficients.items()},
            "interval": interval.to_json() if interval else None,
            "categories": _categories_json(self.categories),
            "pairs": [
                {"a": brief_value(pair.a), "b": brief_value(pair.b), "n": pair.n, "share": pair.share}
                for pair in self.pairs[:MOST_LISTED]
            ],
            "notes": list(self.notes),
        }
        if self.source.mended:
            body["mended"] = dict(self.source.mended)
        for listed, name in ((self.categories, "categories_left_out"), (self.pairs, "pairs_left_out")):
            if len(listed) > MOST_LISTED:
                body[name] = len(listed) - MOST_LISTED
        if self.diagnosis is not None:
            body |= diagnosis_json(self.diagnosis)
            consensus, power = self.dawid_skene, self.power
            body["dawid_skene"] = {"reason": consensus} if isinstance(consensus, str) else consensus.to_json()
            body["power"] = power.to_json() if power else None
        if self.difference is not None:
            body["difference"] = self.difference.to_json()
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

    def with_differences(self, found: Mapping[str, Compared]) -> AgreementReport:
        """The same report with the differences of these questions in it."""
        questions = {name: replace(one, difference=found.get(name)) for name, one in self.questions.items()}
        return replace(self, questions=questions)

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
    diagnose: bool = True,
    threshold: float = THRESHOLD,
    half_width: float = HALF_WIDTH,
) -> AgreementReport:
    """The agreement report of one question or several.

    Parameters
    ----------
    ratings : a `Ratings` (one question, `value`, nominal), ratings by question name, or `QuestionRatings` with what
        the tool declares.
    confidence : of the intervals; None for none.
    share_below : a unit whose commonest answer has a smaller share is a conflict.
    not_measured : {question, kind, reason} of the questions that have no coefficient yet.
    diagnose : whether raters, units and the way to `threshold` are diagnosed, and the units counted that would give
        alpha an interval of +- `half_width` (all when first asked for).

    Raises ValueError for an unknown level or distance and for a number out of range, InvalidRatings for ratings that do
    not fit the distance.

    >>> question = assess(Ratings.from_wide([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]] * 10)).questions["value"]
    >>> round(question.alpha.value, 3), question.coefficients["cohen_kappa"].value, question.n_pairable_units
    (0.473, 0.5, 40)
    """
    questions = _as_questions(ratings)
    if confidence is not None and not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if not -1 <= threshold <= 1:
        raise ValueError(f"threshold must lie between -1 and 1, not {threshold}")
    if not 0 <= share_below <= 1:
        raise ValueError(f"share_below must lie between 0 and 1, not {share_below}")
    check_half_width(half_width)
    way_to = threshold if diagnose else None
    found = {one.name: _assess_question(one, confidence, seed, share_below, way_to, half_width) for one in questions}
    return AgreementReport(found, tuple(not_measured), confidence or CONFIDENCE, seed, share_below)


def _as_questions(
    ratings: Ratings | QuestionRatings | Mapping[str, Ratings] | Sequence[QuestionRatings],
) -> list[QuestionRatings]:
    if isinstance(ratings, Ratings):
        return [_plain("value", ratings)]
    if isinstance(ratings, Mapping):
        given: Mapping[str, Any] = ratings
        return _checked([_plain(name, one) if isinstance(one, Ratings) else one for name, one in given.items()])
    return _checked(ratings)


def _checked(given: Any) -> list[QuestionRatings]:
    questions = list(given) if isinstance(given, list | tuple) else [given]
    for one in questions:
        of = one.ratings if isinstance(one, QuestionRatings) else one
        if not isinstance(one, QuestionRatings) or not isinstance(of, Ratings):
            kind = type(of).__name__
            raise TypeError(f"assess needs Ratings or QuestionRatings, not {kind}; of a table: Ratings.from_wide")
    return questions


def _plain(name: str, ratings: Ratings) -> QuestionRatings:
    """A question of which no tool declares anything."""
    left_out = {"missing": ratings.n_missing, "repeat": ratings.n_repeats}
    return QuestionRatings(name, "choice", ratings, left_out={why: n for why, n in left_out.items() if n})


def _assess_question(
    question: QuestionRatings,
    confidence: float | None,
    seed: int,
    share_below: float,
    threshold: float | None,
    half_width: float,
) -> QuestionReport:
    level, distance = level_and_distance(question.level, question.distance)
    comparison = COMPARISONS.get(distance)
    declared = _declared(question, comparison)
    prepared = prepare(declared, level, distance)
    ratings, patterns = prepared.ratings, prepared.patterns
    tasks = None if question.task_of is None else Tasks(question.task_of, ratings.unit_ids, patterns)
    # of a category by itself only units could be redrawn
    findings = _findings(question, prepared, comparison, confidence if tasks is None else None, seed)
    report = QuestionReport(
        question,
        level,
        distance,
        patterns.n_units,
        patterns.pairable.n_units,
        ratings.n_raters,
        ratings.n_ratings,
        _n_categories(question, prepared, findings, comparison),
        _coefficients(prepared, declared, level, distance, confidence, seed, tasks),
        findings,
        disagreeing_pairs(patterns, ratings.codebook.categories)
        if comparison is None
        else comparison.confusions(prepared),
        (),
        unit_results(
            patterns,
            ratings.unit_ids,
            ratings.codebook,
            level=level,
            distance=distance,
            bounds=question.bounds,
            share_below=share_below,
            reason=prepared.reason,
        ),
        prepared,
        threshold,
        half_width,
    )
    few = report.n_pairable_units > 0 and report.outside_commonest < FEW_OUTSIDE
    alpha = report.alpha
    no_spread = confidence is not None and alpha.value is not None and alpha.interval is None
    found = {"low_variation": few, "no_interval": no_spread and report.n_pairable_units > 1}
    return replace(report, notes=(*question.ratings.notes, *(code for code, there in found.items() if there)))


def _declared(question: QuestionRatings, comparison: Comparison | None) -> Ratings:
    """The ratings with the question's declared categories in their codebook; a set's are labels, not sets."""
    ratings = question.ratings
    if question.categories is None or comparison is not None or ratings.codebook.n_declared:
        return ratings
    return ratings.declare(question.categories)


def _coefficients(
    prepared: Prepared,
    declared: Ratings,
    level: Level,
    distance: str,
    confidence: float | None,
    seed: int,
    tasks: Tasks | None,
) -> dict[str, Coefficient]:
    """Every coefficient of the question's kind, by name; `declared` are its ratings before they were put in order.

    tasks : of the units that are parts of tasks, None: each is one.
    """
    ratings, patterns = prepared.ratings, prepared.patterns
    scale = Scale(count_categories(declared.codebook, declared.value_counts))
    comparison = COMPARISONS.get(distance)
    cases = {"krippendorff_alpha": alpha_case(prepared, distance)}
    if comparison is not None:
        cases["krippendorff_alpha_exact"] = alpha_case(prepared, "nominal")
        if prepared.reason != "wrong_level":
            cases |= comparison.companions(prepared)
    cases["percent_agreement"] = percent_case(patterns)
    if comparison is not None and comparison.not_comparable:
        return _measured(cases, confidence, seed, tasks)
    cases["cohen_kappa"] = chance_case(cohen_statistic(ratings))
    cases["fleiss_kappa"] = chance_family_case(patterns, "fleiss", scale)
    if comparison is None:
        cases["scott_pi"] = chance_case(cohen_statistic(ratings, pooled=True))
        cases["conger_kappa"] = conger_case(ratings)
        cases["brennan_prediger"] = chance_family_case(patterns, "brennan_prediger", scale)
        cases["gwet_ac1"] = chance_family_case(patterns, "gwet", scale)
    if level.ordered:
        cases["weighted_kappa"] = chance_case(weighted_statistic(ratings, "quadratic"))
        cases["weighted_kappa_linear"] = chance_case(weighted_statistic(ratings, "linear"))
        cases["gwet_ac2"] = _ac2_case(prepared, declared)
    found = _measured(cases, confidence, seed, tasks)
    if level in (Level.INTERVAL, Level.RATIO):
        found |= intraclass(ratings, confidence if tasks is None else None)
    return found


def _measured(
    cases: Mapping[str, Case], confidence: float | None, seed: int, tasks: Tasks | None
) -> dict[str, Coefficient]:
    drawn = [case if tasks is None else tasks.case(case) for case in cases.values()]
    return dict(zip(cases, measured(drawn, confidence, seed), strict=True))


def _ac2_case(prepared: Prepared, declared: Ratings) -> Case:
    placed = declared_line(declared)
    if placed is None:
        return chance_family_case(prepared.patterns, "gwet", Scale(2), weighted=True)
    fitted, scale = placed[0], quadratic_scale(*placed)
    patterns = prepared.patterns if fitted is prepared.ratings else fold(fitted)
    return chance_family_case(patterns, "gwet", scale, weighted=True)


def _findings(
    question: QuestionRatings, prepared: Prepared, comparison: Comparison | None, confidence: float | None, seed: int
) -> Sequence[CategoryFinding]:
    if comparison is not None:
        return comparison.findings(prepared, question.categories or (), confidence, seed)
    return category_findings(prepared.patterns, prepared.ratings.codebook.categories, confidence, seed)


def _n_categories(
    question: QuestionRatings,
    prepared: Prepared,
    findings: Sequence[CategoryFinding],
    comparison: Comparison | None,
) -> int:
    if question.categories is not None:
        if comparison is None:
            return len({as_value(one) for one in question.categories} - {None})
        return len(question.categories)
    if comparison is not None and findings:
        return len(findings)
    book = prepared.ratings.codebook
    return book.n_declared or int(np.count_nonzero(prepared.patterns.marginals))


def _categories_json(findings: Sequence[CategoryFinding]) -> dict[str, Any]:
    listed = findings
    if len(findings) > MOST_LISTED:
        listed = sorted(findings, key=lambda one: -one.share)[:MOST_LISTED]
    times = Counter(brief_key(one.category) for one in listed)
    body: dict[str, Any] = {}
    for one in listed:
        entry: dict[str, Any] = {
            "share": one.share,
            "specific_agreement": one.specific_agreement,
            "one_vs_rest": one.one_vs_rest,
            "low": one.interval.low if one.interval else None,
            "high": one.interval.high if one.interval else None,
            "too_rare": one.too_rare,
            **one.further,
        }
        if one.reason:
            entry["reason"] = one.reason
        key = brief_key(one.category)
        # a number and the text of it are two categories: the text is quoted
        body[json.dumps(key) if times[key] > 1 and isinstance(one.category, str) else key] = entry
    return body
