"""Review tasks: which conflicts go to a reviewer, and how the votes are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from connector.agreement.report import AgreementReport, QuestionReport
from connector.annotations.collect import natural_key
from connector.annotations.display import text_of
from connector.tools.base import ReviewItem
from connector.workflow.fields import deciding_questions


def review_items(
    report: AgreementReport,
    *,
    required_ratings: int,
    names: Callable[[], Mapping[str, str]] | None,
    existing: Collection[str],
    limit: int | None,
    possible: Callable[[str], bool] = lambda unit: True,  # noqa: ARG005 - every unit
) -> tuple[ReviewItem, ...]:
    """The conflicts without a review task yet, lowest agreement first.

    A unit goes to review when one of the `deciding_questions` is in conflict on it and has all its required ratings:
    until then a rater who opened the review project would see the others' votes. The votes on every question are shown.
    `limit` is the most review tasks there should be, those of `existing` counted. `names` gives rater id -> name where
    the raters are to be named; it is asked only if needed. `possible` says whether a unit stands where review tasks can
    be made.
    """
    worst: dict[str, float] = {}
    for question in deciding_questions(report).values():
        for unit in _conflicts(question, required_ratings):
            agreement = question.tasks[unit].agreement
            worst[unit] = min(worst.get(unit, 1.0), 1.0 if agreement is None else agreement)
    new = sorted(
        (unit for unit in worst if unit not in existing and possible(unit)),
        key=lambda unit: (worst[unit], natural_key(unit)),
    )
    room = len(new) if limit is None else max(0, limit - len(existing))
    return tuple(_items(report, new[:room], _labels(report, names))) if new[:room] else ()


def _conflicts(question: QuestionReport, required_ratings: int) -> list[str]:
    units = question.tasks
    return [
        unit
        for unit, status, count in zip(units.unit_ids, units.status, units.n_ratings, strict=True)
        if status == "conflict" and count >= required_ratings
    ]


def _labels(report: AgreementReport, names: Callable[[], Mapping[str, str]] | None) -> Mapping[str, str]:
    raters = {str(rater) for question in report.questions.values() for rater in question.source.ratings.rater_ids}
    ordered = sorted(raters, key=natural_key)
    if names is None:
        return {rater: f"Rater {_letters(place)}" for place, rater in enumerate(ordered)}
    known = names()
    labels = {rater: known.get(rater) or f"Rater {rater}" for rater in ordered}
    shared = Counter(labels.values())
    return {rater: label if shared[label] == 1 else f"{label} ({rater})" for rater, label in labels.items()}


def _letters(place: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _items(report: AgreementReport, units: Sequence[str], labels: Mapping[str, str]) -> list[ReviewItem]:
    several = len(report.questions) > 1
    votes: dict[str, dict[str, str]] = {unit: {} for unit in units}
    for name, question in report.questions.items():
        ratings = question.source.ratings
        categories = ratings.codebook.categories
        for unit_code, rater_code, value in zip(
            ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
        ):
            item = ratings.unit_ids[unit_code]
            unit = question.source.task_of[item] if question.source.task_of else item
            if unit in votes:
                label = labels[str(ratings.rater_ids[rater_code])]
                label = label if unit == item else f"{item.removeprefix(unit)} {label}"
                votes[unit][f"{name}: {label}" if several else label] = text_of(categories[value], question.kind)
    return [
        ReviewItem(unit, dict(sorted(votes[unit].items(), key=lambda vote: (len(vote[0]), vote[0])))) for unit in units
    ]
