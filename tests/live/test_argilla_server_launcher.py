"""The launcher's promises for Argilla: a whole server on loopback that is gone afterwards, with parts that can fail."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from connector.demo.argilla_seed import NAME, WORKSPACE, ArgillaApi, question, seed_reviews
from connector.demo.argilla_server import VERSION, ArgillaServer
from connector.demo.live import _is_there
from connector.demo.process import is_free
from connector.demo.reviews import CATEGORIES
from connector.errors import ToolTrouble
from tests.live.argilla_fixtures import SmallDataset
from tests.live.support import alive, group, listening, until

HOLD = """
import sys, time
from pathlib import Path
from connector.demo.argilla_server import argilla_server
with argilla_server(Path(sys.argv[1])) as server:
    print(server.port, server.pid, server._redis.pid, server._index.pid, flush=True)
    time.sleep(600)
"""
"""A program that starts a server and would keep it for ten minutes."""


def test_it_answers_as_its_owner_on_loopback_only(argilla: ArgillaServer, argilla_owner: ArgillaApi) -> None:
    me = argilla_owner.call("GET", "/api/v1/me")
    assert (me["username"], me["role"]) == (argilla.username, "owner")
    assert argilla_owner.call("GET", "/api/v1/version")["version"] == VERSION
    assert argilla._redis is not None
    assert argilla._index is not None
    assert {address for pid in group(argilla.pid) for address in listening(pid)} == {("127.0.0.1", argilla.port)}
    assert {host for host, _ in listening(argilla._index.pid)} == {"127.0.0.1"}
    assert listening(argilla._redis.pid) == set()


def test_the_login_is_for_its_owner_only(argilla: ArgillaServer) -> None:
    kept = argilla.data_dir / "login.json"
    assert json.loads(kept.read_text())["api_key"] == argilla.api_key
    assert kept.stat().st_mode & 0o077 == 0
    assert argilla.data_dir.stat().st_mode & 0o077 == 0, "the database holds everybody's keys"
    logs = "".join(log.read_text() for log in argilla.data_dir.glob("*.log"))
    assert "Uvicorn running" in logs
    assert argilla.password not in logs
    assert argilla.api_key not in logs


def test_a_changed_response_replaces_the_old_one_in_the_index(dataset: Callable[..., SmallDataset]) -> None:
    labels = question("sentiment", "label_selection", ["yes", "no", "maybe"])
    made = dataset([["yes", None, "maybe"]], questions=[labels])
    answer = made.respond(0, 0, {"sentiment": "no"})
    assert [_found(made, label) for label in ("yes", "no", "maybe")] == [0, 1, 1]
    made.respond(0, 1, {"sentiment": "yes"})
    assert [_found(made, label) for label in ("yes", "no", "maybe")] == [1, 1, 1]
    made.owner.call("DELETE", f"/api/v1/responses/{answer}")
    assert [_found(made, label) for label in ("yes", "no", "maybe")] == [1, 0, 1]


def test_a_deleted_suggestion_leaves_the_index(dataset: Callable[..., SmallDataset]) -> None:
    made = dataset([["yes", "no"]])
    asked = made.owner.call("GET", f"/api/v1/datasets/{made.id}/questions")["items"][0]["id"]
    place = f"/api/v1/records/{made.record_ids[0]}/suggestions"
    one = made.owner.call("PUT", place, {"question_id": asked, "value": "no", "agent": "model"})
    assert _found(made, "no", "suggestion") == 1
    made.owner.call("DELETE", place, ids=one["id"])
    assert _found(made, "no", "suggestion") == 0


def test_responses_of_four_people_at_once_all_reach_the_index(dataset: Callable[..., SmallDataset]) -> None:
    made = dataset([[None] * 4])
    with ThreadPoolExecutor(4) as people:
        list(people.map(lambda column: made.respond(0, column, {"sentiment": "yes"}), range(4)))
    submitted = {"type": "terms", "scope": {"entity": "response", "property": "status"}, "values": ["submitted"]}
    for annotator in made.annotators:
        api = ArgillaApi(made.owner.url, annotator.api_key)
        found = api.call("POST", f"/api/v1/me/datasets/{made.id}/records/search", {"filters": {"and": [submitted]}})
        assert found["total"] == 1, annotator.username
        api.close()


def test_without_redis_it_serves_but_queues_nothing_and_afterwards_the_worker_goes_on(
    argilla: ArgillaServer, dataset: Callable[..., SmallDataset]
) -> None:
    made = dataset([["yes", "no"]])
    argilla.stop_redis()
    try:
        assert len(made.records()) == 1
        with pytest.raises(ToolTrouble, match="500"):
            _require(made, 3)
    finally:
        argilla.start_redis()
    _require(made, 2)  # a job for the worker: it recounts every record
    until(lambda: made.records()[0]["status"] == "completed", seconds=30)


def test_without_the_index_it_cannot_search_and_afterwards_finds_everything(
    argilla: ArgillaServer, dataset: Callable[..., SmallDataset]
) -> None:
    made = dataset([["yes", "no"], ["no", "no"]])
    argilla.stop_index()
    try:
        assert len(made.records()) == 2
        with pytest.raises(ToolTrouble, match="500"):
            _found(made, "no")
    finally:
        argilla.start_index()
    assert (_found(made, "no"), _found(made, "yes")) == (2, 1)


def test_a_restart_keeps_address_data_and_index(argilla: ArgillaServer, dataset: Callable[..., SmallDataset]) -> None:
    made = dataset([["yes", "no"], ["no", "no"]])
    first, address = argilla.pid, argilla.url
    argilla.restart()
    assert (argilla.pid != first, argilla.url) == (True, address)
    assert not alive(first)
    assert (_found(made, "no"), _found(made, "yes")) == (2, 1)


def test_nothing_of_it_outlives_a_caller_that_is_killed(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tmp_path_factory.mktemp("killed"))
    caller = subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    port, *parts = map(int, caller.stdout.readline().split())
    everything = {process for part in parts for process in group(part)}
    assert len(everything) == 4, "server, worker, Redis, index"
    caller.send_signal(signal.SIGKILL)
    caller.wait(timeout=30)
    caller.stdout.close()
    until(lambda: not any(map(alive, everything)), seconds=20)
    assert is_free(port)


def test_seeding_gives_what_it_says_and_can_be_done_again(argilla: ArgillaServer, argilla_owner: ArgillaApi) -> None:
    texts = []
    for _ in range(2):
        seeded = seed_reviews(argilla.url, argilla.api_key, "seed-password", n_records=40)
        place = f"/api/v1/datasets/{seeded.id}"
        records = argilla_owner.call("GET", f"{place}/records", include="responses", limit=1000)["items"]
        responses = [response for record in records for response in record["responses"]]
        submitted = [response for response in responses if response["status"] == "submitted"]
        assert (seeded.workspace, seeded.name) == (WORKSPACE, NAME)
        assert [record["id"] for record in records] == list(seeded.record_ids)
        assert len(submitted) == seeded.n_responses
        assert {response["user_id"] for response in submitted} == {annotator.id for annotator in seeded.annotators}
        assert {response["values"]["sentiment"]["value"] for response in submitted} == set(CATEGORIES)
        assert {response["status"] for response in responses} == {"submitted", "draft", "discarded"}
        per_record = {sum(r["status"] == "submitted" for r in record["responses"]) for record in records}
        assert per_record == {2, 3, 4}
        texts.append([record["fields"]["text"] for record in records])
        assert _is_there(ArgillaApi(argilla.url, argilla.api_key), place)
        argilla_owner.call("DELETE", place)
        assert not _is_there(ArgillaApi(argilla.url, argilla.api_key), place)
    assert texts[0] == texts[1]


def _found(made: SmallDataset, label: str, among: str = "response") -> int:
    """How many records the index finds by a label of one of their responses (or suggestions)."""
    wanted = {"type": "terms", "scope": {"entity": among, "question": "sentiment"}, "values": [label]}
    place = f"/api/v1/datasets/{made.id}/records/search"
    return int(made.owner.call("POST", place, {"filters": {"and": [wanted]}})["total"])


def _require(made: SmallDataset, responses: int) -> None:
    """Set how many responses complete a record."""
    distribution = {"strategy": "overlap", "min_submitted": responses}
    made.owner.call("PATCH", f"/api/v1/datasets/{made.id}", {"distribution": distribution})
