"""The fields that stand on each unit in the tool: their names, and their values out of a report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from connector.agreement.consensus import WORST_FIRST
from connector.annotations.choices import clean
from connector.annotations.display import text_of
from connector.workflow.plan import Fields, same

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport, QuestionReport

AGREEMENT, CONSENSUS, MAJORITY, RATERS, STATUS = "agreement", "consensus", "majority", "raters", "status"
KINDS = (AGREEMENT, CONSENSUS, MAJORITY, RATERS, STATUS)
STATUSES = ("conflict", "majority", "agreed", "single", "unrated", "adjudicated")

SLUG_LENGTH = 100
"""The most letters of a question in a field's name: Argilla's metadata properties have names of 200 at most."""


def slugs(questions: Iterable[str]) -> dict[str, str]:
    """Question -> the piece of a field's name that stands for it.

    Lower case, runs outside [a-z0-9] become one `_`; of clashing ones the later gets `_2`, `_3`. A name without any
    such letter is `q`, a long one is cut. (A double underscore would break Label Studio's filters.)
    """
    taken: dict[str, str] = {}
    for name in questions:
        base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:SLUG_LENGTH].rstrip("_") or "q"
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


def sort_fields(
    data: Mapping[str, Any], prefix: str, known: Mapping[str, Collection[Any]] | None = None
) -> tuple[dict[str, Any], set[str]]:
    """Which of a unit's own fields are ours, with their values; and which bear such a name but are a person's.

    `known` are the fields that the ledger knows we wrote there, under this prefix or an earlier one, with the values it
    knows of. Such a field is ours when it holds one of these, or another that we would write. Without a ledger (None) a
    field is ours when it stands together with a status and a number of ratings, as ours always do. A person's
    `iaa_status_note` is not.
    """
    pattern = re.compile(rf"{re.escape(prefix)}({'|'.join(KINDS)})((?:_[a-z0-9]+)*)")
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    kinds: dict[str, str] = {}
    for key in data:
        if found := pattern.fullmatch(key):
            groups[found[2]][found[1]] = key
            kinds[key] = found[1]
    if known is None:
        ours = _whole(groups, data)
        return ours, kinds.keys() - ours.keys()
    ours = {
        key: value
        for key, value in data.items()
        if key in known
        and (
            any(same(value, written) for written in known[key])
            or any(_ours(kind, value) for kind in ([kinds[key]] if key in kinds else _kinds_in(key)))
        )
    }
    return ours, (kinds.keys() | (known.keys() & data.keys())) - ours.keys()


def _whole(groups: Mapping[str, Mapping[str, str]], data: Mapping[str, Any]) -> dict[str, Any]:
    likely = {
        end: {kind: key for kind, key in group.items() if _ours(kind, data[key])} for end, group in groups.items()
    }
    whole = {end for end, group in likely.items() if STATUS in group and RATERS in group}
    if whole and STATUS in likely.get("", {}):
        whole.add("")  # with several questions the bare status has no number of its own
    return {key: data[key] for end in whole for key in likely[end].values()}


def _ours(kind: str, value: Any) -> bool:
    """Whether we would write such a value."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "agreement" | "consensus":
            return number and 0 <= value <= 1
        case "raters":
            return number and value >= 0 and value == int(value)
        case "majority":
            return isinstance(value, str)
        case _:
            return value in STATUSES


def _kinds_in(key: str) -> list[str]:
    """The kinds that a field's name may be of, whatever its prefix was."""
    return [kind for kind in KINDS if kind in key]


def deciding_questions(report: AgreementReport) -> dict[str, QuestionReport]:
    """The questions that say whether a unit as a whole is in conflict: those that a gate requires, else all.

    Two comments in free words always differ: they make no unit a conflict.
    """
    required = {name: question for name, question in report.questions.items() if question.source.required}
    return required or dict(report.questions)


def desired_fields(
    report: AgreementReport, *, prefix: str, required_ratings: int, scores: bool, majority: bool
) -> Fields:
    """What should stand on every unit: field -> unit -> value.

    One question: the bare names. Several: the names carry the question, and the bare status and agreement are the worst
    of a unit among the `deciding_questions`. `iaa_agreement` and `iaa_consensus` need two ratings; `iaa_majority`
    stands only on units with all `required_ratings`, since in Label Studio every rater sees it, and never on a tie.
    """
    fields: dict[str, dict[str, str | float]] = defaultdict(dict)
    several = len(report.questions) > 1
    for question, slug in zip(report.questions.values(), slugs(report.questions).values(), strict=True):
        end = f"_{slug}" if several else ""
        units = question.tasks
        for place, unit in enumerate(units.unit_ids):
            count, status = units.n_ratings[place], units.status[place]
            if scores:
                _put(fields[prefix + STATUS + end], unit, status)
                fields[prefix + RATERS + end][unit] = float(count)
                if count >= 2:
                    _put(fields[prefix + AGREEMENT + end], unit, units.agreement[place])
                    _put(fields[prefix + CONSENSUS + end], unit, units.top_share[place])
            # of two in conflict neither is the majority, though a median or what either marked can be told
            tied = count == 2 and status not in ("agreed", "majority")
            if majority and count >= required_ratings and units.majority[place] is not None and not tied:
                fields[prefix + MAJORITY + end][unit] = text_of(units.majority[place], question.kind)
    if several and scores:
        deciding = deciding_questions(report)
        ends = [f"_{slug}" for name, slug in slugs(report.questions).items() if name in deciding]
        fields[prefix + STATUS] = _worst_status([fields[prefix + STATUS + end] for end in ends])
        fields[prefix + AGREEMENT] = _lowest_agreement([fields[prefix + AGREEMENT + end] for end in ends])
    return {field: values for field, values in fields.items() if values}


def fitting(fields: Fields, longest: int | None) -> dict[str, dict[str, str | float]]:
    """The same values with their texts as every store and index takes them, and no longer than `longest`.

    Half of a surrogate pair, once stored, makes Argilla's record unreadable for good.
    """
    return {
        field: {unit: _fitting(value, longest) for unit, value in values.items()} for field, values in fields.items()
    }


def _fitting(value: str | float, longest: int | None) -> str | float:
    if not isinstance(value, str):
        return value
    text = clean(value).replace("\0", "\\0")
    return text if longest is None or len(text) <= longest else f"{text[: longest - 3]}..."


def _put(values: dict[str, str | float], unit: str, value: str | float | None) -> None:
    if value is not None:
        values[unit] = value


def _worst_status(statuses: Iterable[Mapping[str, str | float]]) -> dict[str, str | float]:
    worst: dict[str, str | float] = {}
    for of_question in statuses:
        for unit, status in of_question.items():
            if unit not in worst or WORST_FIRST.index(str(status)) < WORST_FIRST.index(str(worst[unit])):
                worst[unit] = status
    return worst


def _lowest_agreement(agreements: Iterable[Mapping[str, str | float]]) -> dict[str, str | float]:
    lowest: dict[str, str | float] = {}
    for of_question in agreements:
        for unit, agreement in of_question.items():
            lowest[unit] = min(float(agreement), float(lowest.get(unit, 1.0)))
    return lowest
