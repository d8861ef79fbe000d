"""The report for a job summary or a pull request, in GitHub's Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from connector.output.findings import Grid
from connector.output.further import Consensus
from connector.output.view import Context, GateView, QuestionView, View, view

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport


def render(report: AgreementReport, context: Context | None = None) -> str:
    """The report as Markdown that ends with a newline."""
    seen = view(report, context)
    lines = [f"# {escape(seen.title)}", ""]
    if seen.gate:
        lines += _gate(seen.gate)
    lines += _read(seen)
    for question in seen.questions:
        lines += _question(question)
    if seen.not_measured:
        lines += ["## Not measured", "", *table(("Question", "Kind", "Why"), seen.not_measured)]
    lines += ["## How the numbers were made", "", *(f"- {escape(sentence)}" for sentence in seen.method)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Text that Markdown, its HTML and its tables show as it is.

    >>> escape("a|b <script> `x` [y](z) @all")
    'a\\|b &lt;script&gt; \\`x\\` \\[y\\](z) &#64;all'
    """
    marked = re.sub(r"([\\`*_{}\[\]|~#!$])", r"\\\1", html.escape(text, quote=False))
    # Mentions notify people, and bare addresses become links.
    marked = marked.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
    # What would begin a list or underline a heading.
    marked = re.sub(r"^(\s*)([-+=])(?=[\s=-]|$)", r"\1\\\2", marked)
    return re.sub(r"^(\s*\d+)([.)])(?=\s|$)", r"\1\\\2", marked)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[int] = ()) -> list[str]:
    """A table and an empty line after it."""
    marks = ["---:" if place in numeric else "---" for place in range(len(headings))]
    lines = [headings, marks, *([escape(str(one)) for one in row] for row in rows)]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _gate(gate: GateView) -> list[str]:
    lines = [f"**Gate: {gate.verdict}.** {escape(gate.sentence)}", ""]
    lines += table(("Rests on", ""), gate.facts)
    lines += [*(f"- {escape(message)}" for message in gate.messages), *([""] if gate.messages else [])]
    if gate.questions:
        lines += table(("Question", "Verdict", "Value", "Reasons"), gate.questions, numeric=(2,))
    return lines


def _read(seen: View) -> list[str]:
    lines = []
    if seen.sources:
        lines += [f"From {escape(', '.join(seen.sources))}", ""]
    if seen.link:
        lines += [f"[Project]({_address(seen.link)})", ""]
    lines += [escape(seen.summary), ""]
    if seen.left_out:
        lines += table(("Left out", "Annotations"), seen.left_out, numeric=(1,))
    lines += [*(f"- {escape(note)}" for note in seen.notes), *([""] if seen.notes else [])]
    return lines


def _question(question: QuestionView) -> list[str]:
    lines = [f"## {escape(question.name)}", "", f"**{escape(question.sentence)}**", ""]
    lines += [escape(question.reading), ""] if question.reading else []
    lines += _list([*question.difference, *question.steps, *question.warnings])
    names = [name for name, _ in question.facts]
    lines += table(names, [[value for _, value in question.facts]])
    lines += table(("Coefficient", "Value", question.interval_name, ""), question.coefficients, numeric=(1,))
    lines += _list(question.coefficients_notes)
    if question.categories:
        lines += [*_grid(question.categories), *_list(question.categories_notes)]
    if question.pairs_sentence:
        lines += [escape(question.pairs_sentence), ""]
    if question.pairs:
        lines += table(("Category", "against", escape(question.pairs_name), "Share"), question.pairs, numeric=(2, 3))
    for sentence in (question.costs, question.curve):
        lines += [escape(sentence), ""] if sentence else []
    if question.conflicts_sentence:
        lines += [escape(question.conflicts_sentence), ""]
    if question.conflicts:
        lines += _conflicts(question)
    if question.influence:
        listed = ", ".join(f"{_unit(row.unit, row.link)} ({escape(row.change)})" for row in question.influence)
        lines += [f"Alpha would be higher without: {listed}.", ""]
    lines += _consensus(question.consensus)
    if question.raters:
        lines += [*_grid(question.raters), escape(question.raters_sentence), ""]
    if question.rater_pairs:
        lines += [*_grid(question.rater_pairs), escape(question.rater_pairs_sentence), ""]
    if question.left_out:
        lines += table(("Left out", "Annotations"), question.left_out, numeric=(1,))
    return lines


def _conflicts(question: QuestionView) -> list[str]:
    lines = table(("Unit", "Ratings", "Agreement", "Status"), [], numeric=(2,))[:-1]
    for row in question.conflicts:
        unit = _unit(row.unit, row.link)
        lines.append(f"| {unit} | {escape(row.votes)} | {escape(row.agreement)} | {escape(row.status)} |")
    return [*lines, ""]


def _consensus(found: Consensus) -> list[str]:
    lines = [escape(found.sentence), ""] if found.sentence else []
    lines += _grid(found.units) if found.units else []
    return lines + ([escape(found.raters), ""] if found.raters else [])


def _grid(grid: Grid) -> list[str]:
    return table([escape(name) for name in grid.headings], grid.rows, grid.numeric)


def _list(sentences: Sequence[str]) -> list[str]:
    return [*(f"- {escape(sentence)}" for sentence in sentences), *([""] if sentences else [])]


def _unit(unit: str, link: str | None) -> str:
    return f"[{escape(unit)}]({_address(link)})" if link else escape(unit)


def _address(link: str) -> str:
    """A checked web address that cannot end its parenthesis or its table cell."""
    return link.replace("(", "%28").replace(")", "%29").replace("|", "%7C")
