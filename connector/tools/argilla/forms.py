"""The forms in which Argilla's records stand in files -> one form.

API       `responses: [{"values": {question: {"value"}}, "status", "user_id", ...}]`; 1.x's client writes the same
flat      one column each for `<question>.responses`, `.responses.users`, `.responses.status`: the SDK's
          `to_list(flatten=True)` and `to_datasets()`
nested    `responses: {question: [{"value", "user_id"}]}`, without statuses: the SDK's `to_list()` and `to_json()`
columns   one column a question, `[{"user_id", "value", "status"}]`: data sets that 1.x wrote to the Hugging Face Hub
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from connector.annotations.choices import clean
from connector.annotations.model import Status
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.argilla.kinds import as_objects

STATUS: Mapping[str, Status] = {"submitted": "submitted", "draft": "draft", "discarded": "cancelled"}
"""Argilla's response statuses."""
_NOBODY = frozenset({"none", "null", "nan", ""})
"""What a missing user's id becomes on its way through text and data frames."""


class Response(NamedTuple):
    """What one rater did on one record. `answers` are (question, answer as it stands); `status` None: not said."""

    rater: str | None
    status: Status | None
    answers: list[tuple[str, Any]]
    id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class Record(NamedTuple):
    """A record in one form, whatever form it had.

    id : the server's where it is there, then `by_server`; else what the file calls it; None where it has no name.
    data : its fields and metadata, and its `external_id`. suggestions : question -> a model's answer.
    fields : its fields alone, where the form tells them from metadata.
    """

    id: str | None
    by_server: bool
    data: Mapping[str, Any]
    responses: list[Response]
    suggestions: Mapping[str, Any]
    created_at: str | None = None
    updated_at: str | None = None
    fields: Mapping[str, Any] | None = None


def read_record(row: Any, place: str) -> Record:
    """A record of any form. `place` says where it stands, for one without an id.

    Raises SkippedTask for a malformed record; DataNotTrusted for one that came without its responses.
    """
    if not isinstance(row, dict):
        raise SkippedTask(place, f"not an object but {_type_name(row)}")
    responses = row.get("responses", _ABSENT)
    if isinstance(responses, dict):
        return _nested(row, place)
    if isinstance(responses, list) and not _are_answers(responses):
        return _of_api(row, place)
    if "fields" in row and isinstance(row["fields"], dict):
        return _without_responses(row, place)
    if is_flat(row):
        return _flat(row, place)
    return _columns(row, place)


def is_flat(keys: Iterable[str]) -> bool:
    """Whether these are the keys of a flat record."""
    return any(key == "_server_id" or key.endswith((".responses", ".responses.users")) for key in keys)


def is_columns(row: Mapping[str, Any]) -> bool:
    """Whether this is a record of 1.x with one column a question."""
    return any(key.endswith("-suggestion-metadata") or _are_answers(value) for key, value in row.items())


def _of_api(row: Mapping[str, Any], place: str) -> Record:
    own = identifier(row.get("id"))
    external = identifier(row.get("external_id"))
    name = own or external or place
    found = []
    by_rater = _ByRater(name)
    for response in row["responses"]:
        if not isinstance(response, dict):
            raise SkippedTask(name, f"a response is not an object but {_type_name(response)}")
        if "question_name" in response:  # as the SDK serialises its own objects
            by_rater.add_object(_question(response["question_name"], name), response)
            continue
        values = response.get("values")
        if values is not None and not isinstance(values, dict):
            raise SkippedTask(name, f"a response's values are not an object but {_type_name(values)}")
        answers = [
            (clean(question), answer)
            for question, value in (values or {}).items()
            if (answer := value.get("value") if isinstance(value, dict) else value) is not None
        ]
        found.append(
            Response(
                rater_of(response.get("user_id")),
                _status(response.get("status"), name),
                answers,
                identifier(response.get("id")),
                _time(response.get("inserted_at")),
                _time(response.get("updated_at")),
            )
        )
    suggestions = row.get("suggestions")
    suggested = {
        clean(one["question_name"]): one.get("value")
        for one in (suggestions if isinstance(suggestions, list) else ())
        if isinstance(one, dict) and isinstance(one.get("question_name"), str)
    }
    return Record(
        own or external,
        own is not None,
        _data(row, external),
        found + by_rater.responses(),
        suggested,
        _time(row.get("inserted_at")),
        _time(row.get("updated_at")),
        _fields(row),
    )


def _nested(row: Mapping[str, Any], place: str) -> Record:
    own, external = identifier(row.get("_server_id")), identifier(row.get("id"))
    name = own or external or place
    by_rater = _ByRater(name)
    for question, answers in row["responses"].items():
        for answer in _list(answers, question, name):
            by_rater.add_object(clean(question), answer)
    suggestions = row.get("suggestions")
    suggested = {
        clean(question): one.get("value")
        for question, one in (suggestions.items() if isinstance(suggestions, dict) else ())
        if isinstance(one, dict)
    }
    responses = by_rater.responses()
    return Record(own or external, own is not None, _data(row, external), responses, suggested, fields=_fields(row))


def _without_responses(row: Mapping[str, Any], place: str) -> Record:
    if row.get("responses", _ABSENT) is None:
        return _of_api({**row, "responses": []}, place)
    name = identifier(row.get("id")) or identifier(row.get("external_id")) or place
    if "responses" in row:
        raise SkippedTask(name, f"its responses are not a list but {_type_name(row['responses'])}")
    raise DataNotTrusted(
        f"Record {name} came without its responses.", "Ask the API for them: include=responses,suggestions."
    )


_PARTS = (
    *(".responses", ".responses.users", ".responses.status"),
    *(".suggestion", ".suggestion.score", ".suggestion.agent"),
)
_OWN = ("id", "status", "_server_id")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns of flat records hold what, worked out once for all records with the same columns.

    questions : (name, column of values, of users, of statuses). suggested : (name, column). data : the other columns.
    """

    questions: tuple[tuple[str, str, str, str], ...]
    suggested: tuple[tuple[str, str], ...]
    data: tuple[str, ...]

    @classmethod
    def of(cls, columns: tuple[str, ...]) -> _Layout:
        return cls(
            tuple(
                (clean(one.removesuffix(".responses")), one, f"{one}.users", f"{one}.status")
                for one in columns
                if one.endswith(".responses")
            ),
            tuple((clean(one.removesuffix(".suggestion")), one) for one in columns if one.endswith(".suggestion")),
            tuple(one for one in columns if not one.endswith(_PARTS) and one not in _OWN),
        )


_layouts: dict[tuple[str, ...], _Layout] = {}


def _layout(row: Mapping[str, Any]) -> _Layout:
    columns = tuple(row)
    found = _layouts.get(columns)
    if found is None:
        if len(_layouts) > 1000:  # records whose columns all differ gain nothing from what others had
            _layouts.clear()
        found = _layouts[columns] = _Layout.of(columns)
    return found


def _flat(row: Mapping[str, Any], place: str) -> Record:
    if isinstance(row.get("id"), list | dict):
        raise FixConfiguration(
            "The file holds columns, not records.", "Export with to_list(flatten=True), or as JSON lines."
        )
    own, external = identifier(row.get("_server_id")), identifier(row.get("id"))
    name = own or external or place
    layout = _layout(row)
    by_rater = _ByRater(name)
    for question, of_values, of_users, of_statuses in layout.questions:
        values = row[of_values]
        if values is None:
            continue
        users, statuses = row.get(of_users), row.get(of_statuses)
        if not isinstance(values, list) or not isinstance(users, list):
            raise SkippedTask(name, f"the responses to '{question}' or their users are not a list")
        if statuses is None:
            statuses = [None] * len(values)
        if not isinstance(statuses, list) or not len(values) == len(users) == len(statuses):
            raise SkippedTask(name, f"the responses to '{question}' are not as many as their users and statuses")
        by_rater.add_column(question, values, users, statuses)
    data = {key: row[key] for key in layout.data if row[key] is not None}
    if external is not None:
        data.setdefault("external_id", external)
    suggested = {question: row[column] for question, column in layout.suggested if row[column] is not None}
    return Record(own or external, own is not None, data, by_rater.responses(), suggested)


def _columns(row: Mapping[str, Any], place: str) -> Record:
    external = identifier(row.get("external_id"))
    name = external or place
    by_rater = _ByRater(name)
    fields: dict[str, Any] = {}
    suggested: dict[str, Any] = {}
    for key, value in row.items():
        if key.endswith("-suggestion"):
            suggested[clean(key.removesuffix("-suggestion"))] = value
        elif _are_answers(value):
            for answer in as_objects(value) or ():
                by_rater.add_object(clean(key), answer)
        elif value is not None and key not in _BESIDE_FIELDS and not key.endswith("-suggestion-metadata"):
            fields[key] = value
    data = _data({"fields": fields, "metadata": row.get("metadata")}, external)
    return Record(external, False, data, by_rater.responses(), suggested, fields=fields)


@dataclass(slots=True)
class _ByRater:
    """One question after another -> one response per rater.

    A rater who answered one question twice has two responses: which answers go together is told by their order within
    each question. Answers without a rater are put together in the same way; nobody's, they count for nothing.
    """

    record: str
    found: dict[str | None, list[Response]] = field(default_factory=dict)
    question: str | None = None
    times: dict[str | None, int] = field(default_factory=dict)
    column: tuple[list[Any], list[Any], list[Response]] = field(default_factory=lambda: ([], [], []))

    def add_column(self, question: str, values: list[Any], users: list[Any], statuses: list[Any]) -> None:
        """Every answer to one question. Most questions of a record are answered by the same raters in one order."""
        if self.column[:2] == (users, statuses):
            for response, value in zip(self.column[2], values, strict=True):
                if value is not None:
                    response.answers.append((question, value))
            return
        answered = [
            self.add(question, user, status, value) for user, status, value in zip(users, statuses, values, strict=True)
        ]
        self.column = users, statuses, answered

    def add_object(self, question: str, answer: Any) -> None:
        """An answer as an object."""
        if not isinstance(answer, dict):
            raise SkippedTask(self.record, f"a response to '{question}' is not an object but {_type_name(answer)}")
        self.add(question, answer.get("user_id"), answer.get("status"), answer.get("value"))

    def add(self, question: str, user: Any, raw_status: Any, value: Any) -> Response:
        """One rater's answer to one question; gives the response that it belongs to."""
        if question != self.question:
            self.question, self.times = question, {}
        rater, status = rater_of(user), _status(raw_status, self.record)
        time = self.times.get(rater, 0)
        self.times[rater] = time + 1
        own = self.found.setdefault(rater, [])
        if time == len(own):
            own.append(Response(rater, status, []))
        elif own[time].status != status:
            raise SkippedTask(self.record, f"a response is {own[time].status} and {status} at once")
        if value is not None:
            own[time].answers.append((question, value))
        return own[time]

    def responses(self) -> list[Response]:
        return [response for own in self.found.values() for response in own]


_ABSENT = object()
_BESIDE_FIELDS = ("external_id", "metadata")


def _fields(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = row.get("fields")
    return found if isinstance(found, dict) else None


def _data(row: Mapping[str, Any], external: str | None) -> dict[str, Any]:
    """Fields and metadata together; where both have a key it is the metadata's, and the field is `field:KEY`."""
    fields, data = row.get("fields"), dict(_metadata(row.get("metadata")))
    for name, content in fields.items() if isinstance(fields, dict) else ():
        data[name if name not in data else f"field:{name}"] = content
    if external is not None:
        data.setdefault("external_id", external)
    return data


def _metadata(raw: Any) -> Mapping[str, Any]:
    """A record's metadata, which 1.x writes to the Hub as JSON text."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return {}
    return raw if isinstance(raw, dict) else {}


def identifier(raw: Any) -> str | None:
    """An id as text; None where there is none."""
    if isinstance(raw, str):
        return clean(raw) if raw.strip() else None
    return str(raw) if type(raw) is int else None


def rater_of(raw: Any) -> str | None:
    """A user's id, None where it is missing or is but the text of a missing one."""
    if type(raw) is str and len(raw) > 4 and raw.isascii():
        return raw if raw.strip() else None
    found = identifier(raw)
    return None if found is None or found.strip().lower() in _NOBODY else found


def _question(raw: Any, record: str) -> str:
    if not isinstance(raw, str):
        raise SkippedTask(record, f"a response's question is {_type_name(raw)}")
    return clean(raw)


def _status(raw: Any, record: str) -> Status | None:
    found = STATUS.get(raw) if type(raw) is str else None
    if found is None and raw is not None:
        raise SkippedTask(record, f"a response's status is {str(raw)[:40]!r}")
    return found


def _are_answers(value: Any) -> bool:
    """Whether a column holds raters' answers to one question."""
    entries = as_objects(value)
    return bool(entries) and entries is not None and {"user_id", "value"} <= entries[0].keys()


def _list(raw: Any, question: str, record: str) -> Iterable[Any]:
    if not isinstance(raw, list):
        raise SkippedTask(record, f"the responses to '{clean(question)}' are not a list but {_type_name(raw)}")
    return raw


def _time(raw: Any) -> str | None:
    if hasattr(raw, "isoformat"):  # parquet has times of its own
        return str(raw.isoformat())
    return clean(raw) if isinstance(raw, str) else None


def _type_name(raw: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(raw), "a number")
