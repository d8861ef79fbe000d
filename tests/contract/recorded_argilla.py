"""An Argilla on loopback made of recorded answers, which can be told to fail.

Its answers have the form that a real 2.8.0 gave (`argilla_2.8.0.json`, `argilla_writing_2.8.0.json`, held against it
by `test_recorded_argilla.py`). What it holds changes as the real one's does: a response moves the dataset's
`last_activity_at`, a record that comes or goes or gets other metadata does not; a record's own time moves with its
metadata and not with a response. A bulk write checks every item before it writes any.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.contract.argilla_conversation import DATASET, RECORDING, WORKSPACE
from tests.contract.served import Answer, Request, Served

RECORDED: dict[str, dict[str, Any]] = json.loads(RECORDING.read_text("utf-8"))
PAGE = "<!doctype html><html><head><title>Argilla</title></head><body></body></html>"

NOT_ALLOWED = RECORDED["records, an annotator"]["answer"]
_TOO_SHORT = "List should have at least 1 item after validation, not 0"
NO_ITEMS = {
    "detail": {
        "code": "argilla.api.errors::ValidationError",
        "params": {"errors": [{"loc": ["body", "items"], "msg": _TOO_SHORT, "type": "too_short"}]},
    }
}


def recorded(name: str) -> Answer:
    answer = RECORDED[name]
    return Answer(answer["status"], copy.deepcopy(answer["answer"]), answer["type"])


Item = dict[str, Any]


@dataclass
class Held:
    """A dataset and what is in it, as the API gives it."""

    dataset: Item
    questions: list[Item] = field(default_factory=list)
    fields: list[Item] = field(default_factory=list)
    properties: list[Item] = field(default_factory=list)
    records: list[Item] = field(default_factory=list)


class RecordedArgilla(Served):
    """The server, with the recorded workspace and dataset in it: an owner, an annotator, and no record yet.

    `dataset`, `questions`, `fields`, `properties` and `records` are those of the recorded dataset.
    """

    page = PAGE

    def __init__(self, sub_path: str = "") -> None:
        super().__init__(sub_path)
        self._ids = itertools.count(1)
        self._seconds = itertools.count(1)
        self.owner_key = "recorded-owner-key-5f2c81"
        self.annotator_key = "recorded-annotator-key-91b7d0"
        self.admin_key = "recorded-admin-key-c44e07"
        self.workspaces: list[dict[str, Any]] = copy.deepcopy(RECORDED["workspaces"]["answer"]["items"])
        self.dataset: dict[str, Any] = copy.deepcopy(RECORDED["dataset"]["answer"])
        self.questions: list[dict[str, Any]] = copy.deepcopy(RECORDED["questions"]["answer"]["items"])
        self.users: list[dict[str, Any]] = [
            {**one, "api_key": f"secret-key-of-{one['username']}"} for one in RECORDED["users"]["answer"]["items"]
        ]
        self.members: dict[str, list[Item]] = {self.workspaces[0]["id"]: self.users}
        self.records: list[dict[str, Any]] = []
        self.fields = [self._field("text", required=True), self._field("source", required=False)]
        self.properties: list[Item] = []
        self.datasets = [Held(self.dataset, self.questions, self.fields, self.properties, self.records)]

    @property
    def project(self) -> str:
        """What the configuration calls the dataset."""
        return f"{WORKSPACE}/{DATASET}"

    @property
    def keys(self) -> list[str]:
        """Every secret there is."""
        others = [user["api_key"] for user in self.users]
        return [self.owner_key, self.annotator_key, self.admin_key, *others]

    # What people do

    def now(self) -> str:
        """A time later than all before."""
        return f"2026-12-01T09:00:{next(self._seconds) / 1000:09.6f}"

    def new_id(self) -> str:
        return str(UUID(int=next(self._ids) << 64 | 4 << 76 | 1 << 63))

    def add(self, text: str = "Some text", **changes: Any) -> dict[str, Any]:
        """A record, as the SDK adds one: nothing of the dataset moves."""
        at = self.now()
        self.records.append(
            {
                "id": self.new_id(),
                "status": "pending",
                "fields": {"text": text},
                "metadata": None,
                "external_id": None,
                "responses": [],
                "suggestions": [],
                "vectors": {},
                "dataset_id": self.dataset["id"],
                "inserted_at": at,
                "updated_at": at,
                **changes,
            }
        )
        return self.records[-1]

    def respond(
        self, record: dict[str, Any], rater: int, values: Mapping[str, Any] | None, status: str = "submitted"
    ) -> dict[str, Any]:
        """A rater's response, in place of the one there was."""
        user, at = self.users[rater]["id"], self.now()
        there = next((one for one in record["responses"] if one["user_id"] == user), None)
        if there is None:
            there = {"id": self.new_id(), "record_id": record["id"], "user_id": user, "inserted_at": at}
            record["responses"].append(there)
        given = None if values is None else {name: {"value": value} for name, value in values.items()}
        there.update(values=given, status=status, updated_at=at)
        self.dataset["last_activity_at"] = at
        return there

    def record(self, number: str) -> dict[str, Any]:
        return next(one for one in self.records if one["id"] == number)

    def half_signs(self, request: Request) -> Answer:
        """A fault: as the real server does, refuse an answer in which half of a surrogate pair stands, what was asked
        for being done all the same."""
        answer = self.real(request)
        try:
            json.dumps(answer.body, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            return Answer(422, {"detail": str(error)})
        return answer

    def remake(self, *, keep_as: str | None = None) -> None:
        """Delete the dataset, or give it another name, and make one of its name, without records."""
        old = self.datasets[0]
        self.dataset = {**copy.deepcopy(old.dataset), "id": self.new_id(), "last_activity_at": self.now()}
        self.questions, self.fields = (
            [{**copy.deepcopy(one), "id": self.new_id(), "dataset_id": self.dataset["id"]} for one in part]
            for part in (old.questions, old.fields)
        )
        self.properties, self.records = [], []
        if keep_as is None:
            self.datasets.remove(old)
        else:
            old.dataset["name"] = keep_as
        self.datasets.insert(0, Held(self.dataset, self.questions, self.fields, self.properties, self.records))

    def any_record(self, number: str) -> Item:
        """A record of whichever dataset."""
        return self._any_record(number)[1]

    def held(self, number: str) -> Held:
        """The dataset of this id; answers 404 where it is not."""
        for one in self.datasets:
            if one.dataset["id"] == number:
                return one
        raise Answer(404, {"detail": f"Dataset with id `{number}` not found"})

    # Routes

    def _route(self, request: Request) -> None:
        parts = request.path.strip("/").split("/")
        if parts[:2] != ["api", "v1"]:
            raise Answer(200, PAGE, "text/html")
        match request.method, *parts[2:]:
            case "GET", "version":
                raise recorded("version")
        role = self._role(request)
        match request.method, *parts[2:]:
            case "GET", "me":
                raise Answer(200, {**RECORDED["me" if role == "owner" else "me, an annotator"]["answer"], "role": role})
            case "GET", "me", "workspaces":
                raise Answer(200, {"items": self.workspaces})
            case "GET", "me", "datasets":
                raise Answer(200, {"items": [one.dataset for one in self._datasets(request)]})
            case "GET", "me", "datasets", number, "metadata-properties":
                shown = [one for one in self.held(number).properties if role != "annotator" or _is_shown(one)]
                raise Answer(200, {"items": shown})
            case "POST", "me", "datasets", number, "records", "search":
                found = self.held(number).records[: int(request.params["limit"])]
                raise Answer(200, {"items": [{"record": one, "query_score": 1.0} for one in found], "total": 0})
            case "GET", "status":
                raise Answer(200, {"version": "2.8.0", "search_engine": {}, "memory": {}})
            case "GET", "jobs", _:
                raise recorded("no such job")
            case "GET", "users":
                raise Answer(200, {"items": self.users}) if role == "owner" else recorded("users, an annotator")
            case "GET", "workspaces", number, "users":
                there = {"items": self.members.get(number, [])}
                raise Answer(200, there) if role != "annotator" else recorded("users, an annotator")
            case "GET", "records", number:
                raise Answer(200, self._any_record(number)[1])
            case ("POST", "records", _, "responses") | ("PUT", "responses", _):
                self._answered(request, parts[3])
            case "GET", "datasets", number, *rest:
                held = self.held(number)
                match rest:
                    case []:
                        raise Answer(200, held.dataset)
                    case ["questions"]:
                        raise Answer(200, {"items": held.questions})
                    case ["fields"]:
                        raise Answer(200, {"items": held.fields})
                    case ["records"]:
                        page = self._page(request, held.records)
                        raise recorded("records, an annotator") if role == "annotator" else page
            case (("POST" | "PUT" | "DELETE"), *rest):
                if role == "annotator" or (rest[0] == "workspaces" and role != "owner"):
                    raise Answer(403, NOT_ALLOWED)
                self._write(request, rest)
        raise recorded("no such place")

    def _role(self, request: Request) -> str:
        key = request.headers.get("X-Argilla-Api-Key")
        roles = {user["api_key"]: "annotator" for user in self.users}
        roles |= {self.owner_key: "owner", self.admin_key: "admin", self.annotator_key: "annotator"}
        if key not in roles:
            raise recorded("wrong key")
        return roles[key]

    def _page(self, request: Request, records: Sequence[Item]) -> Answer:
        limit, offset = int(request.params.get("limit", 50)), int(request.params.get("offset", 0))
        if limit > 1000:
            return recorded("too many records")
        include = request.params.get("include", "").split(",")
        left_out = {"responses", "suggestions", "vectors"} - set(include)
        shown = [
            {key: value for key, value in record.items() if key not in left_out}
            for record in records[offset : offset + limit]
        ]
        return Answer(200, {"items": shown, "total": len(records)})

    def _datasets(self, request: Request) -> list[Held]:
        workspace = request.params.get("workspace_id")
        return [one for one in self.datasets if workspace in (None, one.dataset["workspace_id"])]

    def _any_record(self, number: str) -> tuple[Held, Item]:
        for held in self.datasets:
            for record in held.records:
                if record["id"] == number:
                    return held, record
        raise Answer(404, {"detail": f"Record with id `{number}` not found"})

    def _answered(self, request: Request, number: str) -> None:
        """A response by the person whose key it is: a new one to record `number`, or response `number` once more."""
        user = next(one for one in self.users if one["api_key"] == request.headers["X-Argilla-Api-Key"])
        at = self.now()
        if request.method == "PUT":
            ((held, there),) = [
                (held, response)
                for held in self.datasets
                for record in held.records
                for response in record["responses"]
                if response["id"] == number
            ]
            there["updated_at"] = there["updated_at"] if request.body["values"] == there["values"] else at
        else:
            held, record = self._any_record(number)
            if any(one["user_id"] == user["id"] for one in record["responses"]):
                by = f"by user with id `{user['id']}`"
                raise Answer(409, {"detail": f"Response already exists for record with id `{number}` and {by}"})
            there = {"id": self.new_id(), "record_id": number, "user_id": user["id"]}
            there.update(inserted_at=at, updated_at=at)
            record["responses"].append(there)
        there.update(values=request.body["values"], status=request.body["status"])
        held.dataset["last_activity_at"] = at
        raise Answer(201 if request.method == "POST" else 200, there)

    # Writing

    def _write(self, request: Request, parts: Sequence[str]) -> None:
        body = request.body
        match request.method, *parts:
            case "POST", "workspaces":
                self._make_workspace(body)
            case "DELETE", "workspaces", number:
                self._delete_workspace(number)
            case "POST", "datasets":
                self._make_dataset(body)
            case "DELETE", "datasets", number:
                held = self.held(number)
                self.datasets.remove(held)
                raise Answer(200, held.dataset)
            case "PUT", "datasets", number, "publish":
                self._publish(self.held(number))
            case "POST", "datasets", number, ("fields" | "questions" | "metadata-properties") as part:
                self._make_part(self.held(number), part, body)
            case "DELETE", "metadata-properties", number:
                for held in self.datasets:
                    for one in [one for one in held.properties if one["id"] == number]:
                        held.properties.remove(one)
                        raise Answer(200, one)
                raise Answer(404, {"detail": f"MetadataProperty with id `{number}` not found"})
            case "PUT", "datasets", number, "records", "bulk":
                self._bulk(self.held(number), body["items"])
            case "DELETE", "datasets", number, "records":
                held, ids = self.held(number), request.params["ids"].split(",")
                held.records[:] = [one for one in held.records if one["id"] not in ids]
                raise Answer(204, None, "application/json")
            case "DELETE", "records", number:
                held, record = self._any_record(number)
                held.records.remove(record)
                left_out = ("responses", "suggestions", "vectors")
                raise Answer(200, {key: value for key, value in record.items() if key not in left_out})

    def _times(self) -> Item:
        at = self.now()
        return {"inserted_at": at, "updated_at": at}

    def _make_workspace(self, body: Item) -> None:
        if any(one["name"] == body["name"] for one in self.workspaces):
            raise Answer(409, {"detail": f"Workspace name `{body['name']}` is not unique"})
        self.workspaces.append({"id": body.get("id") or self.new_id(), "name": body["name"], **self._times()})
        raise Answer(201, self.workspaces[-1])

    def _delete_workspace(self, number: str) -> None:
        for one in [one for one in self.workspaces if one["id"] == number]:
            if any(held.dataset["workspace_id"] == number for held in self.datasets):
                why = f"Cannot delete the workspace {number}. This workspace has some datasets linked"
                raise Answer(409, {"detail": why})
            self.workspaces.remove(one)
            raise Answer(200, one)
        raise Answer(404, {"detail": f"Workspace with id `{number}` not found"})

    def _make_dataset(self, body: Item) -> None:
        name, workspace = body["name"], body["workspace_id"]
        if any((one.dataset["name"], one.dataset["workspace_id"]) == (name, workspace) for one in self.datasets):
            why = f"Dataset with name `{name}` already exists for workspace with id `{workspace}`"
            raise Answer(409, {"detail": why})
        times = self._times()
        dataset = {"guidelines": None, "metadata": None, "status": "draft", "id": self.new_id(), **times, **body}
        dataset["last_activity_at"] = times["inserted_at"]
        self.datasets.append(Held(dataset))
        raise Answer(201, dataset)

    def _publish(self, held: Held) -> None:
        if held.dataset["status"] == "ready":
            raise Answer(422, {"detail": "Dataset has already been published"})
        if not held.fields:
            raise Answer(422, {"detail": "Dataset cannot be published without fields"})
        held.dataset.update(status="ready", updated_at=self.now())
        raise Answer(200, held.dataset)

    def _make_part(self, held: Held, part: str, body: Item) -> None:
        """A field, a question or a metadata property."""
        list_, called, closed = {
            "fields": (held.fields, "Field", "Field cannot be created for a published dataset"),
            "questions": (held.questions, "Question", "questions cannot be created for a published dataset"),
            "metadata-properties": (held.properties, "Metadata property", ""),
        }[part]
        if any(one["name"] == body["name"] for one in list_):
            end = f"already exists for dataset with id `{held.dataset['id']}`"
            raise Answer(409, {"detail": f"{called} with name `{body['name']}` {end}"})
        if closed and held.dataset["status"] == "ready":
            raise Answer(422, {"detail": closed})
        more = {"description": None} if part == "questions" else {}
        list_.append({**self.new_part(held), **more, **body, "settings": _whole(body["settings"])})
        raise Answer(201, list_[-1])

    def new_part(self, held: Held | None = None) -> Item:
        """How a field, a question or a property begins."""
        dataset = held.dataset if held else self.dataset
        return {"id": self.new_id(), "dataset_id": dataset["id"], **self._times()}

    def _field(self, name: str, *, required: bool) -> Item:
        settings = {"type": "text", "use_markdown": False}
        return {**self.new_part(), "name": name, "title": name, "required": required, "settings": settings}

    def _bulk(self, held: Held, items: Sequence[Item]) -> None:
        if not items:
            raise Answer(422, NO_ITEMS)
        found = [self._upserted(held, item) for item in items]
        for place, (item, record) in enumerate(zip(items, found, strict=True)):
            why = None if item.get("fields") or record else "fields cannot be empty"
            why = why or _trouble(held, item.get("metadata"))
            if why:
                raise Answer(422, {"detail": f"Record at position {place} is not valid because {why}"})
        ours = [self._put(held, item, record) for item, record in zip(items, found, strict=True)]
        # What is answered names the fields that were left out, too.
        blank = dict.fromkeys(one["name"] for one in held.fields)
        raise Answer(200, {"items": [{**record, "fields": {**blank, **record["fields"]}} for record in ours]})

    def _upserted(self, held: Held, item: Item) -> Item | None:
        """The record that an item means: by id, else by external id."""
        for key in ("id", "external_id"):
            for record in held.records:
                if item.get(key) is not None and record[key] == item[key]:
                    return record
        return None

    def _put(self, held: Held, item: Item, record: Item | None) -> Item:
        if record is None:
            record = {
                "id": self.new_id(),
                "status": "pending",
                "metadata": None,
                "external_id": None,
                "responses": [],
                "suggestions": [],
                "vectors": {},
                "dataset_id": held.dataset["id"],
                **self._times(),
            }
            held.records.append(record)
        changes: Item = {key: item[key] for key in ("fields", "metadata", "external_id") if key in item}
        if any(record.get(key) != value for key, value in changes.items()):
            record.update(changes, updated_at=self.now())
        return record


def _trouble(held: Held, metadata: Item | None) -> str | None:
    """What the server says against this metadata."""
    kinds = {one["name"]: one["settings"]["type"] for one in held.properties}
    for name, value in (metadata or {}).items():
        if name not in kinds:
            if held.dataset["allow_extra_metadata"]:
                continue
            return (
                f"metadata is not valid: '{name}' metadata property does not exists for dataset"
                f" '{held.dataset['id']}' and extra metadata is not allowed for this dataset"
            )
        wanted = {"float": float, "integer": int, "terms": object}[kinds[name]]
        if not isinstance(value, wanted):
            article = "an" if kinds[name] == "integer" else "a"
            return (
                f"metadata is not valid: '{name}' metadata property validation failed because '{value}' is not"
                f" {article} {kinds[name]}."
            )
    return None


def _is_shown(item: Item) -> bool:
    return item["visible_for_annotators"] is True


def _whole(settings: Item) -> Item:
    """The settings of a part with what the server adds."""
    more: Item = {"terms": {"values": None}, "float": {"min": None, "max": None}, "integer": {"min": None, "max": None}}
    more["text"] = {"use_markdown": False}
    if settings["type"] == "label_selection":
        options = [{"description": None, **option} for option in settings["options"]]
        return {"visible_options": None, **settings, "options": options}
    return {**more.get(settings["type"], {}), **settings}
