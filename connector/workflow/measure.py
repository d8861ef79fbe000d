"""From units to numbers: the table, the report and the verdict.

The one way there, for a sync, a file and the demo alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connector.agreement.gate import GateDecision, GateRule, Obstacle, decide
from connector.agreement.power import HALF_WIDTH
from connector.agreement.ratings import InvalidRatings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.annotations.collect import Collector, CountingRules, Table
from connector.annotations.display import counted, few
from connector.annotations.model import Schema, Unit
from connector.config import QuestionSettings, Settings
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.workflow.batch import Batch, Restricted
from connector.workflow.joining import Joined

MOST_MALFORMED = 0.01
"""Share of malformed tasks above which a result is not to be trusted."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The table, the report with the gate's decision in it, and the decision. `joined` are the sources, where a
    configuration names them."""

    table: Table
    report: AgreementReport
    decision: GateDecision
    joined: Joined | None = None


def malformed_share(table: Table) -> float:
    """Malformed tasks among all."""
    bad = len(table.malformed)
    return bad / (bad + len(table.unit_ids)) if bad else 0.0


def distrust(table: Table, joined: Joined | None = None, noun: str = "task") -> None:
    """Raise DataNotTrusted where too many tasks are malformed, of all or of one source, to act on the numbers.

    noun : what a unit of files is called; of `joined` sources they say it themselves.
    """
    said = _malformed(table, joined, noun)
    if said is not None:
        sentence, noun = said
        first = "; ".join(f"{noun} {one.unit}: {one.reason}" for one in table.malformed[:3])
        raise DataNotTrusted(f"{sentence}: {first}.", f"Mend these {noun}s or leave them out.")


def _malformed(table: Table, joined: Joined | None, noun: str) -> tuple[str, str] | None:
    """The sentence, and what it calls a unit."""
    if malformed_share(table) > MOST_MALFORMED:
        noun = noun if joined is None else joined.noun
        return _are_malformed(len(table.malformed), len(table.malformed) + len(table.unit_ids), noun), noun
    for part, found in zip(joined.parts, joined.found, strict=True) if joined is not None and joined.renames else ():
        if found.malformed > MOST_MALFORMED * found.tasks:
            return _are_malformed(found.malformed, found.tasks, part.noun, f" of {part.name}"), part.noun
    return None


def _are_malformed(bad: int, of: int, noun: str, source: str = "") -> str:
    return f"{bad:,} of {counted(of, noun)}{source} {'is' if bad == 1 else 'are'} malformed"


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


def collect_joined(joined: Joined, settings: Settings, batch: Batch | None = None) -> tuple[Table, tuple[str, ...]]:
    """The one table of several sources, of the units of `batch` alone; and the units outside it.

    Raises
    ------
    FixConfiguration : as `collect`, and for sources whose questions of one name are not one question.
    """
    if batch is not None and joined.renames:
        batch = batch.by_name(joined.read().units)
    reading = joined.read()
    chosen = None if batch is None else Restricted(reading.units, batch)
    table = collect(reading.units if chosen is None else chosen, reading.schema, settings)
    return joined.finished(table), () if chosen is None else tuple(dict.fromkeys(chosen.outside))


def report_on(
    table: Table,
    settings: Settings,
    *,
    confidence: float | None = 0.95,
    questions: Sequence[str] = (),
    half_width: float | None = None,
) -> AgreementReport:
    """The agreement report of a table, without a verdict; of these `questions` only, of all where empty.

    half_width : of the interval for which units are counted; None for the default.
    """
    if half_width is not None and not 0 < half_width < 1:
        raise FixConfiguration(f"--half-width must lie between 0 and 1, not {half_width:g}.")
    asked = _questions(table, questions)
    skipped = [{"question": name, "kind": kind, "reason": reason} for name, kind, reason in table.not_measured]
    try:
        return assess(
            asked,
            confidence=confidence,
            share_below=settings.conflict.share_below,
            threshold=settings.gate.threshold,
            half_width=half_width or HALF_WIDTH,
            not_measured=skipped,
        )
    except InvalidRatings as fault:
        raise FixConfiguration(f"{fault}", "Choose another level for this question, or leave it out.") from None


def measure(
    table: Table,
    settings: Settings,
    *,
    batch: Sequence[str] | None = None,
    look: int = 1,
    live: bool = False,
    questions: Sequence[str] = (),
    obstacles: Sequence[Obstacle] = (),
    joined: Joined | None = None,
    noun: str = "task",
) -> Measured:
    """Assess a table and decide the gate on it.

    Parameters
    ----------
    batch : the units asked for by name; the table should hold no others. None: all of them.
    look : which look at this batch's data this is.
    live : the table comes from a live pull, whose counters of annotations drift: a shortfall is reported but decides
        nothing.
    questions : only these, decided whether required or not; all where empty.
    obstacles : what else keeps the batch from being decided.
    joined : the sources of the table. noun : what a unit of files is called.
    """
    report = report_on(table, settings, questions=questions)
    incomplete = [*obstacles, *_obstacles(table, joined, noun, live=live)]
    decision = decide(report, gate_rule(settings), batch=batch, look=look, incomplete=incomplete)
    return Measured(table, report.with_gate(decision), decision, joined)


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
            # to name a question is to ask for a decision on it
            one.question.required or name in only,
            one.question.conditional,
            one.times_shown,
            one.gold,
            one.gold_by,
            one.lead_times,
            one.replaced,
            one.mended,
            one.task_of,
            one.question.position,
            of_regions=one.of_regions,
            annotated=one.annotated,
        )
        for name, one in table.questions.items()
        if not only or name in only
    ]


def _obstacles(table: Table, joined: Joined | None, noun: str, *, live: bool) -> list[Obstacle]:
    obstacles = []
    if table.incomplete and not live:
        obstacles.append(_incomplete_file(table.incomplete, "the file", noun))
    for part, found in zip(joined.parts, joined.found, strict=True) if joined is not None else ():
        if part.project is None and found.short:
            obstacles.append(_incomplete_file(list(found.short), part.name, part.noun))
        if found.incomplete is not None:
            obstacles.append(Obstacle("incomplete", f"{part.name}: {found.incomplete}"))
    said = _malformed(table, joined, noun)
    if said is not None:
        obstacles.append(Obstacle("malformed", f"{said[0]}."))
    return obstacles


def _incomplete_file(tasks: Sequence[str], file: str, noun: str) -> Obstacle:
    hold, they = ("holds", "it declares") if len(tasks) == 1 else ("hold", "they declare")
    many = f"{counted(len(tasks), noun)} {hold}"
    return Obstacle("incomplete", f"{many} fewer annotations than {they} ({few(tasks)}): {file} is incomplete.")
