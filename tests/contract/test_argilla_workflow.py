"""The verbs on a recorded Argilla: what a run asks, what it writes, and what is left of one that dies."""

from __future__ import annotations

import copy
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connector import cli
from connector.store import Store
from connector.tools.argilla import write
from connector.tools.argilla.client import Client
from tests.contract.argilla_world import RecordedArgillaWorld
from tests.contract.recorded_argilla import RecordedArgilla
from tests.contract.served import Answer, Request
from tests.contract.synced_project import Killed

CASES = Path(__file__).parents[1] / "cases" / "reports.json"
REPORTS: dict[str, Any] = json.loads(CASES.read_text("utf-8"))["reports"]


class SyncedDataset:
    """A recorded dataset of eight records and one question, two raters each, the store and the configuration beside
    it."""

    def __init__(self, server: RecordedArgilla, folder: Path) -> None:
        self.server, self.folder = server, folder
        del server.questions[1:]
        self.world = RecordedArgillaWorld(server)

    def __call__(self, *arguments: str, review: bool = False, **sections: Any) -> int:
        """The exit code of `connector ARGUMENTS -c config.yaml`."""
        whole = {"tool": "argilla", "url": self.server.url, "api_key": "${KEY}", "project": self.server.project}
        config = self.folder / "config.yaml"
        config.write_text(json.dumps({**whole, **({"review": {}} if review else {}), **sections}))
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
    written = [one for one in synced.server.log if one.method != "GET"]
    items = [item for one in written if one.path.endswith("/bulk") for item in one.body["items"]]
    pushed = [one for one in written if "/responses" in one.path] + [item for item in items if "responses" in item]
    assert items
    assert len(pushed) == REPORTS["AR-05"]["expected"]["pushed_responses"]
    assert [record["responses"] for record in synced.server.records] == held


def _dies(place: int, monkeypatch: pytest.MonkeyPatch, synced: SyncedDataset, *arguments: str, **sections: Any) -> bool:
    """Whether a run was killed behind its call number `place`, or had ended before."""
    seen = itertools.count()
    call = Client.call

    def dying(client: Client, *given: Any, **more: Any) -> Any:
        answer = call(client, *given, **more)
        if next(seen) == place:
            raise Killed
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Client, "call", dying)
        try:
            synced(*arguments, review=True, **sections)
        except Killed:
            return True
    return False


def test_a_run_that_dies_anywhere_leaves_nothing_double(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make()
    whole("sync", review=True)
    expected = whole.shown()
    assert len(expected[2]) == 1
    for place in itertools.count():
        synced = make()
        if not _dies(place, monkeypatch, synced, "sync"):
            break
        synced("sync", "--full", review=True)
        assert synced.shown() == expected, place
        assert set(Counter(r["external_id"] for r in synced.server.datasets[1].records).values()) == {1}
    assert place > 20, "it has died at every call"


def test_a_removal_that_dies_anywhere_is_completed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in itertools.count():
        synced = make()
        before = synced.world.state()
        synced("sync", review=True)
        if not _dies(place, monkeypatch, synced, "remove", "--review"):
            break
        synced("remove", "--review", review=True)
        assert synced.world.state() == before, place
    assert place > 10, "it has died at every call"


def test_a_sync_after_a_removal_that_died_puts_everything_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make()
    whole("sync", review=True)
    for place in itertools.count():
        synced = make()
        synced("sync", review=True)
        if not _dies(place, monkeypatch, synced, "remove", "--review"):
            break
        synced("sync", review=True)
        assert synced.shown() == whole.shown(), place
        assert len(synced.calls("sync", review=True)) == 2, "everything is read again once"
    assert place > 10, "it has died at every call"


def test_what_a_dead_run_may_have_taken_away_is_put_back_by_one_that_wants_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make()
    whole("sync", review=True)
    off = {"scores": False, "majority": "off"}
    for place in itertools.count():
        synced = make()
        synced("sync", review=True)
        if not _dies(place, monkeypatch, synced, "sync", push=off):
            break
        synced("sync", review=True)
        assert synced.shown() == whole.shown(), place
    assert place > 2, "it has died at every call"


@pytest.mark.parametrize("ends", ["remove", "sync, remove"])
def test_metadata_that_were_null_are_null_again_wherever_a_run_died(
    make: Make, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    for place in itertools.count():
        synced = make()
        for record in synced.server.records[::2]:
            record["metadata"] = None
        before = [copy.deepcopy(record["metadata"]) for record in synced.server.records]
        if not _dies(place, monkeypatch, synced, "sync"):
            break
        for verb in ends.split(", "):
            synced(verb, *(["--review"] if verb == "remove" else []), review=True)
        assert [record["metadata"] for record in synced.server.records] == before, place
    assert place > 20, "it has died at every call"


def test_metadata_that_were_null_are_null_again_after_each_of_two_lives(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in itertools.count():
        synced = make()
        for record in synced.server.records:
            record["metadata"] = None
        before = [copy.deepcopy(record["metadata"]) for record in synced.server.records]
        synced("sync", review=True)
        synced("remove", "--review", review=True)
        if not _dies(place, monkeypatch, synced, "sync"):
            break
        synced("remove", "--review", review=True)
        assert [record["metadata"] for record in synced.server.records] == before, place
    assert place > 10, "it has died at every call"


PREFIXES = ["iaa_", "iaa", "zz_", "status_", "majority"]


@pytest.mark.parametrize("now", PREFIXES)
@pytest.mark.parametrize("written", PREFIXES)
def test_a_removal_under_any_prefix_finds_the_fields_of_any(synced: SyncedDataset, written: str, now: str) -> None:
    before = synced.world.state()
    assert synced("sync", push={"prefix": written}) == 0
    assert None not in synced.fields(f"{written}status")
    assert synced("sync", "--full", push={"prefix": written}) == 0
    assert synced("remove", push={"prefix": now}) == 0
    assert synced.world.state() == before


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_prefix_may_end_as_it_likes(synced: SyncedDataset, prefix: str, lost: bool) -> None:
    push = {"prefix": prefix}
    synced("sync", push=push)
    if lost:
        for file in synced.folder.glob("connector.db*"):
            file.unlink()
    before = len(synced.server.log)
    assert synced("sync", "--full", push=push) == 0
    assert [one.path for one in synced.server.log[before:] if one.method != "GET"] == []


def test_a_removal_keeps_in_mind_what_it_could_not_read(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    before = synced.world.state()
    synced("sync", push={"prefix": "old_"})
    with synced.world.malformed() as broken:
        assert synced("remove") == 0
    assert f"1 record is malformed ({broken}): fields of ours that stand there stay" in " ".join(
        capsys.readouterr().out.split()
    )
    assert len([one for one in synced.fields("old_status") if one is not None]) == 1
    synced("remove")
    assert synced.world.state() == before


def test_fields_of_a_record_that_are_called_as_ours_are_none_of_our_business(synced: SyncedDataset) -> None:
    """They stand beside the metadata, and so do their values where they look like ours."""
    for record in synced.server.records[:5]:
        record["fields"] |= {"iaa_status": "please look", "iaa_majority": "pos", "iaa_raters": "3"}
    before = synced.world.state()
    for run in (["check"], ["sync"], ["sync", "--full"]):
        assert synced(*run) == 0, run
    assert None not in synced.fields()
    assert [call for call in synced.calls("sync", "--full") if not call.startswith("GET")] == []
    assert synced("remove") == 0
    assert synced.world.state() == before


def _forget(synced: SyncedDataset, *, user: bool) -> tuple[list[int], list[int]]:
    """Delete the responses of the first record's first rater everywhere, and the user too where asked: the numbers of
    answers that each record has before and after."""
    before = _answers(synced)
    gone = synced.server.records[0]["responses"][0]["user_id"]
    for record in synced.server.records:
        record["responses"][:] = [one for one in record["responses"] if one["user_id"] != gone]
    if user:
        synced.server.users[:] = [one for one in synced.server.users if one["id"] != gone]
    return before, _answers(synced)


def _answers(synced: SyncedDataset) -> list[int]:
    return [len(record["responses"]) for record in synced.server.records]


def _stored(synced: SyncedDataset) -> list[int]:
    with Store(synced.folder / "connector.db", keep=False) as store:
        (source,) = store.sources()
        numbers = {unit.id: len(unit.annotations) for unit in store.units(source.source)}
    return [numbers[record["id"]] for record in synced.server.records]


def test_ratings_stay_when_their_user_is_deleted(synced: SyncedDataset, capsys: pytest.CaptureFixture[str]) -> None:
    synced("sync")
    before, after = _forget(synced, user=True)
    assert sum(after) < sum(before)
    for _ in range(2):
        shown = synced.fields()
        capsys.readouterr()
        calls = synced.calls("sync", "--full")
        assert _stored(synced) == before
        assert synced.fields() == shown
        assert calls.count("GET /api/v1/users") == 1
        said = capsys.readouterr().out
        assert f"{sum(before) - sum(after)} ratings of users who were deleted since are kept" in said
        assert "ratings are gone" not in said


@pytest.mark.parametrize("verb", [["sync"], ["gate", "--size", "1"], ["review", "status"], ["review", "create"]])
def test_every_verb_that_pulls_tells_of_the_ratings_that_went_with_their_users(
    verb: list[str], synced: SyncedDataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    before, after = _forget(synced, user=True)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86_400)  # a full pull is due
    capsys.readouterr()
    synced(*verb, review=True)
    said = " ".join(capsys.readouterr().out.split())
    assert f"{sum(before) - sum(after)} ratings of users who were deleted since are kept." in said


def test_records_are_called_records_by_every_verb(synced: SyncedDataset, capsys: pytest.CaptureFixture[str]) -> None:
    """Review tasks are our own word for what a reviewer is asked."""
    verbs = [
        ["sync", "--dry-run"],
        ["check"],
        ["sync"],
        *([["gate", "--format", form] for form in ("text", "markdown", "html")]),
        ["report"],
        ["review", "status"],
        ["remove", "--dry-run"],
    ]
    told = {}

    def tell(name: str, verb: list[str]) -> None:
        synced(*verb, review=True)
        said = capsys.readouterr()
        told[name] = re.sub(r"(?i)review tasks?", "", said.out + said.err)

    for verb in verbs:
        tell(" ".join(verb), verb)
    with synced.world.malformed():
        for name in ("check", "sync", "gate"):
            tell(f"malformed, {name}", [name, "--full"] if name == "sync" else [name])
    synced.server.records[:] = synced.server.records[:1]
    tell("one record", ["sync", "--full"])
    for name, said in told.items():
        assert not re.findall(r"(?i).*\btasks?\b.*", said), name
        assert not re.findall(r"(?<![\d,.])1 (?:records|units|ratings|raters|annotations|conflicts)\b", said), name
    assert "Pulled everything: 1 record" in told["one record"]
    assert "Malformed and left out: record" in told["malformed, check"]
    assert "1 of 8 records is malformed: record" in told["malformed, sync"]


@pytest.mark.parametrize("listed", [True, False])
def test_ratings_that_their_rater_took_back_go_and_are_told_whether_or_not_users_are_listed(
    listed: bool, synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync")
    before, after = _forget(synced, user=False)

    def refusing(request: Request) -> Answer | None:
        return Answer(403, {"detail": "no"}) if not listed and request.path.endswith("/users") else None

    with synced.server.failing(refusing):
        synced.calls("sync", "--full")
    assert _stored(synced) == after
    assert f"{sum(before) - sum(after)} ratings are gone since the last pull" in capsys.readouterr().out


def test_an_answer_made_anew_takes_the_old_ones_place_though_its_rater_is_not_listed(synced: SyncedDataset) -> None:
    synced("sync")
    response = synced.server.records[0]["responses"][0]
    response["id"] = synced.server.new_id()
    synced.server.users[:] = [one for one in synced.server.users if one["id"] != response["user_id"]]
    synced.calls("sync", "--full")
    assert _stored(synced) == _answers(synced)


def test_a_record_that_is_deleted_between_pull_and_push_keeps_no_other_from_its_scores(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    gone: list[Any] = []

    def deleting(request: Request) -> None:
        if request.method == "POST" and not gone:  # the first property is made: everything has been pulled
            gone.append(synced.server.records.pop(3)["id"])

    with synced.server.failing(deleting):
        assert synced("sync", review=True) == 0
    assert "1 record was deleted in the meantime" in capsys.readouterr().out
    assert len(synced.server.records) == 7, "no ghost in its place"
    assert None not in synced.fields()
    assert gone[0] not in [record["external_id"] for record in synced.server.datasets[1].records]
    synced("sync", review=True)
    assert len(synced.calls("sync", review=True)) == 2


def test_a_persons_property_of_that_name_stops_a_run_before_it_writes(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {"settings": {"type": "terms", "values": ["good"]}, "visible_for_annotators": True}
    synced.server.properties.append({**synced.server.new_part(), "name": "iaa_status", "title": "Mine", **theirs})
    before = synced.world.state()
    for run in (["sync"], ["sync", "--dry-run"], ["check"]):
        assert synced(*run, review=True) == 2
        said = capsys.readouterr()
        assert "'iaa_status' already, of type terms with values, shown to annotators" in " ".join(
            (said.out + said.err).split()
        )
    assert synced.world.state() == before


def test_a_review_workspace_out_of_reach_stops_a_run_before_it_writes(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = make()
    monkeypatch.setenv("KEY", fresh.server.admin_key)
    before = fresh.world.state()
    for run in (["sync", "--dry-run"], ["sync"], ["review", "create"]):
        assert fresh(*run, review=True) == 2
        assert "only an owner can make it" in capsys.readouterr().err
    assert fresh.world.state() == before
    assert fresh("sync") == 0
    assert None not in fresh.fields()


# A dataset that was deleted and made again under its name


def _decided(synced: SyncedDataset, place: int = 1) -> dict[str, Any]:
    """A reviewer decides the first conflict of a review dataset; gives that dataset as it stands then."""
    held = synced.server.datasets[place]
    synced.server.respond(held.records[0], 2, {"label": "neg"})
    return copy.deepcopy(vars(held))


def test_a_dataset_made_again_gets_a_review_dataset_of_its_own_and_the_old_one_is_named_and_kept(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    old = _decided(synced)
    synced.world.remake()
    capsys.readouterr()
    assert synced("sync", review=True) == 0
    said = capsys.readouterr().out
    link = f"{synced.server.url}/dataset/{old['dataset']['id']}/annotation-mode"
    assert "Pulled everything: 8 " in said
    assert f"deleted: {link} (connector remove --review deletes it with the decisions in it)" in said
    _, first, second = synced.server.datasets
    assert vars(first) == old, "nothing of a reviewer's is touched"
    assert [one["external_id"] for one in second.records] == [one["id"] for one in synced.server.records if _torn(one)]
    assert f"Review tasks: {synced.server.url}/dataset/{second.dataset['id']}/" in said
    assert len(synced.calls("sync", review=True)) == 2
    assert "deleted" not in capsys.readouterr().out, "what costs a request is said once a day"
    synced("sync", "--full", review=True)
    assert link in capsys.readouterr().out


def _torn(record: dict[str, Any]) -> bool:
    return len({one["values"]["label"]["value"] for one in record["responses"]}) > 1


def test_no_old_review_dataset_is_taken_for_that_of_a_dataset_without_conflicts(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    synced.world.remake()
    for record in synced.server.records:
        for rater in range(2):
            synced.server.respond(record, rater, {"label": "pos"})
    for full in ([], ["--full"]):
        capsys.readouterr()
        assert synced("sync", *full, review=True) == 0
        assert "Review tasks:" not in capsys.readouterr().out
    synced("review", "status", review=True)
    assert capsys.readouterr().out.startswith("0 review tasks; 0 conflicts")


def test_check_warns_of_an_old_review_dataset(synced: SyncedDataset, capsys: pytest.CaptureFixture[str]) -> None:
    synced("sync", review=True)
    number = synced.server.datasets[1].dataset["id"]
    assert synced("check", review=True) == 0
    assert "earlier" not in capsys.readouterr().out
    synced.world.remake()
    assert synced("check", review=True) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"WARNING The review dataset of an earlier {synced.server.project}, which was deleted, is still there:" in said
    )
    assert f"/dataset/{number}/annotation-mode" in said
    assert "connector remove --review" in said


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("times", [1, 3])
def test_a_removal_takes_the_old_review_datasets_along_where_it_is_asked_to(
    times: int, lost: bool, synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    rooms = copy.deepcopy(synced.server.workspaces)
    old = []
    for _ in range(times):
        synced("sync", review=True)
        old.append(_decided(synced, -1)["dataset"]["id"])
        synced.world.remake()
    before = copy.deepcopy(vars(synced.server.datasets[0]))
    synced("sync", review=True)
    assert [one.dataset["name"] for one in synced.server.datasets[1:]] == [
        f"every kind-review{end}" for end in ("", "-2", "-3", "-4")[: times + 1]
    ]
    new = synced.server.datasets[-1].dataset["id"]
    if lost:
        for file in synced.folder.glob("connector.db*"):
            file.unlink()
    capsys.readouterr()
    synced("remove", "--dry-run", "--review", review=True)
    said = capsys.readouterr().out
    assert [number in said for number in (*old, new)] == [True] * (times + 1)
    synced("remove", review=True)
    said = capsys.readouterr().out
    assert f"The review project {new} stays; with --review it goes too" in said
    for number in old:
        assert f"The review project {number} of a project of this name that was deleted stays; with --review" in said
    assert len(synced.server.datasets) == times + 2
    synced("remove", "--review", review=True)
    (left,) = synced.server.datasets
    assert _untimed(vars(left)) == _untimed(before)
    assert synced.server.workspaces == rooms
    synced("remove", review=True)
    assert "Nothing of ours is there." in capsys.readouterr().out


def _untimed(held: dict[str, Any]) -> dict[str, Any]:
    return {**held, "records": [{**one, "updated_at": None} for one in held["records"]]}


def test_an_old_review_dataset_that_holds_others_records_stays_and_is_told(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    held = synced.server.datasets[1]
    theirs = {**copy.deepcopy(held.records[0]), "id": synced.server.new_id(), "external_id": "hers", "metadata": None}
    held.records.append({**theirs, "fields": {"text": "hers"}})
    _decided(synced)
    synced.world.remake()
    synced("sync", review=True)
    capsys.readouterr()
    synced("remove", "--review", review=True)
    said = capsys.readouterr().out
    assert f"The review project {held.dataset['id']} stays: it holds" in said
    assert f"delete the review project {held.dataset['id']}" not in said
    assert [one.dataset["id"] for one in synced.server.datasets[1:]] == [held.dataset["id"]]
    assert [len(one["responses"]) for one in held.records] == [1, 0]


def test_the_review_dataset_of_a_dataset_that_has_another_name_now_is_its_own_still(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    old = _decided(synced)
    synced.world.remake(keep_as="the one before")
    capsys.readouterr()
    for run in (["sync"], ["check"], ["sync", "--full"], ["remove", "--review"]):
        assert synced(*run, review=True) == 0
        said = capsys.readouterr().out
        assert old["dataset"]["id"] not in said, run
    assert [vars(one) for one in synced.server.datasets[2:]] == [old]


# What is reviewed


def test_the_status_counts_what_nobody_has_decided(synced: SyncedDataset, capsys: pytest.CaptureFixture[str]) -> None:
    synced("review", "status", review=True)
    n_conflicts = sum(map(_torn, synced.server.records))
    assert n_conflicts > 2
    assert capsys.readouterr().out == f"0 review tasks; {n_conflicts} conflicts without one.\n"

    synced("sync", review=True)
    held = synced.server.datasets[1]
    synced.server.respond(held.records[0], 2, {"label": "neg"}, status="draft")
    synced.server.respond(held.records[1], 2, {"label": "neg"})
    synced.server.respond(held.records[2], 2, None, status="discarded")
    capsys.readouterr()
    synced("review", "status", review=True)
    assert capsys.readouterr().out == (
        f"{n_conflicts} review tasks in project {held.dataset['id']}, {n_conflicts - 1} of them undecided; 0 conflicts"
        " without one.\n"
    )

    held.records[1].update(responses=[], status="completed")  # the reviewer's account was deleted, and the decision
    synced("review", "status", review=True)
    assert f"{n_conflicts} of them undecided" in capsys.readouterr().out

    synced.server.datasets.remove(held)
    synced("review", "status", review=True)
    assert capsys.readouterr().out == f"0 review tasks; {n_conflicts} conflicts without one.\n"
    synced("review", "create", review=True)
    assert f"{n_conflicts} of them undecided; 0 conflicts" in capsys.readouterr().out


def test_review_records_that_a_person_deleted_are_made_again_once_the_status_has_seen_it(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    held = synced.server.datasets[1]
    there = {one["external_id"] for one in held.records}
    del held.records[1]
    capsys.readouterr()
    assert len(synced.calls("sync", review=True)) == 2
    assert "whether all review tasks are there still was not looked at" in capsys.readouterr().out
    synced("review", "status", review=True)
    assert "; 1 conflict without one." in capsys.readouterr().out
    synced("sync", review=True)
    assert {one["external_id"] for one in held.records} == there


def test_the_status_tells_review_records_of_deleted_records_apart(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    held = synced.server.datasets[1]
    synced.world.delete(held.records[0]["external_id"])
    capsys.readouterr()
    synced("review", "status", review=True)
    n = len(held.records) - 1
    assert capsys.readouterr().out.splitlines() == [
        f"{n} review tasks in project {held.dataset['id']}, {n} of them undecided; 0 conflicts without one.",
        "1 more review task belongs to records that were deleted since.",
    ]


def test_the_votes_stand_by_rater_and_in_the_order_of_the_datasets_questions(synced: SyncedDataset) -> None:
    server = synced.server
    asked = [("verdict on it", 0), ("b", 1), ("label", 2), ("a", 3)]  # by length or letters the order is another one
    template = server.questions[0]
    server.questions[:] = [{**copy.deepcopy(template), "id": server.new_id(), "name": name} for name, _ in asked]
    for record in server.records:
        for rater in range(2):
            server.respond(record, rater, {name: "pos" if rater else "neg" for name, _ in reversed(asked)})
    synced("sync", review=True)
    votes = server.datasets[1].records[0]["fields"]["iaa_votes"]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in votes.splitlines()[2:] if line.startswith("| ")]
    assert rows == [f"{name}: Rater {rater}" for rater in "AB" for name, _ in asked]


# Metadata that are null


def test_metadata_that_were_null_are_null_again_after_a_removal_and_empty_ones_empty(synced: SyncedDataset) -> None:
    kinds: list[Any] = [None, {}, {"n": 1}]
    for place, record in enumerate(synced.server.records):
        record["metadata"] = copy.deepcopy(kinds[place % 3])
    before = synced.world.state()
    synced("sync")
    synced.world.change(synced.server.records[0]["id"])
    synced("sync")
    synced.world.change(synced.server.records[0]["id"])
    assert None not in synced.fields()
    synced("remove")
    assert [one["metadata"] for one in synced.server.records] == [kinds[place % 3] for place in range(8)]
    after = synced.world.state()
    for state in (before, after):
        state["records"][0][0]["responses"] = state["datasets"][0][0]["last_activity_at"] = None
    assert after == before


def test_metadata_that_were_null_and_that_somebody_has_filled_meanwhile_stay(synced: SyncedDataset) -> None:
    for record in synced.server.records:
        record["metadata"] = None
    synced("sync")
    synced.server.records[1]["metadata"]["n"] = 7
    synced("remove")
    assert [one["metadata"] for one in synced.server.records] == [None, {"n": 7}, *[None] * 6]


def test_scores_that_are_taken_away_by_a_sync_leave_null_where_there_was_null(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    for record in synced.server.records:
        record["metadata"] = None
    synced("sync")
    synced("sync", push={"scores": False, "majority": "off"})
    assert [one["metadata"] for one in synced.server.records] == [None] * 8


def test_without_the_store_metadata_that_were_null_are_left_empty(synced: SyncedDataset) -> None:
    """Only the store knows that they were null."""
    for record in synced.server.records:
        record["metadata"] = None
    synced("sync")
    for file in synced.folder.glob("connector.db*"):
        file.unlink()
    synced("remove")
    assert [one["metadata"] for one in synced.server.records] == [{}] * 8
