"""Tables for spreadsheets: the units of a report, and the unit-by-rater table. No cell can act as a formula."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

from connector.agreement.report import category_key, json_value
from connector.annotations.collect import natural_key
from connector.annotations.display import text_of

if TYPE_CHECKING:
    from connector.agreement.ratings import Ratings
    from connector.agreement.report import AgreementReport, QuestionReport

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, full-width forms too."""

UNIT_COLUMNS = (
    *("unit", "question", "n_ratings", "agreement", "consensus", "majority", "status"),
    *("dawid_skene", "dawid_skene_probability", "alpha_cost", "alpha_influence"),
)


@lru_cache(maxsize=1 << 16, typed=True)
def cell(value: Any) -> str:
    """A value as a cell: numbers exact, whole ones without ".0", sets as JSON arrays, missing empty, formulas disarmed.

    >>> cell("=1+1"), cell("-3.5"), cell(2.0), cell(("a", "b"))
    ("'=1+1", '-3.5', '2', '["a", "b"]')
    """
    text = _text(value).encode("utf-8", "backslashreplace").decode("utf-8")
    acts = text.startswith(FORMULA) or text.lstrip(" \u00a0\u3000\ufeff\x00").startswith(FORMULA)
    return f"'{text}" if acts and not NUMBER.fullmatch(text) else text


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return json.dumps(json_value(value), ensure_ascii=False)
    if isinstance(value, float):
        return category_key(value)
    return str(value)


def write_units(report: AgreementReport, stream: TextIO) -> None:
    """One row per unit and question: what its ratings say together, what it costs, then each rater's value."""
    questions = report.questions
    raters = _raters(one.source.ratings for one in questions.values())
    rows = _writer(stream)
    rows.writerow([*map(cell, UNIT_COLUMNS), *_headings(raters, UNIT_COLUMNS)])
    values = {name: _values(one) for name, one in questions.items()}
    settled = {name: _settled(one) for name, one in questions.items()}
    places = {name: {unit: place for place, unit in enumerate(one.units.unit_ids)} for name, one in questions.items()}
    for unit in _units(one.source.ratings for one in questions.values()):
        for name, one in questions.items():
            place = places[name].get(unit)
            if place is None:
                continue
            units = one.units
            found = (
                units.n_ratings[place],
                units.agreement[place],
                units.top_share[place],
                _as_cell(units.majority[place], one.kind),
                units.status[place],
                *(column[place] for column in settled[name]),
            )
            given = values[name].get(unit, {})
            rows.writerow([*map(cell, (unit, name, *found)), *(cell(given.get(rater)) for rater in raters)])


def _settled(question: QuestionReport) -> list[Sequence[Any]]:
    """Of every known unit Dawid and Skene's answer and its probability, the cost and the influence on alpha."""
    nothing: Sequence[Any] = [None] * len(question.units)
    if question.diagnosis is None:
        return [nothing] * 4
    costs = [_rounded(column) for column in question.diagnosis.unit_costs]
    consensus = question.dawid_skene
    if isinstance(consensus, str):
        return [nothing, nothing, *costs]
    return [[_as_cell(label, question.kind) for label in consensus.labels], _rounded(consensus.certainty), *costs]


def _rounded(column: Sequence[float | None]) -> list[float | None]:
    return [None if one is None else round(one, 6) for one in column]


def _as_cell(value: Any, kind: str) -> Any:
    """An answer for a cell: dates as text, since their number says nothing to a reader."""
    return text_of(value, kind) if kind == "date" and value is not None else value


def write_table(report: AgreementReport, stream: TextIO) -> None:
    """The unit-by-rater table: one row per unit, and per question where there are several, one column per rater."""
    tables = {name: one.source.ratings for name, one in report.questions.items()}
    fixed = ("unit", "question") if len(tables) > 1 else ("unit",)
    raters = _raters(tables.values())
    rows = _writer(stream)
    rows.writerow([*fixed, *_headings(raters, fixed)])
    values = {name: _values(one) for name, one in report.questions.items()}
    known = {name: set(ratings.unit_ids) for name, ratings in tables.items()}
    for unit in _units(tables.values()):
        for name in tables:
            if unit in known[name]:
                given = values[name].get(unit, {})
                start = (unit, name)[: len(fixed)]
                rows.writerow([*map(cell, start), *(cell(given.get(rater)) for rater in raters)])


def render(report: AgreementReport) -> str:
    """`write_units` as text."""
    stream = io.StringIO(newline="")
    write_units(report, stream)
    return stream.getvalue()


def _writer(stream: TextIO) -> Any:
    return csv.writer(stream, lineterminator="\n")


def _raters(tables: Iterable[Ratings]) -> list[Any]:
    """Raters with a rating in any of the tables, in the order of their ids."""
    found = {ratings.rater_ids[code] for ratings in tables for code in set(ratings.raters.tolist())}
    return sorted(found, key=lambda one: natural_key(str(one)))


def _units(tables: Iterable[Ratings]) -> list[Any]:
    found = dict.fromkeys(unit for ratings in tables for unit in ratings.unit_ids)
    return sorted(found, key=lambda one: natural_key(str(one)))


def _headings(raters: Sequence[Any], fixed: Sequence[str]) -> list[str]:
    """Rater ids as column names; one that is also a fixed column's name is told from it."""
    return [cell(f"rater:{rater}" if str(rater) in fixed else rater) for rater in raters]


def _values(question: QuestionReport) -> dict[Any, dict[Any, Any]]:
    """Unit -> rater -> value."""
    ratings = question.source.ratings
    categories = ratings.codebook.categories
    if question.kind == "date":
        categories = [_as_cell(category, "date") for category in categories]
    found: dict[Any, dict[Any, Any]] = {}
    for unit, rater, value in zip(
        ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
    ):
        found.setdefault(ratings.unit_ids[unit], {})[ratings.rater_ids[rater]] = categories[value]
    return found
