"""Review tasks: which conflicts go to a reviewer, and how the votes are shown."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from connector.agreement.report import AgreementReport, QuestionReport
from connector.annotations.collect import natural_key
from connector.annotations.display import text_of
from connector.tools.base import ReviewItem
from connector.workflow.fields import deciding_questions


def review_items(
    report: AgreementReport,
    *,
    required_ratings: int,
    letters: Mapping[str, int],
    names: Callable[[], Mapping[str, str]] | None,
    existing: Collection[str],
    limit: int | None,
    possible: Callable[[str], bool] = lambda unit: True,  # noqa: ARG005 - every unit
) -> tuple[ReviewItem, ...]:
    """The conflicts without a review task yet, lowest agreement first.

    A unit goes to review when one of the `deciding_questions` is in conflict on it and has all its required ratings:
    until then a rater who opened the review project would see the others' votes. The votes on every question are shown.
    `limit` is the most review tasks there should be, those of `existing` counted. `letters` are those dealt so far
    (`dealt_letters`); `names` gives rater id -> name where the raters are to be named, and is asked only if needed.
    `possible` as for `unreviewed`.
    """
    new = unreviewed(report, required_ratings=required_ratings, existing=existing, possible=possible)
    room = len(new) if limit is None else max(0, limit - len(existing))
    return tuple(_items(report, new[:room], _labels(report, letters, names))) if new[:room] else ()


def unreviewed(
    report: AgreementReport,
    *,
    required_ratings: int,
    existing: Collection[str],
    possible: Callable[[str], bool],
) -> list[str]:
    """The units that go to review and have no review task, lowest agreement first, without regard to a limit.

    `possible` says whether a unit stands where review tasks can be made.
    """
    worst: dict[str, float] = {}
    for question in deciding_questions(report).values():
        for unit in _conflicts(question, required_ratings):
            agreement = question.tasks[unit].agreement
            worst[unit] = min(worst.get(unit, 1.0), 1.0 if agreement is None else agreement)
    return sorted(
        (unit for unit in worst if unit not in existing and possible(unit)),
        key=lambda unit: (worst[unit], natural_key(unit)),
    )


def items_to_draw(
    report: AgreementReport,
    *,
    units: Collection[str],
    kinds: Collection[str],
    required_ratings: int,
    letters: Mapping[str, int],
    names: Callable[[], Mapping[str, str]] | None,
    drawn: Mapping[str, str],
) -> tuple[ReviewItem, ...]:
    """Those of `units`, which have review tasks, whose raters' marks are not `drawn` on them as they are now.

    `kinds` are those that a tool can draw; a unit without all its required ratings of such a kind stays as it is.
    `drawn` maps a unit to the `ReviewItem.version` last drawn. `letters` and `names` as for `review_items`.
    """
    marked = {
        unit
        for question in report.questions.values()
        if question.kind in kinds
        for unit, count in zip(question.tasks.unit_ids, question.tasks.n_ratings, strict=True)
        if count >= required_ratings and unit in units
    }
    if not marked:
        return ()
    versions = _versions(report, marked, None if names else _labels(report, letters, None))
    changed = sorted((unit for unit in marked if drawn.get(unit) != versions[unit]), key=natural_key)
    if not changed:
        return ()
    labels = _labels(report, letters, names)
    markers: dict[str, set[str]] = {unit: set() for unit in changed}
    for vote in _votes(report, markers):
        if report.questions[vote.question].kind in kinds:
            markers[vote.unit].add(vote.rater)
    return tuple(
        item._replace(
            raters={label: (rater,) for rater, label in labels.items() if rater in markers[item.unit]},
            version=versions[item.unit],
        )
        for item in _items(report, changed, labels)
    )


def _versions(report: AgreementReport, units: Collection[str], labels: Mapping[str, str] | None) -> Mapping[str, str]:
    """Unit -> what changes whenever one of its ratings does, or what its raters are called without their names."""
    digests = {unit: hashlib.sha256() for unit in units}
    for vote in sorted(_votes(report, units), key=lambda vote: vote[:4]):
        shown = vote.rater if labels is None else labels[vote.rater]
        digests[vote.unit].update(repr((*vote, shown)).encode("utf-8", "backslashreplace"))
    return {unit: digest.hexdigest()[:16] for unit, digest in digests.items()}


def _conflicts(question: QuestionReport, required_ratings: int) -> list[str]:
    units = question.tasks
    return [
        unit
        for unit, status, count in zip(units.unit_ids, units.status, units.n_ratings, strict=True)
        if status == "conflict" and count >= required_ratings
    ]


def dealt_letters(report: AgreementReport, known: Mapping[str, int]) -> dict[str, int]:
    """Rater -> the number of their letter: those `known` keep theirs, so that a letter is one person for good."""
    raters = {str(rater) for question in report.questions.values() for rater in question.source.ratings.rater_ids}
    first = max(known.values(), default=-1) + 1
    new = sorted(raters - known.keys(), key=natural_key)
    return {**known, **{rater: place for place, rater in enumerate(new, start=first)}}


def _labels(
    report: AgreementReport, letters: Mapping[str, int], names: Callable[[], Mapping[str, str]] | None
) -> Mapping[str, str]:
    dealt = dealt_letters(report, letters)
    if names is None:
        return {rater: f"Rater {_letters(place)}" for rater, place in sorted(dealt.items(), key=lambda one: one[1])}
    ordered = sorted(dealt, key=natural_key)
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


_Place = tuple[int, int, tuple[int, int, str, str]]
"""Where a vote stands: by rater, then as the project asks its questions, then by item of the task."""


class _Vote(NamedTuple):
    """One rating: the unit, the item of it where the question is asked of each, the question, the rater, the value."""

    unit: str
    item: str
    question: str
    rater: str
    value: Any


def _votes(report: AgreementReport, units: Collection[str]) -> Iterator[_Vote]:
    """Every rating of these units."""
    for name, question in report.questions.items():
        ratings, task_of = question.source.ratings, question.source.task_of
        categories = ratings.codebook.categories
        for unit_code, rater_code, value in zip(
            ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
        ):
            item = ratings.unit_ids[unit_code]
            unit = task_of[item] if task_of else item
            if unit in units:
                yield _Vote(unit, item, name, str(ratings.rater_ids[rater_code]), categories[value])


def _items(report: AgreementReport, units: Sequence[str], labels: Mapping[str, str]) -> list[ReviewItem]:
    several = len(report.questions) > 1
    raters = {rater: place for place, rater in enumerate(labels)}
    questions = {name: place for place, name in enumerate(report.questions)}
    votes: dict[str, dict[_Place, tuple[str, str]]] = {unit: {} for unit in units}
    for unit, item, name, rater, value in _votes(report, votes):
        label = labels[rater] if unit == item else f"{item.removeprefix(unit)} {labels[rater]}"
        shown = f"{name}: {label}" if several else label, text_of(value, report.questions[name].kind)
        votes[unit][raters[rater], questions[name], natural_key(item.removeprefix(unit).lstrip("#"))] = shown
    return [ReviewItem(unit, dict(shown for _, shown in sorted(votes[unit].items()))) for unit in units]
