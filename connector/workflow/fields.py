"""The fields that stand on each unit in the tool: their names, and their values out of a report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from connector.annotations.display import text_of
from connector.workflow.plan import Fields

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport

AGREEMENT, CONSENSUS, MAJORITY, RATERS, STATUS = "agreement", "consensus", "majority", "raters", "status"
STATUSES = ("conflict", "majority", "agreed", "single", "unrated", "adjudicated")
WORST_FIRST = ("conflict", "majority", "agreed", "single", "unrated")


def slugs(questions: Iterable[str]) -> dict[str, str]:
    """Question -> the piece of a field's name that stands for it.

    Lower case, runs outside [a-z0-9] become one `_`; of clashing ones the later gets `_2`, `_3`. A name without any
    such letter is `q`. (A double underscore would break Label Studio's filters.)
    """
    taken: dict[str, str] = {}
    for name in questions:
        base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "q"
        slug, number = base, 2
        while slug in taken.values():
            slug, number = f"{base}_{number}", number + 1
        taken[name] = slug
    return taken


def field_names(questions: Iterable[str], *, prefix: str, scores: bool, majority: bool) -> tuple[str, ...]:
    """Every field that `desired_fields` may write for these questions, in reading order."""
    ends = [f"_{slug}" for slug in slugs(questions).values()]
    label = (MAJORITY,) if majority else ()
    kinds = (STATUS, AGREEMENT, CONSENSUS, *label, RATERS) if scores else label
    if len(ends) == 1:
        return tuple(prefix + kind for kind in kinds)
    bare = (STATUS, AGREEMENT) if scores else ()
    return (*(prefix + kind for kind in bare), *(prefix + kind + end for end in ends for kind in kinds))


def our_fields(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Those of a unit's own fields whose names are ours."""
    ours = re.compile(rf"{re.escape(prefix)}({AGREEMENT}|{CONSENSUS}|{MAJORITY}|{RATERS}|{STATUS})(_[a-z0-9]+)*")
    return {key: value for key, value in data.items() if ours.fullmatch(key)}


def foreign_field(fields: Mapping[str, Any], prefix: str) -> str | None:
    """The first field whose value we would never have written, or None."""
    for name, value in fields.items():
        kind = name.removeprefix(prefix).split("_")[0]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        plausible = {
            AGREEMENT: number and 0 <= value <= 1,
            CONSENSUS: number and 0 <= value <= 1,
            RATERS: number and value >= 0 and value == int(value),
            MAJORITY: isinstance(value, str),
            STATUS: value in STATUSES,
        }
        if not plausible[kind]:
            return name
    return None


def desired_fields(
    report: AgreementReport, *, prefix: str, required_ratings: int, scores: bool, majority: bool
) -> Fields:
    """What should stand on every unit: field -> unit -> value.

    One question: the bare names. Several: the names carry the question, and the bare status and agreement are the worst
    of a unit. `iaa_agreement` and `iaa_consensus` need two ratings; `iaa_majority` stands only on units with all
    `required_ratings`, since in Label Studio every rater sees it, and never on a tie.
    """
    fields: dict[str, dict[str, str | float]] = defaultdict(dict)
    several = len(report.questions) > 1
    for question, slug in zip(report.questions.values(), slugs(report.questions).values(), strict=True):
        end = f"_{slug}" if several else ""
        units = question.units
        for place, unit in enumerate(units.unit_ids):
            count, status = units.n_ratings[place], units.status[place]
            if scores:
                _put(fields[prefix + STATUS + end], unit, status)
                fields[prefix + RATERS + end][unit] = float(count)
                if count >= 2:
                    _put(fields[prefix + AGREEMENT + end], unit, units.agreement[place])
                    _put(fields[prefix + CONSENSUS + end], unit, units.top_share[place])
            if majority and count >= required_ratings and units.majority[place] is not None:
                fields[prefix + MAJORITY + end][unit] = text_of(units.majority[place], question.kind)
    if several and scores:
        fields[prefix + STATUS] = _worst_status(fields, prefix)
        fields[prefix + AGREEMENT] = _lowest_agreement(fields, prefix)
    return {field: values for field, values in fields.items() if values}


def _put(values: dict[str, str | float], unit: str, value: str | float | None) -> None:
    if value is not None:
        values[unit] = value


def _worst_status(fields: Fields, prefix: str) -> dict[str, str | float]:
    worst: dict[str, str | float] = {}
    for field, values in fields.items():
        if field.startswith(f"{prefix}{STATUS}_"):
            for unit, status in values.items():
                if unit not in worst or WORST_FIRST.index(str(status)) < WORST_FIRST.index(str(worst[unit])):
                    worst[unit] = status
    return worst


def _lowest_agreement(fields: Fields, prefix: str) -> dict[str, str | float]:
    lowest: dict[str, str | float] = {}
    for field, values in fields.items():
        if field.startswith(f"{prefix}{AGREEMENT}_"):
            for unit, agreement in values.items():
                lowest[unit] = min(float(agreement), float(lowest.get(unit, 1.0)))
    return lowest
