"""Questions of one name in several sources: one question where their kinds agree.

Labels may differ (all of them are its categories), scales may not: a 4 of 5 is no 4 of 10. What a source without
settings of its own holds, an export or a long table, is read as the others declare it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from connector.annotations.display import text_of
from connector.annotations.kinds import KINDS
from connector.annotations.model import Question
from connector.annotations.tabulate import QuestionSettings
from connector.errors import FixConfiguration

Choices = Mapping[str, QuestionSettings]
_WIDER = {"choice": 0, "choices": 1, "paths": 2}
"""Kinds that were read off the values: a label is a set of one, and a set one of paths of one step."""


def joined_questions(
    known: Mapping[str, Mapping[str, Question]], asking: Mapping[str, frozenset[str]], choices: Choices
) -> dict[str, Question]:
    """The questions of the table: by source what it asks -> one question by name.

    asking : question -> the sources that ask it; one that not all of them ask counts as conditional (those that ask
        nothing left aside).

    Raises FixConfiguration where a name stands for different kinds, scales or orders.
    """
    everyone = frozenset[str]().union(*asking.values())
    found: dict[str, Question] = {}
    for name in dict.fromkeys(name for questions in known.values() for name in questions):
        one = _joined(_voices(name, known), choices.get(name))
        in_some = name in asking and asking[name] != everyone
        found[name] = replace(one, conditional=one.conditional or in_some)
    return found


def differing_labels(known: Mapping[str, Mapping[str, Question]], choices: Choices) -> list[str]:
    """Sentences on the labels that only some of the sources declare."""
    said = []
    for name in dict.fromkeys(name for questions in known.values() for name in questions):
        labels = _labels(_voices(name, known), choices.get(name))
        if any(one is None for one in labels.values()):
            continue
        union = list(dict.fromkeys(one for listed in labels.values() for one in listed or ()))
        lacking = {source: [one for one in union if one not in (listed or ())] for source, listed in labels.items()}
        parts = [
            f"{source} does not declare {', '.join(map(text_of, absent))}"
            for source, absent in lacking.items()
            if absent
        ]
        if parts:
            said.append(f"Question {name}: {'; '.join(parts)}. The labels of all sources are its categories.")
    return said


def _voices(name: str, known: Mapping[str, Mapping[str, Question]]) -> dict[str, Question]:
    """What each source says of a question; where one declares it, those that merely hold answers do not count."""
    held = {source: questions[name] for source, questions in known.items() if name in questions}
    declared = {source: one for source, one in held.items() if not one.inferred}
    return declared or held


def _joined(voices: Mapping[str, Question], settings: QuestionSettings | None) -> Question:
    first = next(iter(voices.values()))
    if len(voices) == 1:
        return first
    if first.inferred:
        return _widest(voices)
    measured = [_is_measured(one, settings) for one in voices.values()]
    if not any(measured):
        return first
    for source, one in voices.items():
        if one.kind != first.kind or not all(measured):
            raise _unlike(first.name, voices, source, _described)
        if one.kind == "rating" and one.bounds != first.bounds:
            raise _unlike(first.name, voices, source, _range)
    labels = _labels(voices, settings)
    ordered = (settings and settings.level) or first.level or KINDS[first.kind].level
    if ordered != "nominal":
        told = {source: listed for source, listed in labels.items() if listed is not None}
        for source, listed in told.items():
            if listed != next(iter(told.values())):
                raise _unlike(first.name, {other: voices[other] for other in told}, source, _order)
    return replace(
        first,
        categories=_union(list(labels.values())),
        bounds=_widest_bounds([one.bounds for one in voices.values()]),
        required=any(one.required for one in voices.values()),
        conditional=any(one.conditional for one in voices.values()),
    )


def _widest(voices: Mapping[str, Question]) -> Question:
    """Of kinds read off the values the one that holds the others' answers."""
    measured = {source: one for source, one in voices.items() if _is_measured(one)}
    if not measured:
        return next(iter(voices.values()))
    widest = max(measured.values(), key=lambda one: _WIDER.get(one.kind, 1))
    for source, one in measured.items():
        if one.kind not in ("choice", widest.kind) and not {one.kind, widest.kind} <= _WIDER.keys():
            raise _unlike(one.name, measured, source, _described)
    return widest


def _is_measured(question: Question, settings: QuestionSettings | None = None) -> bool:
    by_position = question.own_choices and settings is not None and settings.by == "position"
    return (question.not_measured is None or by_position) and question.kind in KINDS


def _labels(voices: Mapping[str, Question], settings: QuestionSettings | None) -> dict[str, tuple[Any, ...] | None]:
    """The categories that each source declares, under the names that the settings give them."""
    renamed = (settings and settings.relabel) or {}
    lists = {source: one.categories for source, one in voices.items()}
    if len(set(lists.values())) == 1 or not renamed:
        return lists
    return {
        source: None if listed is None else tuple(dict.fromkeys(_renamed(one, renamed) for one in listed))
        for source, listed in lists.items()
    }


def _renamed(category: Any, names: Mapping[str, str]) -> Any:
    if isinstance(category, tuple):
        return tuple(_renamed(step, names) for step in category)
    return names.get(category, category) if isinstance(category, str) else category


def _union(lists: list[tuple[Any, ...] | None]) -> tuple[Any, ...] | None:
    found: dict[Any, None] = {}
    for listed in lists:
        if listed is None:
            return None
        found.update(dict.fromkeys(listed))
    return tuple(found)


def _widest_bounds(bounds: list[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [one for one in bounds if one is not None]
    if len(known) < len(bounds):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _described(question: Question) -> str:
    reason = f" ({question.not_measured})" if question.not_measured else ""
    return f"is of kind {question.kind}{reason}"


def _range(question: Question) -> str:
    if question.bounds is None:
        return "has no declared range"
    return f"goes from {question.bounds[0]:g} to {question.bounds[1]:g}"


def _order(question: Question) -> str:
    return f"has the labels {', '.join(map(text_of, question.categories or ()))}"


def _unlike(name: str, voices: Mapping[str, Question], source: str, said: Any) -> FixConfiguration:
    """The refusal: the first source whose question differs from that of the others says so beside one of them."""
    if source == next(iter(voices)):
        source = next(one for one in voices if one != source)
    first = next(iter(voices))
    return FixConfiguration(
        f"Question '{name}' {said(voices[first])} in {first} and {said(voices[source])} in {source}.",
        "Give one of them another name or the same form in its tool, or take that source out.",
    )
