"""The main job on a real Argilla, through the command line: scores and tags appear as metadata, follow changes, and go
away."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from connector import cli
from connector.demo.argilla_seed import Annotator, ArgillaApi, make_annotator, question
from connector.demo.argilla_server import ArgillaServer
from connector.tools.argilla.tool import Argilla
from connector.tools.base import Receipt, WriteOp
from tests.live.argilla_fixtures import WORKSPACE, SmallDataset
from tests.live.running import PREFIX, Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

FULL: dict[str, Any] = {
    "sentiment": "yes",
    "topics": ["a", "b"],
    "stars": 4,
    "order": [{"value": "x", "rank": 1}, {"value": "y", "rank": 1}, {"value": "z", "rank": 3}],
    "why": "because",
    "names": [{"label": "P", "start": 0, "end": 4}],
}
OTHER: dict[str, Any] = {
    "sentiment": "no",
    "topics": ["c"],
    "stars": 1,
    "order": [{"value": "z", "rank": 1}, {"value": "y", "rank": 2}, {"value": "x", "rank": 3}],
    "why": "it is not",
    "names": [],
}
QUESTIONS = (
    question("sentiment", "label_selection", ["yes", "no"]),
    question("topics", "multi_label_selection", ["a", "b", "c"], required=False),
    question("stars", "rating", range(1, 6), required=False),
    question("order", "ranking", ["x", "y", "z"], required=False),
    question("why", "text", required=False),
    question("names", "span", ["P"], required=False, field="text"),
)
EVERY_KIND = [
    [FULL, FULL, FULL],
    [FULL, OTHER],
    [FULL, (OTHER, "draft"), (OTHER, "discarded")],
    [],
    [{"sentiment": "no"}, {"sentiment": "no"}],
    [{"sentiment": "no"}, {"sentiment": "yes"}],
]
ROWS = [["yes", "yes", "yes"], ["yes", "no"], ["no", "no"], ["yes"], [], ["no", "yes"]]
STATUSES = ["agreed", "conflict", "agreed", "single", "unrated", "conflict"]


@pytest.fixture
def run(argilla: ArgillaServer, tmp_path: Path) -> Callable[..., Run]:
    def make(made: SmallDataset | str, key: str | None = None, **sections: Any) -> Run:
        path = made if isinstance(made, str) else made.path
        return Run(argilla.url, key or argilla.api_key, path, tmp_path, tool="argilla", **sections)

    return make


def state(made: SmallDataset) -> Any:
    """What a removal must leave as it was: records with their responses, properties, datasets, workspaces.

    A record's own time is left out: our writes move it, and no page shows it.
    """
    records = [{key: value for key, value in one.items() if key != "updated_at"} for one in made.records()]
    places = (f"me/datasets/{made.id}/metadata-properties", "me/datasets", "me/workspaces")
    properties, datasets, rooms = (made.owner.call("GET", f"/api/v1/{place}")["items"] for place in places)
    for one in datasets:
        del one["last_activity_at"], one["updated_at"]  # every response moves it
    return records, properties, datasets, rooms


def metadata(made: SmallDataset) -> list[dict[str, Any]]:
    """Our keys of each record, without the prefix, in the order of the rows."""
    found = [record["metadata"] or {} for record in made.records()]
    return [{k.removeprefix(PREFIX): v for k, v in one.items() if k.startswith(PREFIX)} for one in found]


def statuses(made: SmallDataset) -> list[str | None]:
    return [one.get("status") for one in metadata(made)]


def test_scores_and_tags_appear_follow_a_change_and_go_away(
    dataset: Callable[..., SmallDataset],
    run: Callable[..., Run],
    page: Page,
    argilla: ArgillaServer,
    argilla_login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
) -> None:
    # Completed after three responses: the page shows a completed record to nobody but those who answered it.
    made = dataset(EVERY_KIND, questions=QUESTIONS, min_submitted=3, metadata={"source": "terms"})
    items = [{"id": made.record_ids[0], "metadata": {"source": "web"}}]
    made.owner.call("PUT", f"/api/v1/datasets/{made.id}/records/bulk", {"items": items})
    before = state(made)
    connector = run(made)

    plan = connector("sync", "--dry-run")
    assert "set iaa_status on 6 records" in plan
    assert state(made) == before
    assert sorted(file.name for file in connector.folder.iterdir()) == ["config.yaml"]

    said = connector("sync")
    assert statuses(made) == ["agreed", "conflict", "single", "unrated", "agreed", "conflict"]
    agreed, conflict, single, *_ = metadata(made)
    assert {one: agreed[f"majority_{one}"] for one in FULL} == {
        "sentiment": "yes",
        "topics": "a, b",
        "stars": "4",
        "order": "x = y > z",
        "why": "because",
        "names": "0-4 P",
    }
    assert {agreed[f"raters_{one}"] for one in FULL} == {3}
    assert {agreed[f"agreement_{one}"] for one in FULL} == {1.0}
    assert (conflict["agreement"], conflict["agreement_stars"]) == (0.0, 0.25)
    assert {conflict[f"status_{one}"] for one in FULL} == {"conflict"}
    assert {conflict[f"raters_{one}"] for one in FULL} == {2}
    # Of the three responses two are a draft and discarded.
    assert single == {"status": "single"} | {
        f"{kind}_{one}": value for one in FULL for kind, value in (("status", "single"), ("raters", 1))
    }
    assert made.records()[0]["metadata"]["source"] == "web"
    assert [one["responses"] for one in made.records()] == [one["responses"] for one in before[0]]

    link = f"{argilla.url}/dataset/{made.id}/annotation-mode?page=1&status=pending&metadata=iaa_status.conflict"
    (printed,) = [word for word in said.split() if word.startswith(link)]
    argilla_login(page)
    page.goto(printed)
    shown(page, "text number", "of 2", without=["text number 0"])  # the conflicts alone
    screenshot(page)

    times = [one["updated_at"] for one in made.records()]
    made.respond(1, 1, FULL)
    assert "set iaa_status on 1 record " in connector("sync")
    assert statuses(made)[1] == "agreed"
    moved = [now["updated_at"] != then for now, then in zip(made.records(), times, strict=True)]
    assert moved == [False, True, False, False, False, False]
    made.respond(1, 1, FULL, status="discarded")
    connector("sync")
    assert metadata(made)[1] == single, "scores that no longer hold are taken away"

    assert "take iaa_status away from 6 records" in connector("remove", "--dry-run")
    connector("remove")
    assert restored(made, before, rows=[1])
    assert "Nothing of ours" in connector("remove")


def test_a_second_sync_writes_nothing_and_asks_two_questions(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = dataset(ROWS)
    connector = run(made, review={})
    connector("sync")
    before = made.records()
    calls = counted(monkeypatch)
    assert in_process(connector, monkeypatch, "sync") == 0
    assert [method for method, _ in calls] == ["GET", "GET"]
    assert made.records() == before, "not even a record's own time has moved"
    assert "Nothing to write" in connector("sync", "--full")
    connector("remove", "--review")


def test_a_lost_store_is_rebuilt_without_a_duplicate(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run]
) -> None:
    made = dataset(ROWS)
    connector = run(made, review={})
    connector("sync")
    before = state(made), reviews(made)
    for file in connector.folder.glob("connector.db*"):
        file.unlink()
    connector("sync")
    assert (state(made), reviews(made)) == before
    assert "Nothing to write" in connector("sync")
    connector("remove", "--review")
    assert review_datasets(made) == []


def test_conflicts_go_to_a_review_dataset_once_and_a_reviewers_answer_stays(
    dataset: Callable[..., SmallDataset],
    run: Callable[..., Run],
    page: Page,
    argilla: ArgillaServer,
    argilla_login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
) -> None:
    made = dataset(ROWS, name="sur|vey")
    before = state(made)
    connector = run(made, review={})
    connector("sync")
    (review,) = review_datasets(made)
    assert review["distribution"] == {"strategy": "overlap", "min_submitted": 1}
    records = reviews(made)
    assert {one["external_id"] for one in records} == {made.record_ids[1], made.record_ids[5]}
    assert all(one["metadata"] == {"source_record": one["external_id"]} for one in records)
    assert all(one["suggestions"] == [] and one["responses"] == [] for one in records)
    votes = records[0]["fields"]["iaa_votes"]
    # Which record is first, and the letters of all who rated, follow ids that are other ones on every server.
    answers = ROWS[made.record_ids.index(records[0]["external_id"])]
    voters = [person.id for person in made.annotators[: len(ROWS[0])]]
    letters = ["ABC"[sorted(voters).index(voter)] for voter in voters]
    rows = sorted(f"| Rater {letter} | {answer} |" for letter, answer in zip(letters, answers, strict=False))
    assert votes.startswith("\n".join(["| Rater | Answer |", "| --- | --- |", *rows, "\n"]))
    assert f"/dataset/{made.id}/annotation-mode" in votes, "the way back"
    assert not any(person.id in votes or person.username in votes for person in made.annotators)

    argilla_login(page)
    page.goto(f"{argilla.url}/dataset/{review['id']}/annotation-mode?page=1&status=pending")
    shown(page, f"Rater {letters[0]}", f"Rater {letters[1]}", "text number")
    screenshot(page)

    answer = {"status": "submitted", "values": {"sentiment": {"value": "yes"}}}
    made.owner.call("POST", f"/api/v1/records/{records[0]['id']}/responses", answer)
    work = reviews(made)
    assert work[0]["status"] == "completed"
    made.respond(2, 1, {"sentiment": "yes"})
    connector("sync", "--full")
    assert reviews(made)[:2] == work, "a reviewer's answer stays, and no record is made twice"
    assert [one["external_id"] for one in reviews(made)[2:]] == [made.record_ids[2]]
    assert "0 conflicts without one" in connector("review", "status")

    made.respond(2, 1, {"sentiment": "no"})
    connector("remove", "--review")
    assert restored(made, before, rows=[2])


def test_a_dataset_made_again_has_a_review_dataset_of_its_own_and_the_old_one_is_told(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run]
) -> None:
    old = dataset(ROWS, name="made again")
    connector = run(old, review={})
    connector("sync")
    kept = reviews(old)
    answer = {"status": "submitted", "values": {"sentiment": {"value": "yes"}}}
    old.owner.call("POST", f"/api/v1/records/{kept[0]['id']}/responses", answer)
    assert "2 review tasks" in (said := connector("review", "status"))
    assert "1 of them undecided" in said
    kept = reviews(old)
    (orphan,) = review_datasets(old)
    old.owner.call("DELETE", f"/api/v1/datasets/{old.id}")

    new = dataset(ROWS, name="made again")
    before = state(new)
    said = connector("sync")
    assert "Pulled everything" in said
    assert f"/dataset/{orphan['id']}/annotation-mode (connector remove --review" in said
    assert {one["external_id"] for one in reviews(new)} == {new.record_ids[1], new.record_ids[5]}
    assert reviews(old) == kept, "the reviewer's decision stays"
    assert orphan["id"] in connector("check")
    assert orphan["id"] in connector("remove")
    connector("remove", "--review")
    assert review_datasets(old) == review_datasets(new) == []
    before[2][:] = [one for one in before[2] if one["id"] != orphan["id"]]
    assert made_rooms(new) == []
    before[3][:] = [one for one in before[3] if one["name"] != f"{WORKSPACE}-review"]
    assert state(new) == before


def test_ratings_of_a_user_who_is_deleted_stay(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], argilla_owner: ArgillaApi
) -> None:
    rooms = {one["name"]: one["id"] for one in argilla_owner.call("GET", "/api/v1/me/workspaces")["items"]}
    leaver = make_annotator(argilla_owner, rooms[WORKSPACE], "leaver", "a-leavers-password")
    try:
        made = dataset(ROWS)
        as_leaver = ArgillaApi(argilla_owner.url, leaver.api_key)
        for row, label in ((1, "no"), (3, "yes"), (4, "no")):
            body = {"status": "submitted", "values": {"sentiment": {"value": label}}}
            as_leaver.call("POST", f"/api/v1/records/{made.record_ids[row]}/responses", body)
        as_leaver.close()
        connector = run(made)
        connector("sync")
        shown = metadata(made)
        assert [one["raters"] for one in shown] == [3, 3, 2, 2, 1, 2]
        assert statuses(made) == ["agreed", "majority", "agreed", "agreed", "single", "conflict"]
        report = json.loads(connector("report", "--format", "json"))
    finally:
        argilla_owner.call("DELETE", f"/api/v1/users/{leaver.id}")
    assert [len(one["responses"]) for one in made.records()] == [3, 2, 2, 1, 0, 2], "the server deletes them"
    for _ in range(2):
        assert "3 ratings of users who were deleted since are kept" in connector("sync", "--full")
        assert metadata(made) == shown
    again = json.loads(connector("report", "--format", "json"))
    assert again["questions"] == report["questions"]
    assert again["questions"]["sentiment"]["n_raters"] == 4


def test_an_admins_key_needs_a_review_workspace_that_is_there(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], argilla_owner: ArgillaApi
) -> None:
    made = dataset(ROWS)
    person = {"username": "admin", "first_name": "Admin", "password": "an-admins-password", "role": "admin"}
    admin = argilla_owner.call("POST", "/api/v1/users", person)
    rooms = {one["name"]: one["id"] for one in argilla_owner.call("GET", "/api/v1/me/workspaces")["items"]}
    try:
        argilla_owner.call("POST", f"/api/v1/workspaces/{rooms[WORKSPACE]}/users", {"user_id": admin["id"]})
        connector = run(made, key=admin["api_key"], review={})
        assert "only an owner can" in connector("check", code=2)
        said = connector("sync", code=2)
        assert "only an owner can make it" in said
        room = argilla_owner.call("POST", "/api/v1/workspaces", {"name": f"{WORKSPACE}-review"})["id"]
        argilla_owner.call("POST", f"/api/v1/workspaces/{room}/users", {"user_id": admin["id"]})
        connector("sync")
        assert statuses(made) == STATUSES
        assert len(reviews(made)) == 2
        connector("remove", "--review")
        assert review_datasets(made) == []
        argilla_owner.call("DELETE", f"/api/v1/workspaces/{room}")
    finally:
        argilla_owner.call("DELETE", f"/api/v1/users/{admin['id']}")


def test_each_wrong_key_and_name_says_what_to_do(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], argilla_annotators: tuple[Annotator, ...]
) -> None:
    made = dataset(ROWS)
    before = state(made)
    said = run(made, key=argilla_annotators[0].api_key)("sync", code=4)
    assert "The API key is that of 'annotator1', an annotator." in said
    assert "Use the key of an owner, or of an admin" in said
    assert "refused the API key" in run(made, key="wrong-key")("sync", code=4)
    label_studios = "0123456789abcdef" * 2 + "01234567"
    assert "the form of a Label Studio token" in run(made, key=label_studios)("sync", code=4)
    said = run(f"{WORKSPACE}/smal-1")("sync", code=4)
    assert "has no dataset 'smal-1'" in said
    assert f"Did you mean '{made.name}'?" in said
    assert "has no workspace 'elsewhere'" in run(f"elsewhere/{made.name}")("sync", code=4)
    assert state(made) == before


def test_without_the_index_a_sync_says_so_and_the_next_makes_everything_good(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], argilla: ArgillaServer
) -> None:
    new, old = dataset(ROWS), dataset(ROWS)
    before = state(new)
    run(old)("sync")
    old.respond(1, 1, {"sentiment": "yes"})
    argilla.stop_index()
    try:
        # The server answers 500 although its database has the scores.
        assert "does not reach its search index" in run(old)("sync", code=6)
        assert "does not reach its search index" in run(new)("sync", code=6)
        assert "does not reach its search index" in run(new)("check")
    finally:
        argilla.start_index()
    assert state(new) == before, "not even a property that no filter would know"
    for made, expected in ((new, STATUSES), (old, ["agreed", "agreed", *STATUSES[2:]])):
        connector = run(made)
        connector("sync")
        assert statuses(made) == expected
        conflicts = {id_ for id_, status in zip(made.record_ids, expected, strict=True) if status == "conflict"}
        assert found(made, "conflict") == conflicts, "the filter finds them"
        assert "Nothing to write" in connector("sync", "--full")


def test_without_redis_a_sync_fails_only_where_a_webhook_listens_and_the_next_makes_everything_good(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run], argilla: ArgillaServer, argilla_owner: ArgillaApi
) -> None:
    made = dataset(ROWS)
    connector = run(made)
    hook = {"url": "http://127.0.0.1:9/nobody", "events": ["record.updated"]}
    argilla.stop_redis()
    try:
        connector("sync")
        assert statuses(made) == STATUSES
        made.respond(1, 1, {"sentiment": "yes"})
        hook = argilla_owner.call("POST", "/api/v1/webhooks", hook)
        assert "does not reach its Redis" in connector("sync", code=6)
        assert "does not reach its Redis" in connector("check")
    finally:
        argilla.start_redis()
        argilla_owner.call("DELETE", f"/api/v1/webhooks/{hook['id']}")
    connector("sync")
    assert statuses(made) == ["agreed", "agreed", *STATUSES[2:]]
    assert found(made, "agreed") == {made.record_ids[row] for row in range(3)}
    assert "Nothing to write" in connector("sync", "--full")


def test_a_record_that_is_deleted_between_pull_and_push_keeps_no_other_from_its_scores(
    dataset: Callable[..., SmallDataset],
    run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = dataset(ROWS)
    connector = run(made)
    apply = Argilla.apply
    deleted: list[str] = []

    def late(tool: Argilla, op: WriteOp) -> Receipt:
        if not deleted:
            deleted.append(made.record_ids[2])
            made.owner.call("DELETE", f"/api/v1/records/{deleted[0]}")
        return apply(tool, op)

    monkeypatch.setattr(Argilla, "apply", late)
    assert in_process(connector, monkeypatch, "sync") == 0
    assert "1 record was deleted in the meantime" in capsys.readouterr().out
    assert statuses(made) == [status for row, status in enumerate(STATUSES) if row != 2]
    assert made.owner.call("GET", f"/api/v1/datasets/{made.id}/records", limit=1)["total"] == 5, "no ghost in its place"
    assert "Nothing to write" in connector("sync")


def test_two_runs_at_once_and_a_killed_run_leave_no_duplicate(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run]
) -> None:
    made = dataset(ROWS * 10)
    connector = run(made, review={})
    for delay in (1.0, 1.5, 2.0):
        started = start(connector)
        time.sleep(delay)
        started.send_signal(signal.SIGKILL)
        started.wait()
    both = [start(connector) for _ in range(2)]
    assert sorted(one.wait() for one in both) in ([0, 7], [0, 0])
    assert "Nothing to write" in connector("sync")
    assert statuses(made) == STATUSES * 10
    assert len(review_datasets(made)) == 1
    assert set(Counter(one["external_id"] for one in reviews(made)).values()) == {1}
    assert len(reviews(made)) == 20
    connector("remove", "--review")
    assert statuses(made) == [None] * 60


def test_the_gate_decides_by_exit_code_and_pushes_nothing(
    dataset: Callable[..., SmallDataset], run: Callable[..., Run]
) -> None:
    made = dataset([["yes", "yes"], ["no", "no"], ["yes", "yes"], ["no", "yes"]])
    connector = run(made)
    before = state(made)
    good = ",".join(made.record_ids[:3])
    said = connector("gate", "-c", "config.yaml", "--batch", good, "--format", "json")
    assert json.loads(said)["gate"]["verdict"] == "GO"
    connector("gate", "-c", "config.yaml", "--first", "4", code=1)
    connector("gate", "-c", "config.yaml", code=3)
    assert state(made) == before


def restored(made: SmallDataset, before: Any, rows: list[int]) -> bool:
    """Whether everything is as it was but for the responses that a test changed in these rows."""
    after = state(made)
    for row in rows:
        before[0][row] |= {key: after[0][row][key] for key in ("responses", "status")}
    assert after == before
    return True


def review_datasets(made: SmallDataset) -> list[dict[str, Any]]:
    """Every other dataset of this server whose mark names this one."""
    there = made.owner.call("GET", "/api/v1/me/datasets")["items"]
    return [one for one in there if made.id in json.dumps(one["metadata"])]


def made_rooms(made: SmallDataset) -> list[str]:
    """Workspaces for reviews."""
    names = [one["name"] for one in made.owner.call("GET", "/api/v1/me/workspaces")["items"]]
    return [name for name in names if name.endswith("-review")]


def reviews(made: SmallDataset) -> list[dict[str, Any]]:
    """The records of the review dataset."""
    (review,) = review_datasets(made)
    place = f"/api/v1/datasets/{review['id']}/records"
    return list(made.owner.call("GET", place, include="responses,suggestions", limit=1000)["items"])


def found(made: SmallDataset, status: str) -> set[str]:
    """The records that the page's filter finds."""
    term = {"type": "terms", "scope": {"entity": "metadata", "metadata_property": "iaa_status"}, "values": [status]}
    body = {"filters": {"type": "and", "and": [term]}}
    answer = made.owner.call("POST", f"/api/v1/me/datasets/{made.id}/records/search", body, limit=100)
    return {one["record"]["id"] for one in answer["items"]}


def start(connector: Run) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        connector.command("sync"),
        cwd=connector.folder,
        env=connector.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Fills with the requests that leave this process from now on."""
    calls: list[tuple[str, str]] = []
    send = requests.Session.send

    def counting(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        calls.append((str(request.method), str(request.url)))
        return send(self, request, **more)

    monkeypatch.setattr(requests.Session, "send", counting)
    return calls


def in_process(connector: Run, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a run in this process, where its doings can be watched."""
    monkeypatch.chdir(connector.folder)
    monkeypatch.setenv("ARGILLA_API_KEY", connector.token)
    code = cli.run([*arguments, "-c", "config.yaml"])
    monkeypatch.undo()
    return code
