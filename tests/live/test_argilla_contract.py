"""The contract of a tool, against the real Argilla."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from connector.demo.argilla_seed import (
    Annotator,
    ArgillaApi,
    add_records,
    make_dataset,
    make_workspace,
    question,
    response,
)
from connector.demo.argilla_server import ArgillaServer
from connector.testing import ToolContract
from connector.tools.argilla.tool import Argilla
from connector.tools.base import PutFields, Tool, WriteOp
from tests.live.argilla_fixtures import WORKSPACE

PAGE, RECORDS = 3, 7
_names = itertools.count(1)


class RealWorld:
    """Seven records with two raters' responses each on the real server, which can be taken away and comes back."""

    faults: Collection[str] = ("restart",)

    def __init__(self, server: ArgillaServer, owner: ArgillaApi, annotators: tuple[Annotator, ...]) -> None:
        self.server, self.owner = server, owner
        self.raters = {one.id: ArgillaApi(server.url, one.api_key) for one in annotators[:2]}
        self.secrets = [server.api_key, server.password, *(one.api_key for one in annotators)]
        self.name = f"contract-{next(_names)}"
        self.tools: list[Argilla] = []
        # As the SDK makes one: metadata without a property are refused.
        self.id = make_dataset(
            owner,
            make_workspace(owner, WORKSPACE),
            self.name,
            [question("sentiment", "label_selection", ["yes", "no"])],
            metadata={"source": "terms"},
            min_submitted=5,
            allow_extra_metadata=False,
        )
        self._add(range(RECORDS), rated=True)

    def close(self) -> None:
        for tool in self.tools:
            tool.close()
        for rater in self.raters.values():
            rater.close()
        self.owner.call("DELETE", f"/api/v1/datasets/{self.id}")
        rooms = [one["id"] for one in self._items("me/workspaces") if one["name"] == f"{WORKSPACE}-review"]
        for one in self._items("me/datasets"):
            if one["workspace_id"] in rooms:
                self.owner.call("DELETE", f"/api/v1/datasets/{one['id']}")
        for room in rooms:
            self.owner.call("DELETE", f"/api/v1/workspaces/{room}")

    def tool(self) -> Tool:
        tool = Argilla(self.server.url, self.server.api_key, f"{WORKSPACE}/{self.name}")
        tool.reader.page_size = PAGE
        self.tools.append(tool)
        return tool

    def requests(self, tool: Tool) -> int:
        assert isinstance(tool, Argilla)
        return tool.client.requests

    def annotations(self) -> Mapping[str, int]:
        return {record["id"]: len(record["responses"]) for record in self._records()}

    def change(self, unit: str) -> None:
        old = self.owner.call("GET", f"/api/v1/records/{unit}")["responses"][0]
        other = "no" if old["values"]["sentiment"]["value"] == "yes" else "yes"
        body = {"status": "submitted", "values": {"sentiment": {"value": other}}}
        self.raters[old["user_id"]].call("PUT", f"/api/v1/responses/{old['id']}", body)

    def add(self) -> str:
        return self._add([0], rated=True)

    def add_unrated(self) -> str:
        return self._add([0], rated=False)

    def delete(self, unit: str) -> None:
        self.owner.call("DELETE", f"/api/v1/records/{unit}")

    def describe(self, text: str) -> None:
        raise NotImplementedError("Argilla has no description of a dataset that a tool may write")

    def state(self) -> Any:
        """A record's own time is left out: our writes move it, and no page shows it."""
        records = [{key: value for key, value in one.items() if key != "updated_at"} for one in self._records()]
        properties = self._items(f"me/datasets/{self.id}/metadata-properties")
        return records, properties, *(self._items(place) for place in ("me/datasets", "me/workspaces"))

    def content(self, unit: str) -> Mapping[str, Any]:
        return dict(self.owner.call("GET", f"/api/v1/records/{unit}")["metadata"] or {})

    @contextmanager
    def in_the_way(self) -> Iterator[WriteOp]:
        """A person's metadata property bears the name of one of ours and holds numbers."""
        theirs = {"name": "iaa_status", "title": "Mine", "settings": {"type": "float"}, "visible_for_annotators": True}
        made = self.owner.call("POST", f"/api/v1/datasets/{self.id}/metadata-properties", theirs)
        try:
            yield PutFields({next(iter(self.annotations())): {"iaa_agreement": 1.0, "iaa_status": "agreed"}})
        finally:
            self.owner.call("DELETE", f"/api/v1/metadata-properties/{made['id']}")

    def decide(self, task: str, *, submitted: bool) -> None:
        answer = {"status": "submitted" if submitted else "draft", "values": {"sentiment": {"value": "yes"}}}
        self.owner.call("POST", f"/api/v1/records/{task}/responses", answer)

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        if name != "restart":
            raise ValueError(name)
        self.server.stop()
        back = threading.Timer(1.0, self.server.start)
        back.start()
        try:
            yield
        finally:
            back.join()

    def malformed(self) -> AbstractContextManager[str]:
        raise NotImplementedError("the real server holds no such record")

    def reordered(self) -> AbstractContextManager[None]:
        raise NotImplementedError("the real server knows one order")

    def _records(self) -> list[dict[str, Any]]:
        place = f"/api/v1/datasets/{self.id}/records"
        return list(self.owner.call("GET", place, include="responses,suggestions", limit=1000)["items"])

    def _items(self, place: str) -> list[dict[str, Any]]:
        return list(self.owner.call("GET", f"/api/v1/{place}")["items"])

    def _add(self, numbers: Iterable[int], *, rated: bool) -> str:
        """Records whose responses come in bulk, as with the SDK; the id of the last."""
        records = [
            {
                "fields": {"text": f"text number {number}"},
                "external_id": f"record-{next(_names)}",
                "metadata": {"source": "web"},
                "responses": [
                    response(rater, {"sentiment": "yes" if (number + place) % 3 else "no"})
                    for place, rater in enumerate(self.raters)
                    if rated
                ],
            }
            for number in numbers
        ]
        return add_records(self.owner, self.id, records)[-1]


class TestArgilla(ToolContract):
    @pytest.fixture
    def world(
        self, argilla: ArgillaServer, argilla_owner: ArgillaApi, argilla_annotators: tuple[Annotator, ...]
    ) -> Iterator[RealWorld]:
        world = RealWorld(argilla, argilla_owner, argilla_annotators)
        yield world
        world.close()
