"""Go or no-go on a batch: what a coefficient allows one to decide, and UNDECIDED with its reasons where it does not."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from connector.agreement.alpha import alpha_statistic
from connector.agreement.gwet import Scale, chance_statistic, conger_statistic, count_categories
from connector.agreement.intervals import (
    FEW_OUTSIDE,
    REPLICATES,
    Coefficient,
    Interval,
    Statistic,
    bootstrap,
    interval_of,
)
from connector.agreement.kappa import cohen_statistic, weighted_statistic
from connector.agreement.power import round_up
from connector.agreement.ratings import Floats
from connector.agreement.report import AgreementReport, QuestionReport
from connector.errors import FixConfiguration

GO, NO_GO, UNDECIDED = "GO", "NO-GO", "UNDECIDED"
TOLERANCE = 1e-9
ALPHA = "krippendorff_alpha"
AUTO = "auto"
COMPANIONS = {"krippendorff_alpha_u": "spans", "kendall_tau_b": "rankings"}
"""Coefficients that come with a comparison of whole answers and decide where they are asked for: what they compare."""
GATED = (
    *(ALPHA, "cohen_kappa", "weighted_kappa", "weighted_kappa_linear", "scott_pi", "fleiss_kappa", "conger_kappa"),
    *COMPANIONS,
    AUTO,
)
REFUSED = {
    "gwet_ac1": "it is high wherever one category is common, even where raters guess",
    "gwet_ac2": "it is high wherever one category is common, even where raters guess",
    "brennan_prediger": "it is high wherever one category is common, even where raters guess",
    "pabak": "it is high wherever one category is common, even where raters guess",
    "percent_agreement": "it is not corrected for chance",
}
FEWEST_CONDITIONAL = 50
ERROR_RATE = 0.05
PASS_SHARE = 0.8
MOST_REPLICATES = 20_000
UNDEFINED = {
    "no_variation": "all pairable ratings lie in one category, so that agreement cannot be told from chance",
    "no_pairable_units": "no unit has two ratings",
    "not_two_raters": "it is made for exactly two raters",
    "wrong_level": "the values do not fit the level of measurement",
    "not_comparable": "the answers cannot be compared across units",
    "wrong_kind": "it is not made for answers of this kind",
}
MOST_TIMES = 20
"""Growth of the batch beyond which "label more" is no practical advice."""


@dataclass(frozen=True, slots=True)
class GateRule:
    """What a batch must show.

    coefficient : by name, or `auto` for the three questions (ordered? complete? two raters?).
    threshold : the coefficient must reach it.
    rule : `point` compares the value itself; `confident` needs the one-sided lower bound to reach the threshold, and
        says NO-GO only where the upper bound is under it.
    size : the fewest units the batch must hold.
    coverage : share of the units that must have every required rating.
    min_ratings : required ratings per unit where `expected_raters` (a number) is not set.

    Raises FixConfiguration for a coefficient that no gate should rest on, an unknown name, or a number out of range.
    """

    coefficient: str = ALPHA
    threshold: float = 0.70
    rule: str = "point"
    size: int = 500
    coverage: float = 0.95
    min_ratings: int = 2
    expected_raters: int | None = None

    def __post_init__(self) -> None:
        if self.coefficient in REFUSED:
            raise FixConfiguration(
                f"{self.coefficient} cannot decide a gate: {REFUSED[self.coefficient]}.",
                f"Use {ALPHA}; {self.coefficient} stands beside it in the report.",
            )
        if self.coefficient not in GATED:
            near = difflib.get_close_matches(self.coefficient, GATED, 1)
            raise FixConfiguration(
                f"The gate knows no coefficient {self.coefficient!r}.",
                f"Did you mean {near[0]}?" if near else f"One of: {', '.join(GATED)}.",
            )
        if self.rule not in ("point", "confident"):
            raise FixConfiguration(f"The gate knows no rule {self.rule!r}.", "Use point or confident.")
        if not -1 <= self.threshold <= 1:
            raise FixConfiguration(f"The gate's threshold must lie between -1 and 1, not {self.threshold}.")
        if not 0 <= self.coverage <= 1:
            raise FixConfiguration(f"The gate's coverage must lie between 0 and 1, not {self.coverage}.")
        if not self.size >= 1:
            raise FixConfiguration(f"The gate's size must be at least 1, not {self.size}.")
        if not self.required_ratings >= 2:
            raise FixConfiguration("The gate needs at least two ratings per unit to compare.")

    @property
    def required_ratings(self) -> int:
        """Ratings that a complete unit has."""
        return self.min_ratings if self.expected_raters is None else self.expected_raters


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a batch cannot be decided, or a caution beside a decision: a stable code and a sentence."""

    code: str
    message: str


NO_INTERVAL = Obstacle("not_confident", "No interval can be given: resampling the units shows no spread of the value.")
NOT_BY_TASK = Obstacle(
    "not_confident",
    "No interval can be given: of this coefficient whole tasks cannot be redrawn; krippendorff_alpha has one.",
)


@dataclass(frozen=True, slots=True)
class QuestionDecision:
    """The verdict on one question.

    coefficient : the one used (`auto` resolved); value : as compared, unrounded.
    interval : two-sided at the report's confidence under rule `point`; under `confident` its ends are the one-sided
        bounds.
    n_units : units judged: the batch's, for a conditional question those in which two raters saw it, for one about
        parts of tasks those parts.
    reasons : codes of what made it UNDECIDED. messages : sentences for people, those of the reasons first.
    beside : Cohen's or Fleiss' kappa on complete data, by name.
    units_more : about how many more units would decide it (confident), None where that is not the question or not
        practical.
    """

    name: str
    verdict: str
    coefficient: str
    value: float | None = None
    interval: Interval | None = None
    n_units: int = 0
    reasons: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    beside: Mapping[str, float | None] = field(default_factory=dict)
    units_more: int | None = None

    @property
    def low(self) -> float | None:
        """Lower bound, where there is an interval."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """Upper bound, where there is an interval."""
        return self.interval.high if self.interval else None

    def to_json(self) -> dict[str, Any]:
        """The question's part of the gate in the JSON report."""
        return {
            "verdict": self.verdict,
            "coefficient": self.coefficient,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "interval": self.interval.to_json() if self.interval else None,
            "n_units": self.n_units,
            "reasons": list(self.reasons),
            "messages": list(self.messages),
            "beside": dict(self.beside),
            "units_more": self.units_more,
        }


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The verdict on a batch; `deciding` is the worst question's, repeated at the top level of the JSON."""

    rule: GateRule
    look: int
    deciding: QuestionDecision
    questions: Mapping[str, QuestionDecision]

    @property
    def verdict(self) -> str:
        """GO, NO-GO or UNDECIDED."""
        return self.deciding.verdict

    @property
    def value(self) -> float | None:
        """The deciding coefficient, unrounded."""
        return self.deciding.value

    @property
    def low(self) -> float | None:
        """Its lower bound."""
        return self.deciding.low

    @property
    def high(self) -> float | None:
        """Its upper bound."""
        return self.deciding.high

    @property
    def reasons(self) -> tuple[str, ...]:
        """Codes of what made it UNDECIDED."""
        return self.deciding.reasons

    @property
    def messages(self) -> tuple[str, ...]:
        """Sentences for people."""
        return self.deciding.messages

    def to_json(self) -> dict[str, Any]:
        """The `gate` part of the JSON report."""
        top = self.deciding.to_json()
        return {
            "verdict": self.verdict,
            "question": self.deciding.name,
            "coefficient": self.deciding.coefficient,
            "rule": self.rule.rule,
            "threshold": self.rule.threshold,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "size": self.rule.size,
            "n_units": self.deciding.n_units,
            "look": self.look,
            "coverage": self.rule.coverage,
            "required_ratings": self.rule.required_ratings,
            "reasons": top["reasons"],
            "messages": top["messages"],
            "questions": {name: one.to_json() for name, one in self.questions.items()},
        }


def decide(
    report: AgreementReport,
    rule: GateRule | None = None,
    *,
    batch: Sequence[Any] | None = None,
    look: int = 1,
    incomplete: Sequence[Obstacle] = (),
) -> GateDecision:
    """The verdict on a batch.

    Parameters
    ----------
    report : of the batch alone (`Ratings.restrict` beforehand).
    rule : what it must show.
    batch : the units that were asked for by id; absent ones make the gate UNDECIDED. None: the units the report knows.
    look : which look at this batch's data this is, from 1; under `confident` look k spends .05 / 2^k.
    incomplete : what the data's source found wanting (a pull cut short, annotations that the file does not hold); any
        makes the gate UNDECIDED.

    GO only if every required question is GO; the worst one decides: NO-GO before UNDECIDED before GO, then the lowest
    value.

    >>> from connector.agreement.ratings import Ratings
    >>> from connector.agreement.report import assess
    >>> report = assess(Ratings.from_wide([["a", "a"], ["b", "b"], ["a", "a"], ["a", "b"]] * 50))
    >>> decide(report, GateRule(size=200)).verdict, decide(report).reasons
    ('NO-GO', ('missing_units',))
    """
    rule = rule or GateRule()
    if not look >= 1:
        raise ValueError(f"looks count from 1, not {look}")
    case = _Case(rule, batch, look, tuple(incomplete), report.seed)
    decided = {
        name: _decide_question(question, case)
        for name, question in report.questions.items()
        if question.source.required
    }
    if not decided:
        why = ("No required question is measured.",)
        return GateDecision(
            rule,
            look,
            QuestionDecision("", UNDECIDED, rule.coefficient, reasons=("no_question",), messages=why),
            decided,
        )
    return GateDecision(rule, look, min(decided.values(), key=_badness), decided)


@dataclass(frozen=True, slots=True)
class _Case:
    """What a decision on every question rests on, besides the question itself."""

    rule: GateRule
    batch: Sequence[Any] | None
    look: int
    incomplete: tuple[Obstacle, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class _Judged:
    """The units a question is judged on.

    counts, wanted : ratings that each has and should have. in_batch : units of the batch, whatever was shown in them.
    absent : ids that were asked for and are not there. fewest : units without which nothing is judged.
    """

    counts: list[int]
    wanted: list[int]
    in_batch: int
    absent: list[Any]
    fewest: int = 0


def _badness(decision: QuestionDecision) -> tuple[int, float]:
    order = (NO_GO, UNDECIDED, GO).index(decision.verdict)
    return order, -math.inf if decision.value is None else decision.value


def _decide_question(question: QuestionReport, case: _Case) -> QuestionDecision:
    rule = case.rule
    judged = _judged(question, case)
    name, remarks = resolve(rule.coefficient, question, judged.counts)
    coefficient = question.coefficients.get(name) or Coefficient(None, _why_absent(question, name))
    value, interval = coefficient.value, coefficient.interval
    obstacles = [
        *case.incomplete,
        *_batch_obstacles(question, rule, judged),
        *_value_obstacles(question, rule, name, coefficient),
    ]
    remarks += _cautions(question, rule, value)
    beside, apart = _beside(question, rule, judged.counts, name)
    remarks += apart
    if rule.rule == "confident" and value is not None:
        interval = _one_sided(question, name, value, case)
    verdict, more = UNDECIDED, None
    if not obstacles and value is not None:
        verdict = _verdict(rule, value, interval)
        if verdict == UNDECIDED:
            more, obstacle = _advice(question, name, value, case) if interval else (None, _no_interval(question, name))
            obstacles.append(obstacle)
    return QuestionDecision(
        question.name,
        verdict,
        name,
        value,
        interval,
        len(judged.counts),
        tuple(dict.fromkeys(obstacle.code for obstacle in obstacles)),
        tuple([obstacle.message for obstacle in obstacles] + remarks),
        beside,
        more,
    )


def _verdict(rule: GateRule, value: float, interval: Interval | None) -> str:
    if rule.rule == "point":
        return GO if value >= rule.threshold - TOLERANCE else NO_GO
    if interval is None:
        return UNDECIDED
    if interval.low >= rule.threshold - TOLERANCE:
        return GO
    return NO_GO if interval.high < rule.threshold - TOLERANCE else UNDECIDED


def _judged(question: QuestionReport, case: _Case) -> _Judged:
    units = question.tasks
    named: Sequence[Any] = units.unit_ids if case.batch is None else list(dict.fromkeys(case.batch))
    present = [unit for unit in named if unit in units]
    absent = [unit for unit in named if unit not in units]
    counts = [units.ratings_of(unit) for unit in present]
    required = case.rule.required_ratings
    if question.source.annotated is not None:
        counts, wanted = _parts(question, set(present), required)
        fewest = FEWEST_CONDITIONAL if question.source.conditional else min(FEWEST_CONDITIONAL, case.rule.size)
        return _Judged(counts, wanted, len(present), absent, fewest)
    if not question.source.conditional:
        return _Judged(counts, [required] * len(counts), len(present), absent)
    times = question.source.times_shown
    shown = counts if times is None else [times.get(unit, 0) for unit in present]
    # a unit that one rater alone was asked about says nothing on agreement
    seen = [(count, min(required, saw)) for count, saw in zip(counts, shown, strict=True) if saw >= 2]
    counts, wanted = [count for count, _ in seen], [want for _, want in seen]
    return _Judged(counts, wanted, len(present), absent, FEWEST_CONDITIONAL)


def _parts(question: QuestionReport, tasks: Collection[Any], required: int) -> tuple[list[int], list[int]]:
    """Ratings that the parts of these tasks have and should have, of those of which two raters were asked.

    Parts of a task on which fewer raters worked than should, or the task itself where it has none, wait for the others.
    """
    source, counts, wanted = question.source, [], []
    task_of, shown, annotated = source.task_of or {}, source.times_shown or {}, source.annotated or {}
    for unit, count in zip(question.units.unit_ids, question.units.n_ratings, strict=True):
        task, saw = task_of.get(unit, unit), shown.get(unit, 0)
        waits = annotated.get(task, 0) < required and not source.conditional
        if task in tasks and (waits or saw >= 2):
            counts.append(count)
            wanted.append(required if waits else min(required, saw))
    return counts, wanted


def _batch_obstacles(question: QuestionReport, rule: GateRule, judged: _Judged) -> list[Obstacle]:
    obstacles = []
    if judged.absent:
        are = "is" if len(judged.absent) == 1 else "are"
        named = ", ".join(map(str, judged.absent[:5])) + (", ..." if len(judged.absent) > 5 else "")
        obstacles.append(
            Obstacle("missing_units", f"{len(judged.absent)} of the named units {are} not there: {named}.")
        )
    if judged.in_batch < rule.size:
        units = "1 unit" if judged.in_batch == 1 else f"{judged.in_batch} units"
        obstacles.append(Obstacle("missing_units", f"The batch holds {units}; {rule.size} are needed."))
    n_units = len(judged.counts)
    if n_units < judged.fewest:
        what = "saw this conditional question in" if question.source.conditional else "were asked about the same"
        few = f"Two raters {what} {n_units} units; {judged.fewest} are needed."
        obstacles.append(Obstacle("missing_units", few))
    full = sum(count >= want for count, want in zip(judged.counts, judged.wanted, strict=True))
    if n_units and full / n_units < rule.coverage - TOLERANCE:
        message = (
            f"{full} of {n_units} units have all ratings required ({rule.required_ratings}); "
            f"{rule.coverage:.0%} of them must."
        )
        obstacles.append(Obstacle("incomplete", message))
    return obstacles


def _value_obstacles(question: QuestionReport, rule: GateRule, name: str, coefficient: Coefficient) -> list[Obstacle]:
    obstacles = []
    if coefficient.value is None:
        reason = coefficient.reason or "undefined"
        obstacles.append(Obstacle(reason, f"{name} is undefined: {_undefined(question, name, reason)}."))
    elif coefficient.reason == "ragged":
        uneven = f"{name} is not meant for units with unequal numbers of ratings; use {ALPHA}."
        obstacles.append(Obstacle("ragged", uneven))
    if rule.rule == "confident" and coefficient.value is not None and question.outside_commonest < FEW_OUTSIDE:
        few = f"{_outside(question)}: no interval can be trusted."
        obstacles.append(Obstacle("low_variation", few))
    return obstacles


def _why_absent(question: QuestionReport, name: str) -> str:
    """Why a question has no coefficient of that name."""
    return "wrong_level" if question.comparison is None and name not in COMPANIONS else "wrong_kind"


def _undefined(question: QuestionReport, name: str, reason: str) -> str:
    why = UNDEFINED.get(reason, reason)
    if reason == "wrong_kind":
        only = f"; it compares {COMPANIONS[name]}" if name in COMPANIONS else ""
        return f"{why} ({question.kind}){only}"
    instead = question.comparison.headline if question.comparison is not None else name
    return f"{why}; {instead} compares those of each unit" if instead in COMPANIONS and instead != name else why


def resolve(coefficient: str, question: QuestionReport, counts: Sequence[int]) -> tuple[str, list[str]]:
    """The coefficient's name, `auto` resolved by the three questions, and why.

    Ordered labels, complete, two raters: quadratic weighted kappa; other ordered: alpha at the question's level. Not
    ordered: alpha where ragged, Cohen's kappa for two raters, Fleiss' kappa for more. Sets: alpha.
    """
    if coefficient != AUTO:
        return coefficient, []
    complete = _complete(question, counts)
    two = question.n_raters == 2
    if question.comparison is not None:
        return ALPHA, [f"auto: {ALPHA} by the distance {question.distance}, because the answers are no single labels."]
    if question.level.ordered:
        if complete and two:
            return "weighted_kappa", ["auto: quadratic weighted kappa: ordered labels, complete, two raters."]
        state = "more than two raters" if complete else "gaps"
        return ALPHA, [f"auto: {ALPHA} at the {question.level.value} level: ordered labels, {state}."]
    if not complete:
        return ALPHA, [f"auto: {ALPHA}: labels without order, unequal numbers of ratings or gaps."]
    if two:
        return "cohen_kappa", ["auto: Cohen's kappa: labels without order, complete, two raters."]
    return "fleiss_kappa", ["auto: Fleiss' kappa: labels without order, complete, more than two raters."]


def _outside(question: QuestionReport) -> str:
    few = question.outside_commonest
    if not few:
        return "All pairable ratings lie in one category"
    return f"Only {few} rating{' lies' if few == 1 else 's lie'} outside the commonest category"


def _complete(question: QuestionReport, counts: Sequence[int]) -> bool:
    """Every rater rated every unit, and so every unit judged: two ratings of each by raters who took turns are gaps."""
    alike = bool(counts) and min(counts) == max(counts) >= 2
    return alike and bool(np.all(question.patterns.size == question.n_raters))


def _beside(
    question: QuestionReport, rule: GateRule, counts: Sequence[int], used: str
) -> tuple[dict[str, float | None], list[str]]:
    """On complete data Cohen's or Fleiss' kappa beside alpha, and whether the two fall on different sides."""
    graded = question.comparison is not None and question.comparison.graded
    # whether two whole texts, rankings or sets of marks are equal says little of how alike they are
    if graded or not _complete(question, counts):
        return {}, []
    kappa = "cohen_kappa" if question.n_raters == 2 else "fleiss_kappa"
    other = kappa if used != kappa else ALPHA
    value = question.coefficients[used].value if used in question.coefficients else None
    beside = question.coefficients[other].value
    if value is None or beside is None:
        return {other: beside}, []
    if (value >= rule.threshold - TOLERANCE) == (beside >= rule.threshold - TOLERANCE):
        return {other: beside}, []
    shown, shown_beside = printed(value, rule.threshold), printed(beside, rule.threshold)
    return {other: beside}, [
        f"{used} {shown} and {other} {shown_beside} fall on different sides of {rule.threshold:g}."
    ]


def _cautions(question: QuestionReport, rule: GateRule, value: float | None) -> list[str]:
    cautions = []
    if value is not None and value < 0:
        cautions.append("The raters agree less than chance would make them.")
    if "low_variation" in question.notes and rule.rule == "point":
        cautions.append(f"{_outside(question)}{'' if value is None else ': the value rests on them'}.")
    if 0.667 <= rule.threshold < 0.8:
        cautions.append(
            f"A threshold of {rule.threshold:g} lies in the range that Krippendorff calls tentative (.667 to .800)."
        )
    return cautions


def statistic_of(question: QuestionReport, coefficient: str) -> Statistic | None:
    """The resampling form of a coefficient that has a value; None where whole tasks of it cannot be redrawn."""
    return question.drawn(_statistic(question, coefficient))


def _statistic(question: QuestionReport, coefficient: str) -> Statistic:
    prepared = question.prepared
    if coefficient == ALPHA:
        return alpha_statistic(prepared, question.distance)
    statistic: Statistic | str | None
    if coefficient == "fleiss_kappa":
        book = prepared.ratings.codebook
        scale = Scale(count_categories(book, prepared.ratings.value_counts))
        statistic = chance_statistic(prepared.patterns, "fleiss", scale, weighted=False)
    elif coefficient in COMPANIONS:
        statistic = question.comparison.companions(prepared)[coefficient].statistic if question.comparison else None
    elif coefficient == "conger_kappa":
        statistic = conger_statistic(prepared.ratings)
    elif coefficient in ("weighted_kappa", "weighted_kappa_linear"):
        statistic = weighted_statistic(prepared.ratings, "linear" if coefficient.endswith("linear") else "quadratic")
    else:
        statistic = cohen_statistic(prepared.ratings, pooled=coefficient == "scott_pi")
    if statistic is None or isinstance(statistic, str):
        raise ValueError(f"{coefficient} is undefined: {statistic}")
    return statistic


def _one_sided(question: QuestionReport, coefficient: str, value: float, case: _Case) -> Interval | None:
    """Bounds each of which is wrong in .05 / 2^look of all batches: the ends of a two-sided interval of twice that."""
    tail = ERROR_RATE / 2**case.look
    # the far tail needs replicates of its own: 50 beyond the bound, as far as that is affordable
    replicates = min(max(REPLICATES, math.ceil(50 / tail)), MOST_REPLICATES)
    statistic = statistic_of(question, coefficient)
    return None if statistic is None else interval_of(statistic, value, 1 - 2 * tail, case.seed, replicates)


def _no_interval(question: QuestionReport, coefficient: str) -> Obstacle:
    return NOT_BY_TASK if statistic_of(question, coefficient) is None else NO_INTERVAL


def _advice(question: QuestionReport, coefficient: str, value: float, case: _Case) -> tuple[int | None, Obstacle]:
    """About how many more units would pass, and the sentence that says so."""
    threshold = case.rule.threshold
    statistic = statistic_of(question, coefficient)
    more = None if statistic is None else units_more(statistic, value, threshold, case.look + 1, case.seed)
    noun = "units" if question.source.task_of is None else "tasks"
    if more is None:
        advice = f"No practical number of further {noun} would show which side of {threshold:g} the raters are on."
    else:
        advice = f"Label about {more} more {noun} to show on which side of {threshold:g} the raters are."
    return more, Obstacle("not_confident", advice)


def units_more(statistic: Statistic, value: float, threshold: float, look: int, seed: int) -> int | None:
    """Units to add until 80% of such batches pass rule `confident` at that look, None where that is not practical.

    The observed patterns are resampled at growing sizes N. The replicates at one N serve twice: as the batches that
    might come, and, by their spread below the value, as the distance of each one's lower bound from its own value.
    """
    if value <= threshold:
        return None
    tail = ERROR_RATE / 2**look
    now = int(statistic.weights.sum())
    low, high = now, now
    while not _passes(bootstrap(statistic, REPLICATES, seed, high), value, threshold, tail):
        if high >= now * MOST_TIMES:
            return None
        low, high = high, min(high * 2, now * MOST_TIMES)
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        if _passes(bootstrap(statistic, REPLICATES, seed, middle), value, threshold, tail):
            high = middle
        else:
            low = middle
    # rounded up the number may be past what was tried
    return min(round_up(max(high - now, 1)), now * (MOST_TIMES - 1))


def _passes(values: Floats, value: float, threshold: float, tail: float) -> bool:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return False
    reach = value - float(np.quantile(defined, tail))
    return float(np.mean(defined - reach >= threshold)) >= PASS_SHARE


def printed(value: float | None, threshold: float, digits: int = 2) -> str:
    """A value with enough digits to show on which side of the threshold it lies (.6999 never as 0.70 beside NO-GO)."""
    if value is None:
        return "undefined"
    below = value < threshold - TOLERANCE
    for places in range(digits, 13):
        shown = f"{value:.{places}f}"
        if (float(shown) < threshold - TOLERANCE) == below:
            return shown
    return repr(value)
