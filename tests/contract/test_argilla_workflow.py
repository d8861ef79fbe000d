"""The verbs on a recorded Argilla: what a run asks, what it writes, and what is left of one that dies."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connector import cli
from connector.tools.argilla import write
from connector.tools.argilla.client import Client
from tests.contract.argilla_world import RecordedArgillaWorld
from tests.contract.recorded_argilla import RecordedArgilla
from tests.contract.synced_project import Killed

CASES = Path(__file__).parents[1] / "cases" / "reports.json"
REPORTS: dict[str, Any] = json.loads(CASES.read_text("utf-8"))["reports"]


class SyncedDataset:
    """A recorded dataset of eight records, two raters each, the store and the configuration beside it."""

    def __init__(self, server: RecordedArgilla, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.world = RecordedArgillaWorld(server)

    def __call__(self, *arguments: str, review: bool = False) -> int:
        """The exit code of `connector ARGUMENTS -c config.yaml`."""
        whole = {"tool": "argilla", "url": self.server.url, "api_key": "${KEY}", "project": self.server.project}
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({**whole, **({"review": {}} if review else {})}))
        return cli.run([*arguments, "-c", str(config)])

    def calls(self, *arguments: str, review: bool = False) -> list[str]:
        """What a run that ends well asks of the server."""
        before = len(self.server.log)
        assert self(*arguments, review=review) == 0
        return [f"{one.method} {one.path}" for one in self.server.log[before:]]

    def fields(self, name: str = "iaa_status") -> list[Any]:
        return [(record["metadata"] or {}).get(name) for record in self.server.records]

    def shown(self) -> Any:
        """All that people see, comparable between two servers."""
        ids = {record["id"]: place for place, record in enumerate(self.server.records)}
        reviews = [
            (one.dataset["name"], sorted((ids[r["external_id"]], len(r["responses"])) for r in one.records))
            for one in self.server.datasets[1:]
        ]
        properties = sorted(one["name"] for one in self.server.properties)
        return [record["metadata"] for record in self.server.records], properties, reviews


Make = Callable[[], SyncedDataset]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(write, "PAUSE", 0.0)
    running: list[SyncedDataset] = []

    def start() -> SyncedDataset:
        server = RecordedArgilla()
        server.start()
        monkeypatch.setenv("KEY", server.owner_key)
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(SyncedDataset(server, folder))
        return running[-1]

    yield start
    for one in running:
        one.world.close()
        one.server.stop()


@pytest.fixture
def synced(make: Make) -> SyncedDataset:
    return make()


def test_a_run_that_finds_nothing_changed_asks_two_questions(synced: SyncedDataset) -> None:
    synced("sync", review=True)
    before = synced.world.state()
    place = f"/api/v1/datasets/{synced.server.dataset['id']}"
    assert synced.calls("sync", review=True) == [f"GET {place}", f"GET {place}/records"]
    assert synced.world.state() == before


def test_a_full_run_that_finds_nothing_changed_writes_nothing(synced: SyncedDataset) -> None:
    synced("sync", review=True)
    calls = synced.calls("sync", "--full", review=True)
    assert [call for call in calls if not call.startswith("GET")] == []


def test_of_one_edited_response_one_record_changes(synced: SyncedDataset) -> None:
    synced("sync")
    times = [record["updated_at"] for record in synced.server.records]
    synced.world.change(synced.server.records[2]["id"])
    calls = synced.calls("sync")
    assert [call for call in calls if not call.startswith("GET")] == [
        f"PUT /api/v1/datasets/{synced.server.dataset['id']}/records/bulk"
    ]
    moved = [now["updated_at"] != then for now, then in zip(synced.server.records, times, strict=True)]
    assert moved == [place == 2 for place in range(8)]


def test_a_dry_run_writes_nothing(synced: SyncedDataset) -> None:
    before = synced.world.state()
    calls = synced.calls("sync", "--dry-run", review=True)
    assert [call for call in calls if not call.startswith("GET")] == []
    assert synced.world.state() == before


def test_a_removal_leaves_everything_as_it_was(synced: SyncedDataset) -> None:
    before = synced.world.state()
    synced("sync", review=True)
    assert synced.world.state() != before
    synced("remove", "--review", review=True)
    assert synced.world.state() == before


def test_a_removal_with_a_lost_store_does_too(synced: SyncedDataset) -> None:
    before = synced.world.state()
    synced("sync", review=True)
    for file in synced.folder.glob("connector.db*"):
        file.unlink()
    synced("remove", "--review", review=True)
    assert synced.world.state() == before


def test_ar_05_no_response_is_ever_pushed(synced: SyncedDataset) -> None:
    """Of users who are not on the server any more least of all."""
    report = REPORTS["AR-05"]["input"]
    for record in synced.server.records:
        for response, user in zip(record["responses"], report["responses_by"], strict=True):
            response["user_id"] = user
    synced.server.users[:] = [{**synced.server.users[0], "id": user} for user in report["server_users"]]
    held = [copy.deepcopy(record["responses"]) for record in synced.server.records]
    synced("sync", review=True)
    assert set(synced.fields("iaa_raters")) == {2}
    pushed = [
        one for one in synced.server.log if one.method != "GET" and "response" in json.dumps([one.path, one.body])
    ]
    assert len(pushed) == REPORTS["AR-05"]["expected"]["pushed_responses"]
    assert [record["responses"] for record in synced.server.records] == held


def test_a_run_that_dies_anywhere_leaves_nothing_double(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed behind each of its calls in turn, and then run again."""
    whole = make()
    whole("sync", review=True)
    expected = whole.shown()
    assert len(expected[2]) == 1
    real = Client.call
    for place in itertools.count():
        seen = itertools.count()

        def dying(client: Client, *given: Any, seen: Any = seen, place: int = place, **more: Any) -> Any:
            answer = real(client, *given, **more)
            if next(seen) == place:
                raise Killed
            return answer

        synced = make()
        monkeypatch.setattr(Client, "call", dying)
        try:
            synced("sync", review=True)
            died = False
        except Killed:
            died = True
        finally:
            monkeypatch.setattr(Client, "call", real)
        if not died:
            break
        synced("sync", "--full", review=True)
        assert synced.shown() == expected, place
        assert set(Counter(r["external_id"] for r in synced.server.datasets[1].records).values()) == {1}
    assert place > 10, "it has died at every call"
