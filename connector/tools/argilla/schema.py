"""What a dataset asks its raters, and what of a dataset is remembered between runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from connector.annotations.choices import clean
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.errors import DataNotTrusted
from connector.tools.argilla.kinds import KIND_OF, read_answer, read_spans

NOT_ASKED = "the dataset does not ask it any more"
"""The reason given for a question that only responses name."""
NOT_SHOWN = Missing("not_shown")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as it was seen, kept as `Project.settings`.

    `activity` is its `last_activity_at`, `total` its number of records, `questions` what the API says of them, without
    times. One that is not published (`is_draft`) nobody can answer.
    """

    id: str
    name: str
    workspace: str
    workspace_id: str
    activity: str
    total: int
    min_submitted: int | None
    questions: Sequence[Mapping[str, Any]]
    is_draft: bool = False

    @property
    def review_workspace(self) -> str:
        """What the workspace of the review dataset is called where the configuration does not say."""
        return f"{self.workspace}-review"

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Dataset | None:
        """What `to_text` wrote; None where it is something else."""
        try:
            found = json.loads(text)
            return cls(**found) if isinstance(found["questions"], list) else None
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


def read_schema(settings: str) -> ArgillaSchema:
    """The questions out of `Dataset.to_text`. Raises DataNotTrusted for any other text."""
    dataset = Dataset.from_text(settings)
    if dataset is None:
        raise DataNotTrusted("What is stored of the Argilla dataset cannot be read.", "Sync it again with --full.")
    return ArgillaSchema(dataset.questions)


def question_of(item: Mapping[str, Any]) -> Question:
    """A question of the API. Its categories are the values of its options, not the titles that people see."""
    settings = item.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    kind = KIND_OF.get(str(settings.get("type")), str(settings.get("type")))
    options = settings.get("options")
    values = [one.get("value") for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    name = clean(str(item.get("name")))
    if kind == "rating":
        numbers = sorted(float(value) for value in values if type(value) is int)
        if numbers:
            return Question(name, kind, categories=tuple(numbers), bounds=(numbers[0], numbers[-1]))
        return Question(name, kind)
    return Question(name, kind, categories=tuple(clean(str(value)) for value in values) or None)


class ArgillaSchema:
    """The questions of a dataset. Questions that only responses know of are added as they come, as not measured."""

    def __init__(self, questions: Sequence[Mapping[str, Any]]) -> None:
        self._questions = {one.name: one for one in map(question_of, questions)}
        self._fields = {
            clean(str(item["name"])): str(item["settings"].get("field"))
            for item in questions
            if isinstance(item.get("settings"), dict) and item["settings"].get("type") == "span"
        }
        self._strangers: dict[str, Question] = {}
        self.marks: Counter[str] = Counter()
        """Spans that were mended ("shifted", "beyond"), and those of them that could be read in two ways ("unsure")."""

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every question of the dataset in its order, then those that only responses name."""
        return {**self._questions, **self._strangers}

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers should know, after the last unit."""
        return list(notes_on_spans(self.marks))

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        """The annotation's answers.

        A submitted response that says nothing of a span question says "nothing here": the page sends the same for an
        untouched one. A response without any answer says nothing at all.
        """
        found: dict[str, Value | Missing] = {}
        for one in annotation.result:
            name, value = one["question"], one["value"]
            question = self._questions.get(name)
            if question is None:
                self._strangers.setdefault(name, Question(name, "unknown", inferred=True, not_measured=NOT_ASKED))
            elif name in self._fields:
                found[name] = self._spans(name, value, unit)
            else:
                found[name] = read_answer(question.kind, value)
        if annotation.result:
            for name in self._fields:
                if name not in found:
                    found[name] = self._spans(name, [], unit)
        return found

    def _spans(self, name: str, raw: Any, unit: Unit) -> Value | Missing:
        field = self._fields[name]
        text = unit.data.get(f"field:{field}", unit.data.get(field))
        if not isinstance(text, str):  # the server takes no spans on a record without the field
            return read_spans(raw).value if raw else NOT_SHOWN
        read = read_spans(raw, text)
        if read.shifted or read.beyond or read.trimmed:
            self.marks.update(shifted=read.shifted, beyond=read.beyond, unsure=read.unsure, trimmed=read.trimmed)
        return read.value


def notes_on_spans(marks: Counter[str]) -> Iterator[str]:
    """What was mended of the spans that were read."""
    if marks["shifted"]:
        unsure = f" {marks['unsure']:,} of them could be either." if marks["unsure"] else ""
        yield (
            f"{marks['shifted']:,} spans count UTF-16 units, as a browser does behind emoji and other characters beyond"
            f" the basic plane; they were turned into code points.{unsure}"
        )
    if marks["beyond"]:
        yield f"{marks['beyond']:,} spans reach past the end of their text; they were cut there."
    if marks["trimmed"]:
        yield f"{marks['trimmed']:,} spans begin or end with blanks, which were cut off."
