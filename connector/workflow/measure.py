"""From units to numbers: the table, the report and the verdict.

The one way there, for a sync, a file and the demo alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connector.agreement.gate import GateDecision, GateRule, Obstacle, decide
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.annotations.collect import Collector, CountingRules, Table
from connector.annotations.display import few
from connector.annotations.model import Schema, Unit
from connector.config import QuestionSettings, Settings
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask

MOST_MALFORMED = 0.01
"""Share of malformed tasks above which a result is not to be trusted."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The table, the report with the gate's decision in it, and the decision."""

    table: Table
    report: AgreementReport
    decision: GateDecision


def malformed_share(table: Table) -> float:
    """Malformed tasks among all."""
    bad = len(table.malformed)
    return bad / (bad + len(table.unit_ids)) if bad else 0.0


def distrust(table: Table) -> None:
    """Raise DataNotTrusted where too many tasks are malformed to act on the numbers."""
    if malformed_share(table) <= MOST_MALFORMED:
        return
    bad = len(table.malformed)
    first = "; ".join(str(one) for one in table.malformed[:3])
    raise DataNotTrusted(
        f"{bad} of {bad + len(table.unit_ids)} tasks are malformed: {first}.", "Mend these tasks or leave them out."
    )


def collect(
    units: Iterable[Unit | SkippedTask],
    schema: Schema,
    settings: Settings,
    default: QuestionSettings | None = None,
) -> Table:
    """The table of these units under the settings' counting rules; `default` is how questions that the settings don't
    name are measured.

    Raises
    ------
    FixConfiguration : a question of the settings that the source does not ask, or one that cannot be measured as set.
    """
    rules = CountingRules(
        reviewers=frozenset(settings.raters.reviewers),
        exclude=frozenset(settings.raters.exclude),
        ground_truth=settings.ground_truth,
    )
    collector = Collector(schema, rules, settings.questions, default)
    for unit in units:
        if isinstance(unit, SkippedTask):
            collector.skip(unit)
        else:
            collector.add(unit)
    return collector.table()


def report_on(
    table: Table, settings: Settings, *, confidence: float | None = 0.95, questions: Sequence[str] = ()
) -> AgreementReport:
    """The agreement report of a table, without a verdict; of these `questions` only, of all where empty."""
    return assess(
        _questions(table, questions),
        confidence=confidence,
        share_below=settings.conflict.share_below,
        threshold=settings.gate.threshold,
        not_measured=[{"question": name, "kind": kind, "reason": reason} for name, kind, reason in table.not_measured],
    )


def measure(
    table: Table,
    settings: Settings,
    *,
    batch: Sequence[str] | None = None,
    look: int = 1,
    live: bool = False,
    questions: Sequence[str] = (),
    obstacles: Sequence[Obstacle] = (),
) -> Measured:
    """Assess a table and decide the gate on it.

    Parameters
    ----------
    batch : the units asked for by name; the table should hold no others. None: all of them.
    look : which look at this batch's data this is.
    live : the table comes from a live pull, whose counters of annotations drift: a shortfall is reported but decides
        nothing.
    questions : only these, all where empty.
    obstacles : what else keeps the batch from being decided.
    """
    report = report_on(table, settings, questions=questions)
    incomplete = [*obstacles, *_obstacles(table, live=live)]
    decision = decide(report, gate_rule(settings), batch=batch, look=look, incomplete=incomplete)
    return Measured(table, report.with_gate(decision), decision)


def gate_rule(settings: Settings) -> GateRule:
    """The settings' gate as a rule."""
    gate = settings.gate
    return GateRule(
        gate.coefficient,
        gate.threshold,
        gate.rule,
        gate.size,
        gate.coverage,
        gate.min_ratings,
        settings.raters.expected,
    )


def required_ratings(settings: Settings) -> int:
    """Ratings that make a unit complete."""
    return settings.raters.expected or settings.gate.min_ratings


def _questions(table: Table, only: Sequence[str]) -> list[QuestionRatings]:
    if missing := [name for name in only if name not in table.questions]:
        unmeasured = {name: reason for name, _, reason in table.not_measured}
        if missing[0] in unmeasured:
            raise FixConfiguration(f"Question '{missing[0]}' is not measured: {unmeasured[missing[0]]}.")
        there = ", ".join(sorted(table.questions)) or "none"
        raise FixConfiguration(f"There is no question '{missing[0]}'.", f"Measured questions: {there}.")
    return [
        QuestionRatings(
            name,
            one.question.kind,
            one.ratings,
            one.question.level or "nominal",
            one.question.distance,
            one.question.categories,
            one.question.bounds,
            one.left_out,
            one.question.required,
            one.question.conditional,
            one.times_shown,
            one.gold,
            one.lead_times,
            one.replaced,
        )
        for name, one in table.questions.items()
        if not only or name in only
    ]


def _obstacles(table: Table, *, live: bool) -> list[Obstacle]:
    obstacles = []
    if table.incomplete and not live:
        obstacles.append(
            Obstacle(
                "incomplete",
                f"{len(table.incomplete)} tasks hold fewer annotations than they declare ({few(table.incomplete)}):"
                " the file is incomplete.",
            )
        )
    if malformed_share(table) > MOST_MALFORMED:
        bad = len(table.malformed)
        obstacles.append(Obstacle("malformed", f"{bad} of {bad + len(table.unit_ids)} tasks are malformed."))
    return obstacles
