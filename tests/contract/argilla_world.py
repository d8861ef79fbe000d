"""A recorded Argilla with a small dataset, as the contract suite's `World`."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from connector.tools.argilla.tool import Argilla
from connector.tools.base import PutFields, Tool, WriteOp
from tests.contract.recorded_argilla import PAGE, RecordedArgilla
from tests.contract.served import Answer, Request

PAGE_SIZE = 3
RECORDS = 8
PROPERTY = {"settings": {"type": "integer", "min": None, "max": None}, "visible_for_annotators": True}
NOT_OURS = "This changes what no run may change."


def state(server: RecordedArgilla) -> Any:
    """All that stands on the server.

    A record's own time is left out: our writes move it, and no page shows it.
    """
    untimed = [
        [{key: value for key, value in one.items() if key != "updated_at"} for one in held.records]
        for held in server.datasets
    ]
    parts = [(held.dataset, held.questions, held.fields, held.properties) for held in server.datasets]
    return copy.deepcopy({"records": untimed, "datasets": parts, "workspaces": server.workspaces})


def left_alone(server: RecordedArgilla, sources: Collection[str]) -> Callable[[Request], Answer | None]:
    """A fault: the server refuses whatever changes more of these datasets than a run may.

    Those are properties and the metadata of records. A PATCH of any dataset lets a real server recount all its records,
    and an item of a bulk write that names more than `id` and `metadata` changes the record, or makes one.
    """

    def is_source(record: str) -> bool:
        held = [one for one in server.datasets if one.dataset["id"] in sources]
        return any(one["id"] == record for dataset in held for one in dataset.records)

    def refuse(request: Request) -> Answer | None:
        match request.method, *request.path.strip("/").split("/")[2:]:
            case ("GET", *_) | ("POST", "datasets", _, "metadata-properties"):
                harmful = False
            case ("PATCH", *_) | (_, "responses", *_):
                harmful = True
            case "PUT", "datasets", number, "records", "bulk" if number in sources:
                harmful = any(item.keys() != {"id", "metadata"} for item in request.body["items"])
            case _, "datasets", number, *_:
                harmful = number in sources
            case _, "records", number, *_:
                harmful = is_source(number)
            case _:
                harmful = False
        return Answer(403, {"detail": NOT_OURS}) if harmful else None

    return refuse


class RecordedArgillaWorld:
    """Eight records with two raters' responses each, on a server that can be told to fail.

    As the SDK makes a dataset, it refuses metadata for which it has no property. What no run may change of it, nor of
    those it is made again as, is refused too.
    """

    faults = (
        *("down", "overloaded", "server_error", "html", "login_page", "broken_json", "cut_connection", "refused_token"),
        *("forbidden", "short_page", "ignored_filter", "no_annotations", "restart", "malformed", "reordered"),
    )
    patience = 0.9

    def __init__(self, server: RecordedArgilla, key: str | None = None) -> None:
        self.server = server
        self.key = key or server.owner_key
        self.tools: list[Argilla] = []
        self.sources: set[str] = set()
        server.faults.append(left_alone(server, self.sources))
        server.dataset["allow_extra_metadata"] = False
        self._fill()

    def remake(self, **how: Any) -> None:
        """Make the dataset again under its name, as `RecordedArgilla.remake`, with eight records of other ids."""
        self.server.remake(**how)
        self._fill()

    def _fill(self) -> None:
        self.sources.add(self.server.dataset["id"])
        self.server.properties.append({**self.server.new_part(), "name": "n", "title": "N", **PROPERTY})
        for number in range(RECORDS):
            self._add(number)

    @property
    def secrets(self) -> list[str]:
        return self.server.keys

    def close(self) -> None:
        for tool in self.tools:
            tool.close()

    def tool(self) -> Tool:
        return self.argilla()

    def argilla(self) -> Argilla:
        tool = Argilla(self.server.url, self.key, self.server.project, patience=self.patience)
        tool.reader.page_size = PAGE_SIZE
        self.tools.append(tool)
        return tool

    def requests(self, tool: Tool) -> int:
        assert isinstance(tool, Argilla)
        return tool.client.requests

    def annotations(self) -> Mapping[str, int]:
        return {record["id"]: len(record["responses"]) for record in self.server.records}

    def change(self, unit: str) -> None:
        record = self.server.record(unit)
        before = record["responses"][0]["values"]["label"]["value"]
        self.server.respond(record, 0, {"label": "neg" if before == "pos" else "pos"})

    def add(self) -> str:
        return self._add(0)

    def add_unrated(self) -> str:
        return str(self.server.add("new")["id"])

    def delete(self, unit: str) -> None:
        self.server.records.remove(self.server.record(unit))

    def describe(self, text: str) -> None:
        raise NotImplementedError("Argilla has no description of a dataset that a tool may write")

    def state(self) -> Any:
        return state(self.server)

    def content(self, unit: str) -> Mapping[str, Any]:
        return dict(self.server.record(unit)["metadata"] or {})

    @contextmanager
    def in_the_way(self) -> Iterator[WriteOp]:
        """A person's metadata property bears the name of one of ours and holds numbers."""
        theirs = {"settings": {"type": "float", "min": None, "max": None}, "visible_for_annotators": True}
        held = {**self.server.new_part(), "name": "iaa_status", "title": "Mine", **theirs}
        self.server.properties.append(held)
        try:
            yield PutFields({self.server.records[0]["id"]: {"iaa_agreement": 1.0, "iaa_status": "agreed"}})
        finally:
            self.server.properties.remove(held)

    def decide(self, task: str, *, submitted: bool) -> None:
        record = self.server.any_record(task)
        self.server.respond(record, 0, {"label": "pos"}, "submitted" if submitted else "draft")

    def _add(self, number: int) -> str:
        """A record with two responses, as the SDK uploads it: all at once."""
        record = self.server.add(f"text {number}", external_id=f"rec-{number}", metadata={"n": number})
        before = self.server.dataset["last_activity_at"]
        for rater in range(2):
            self.server.respond(record, rater, {"label": "pos" if (number + rater) % 3 else "neg"})
        self.server.dataset["last_activity_at"] = before
        return str(record["id"])

    # Faults

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        if name == "down":
            self.server.stop()
            yield
            self.server.start()
        elif name == "restart":
            with self._restart():
                yield
        else:
            with self.server.failing(getattr(self, f"_{name}")):
                yield

    @contextmanager
    def malformed(self) -> Iterator[str]:
        """The server gives the responses of one record as a text."""
        broken = self.server.records[1]["id"]

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            for record in answer.body["items"] if request.is_page and answer.status == 200 else ():
                if record["id"] == broken and "responses" in record:
                    record["responses"] = "two of them"
            return answer

        with self.server.failing(fault):
            yield broken

    @contextmanager
    def reordered(self) -> Iterator[None]:
        """The server gives the responses of each record in another order; that of the records is by insertion."""

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            for record in answer.body["items"] if request.is_page and answer.status == 200 else ():
                record["responses"] = record.get("responses", [])[::-1]
            return answer

        with self.server.failing(fault):
            yield

    @contextmanager
    def _restart(self) -> Iterator[None]:
        """The server goes down on the second page, without answering it, and is back a moment later."""
        pages: list[Request] = []

        def once(request: Request) -> Answer | None:
            if request.is_page:
                pages.append(request)
                if len(pages) == 2:
                    back.start()
            return None

        def bounce() -> None:
            self.server.stop()
            threading.Event().wait(0.3)
            self.server.start()

        for tool in self.tools:
            tool.client._be_patient(10.0)  # a busy machine may take longer than the moment that was meant
        back = threading.Thread(target=bounce)
        with self.server.failing(once):
            yield
        back.join()

    def _overloaded(self, request: Request) -> Answer:
        return Answer(503, PAGE, "text/html")

    def _server_error(self, request: Request) -> Answer:
        params = {"type": "builtins.KeyError", "message": f"it broke on {request.headers['X-Argilla-Api-Key']}"}
        return Answer(500, {"detail": {"code": "argilla.api.errors::GenericServerError", "params": params}})

    def _html(self, request: Request) -> Answer:
        return Answer(200, PAGE, "text/html")

    def _login_page(self, request: Request) -> Answer:
        return Answer(302, "", "text/html", {"Location": "/sign-in/login"})

    def _broken_json(self, request: Request) -> Answer:
        return Answer(200, '{"items": [{"id": "1", "da', "application/json")

    def _cut_connection(self, request: Request) -> Answer:
        answer = self.server.real(request)
        answer.cut = 40
        return answer

    def _refused_token(self, request: Request) -> Answer:
        detail = {
            "code": "argilla.api.errors::UnauthorizedError",
            "params": {"detail": "Could not validate credentials"},
        }
        return Answer(401, {"detail": detail})

    def _forbidden(self, request: Request) -> Answer:
        detail = {"code": "argilla.api.errors::ForbiddenOperationError", "params": {"detail": "Operation not allowed"}}
        return Answer(403, {"detail": detail})

    def _short_page(self, request: Request) -> Answer | None:
        """Every page but the first is empty although the server counts more."""
        if not request.is_page or request.params.get("offset") == "0":
            return None
        answer = self.server.real(request)
        answer.body["items"] = []
        return answer

    def _ignored_filter(self, request: Request) -> Answer | None:
        """Every page is the first."""
        if request.is_page:
            request.params["offset"] = "0"
        return None

    def _no_annotations(self, request: Request) -> Answer | None:
        request.params.pop("include", None)
        return None
