"""The report for a terminal, 80 columns wide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from connector.output.findings import Grid
from connector.output.further import Consensus
from connector.output.view import Context, GateView, QuestionView, View, view

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport

WIDTH = 80
LEAST = 8
"""Columns under which a label is not shortened."""

COLOURS = {"GO": "32;1", "NO-GO": "31;1", "UNDECIDED": "33;1", "head": "1"}

Paint = Callable[[str, str], str]


def render(report: AgreementReport, context: Context | None = None, *, width: int = WIDTH, colour: bool = False) -> str:
    """The report as text that ends with a newline."""
    return "\n".join(_lines(view(report, context), width, _paint(colour))) + "\n"


def render_gate(
    report: AgreementReport, context: Context | None = None, *, width: int = WIDTH, colour: bool = False
) -> str:
    """The verdict of the report's gate with everything it rests on, and nothing else."""
    seen = view(report, context, detail="verdict")
    if seen.gate is None:
        raise ValueError("the report holds no gate decision")
    paint = _paint(colour)
    lines = [*_heading(seen.title, "=", width, paint), *_read(seen, width), "", *_gate(seen.gate, width, paint)]
    return "\n".join(lines) + "\n"


def wants_colour(stream: TextIO | None, environ: Mapping[str, str] | None = None) -> bool:
    """Whether to colour what goes to a stream: a terminal that can, and no NO_COLOR (no-color.org)."""
    environ = os.environ if environ is None else environ
    return stream is not None and stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _paint(colour: bool) -> Paint:
    return lambda text, style: f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if colour else text


def _lines(seen: View, width: int, paint: Paint) -> list[str]:
    lines = [*_heading(seen.title, "=", width, paint), *_read(seen, width)]
    if seen.gate:
        lines += ["", *_gate(seen.gate, width, paint)]
    for question in seen.questions:
        lines += ["", *_question(question, width, paint)]
    if seen.not_measured:
        lines += ["", *_heading("Not measured", "-", width, paint)]
        for name, kind, reason in seen.not_measured:
            lines += wrap(f"{name} ({kind}): {reason}.", width, hanging=2)
    lines += ["", *_heading("How the numbers were made", "-", width, paint)]
    for sentence in seen.method:
        lines += wrap(sentence, width, hanging=2)
    if seen.next_command:
        lines += ["", f"Next: {seen.next_command}"]
    return lines


def _heading(title: str, line: str, width: int, paint: Paint) -> list[str]:
    title = shorten(title, width)
    return [paint(title, "head"), line * cells(title)]


def _read(seen: View, width: int) -> list[str]:
    lines = wrap(f"From {', '.join(seen.sources)}", width, hanging=2) if seen.sources else []
    if seen.link:
        lines.append(seen.link)
    lines += wrap(seen.summary, width, hanging=2)
    if seen.left_out:
        lines += wrap(f"Left out: {_counts(seen.left_out)}.", width, hanging=2)
    for note in seen.notes:
        lines += wrap(f"Note: {note}", width, hanging=2)
    return lines


def _counts(counts: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{n} {reason}" for reason, n in counts)


def _gate(gate: GateView, width: int, paint: Paint) -> list[str]:
    lines = [f"Gate: {paint(gate.verdict, gate.verdict)}"]
    lines += wrap(gate.sentence, width, indent=2)
    lines += _facts(gate.facts, width)
    for message in gate.messages:
        lines += wrap(f"- {message}", width, indent=2, hanging=2)
    if gate.questions:
        lines += ["", *table(("Question", "Verdict", "Value", "Reasons"), gate.questions, width, numeric=(2,))]
    return lines


def _question(question: QuestionView, width: int, paint: Paint) -> list[str]:
    lines = _heading(f"Question: {question.name}", "-", width, paint)
    lines += wrap(question.sentence, width)
    lines += wrap(question.reading, width)
    for difference in question.difference:
        lines += wrap(difference, width)
    for step in question.steps:
        lines += wrap(f"- {step}", width, hanging=2)
    for warning in question.warnings:
        lines += wrap(f"Warning: {warning}", width, hanging=2)
    left_out = [("Left out", _counts(question.left_out))] if question.left_out else []
    lines += ["", *_facts([*question.facts, *left_out], width)]
    lines += ["", *_coefficients(question, width)]
    if question.categories:
        lines += ["", *_grid(question.categories, width)]
        for note in question.categories_notes:
            lines += wrap(note, width, indent=2)
    if question.pairs_sentence:
        lines += ["", *wrap(question.pairs_sentence, width)]
    if question.pairs:
        headings = ("Category", "against", question.pairs_name, "Share")
        lines += table(headings, question.pairs, width, numeric=(2, 3))
    lines += [*wrap(question.costs, width), *wrap(question.curve, width)]
    if question.conflicts_sentence:
        lines += ["", *wrap(question.conflicts_sentence, width)]
    if question.conflicts:
        rows = [(row.unit, row.votes, row.agreement, row.status) for row in question.conflicts]
        lines += table(("Unit", "Ratings", "Agreement", "Status"), rows, width, numeric=(2,))
    if question.influence:
        listed = ", ".join(f"{row.unit} ({row.change})" for row in question.influence)
        lines += wrap(f"Alpha would be higher without: {listed}.", width)
    lines += _consensus(question.consensus, width)
    if question.raters:
        lines += ["", *_grid(question.raters, width), *wrap(question.raters_sentence, width)]
    if question.rater_pairs:
        lines += ["", *_grid(question.rater_pairs, width), *wrap(question.rater_pairs_sentence, width)]
    return lines


def _consensus(found: Consensus, width: int) -> list[str]:
    if not found.sentence:
        return []
    units = _grid(found.units, width) if found.units else []
    return ["", *wrap(found.sentence, width), *units, *wrap(found.raters, width)]


def _grid(grid: Grid, width: int) -> list[str]:
    return table(grid.headings, grid.rows, width, grid.numeric)


def _coefficients(question: QuestionView, width: int) -> list[str]:
    rows = [(row.name, row.value, row.interval) for row in question.coefficients]
    lines = table(("Coefficient", "Value", question.interval_name), rows, width, numeric=(1,))
    with_notes = lines[:1]
    for line, row in zip(lines[1:], question.coefficients, strict=True):
        with_notes += [line, *(wrap(row.note, width, indent=4) if row.note else ())]
    for note in question.coefficients_notes:
        with_notes += wrap(note, width, indent=2)
    return with_notes


def _facts(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Names and values in two columns, long values going on under their own column."""
    room = max((cells(name) for name, _ in facts), default=0)
    lines = []
    for name, value in facts:
        first, *rest = wrap(value, width - room - 4) or [""]
        lines.append(f"  {pad(name, room)}  {first}".rstrip())
        lines += [f"{' ' * (room + 4)}{line}" for line in rest]
    return lines


# Laying text out by the columns a terminal gives it.


def cells(text: str) -> int:
    """Columns that a terminal gives a text: wide characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int, right: bool = False) -> str:
    """The text filled with blanks up to a number of columns."""
    blanks = " " * max(width - cells(text), 0)
    return blanks + text if right else text + blanks


def shorten(text: str, width: int) -> str:
    """The text cut in its middle to fit, so that labels which begin alike stay apart."""
    if cells(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{_upto(text, width - 1 - tail)}…{_upto(text[::-1], tail)[::-1]}"


def _upto(text: str, width: int) -> str:
    """The longest beginning that fits into a number of columns."""
    end = len(text[: width + 1])
    while end and cells(text[:end]) > width:
        end -= 1
    return text[:end]


def wrap(text: str, width: int, indent: int = 0, hanging: int = 0) -> list[str]:
    """Lines of words; a word that is wider than a line is broken, never cut."""
    lines: list[str] = []
    line = " " * indent
    empty = True
    for word in _words(text, width - indent - hanging):
        if not empty and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line, empty = " " * (indent + hanging), True
        line += word if empty else f" {word}"
        empty = False
    return lines if empty else [*lines, line]


def _words(text: str, width: int) -> Iterable[str]:
    for word in text.split():
        rest = word
        while cells(rest) > width:
            piece = _upto(rest, width) or rest[:1]
            yield piece
            rest = rest[len(piece) :]
        yield rest


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], width: int, numeric: Sequence[int] = ()) -> list[str]:
    """Columns under their headings, indented by two. Labels are shortened to fit, numbers never."""
    body = [[str(one) for one in row] for row in rows]
    widths = [max(cells(row[place]) for row in [list(headings), *body]) for place in range(len(headings))]
    text_columns = [place for place in range(len(headings)) if place not in numeric]
    while sum(widths) + 2 * len(widths) > width:
        widest = max(text_columns, key=lambda place: widths[place])
        if widths[widest] <= LEAST:
            break
        widths[widest] -= 1
    return [
        "".join(
            "  " + pad(shorten(one, widths[place]), widths[place], right=place in numeric)
            for place, one in enumerate(row)
        ).rstrip()
        for row in [list(headings), *body]
    ]
