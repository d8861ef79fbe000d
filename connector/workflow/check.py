"""`connector check`: what a sync would find and do, and what is wrong before it starts. Writes nothing."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from connector.annotations.collect import Table, natural_key
from connector.annotations.display import counted, few, mended_text
from connector.annotations.model import Unit
from connector.config import Settings
from connector.errors import FixConfiguration, SkippedTask
from connector.tools.base import Finding, SetField, Tool
from connector.workflow.fields import field_names, sort_fields
from connector.workflow.joining import Joined
from connector.workflow.measure import collect_joined, required_ratings
from connector.workflow.sources import Reached, Source, join, opened
from connector.workflow.sync import already_held
from connector.workflow.writing import Progress, columns_of


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, in reading order."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        """What keeps a sync from doing what the configuration asks."""
        return [finding for finding in self.findings if finding.severity == "error"]


def check(sources: Sequence[Source], settings: Settings, progress: Progress) -> Checked:
    """Reach the projects, read everything once, and say what a sync would find.

    Raises
    ------
    ToolTrouble : a tool can't be reached or refuses us: the first thing to mend.
    """
    reached = opened(sources, lambda tool: tool.open())
    findings: list[Finding] = []
    marked = {one.place: Marked() for one in reached}
    for one in reached:
        findings += _named(_reached(one, settings), one.name if len(sources) > 1 else None)
    try:
        joined = join(sources, reached, settings, lambda one: _seen(one, _units(one.tool, progress), marked, settings))
    except FixConfiguration as fault:
        return Checked((*findings, Finding("error", fault.message, fault.hint)))
    there = list(dict.fromkeys(name for part in joined.parts for name in part.asked))
    findings += _unknown_questions(there, settings)
    kept = {name: one for name, one in settings.questions.items() if name in there}
    table, _ = collect_joined(joined, settings.model_copy(update={"questions": kept}))
    for one in reached:
        asked = [name for name in table.questions if name in joined.parts[one.place].asked]
        taken = _taken(one, settings, asked, marked[one.place])
        findings += _named(taken, one.name if len(sources) > 1 else None)
    findings += _sources(joined)
    findings += [
        *_questions(table),
        *_counts(table, settings),
        *_marks(table),
        *_stale(table),
        *_not_whole(table, joined.noun),
    ]
    return Checked(tuple(findings))


def _reached(one: Reached, settings: Settings) -> Iterator[Finding]:
    yield Finding("ok", f"Project reached: {one.project.link}")
    yield from (Finding("warning", text) for text in one.project.warnings)
    yield from one.tool.inspect(None if settings.review is None else settings.review.place(one.tool.name) or "")


@dataclass(slots=True)
class Marked:
    """The fields of our names that a project's units hold: those we wrote, and whose value is a person's, by unit."""

    ours: set[str] = field(default_factory=set)
    foreign: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def _seen(
    one: Reached, units: Iterable[Unit | SkippedTask], marked: Mapping[int, Marked], settings: Settings
) -> Iterator[Unit | SkippedTask]:
    found, prefix = marked[one.place], settings.push.prefix
    columns: list[tuple[str, ...] | None] = []
    for unit in units:
        if not isinstance(unit, SkippedTask) and sort_fields(unit.fields, prefix, {})[1]:
            columns = columns or [columns_of(one.tool.find_ours())]  # asked for where anything depends on it
            ours, foreign = sort_fields(
                unit.fields, prefix, None if columns[0] is None else dict.fromkeys(columns[0], ())
            )
            found.ours.update(ours)
            for name in foreign:
                found.foreign[name][unit.id] = None
        yield unit


def _taken(one: Reached, settings: Settings, asked: Sequence[str], marked: Marked) -> Iterator[Finding]:
    """Fields and columns of our names that are a person's: a sync would refuse to write them."""
    push = settings.push
    if not one.tool.capabilities.fields:
        return
    for name in field_names(asked, prefix=push.prefix, scores=push.scores, majority=push.majority == "complete"):
        try:
            one.tool.verify(SetField(name, "", ()))
        except FixConfiguration as fault:
            yield Finding("error", fault.message, fault.hint)
            continue
        if (held := marked.foreign.get(name)) and name not in marked.ours:
            # A majority without scores beside it may be ours: only the store knows.
            severity: Literal["error", "warning"] = "error" if push.scores else "warning"
            noun = one.tool.capabilities.noun
            yield Finding(severity, already_held(name, held, noun), "Set another `push.prefix`.")


def _named(findings: Iterable[Finding], name: str | None) -> Iterator[Finding]:
    """Findings on one of several projects, with its name."""
    return (one if name is None else one._replace(text=f"{name}: {one.text}") for one in findings)


def _units(tool: Tool, progress: Progress) -> Iterator[Unit | SkippedTask]:
    done = 0
    for page in tool.pull():
        yield from page.units
        yield from page.skipped
        done += len(page.units) + len(page.skipped)
        progress(done, page.total)


def _sources(joined: Joined) -> Iterator[Finding]:
    """How the sources came together."""
    for part, found in zip(joined.parts, joined.found, strict=True):
        if joined.key is not None and 0 < len(found.keyless) == sum(map(len, found.units.values())):
            fields = few(found.fields, most=12) or "no fields"
            yield Finding(
                "warning",
                f"{part.name}: no {part.noun} holds the field {joined.key} of unit_key: each stands alone,"
                " compared with none of another source.",
                f"Set unit_key to a field that every source has; its {part.noun}s hold: {fields}.",
            )
    yield from (Finding("note", text) for text in joined.notes())


def _unknown_questions(there: Sequence[str], settings: Settings) -> Iterator[Finding]:
    for name in settings.questions:
        if name not in there:
            near = difflib.get_close_matches(name, there, 1)
            hint = f"Did you mean {near[0]}?" if near else f"The project asks: {', '.join(there) or 'nothing'}."
            yield Finding("error", f"The configuration names a question '{name}' that the project does not ask.", hint)


def _questions(table: Table) -> Iterator[Finding]:
    for name, one in table.questions.items():
        required = "" if one.question.required else ", not required by the gate"
        distance = "" if one.question.distance in (None, one.question.level) else f", distance {one.question.distance}"
        yield Finding(
            "ok",
            f"Question {name}: {one.question.kind}, level {one.question.level}{distance},"
            f" {counted(one.ratings.n_ratings, 'rating')}{required}.",
        )
        if empty := one.left_out.get("empty"):
            hint = None
            if one.question.kind in ("choices", "paths") and one.question.empty == "missing":
                hint = f"If nothing ticked means 'none of them', set questions: {{{name}: {{empty: none}}}}."
            many = counted(
                empty,
                "submitted annotation holds no answer and counts",
                "submitted annotations hold no answer and count",
            )
            yield Finding("note", f"Question {name}: {many} as missing.", hint)
        for reason, hold, text in (
            ("nothing_to_ask", ("has", "have"), "nothing that it could be asked about"),
            ("not_shown", ("did", "did"), "not show it"),
            ("stale_child", ("holds", "hold"), "an answer to it that its condition no longer allows"),
            ("unreadable", ("holds", "hold"), "an answer that cannot be read"),
        ):
            if count := one.left_out.get(reason):
                many = counted(count, f"annotation {hold[0]}", f"annotations {hold[1]}")
                yield Finding("note", f"Question {name}: {many} {text}.")
        if one.mended:
            yield Finding("note", f"Question {name}: {mended_text(one.mended, one.question.kind)}.")
    for name, kind, reason in table.not_measured:
        yield Finding("note", f"Question {name} ({kind}) is stored but not measured: {reason}.")
    for name in table.unanswered:
        yield Finding("warning", f"Question {name} has no answer in any annotation.")


def _counts(table: Table, settings: Settings) -> Iterator[Finding]:
    raters = {rater for one in table.questions.values() for rater in one.ratings.rater_ids}
    yield Finding("ok" if len(raters) > 1 else "warning", f"{counted(len(raters), 'rater')}: {_listed(raters)}.")
    per_unit = ratings_per_unit(table)
    said = ", ".join(f"{units:,} with {count}" for count, units in sorted(per_unit.items()))
    yield Finding("ok", f"{counted(len(table.unit_ids), 'unit')} by number of ratings: {said or 'none'}.")
    needed = required_ratings(settings)
    short = sum(units for count, units in per_unit.items() if count < needed)
    if short:
        yield Finding(
            "note",
            f"{counted(short, 'unit has', 'units have')} fewer than the {needed} ratings required.",
            f"{'It waits' if short == 1 else 'They wait'} for more raters; scores appear from two ratings on.",
        )
    left = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in table.left_out.items() if count)
    if left:
        yield Finding("note", f"Left out: {left}.")


def ratings_per_unit(table: Table) -> Counter[int]:
    """How many units have how many counted ratings, by the question with the most ratings of each; of a question about
    parts of a task, how many raters it was asked of."""
    most: dict[str, int] = dict.fromkeys(table.unit_ids, 0)
    for one in table.questions.values():
        if one.annotated is not None:
            for unit, count in one.annotated.items():
                most[unit] = max(most[unit], count)
            continue
        for unit, count in zip(one.ratings.unit_ids, one.ratings.per_unit.tolist(), strict=True):
            most[unit] = max(most.get(unit, 0), count)
    return Counter(most.values())


def _marks(table: Table) -> Iterator[Finding]:
    marked = sum(table.ground_truth.values())
    if marked:
        by = ", ".join(f"{count:,} by {rater}" for rater, count in sorted(table.ground_truth.items()))
        yield Finding(
            "note",
            f"{counted(marked, 'annotation is', 'annotations are')} marked as ground truth ({by}); each counts as its"
            " author's rating too.",
            "Name the authors under raters: reviewers, or set ground_truth: exclude, if they are not ratings.",
        )
    if table.edited_by_other:
        yield Finding(
            "note",
            f"{counted(table.edited_by_other, 'annotation was', 'annotations were')} last changed by somebody else than"
            " the author (starring counts).",
        )
    if table.copied or table.accepted_unchanged:
        yield Finding(
            "warning",
            f"{counted(table.copied, 'annotation is a copy', 'annotations are copies')} of another rater's,"
            f" {counted(table.accepted_unchanged, 'is a prediction', 'are predictions')} accepted unchanged: such"
            " agreement is not independent.",
        )


def _stale(table: Table) -> Iterator[Finding]:
    for name, one in table.questions.items():
        for label, count in one.stale.items():
            yield Finding(
                "warning",
                f"Question {name}: label '{label}' is not in the project's configuration ({counted(count, 'answer')}).",
                "It counts as a category of its own; to join it:"
                f" questions: {{{name}: {{relabel: {{{label}: NEW}}}}}}.",
            )


def _not_whole(table: Table, noun: str) -> Iterator[Finding]:
    if table.incomplete:
        many = counted(len(table.incomplete), f"{noun} declares", f"{noun}s declare")
        yield Finding(
            "warning",
            f"{many} more annotations than came ({few(table.incomplete)}).",
            f"The server's counter drifts when two people submit at once; if it is all {noun}s, this token sees only"
            " part of the annotations.",
        )
    for one in table.malformed[:10]:
        yield Finding("warning", f"Malformed and left out: {noun} {one.unit}: {one.reason}.")
    for note in table.notes:
        yield Finding("note", note)


def _listed(names: Iterable[str], most: int = 12) -> str:
    ordered = sorted(names, key=natural_key)
    return ", ".join(ordered[:most]) + (f" and {len(ordered) - most} more" if len(ordered) > most else "") or "none"
