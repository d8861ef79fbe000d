"""A dataset is the one it was under whatever name, another under its old one is not; what it cannot send, what in it is
a person's, and what of ours nobody needs any more."""

from __future__ import annotations

import copy
import json

import pytest

from connector import cli
from connector.store import Store
from tests.contract import test_argilla_workflow as workflow
from tests.contract.argilla_world import PROPERTY
from tests.contract.recorded_argilla import Held
from tests.contract.test_argilla_workflow import SyncedDataset, _answers, _forget, _stored

make, synced = workflow.make, workflow.synced

NEW = "another name"


def _renamed(synced: SyncedDataset) -> str:
    """Give the dataset another name: what the configuration calls it then."""
    synced.server.datasets[0].dataset["name"] = NEW
    return f"{synced.server.project.split('/')[0]}/{NEW}"


def _kept(synced: SyncedDataset) -> dict[str, tuple[int, int, int]]:
    """Of each source in the store, by its name: its ratings, ledger rows and looks of the gate."""
    with Store(synced.folder / "connector.db", keep=False) as store:
        return {
            one.source.removeprefix(f"argilla:{synced.server.url}:"): (
                sum(len(unit.annotations) for unit in store.units(one.source)),
                sum(len(units) for units in store.ledger(one.source).values()),
                len(store.looks(one.source)),
            )
            for one in store.sources()
        }


# Another name


@pytest.mark.parametrize("full", [[], ["--full"]])
def test_a_renamed_dataset_goes_on_with_all_that_was_known_of_it(
    full: list[str], synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    synced("sync", review=True)
    synced("gate", "--size", "8")
    before, after = _forget(synced, user=True)
    assert synced("sync", "--full", review=True) == 0
    (known,) = _kept(synced).values()
    assert (known[0], known[2]) == (sum(before), 1)
    assert sum(after) < sum(before)
    shown = synced.world.state()
    project = _renamed(synced)
    shown["datasets"][0][0]["name"] = NEW

    capsys.readouterr()
    assert synced("sync", *full, review=True) == 4, "the name that is configured is nobody's"
    assert f"is called '{NEW}' now" in capsys.readouterr().err
    assert synced("sync", *full, review=True, project=project) == 0
    said = capsys.readouterr().out
    assert "Nothing to write" in said
    assert _kept(synced) == {project: known}
    assert _stored(synced) == before
    assert synced.world.state() == shown
    synced("gate", "--size", "8", project=project)
    assert _kept(synced)[project][2] == 2, "the looks go on"
    assert synced("remove", "--review", review=True, project=project) == 0
    assert [record["metadata"] for record in synced.server.records] == [{"n": n} for n in range(8)]
    assert len(synced.server.datasets) == 1


def test_a_removal_under_the_new_name_knows_what_was_null(synced: SyncedDataset) -> None:
    for record in synced.server.records:
        record["metadata"] = None
    before = copy.deepcopy([record["metadata"] for record in synced.server.records])
    synced("sync")
    assert synced("remove", project=_renamed(synced)) == 0
    assert [record["metadata"] for record in synced.server.records] == before


@pytest.mark.parametrize("first", [NEW, "the one made anew", "its removal"])
def test_one_made_anew_under_the_old_name_is_another_and_takes_nothing_of_the_first(
    first: str, synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    """In whatever order the two are synced afterwards."""
    synced("sync", review=True)
    before, _ = _forget(synced, user=True)
    synced("sync", "--full", review=True)
    (old_name,) = _kept(synced)
    known = _kept(synced)[old_name]
    old: Held = synced.server.datasets[0]
    old_review = copy.deepcopy(vars(synced.server.datasets[1]))
    synced.world.remake(keep_as=NEW)
    new_name = f"{synced.server.project.split('/')[0]}/{NEW}"

    def sync_new() -> None:
        assert synced("sync", review=True) == 0
        assert _stored_of(synced, old_name) == _answers(synced)

    def sync_old() -> None:
        capsys.readouterr()
        assert synced("sync", review=True, project=new_name) == 0
        assert "Nothing to write" in capsys.readouterr().out

    if first == "its removal":
        assert synced("remove", "--review", review=True) == 0
    for step in (sync_old, sync_new, sync_old) if first == NEW else (sync_new, sync_old, sync_new):
        step()
    kept = _kept(synced)
    assert kept[new_name] == known
    assert _stored_of(synced, new_name, old) == before
    assert synced("remove", "--review", review=True) == 0
    assert vars(next(one for one in synced.server.datasets if one.dataset["id"] == old_review["dataset"]["id"])) == (
        old_review
    )
    assert [record["metadata"] for record in synced.server.records] == [{"n": n} for n in range(8)]
    assert all("iaa_status" in record["metadata"] for record in old.records)


def _stored_of(synced: SyncedDataset, name: str, held: Held | None = None) -> list[int]:
    records = synced.server.records if held is None else held.records
    with Store(synced.folder / "connector.db", keep=False) as store:
        units = store.units(f"argilla:{synced.server.url}:{name}")
        numbers = {unit.id: len(unit.annotations) for unit in units}
    return [numbers[record["id"]] for record in records]


def test_two_datasets_that_swap_their_names_keep_what_is_theirs(synced: SyncedDataset) -> None:
    place = synced.server.project.split("/")[0]
    before = _answers(synced)
    synced("sync")
    synced.world.remake(keep_as=NEW)
    synced.server.respond(synced.server.records[0], 2, {"label": "pos"})
    both = [
        {"tool": "argilla", "url": synced.server.url, "api_key": "${KEY}", "project": name}
        for name in (synced.server.project, f"{place}/{NEW}")
    ]

    def run() -> int:
        config = synced.folder / "both.yaml"
        config.write_text(json.dumps({"sources": both}))
        return cli.run(["sync", "-c", str(config)])

    assert run() == 0
    one, other = synced.server.datasets
    one.dataset["name"], other.dataset["name"] = other.dataset["name"], one.dataset["name"]
    ratings = {
        title: sum(_stored_of(synced, title, held))
        for title, held in ((both[0]["project"], one), (both[1]["project"], other))
    }
    assert set(ratings.values()) == {sum(before), sum(before) + 1}
    assert run() == 0
    assert {title: rows[0] for title, rows in _kept(synced).items()} == {
        both[1]["project"]: ratings[both[0]["project"]],
        both[0]["project"]: ratings[both[1]["project"]],
    }


def test_a_dry_run_moves_nothing_in_the_store(synced: SyncedDataset) -> None:
    synced("sync")
    known = _kept(synced)
    assert synced("sync", "--dry-run", project=_renamed(synced)) == 0
    assert _kept(synced) == known


# What the server cannot send


def test_one_record_that_cannot_be_sent_keeps_no_other_from_its_scores(
    synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(100):
        synced.server.add("more")
    synced.server.add("bad", metadata={"n": 1, "note": "\ud800"})
    with synced.server.failing(synced.server.half_signs):
        for run in (["sync"], ["sync"], ["sync", "--full"], ["check"]):
            assert synced(*run, review=True) == 0, run
            assert "at place 108" in " ".join(capsys.readouterr().out.split()), run
        assert [status is not None for status in synced.fields()] == [True] * 108 + [False]
        assert synced("remove", "--review", review=True) == 0
    assert [one for one in synced.fields() if one is not None] == []


def test_what_stands_in_a_suggestion_keeps_nothing_from_being_written(synced: SyncedDataset) -> None:
    """The server writes a batch, and cannot answer for a suggestion in it."""
    before = copy.deepcopy([record["metadata"] for record in synced.server.records])
    synced.server.records[3]["suggestions"].append({"id": "s", "question_id": "q", "value": "\ud800"})
    with synced.server.failing(synced.server.half_signs):
        assert synced("sync", review=True) == 0
        assert None not in synced.fields()
        assert synced("remove", "--review", review=True) == 0
    assert [record["metadata"] for record in synced.server.records] == before


# What is a person's


@pytest.mark.parametrize("where", ["in all", "in one"])
def test_metadata_of_our_names_are_a_persons_where_no_property_is_ours(
    where: str, synced: SyncedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    """We make a property before its first value: they look just like ours, and are not."""
    synced.server.dataset["allow_extra_metadata"] = True
    for record in synced.server.records[: None if where == "in all" else 1]:
        record["metadata"] = {"iaa_status": "agreed", "iaa_raters": 2, "iaa_agreement": 1.0}
    before = synced.world.state()
    for run in (["check"], ["sync", "--dry-run"], ["sync"], ["sync", "--full"]):
        capsys.readouterr()
        assert synced(*run, review=True) == 2, run
        both = capsys.readouterr()
        assert "'iaa_status'" in both.out + both.err
    assert synced("remove", "--review", review=True) == 0
    assert "Nothing of ours is there." in capsys.readouterr().out
    assert synced.world.state() == before


def test_they_are_a_persons_after_a_removal_too(synced: SyncedDataset) -> None:
    """When a run reads no more than what changed."""
    synced("sync")
    synced("remove")
    synced("gate", "--size", "8")
    synced.server.dataset["allow_extra_metadata"] = True
    theirs = {"iaa_status": "agreed", "iaa_raters": 2}
    synced.server.records[0]["metadata"] = theirs
    synced.server.respond(synced.server.records[0], 0, {"label": "neg"})
    assert synced("sync") == 2
    assert synced.server.records[0]["metadata"] == theirs


# What nobody needs any more


def test_properties_go_with_the_prefix_that_they_were_made_for(synced: SyncedDataset) -> None:
    synced("sync")
    mine = {**synced.server.new_part(), "name": "iaa_mine", "title": "Mine", **PROPERTY}
    synced.server.properties.append(mine)
    old = [one["name"] for one in synced.server.properties if one["name"].startswith("iaa_")]
    assert len(old) == 6
    assert synced("sync", push={"prefix": "zz_"}) == 0
    assert sorted(one["name"] for one in synced.server.properties) == sorted(
        ["n", "iaa_mine", *(name.replace("iaa_", "zz_") for name in old if name != "iaa_mine")]
    )
    assert len(synced.calls("sync")) > 2, "back to the first"
    assert synced("sync", push={"scores": False}) == 0
    assert sorted(one["name"] for one in synced.server.properties) == ["iaa_majority", "iaa_mine", "n"]


def test_a_property_without_a_value_stays_while_it_may_get_one(synced: SyncedDataset) -> None:
    synced("sync")
    names = [one["name"] for one in synced.server.properties]
    for record in synced.server.records:  # no majority anywhere any more
        synced.server.respond(record, 0, {"label": "pos"})
        synced.server.respond(record, 1, {"label": "neg"})
    assert synced("sync") == 0
    assert set(synced.fields("iaa_majority")) == {None}
    assert [one["name"] for one in synced.server.properties] == names


def test_a_draft_is_told_by_every_sync(synced: SyncedDataset, capsys: pytest.CaptureFixture[str]) -> None:
    synced.server.records.clear()
    synced.server.dataset["status"] = "draft"
    for run in (["check"], ["sync"], ["sync", "--dry-run"], ["sync"]):
        assert synced(*run) == 0
        assert "The dataset is a draft" in capsys.readouterr().out, run
