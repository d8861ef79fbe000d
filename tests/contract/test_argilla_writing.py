"""What the connector writes into an Argilla, and what it leaves alone."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connector.errors import FixConfiguration, ToolTrouble
from connector.tools.argilla import write
from connector.tools.argilla.tool import Argilla
from connector.tools.base import PutFields, PutReviewTasks, Receipt, RemoveReview, ReviewItem, SetField
from tests.contract.argilla_world import PROPERTY, RecordedArgillaWorld
from tests.contract.recorded_argilla import Held, RecordedArgilla
from tests.contract.served import Answer, Fault, Request

CASES = Path(__file__).parents[1] / "cases" / "reports.json"
REPORTS: dict[str, Any] = json.loads(CASES.read_text("utf-8"))["reports"]
BULK = ("PUT", "/records/bulk")


@pytest.fixture
def server() -> Iterator[RecordedArgilla]:
    with RecordedArgilla() as server:
        yield server


@pytest.fixture
def world(server: RecordedArgilla, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedArgillaWorld]:
    monkeypatch.setattr(write, "PAUSE", 0.0)
    world = RecordedArgillaWorld(server)
    yield world
    world.close()


@pytest.fixture
def tool(world: RecordedArgillaWorld) -> Argilla:
    return world.argilla()


@pytest.fixture
def ids(world: RecordedArgillaWorld) -> list[str]:
    return list(world.annotations())


def sent(server: RecordedArgilla, method: str, end: str) -> list[Any]:
    """The bodies of all such calls so far."""
    return [one.body for one in server.log if one.method == method and one.path.endswith(end)]


def once(method: str, end: str, answer: Callable[[Request], Answer | None]) -> Fault:
    """The first such call is answered so."""
    seen: list[Request] = []

    def fault(request: Request) -> Answer | None:
        if seen or request.method != method or not request.path.endswith(end):
            return None
        seen.append(request)
        return answer(request)

    return fault


def broken(_request: Request | None = None) -> Answer:
    params = {"type": "opensearchpy.exceptions.ConnectionError", "message": "Cannot connect to host"}
    return Answer(500, {"detail": {"code": "argilla.api.errors::GenericServerError", "params": params}})


# Properties


def test_properties_are_made_once_hidden_and_without_a_list_of_values(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    fields: dict[str, str | float] = {"iaa_status": "agreed", "iaa_agreement": 1.0, "iaa_raters": 2.0}
    for _ in range(2):
        assert (
            tool.apply(PutFields({ids[0]: {**fields, "iaa_consensus_q": 0.5, "iaa_majority_raters": "3"}})).failed
            is None
        )
    made = {one["name"]: one for one in server.properties if one["name"] != "n"}
    assert {name: one["settings"]["type"] for name, one in made.items()} == {
        "iaa_status": "terms",
        "iaa_agreement": "float",
        "iaa_consensus_q": "float",
        "iaa_raters": "integer",
        "iaa_majority_raters": "terms",
    }
    assert not any(one["visible_for_annotators"] for one in made.values())
    assert made["iaa_status"]["settings"]["values"] is None, "they could not be changed later"
    assert len(sent(server, "POST", "/metadata-properties")) == 5


@pytest.mark.parametrize(
    "theirs",
    [
        {"settings": {"type": "float", "min": None, "max": None}, "visible_for_annotators": False},
        {"settings": {"type": "terms", "values": ["agreed"]}, "visible_for_annotators": False},
        {"settings": {"type": "terms", "values": None}, "visible_for_annotators": True},
    ],
)
def test_a_persons_property_of_another_form_stops_everything_before_anything_is_written(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str], theirs: dict[str, Any]
) -> None:
    server.properties.append({**server.new_part(), "name": "iaa_status", "title": "Mine", **theirs})
    before = world.state()
    with pytest.raises(FixConfiguration, match="'iaa_status' already"):
        tool.apply(PutFields({ids[0]: {"iaa_agreement": 1.0, "iaa_status": "conflict"}}))
    assert world.state() == before


def test_a_property_that_another_run_makes_first_is_used(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    def first(request: Request) -> None:
        assert server.real(request).status == 201

    with server.failing(once("POST", "/metadata-properties", first)):
        receipt = tool.apply(SetField("iaa_status", "conflict", (ids[0],)))
    assert (receipt.failed, receipt.written) == (None, (ids[0],))
    assert [one["name"] for one in server.properties] == ["n", "iaa_status"]


def test_a_property_that_the_index_did_not_take_is_taken_away_again(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    """The database has it, and no filter would ever know it."""

    def half(request: Request) -> Answer:
        server.real(request)
        return broken()

    before = world.state()
    with server.failing(once("POST", "/metadata-properties", half)), pytest.raises(ToolTrouble, match="search index"):
        tool.apply(SetField("iaa_status", "conflict", (ids[0],)))
    assert world.state() == before


# Values


def test_ar_06_only_ids_and_metadata_are_sent_and_everything_else_stays(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla
) -> None:
    report = REPORTS["AR-06"]
    before, expected = report["input"]["before"], report["expected"]["after"]
    names = {"src": "src", "iaa.alpha": "iaa_agreement"}
    suggestions = [{"id": server.new_id(), "value": "pos", "agent": "m"}] * before["suggestions"]
    record = server.add(metadata=before["metadata"], suggestions=suggestions)
    terms = {"settings": {"type": "terms", "values": None}, "visible_for_annotators": True}
    server.properties.append({**server.new_part(), "name": "src", "title": "Source", **terms})
    for rater in range(before["responses"]):
        server.respond(record, rater, {"label": "pos"})
    was = copy.deepcopy(record)
    tool.apply(PutFields({record["id"]: {names[name]: value for name, value in report["input"]["write"].items()}}))
    assert record["metadata"] == {names[name]: value for name, value in expected["metadata"].items()}
    assert (len(record["suggestions"]), len(record["responses"])) == (expected["suggestions"], expected["responses"])
    assert {**record, "metadata": None, "updated_at": None} == {**was, "metadata": None, "updated_at": None}
    assert {key for body in sent(server, *BULK) for item in body["items"] for key in item} == {"id", "metadata"}


def test_ar_07_the_new_value_takes_the_old_ones_place_and_the_rest_stays(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla
) -> None:
    report = REPORTS["AR-07"]
    names = {"a": "n", "iaa.run": "iaa_majority"}

    def named(metadata: dict[str, Any]) -> dict[str, Any]:
        return {names[name]: value for name, value in metadata.items()}

    record = server.add()
    tool.apply(PutFields({record["id"]: {"iaa_majority": "0"}}))
    record["metadata"] = named(report["input"]["before"])
    tool.apply(PutFields({record["id"]: named(report["input"]["now"])}))
    assert record["metadata"] == named(report["expected"]["after"])
    tool.apply(PutFields({record["id"]: dict.fromkeys(named(report["input"]["now"]))}))
    assert record["metadata"] == {"n": 1}, "what is taken away does not come back"


def test_what_a_script_wrote_after_the_pull_stays(server: RecordedArgilla, tool: Argilla, ids: list[str]) -> None:
    list(tool.pull())
    server.record(ids[0])["metadata"] = {"n": 7}
    tool.apply(SetField("iaa_status", "conflict", (ids[0],)))
    assert server.record(ids[0])["metadata"] == {"n": 7, "iaa_status": "conflict"}


def test_a_record_with_a_key_that_outlived_its_property_is_named_and_the_others_are_written(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    server.record(ids[1])["metadata"] = {"old": "x"}
    receipt = tool.apply(SetField("iaa_status", "agreed", tuple(ids)))
    assert set(receipt.written) == set(ids) - {ids[1]}
    assert receipt.missing == ()
    assert ids[1] in str(receipt.failed)
    assert "'old' metadata property does not exist" in str(receipt.failed)
    assert server.record(ids[1])["metadata"] == {"old": "x"}


def test_a_write_that_the_index_missed_is_sent_once_more(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    """The database has it already: only by sending it again does the index."""

    def half(request: Request) -> Answer:
        server.real(request)
        return broken()

    with server.failing(once(*BULK, half)):
        receipt = tool.apply(SetField("iaa_status", "agreed", tuple(ids)))
    assert (receipt.failed, set(receipt.written)) == (None, set(ids))
    first, second = sent(server, *BULK)
    assert first == second


def test_raters_get_a_word_in_between_batches(server: RecordedArgilla, tool: Argilla) -> None:
    records = [server.add(f"more {number}")["id"] for number in range(250)]
    tool.reader.page_size = 1000
    assert len(tool.apply(SetField("iaa_status", "unrated", tuple(records))).written) == 250
    assert [len(body["items"]) for body in sent(server, *BULK)] == [100, 100, 50]


def test_a_receipt_names_the_records_that_held_no_metadata_at_all(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    """The first time, since no later one can tell; nothing of ours, and an object that is empty, are no "none"."""
    for unit, metadata in zip(ids, (None, {}, {"n": 1}, None), strict=False):
        server.record(unit)["metadata"] = metadata
    taken = tool.apply(PutFields({ids[3]: {"iaa_status": None}}))
    assert (taken.bare, server.record(ids[3])["metadata"]) == ((), None)
    op = SetField("iaa_status", "agreed", tuple(ids[:4]))
    assert [tool.apply(op).bare for _ in range(2)] == [(ids[0], ids[3]), ()]
    cleared = tool.apply(PutFields({unit: {"iaa_status": None} for unit in ids[:4]}, bare=(ids[0], ids[2])))
    assert cleared.bare == ()
    assert [server.record(unit)["metadata"] for unit in ids[:4]] == [None, {}, {"n": 1}, {}]


# Reviews

VOTES = {"Rater A": "pos", "Rater B": "neg|ative"}


def review(tool: Argilla, *units: str, workspace: str | None = None) -> Any:
    return tool.apply(PutReviewTasks(tuple(ReviewItem(unit, VOTES) for unit in units), workspace))


def reviews(server: RecordedArgilla) -> Held:
    (found,) = server.datasets[1:]
    return found


def test_the_review_dataset_asks_the_same_of_one_reviewer_and_suggests_nothing(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    receipt = review(tool, *ids[:2])
    made = reviews(server)
    assert server.workspaces[1]["name"] == "recorded-review"
    assert receipt.remote["review_project"] == made.dataset["id"]
    assert made.dataset["distribution"] == {"strategy": "overlap", "min_submitted": 1}
    assert (made.dataset["status"], made.dataset["allow_extra_metadata"]) == ("ready", False)
    asked = [(one["name"], one["required"], one["settings"]) for one in server.questions]
    assert [(one["name"], one["required"], one["settings"]) for one in made.questions] == asked
    assert [one["name"] for one in made.fields] == [*(one["name"] for one in server.fields), "iaa_votes"]
    assert made.fields[-1]["settings"] == {"type": "text", "use_markdown": True}
    assert [(one["name"], one["settings"]["type"]) for one in made.properties] == [("source_record", "terms")]
    first = made.records[0]
    assert (first["external_id"], first["metadata"]) == (ids[0], {"source_record": ids[0]})
    assert first["fields"]["text"] == server.records[0]["fields"]["text"]
    assert "| Rater B | neg\\|ative |" in first["fields"]["iaa_votes"]
    assert f"/dataset/{server.dataset['id']}/annotation-mode" in first["fields"]["iaa_votes"]
    keys = {key for body in sent(server, *BULK) for item in body["items"] for key in item}
    assert keys == {"external_id", "fields", "metadata"}, "neither a suggestion nor a response"


def test_a_reviewers_answers_stay_however_often_it_is_put(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    review(tool, ids[0])
    held = reviews(server).records[0]
    server.respond(held, 2, {"label": "neg"})
    was = copy.deepcopy(held)
    later = {**VOTES, "Rater C": "neg"}
    for one in (tool, world.argilla()):
        receipt = one.apply(PutReviewTasks(tuple(ReviewItem(unit, later) for unit in ids[:2])))
        assert (receipt.failed, receipt.remote[ids[0]]) == (None, was["id"])
    assert [one["external_id"] for one in reviews(server).records] == ids[:2]
    assert reviews(server).records[0] == was, "what they answered stays too"


def test_another_persons_dataset_of_that_name_is_left_alone(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    room = {**server.workspaces[0], "id": server.new_id(), "name": "recorded-review"}
    server.workspaces.append(room)
    theirs = Held({**server.dataset, "id": server.new_id(), "name": "every kind-review", "workspace_id": room["id"]})
    server.datasets.append(theirs)
    was = copy.deepcopy(theirs)
    review(tool, ids[0])
    assert theirs == was
    assert server.datasets[2].dataset["name"] == "every kind-review-2"
    review(world.argilla(), ids[0])
    assert len(server.datasets) == 3


@pytest.mark.parametrize("steps", range(14))
def test_a_review_dataset_that_was_begun_and_left_is_finished(
    steps: int, server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    """The server is gone after so many of the calls that make it."""
    made: list[Request] = []

    def gone(request: Request) -> Answer | None:
        if request.method == "GET":
            return None
        made.append(request)
        return None if len(made) <= steps else Answer(503, "", "text/html")

    with server.failing(gone), pytest.raises(ToolTrouble):
        review(tool, *ids[:2])
    assert review(world.argilla(), *ids[:2]).failed is None
    held = reviews(server)
    assert held.dataset["status"] == "ready"
    assert [one["name"] for one in held.questions] == [one["name"] for one in server.questions]
    assert [one["external_id"] for one in held.records] == ids[:2]


def test_a_dataset_that_was_published_without_an_index_is_taken_away(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    """It would never have one."""

    def down(request: Request) -> Answer | None:
        if request.path.endswith("/publish"):
            server.real(request)
            return broken()
        return broken() if request.path.endswith("/search") else None

    with server.failing(down), pytest.raises(ToolTrouble):
        review(tool, ids[0])
    assert len(server.datasets) == 1
    assert review(world.argilla(), ids[0]).failed is None


def test_an_admin_cannot_make_the_workspace_and_is_told(
    server: RecordedArgilla, world: RecordedArgillaWorld, ids: list[str]
) -> None:
    world.key = server.admin_key
    before = world.state()
    with pytest.raises(FixConfiguration, match="only an owner can make it") as caught:
        review(world.argilla(), ids[0])
    assert "review.workspace" in str(caught.value)
    assert world.state() == before
    server.workspaces.append({**server.workspaces[0], "id": server.new_id(), "name": "second look"})
    assert review(world.argilla(), ids[0], workspace="second look").failed is None
    assert reviews(server).dataset["workspace_id"] == server.workspaces[1]["id"]


def test_of_a_dataset_with_others_records_only_ours_that_nobody_answered_go(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    receipt = review(tool, *ids[:3])
    held = reviews(server)
    own = {**copy.deepcopy(held.records[0]), "id": server.new_id(), "external_id": "hers", "metadata": None}
    held.records.append({**own, "fields": {"text": "hers"}})
    server.respond(held.records[1], 2, {"label": "neg"}, status="draft")
    removed = world.argilla().apply(RemoveReview(receipt.remote["review_project"]))
    assert sorted(removed.written) == sorted([ids[0], ids[2]])
    assert removed.remote == {"kept_project": held.dataset["id"], "kept": "1", "kept_others": "1"}
    assert [one["external_id"] for one in held.records] == [ids[1], "hers"]


def test_nothing_goes_of_the_review_dataset_of_another_dataset_that_is_there(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    """A store may still call it that of the dataset whose name it had."""
    number = review(tool, *ids[:3]).remote["review_project"]
    server.remake(keep_as="other")
    before = world.state()
    removed = world.argilla().apply(RemoveReview(number))
    assert (removed.written, removed.remote) == ((), {"kept_project": number, "kept_others": "3"})
    assert world.state() == before


@pytest.mark.parametrize("page", [1, 2])
def test_a_review_dataset_that_another_run_deletes_at_the_same_time_is_gone(
    page: int, server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    before = world.state()
    number = review(tool, *ids).remote["review_project"]
    pages = itertools.count(1)

    def deletes(request: Request) -> None:
        if request.is_page and number in request.path and next(pages) == page:
            server.datasets.remove(server.held(number))

    with server.failing(deletes):
        assert world.argilla().apply(RemoveReview(number)) == Receipt()
    assert next(pages) == page + 1
    assert world.state() == before


def test_the_source_is_never_removed_as_a_review_dataset(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla
) -> None:
    before = world.state()
    with pytest.raises(FixConfiguration):
        tool.apply(RemoveReview(server.dataset["id"]))
    assert world.state() == before


def test_a_workspace_into_which_somebody_was_put_stays(
    server: RecordedArgilla, world: RecordedArgillaWorld, tool: Argilla, ids: list[str]
) -> None:
    receipt = review(tool, ids[0])
    server.members[server.workspaces[1]["id"]] = [server.users[0]]
    tool.apply(RemoveReview(receipt.remote["review_project"]))
    assert (len(server.datasets), len(server.workspaces)) == (1, 2)


@pytest.mark.parametrize("first", [0, 1])
def test_a_workspace_that_two_datasets_share_goes_with_the_last_review_dataset_in_it(
    first: int, server: RecordedArgilla, world: RecordedArgillaWorld
) -> None:
    """Whichever of them it was made for."""
    rooms = copy.deepcopy(server.workspaces)
    server.remake(keep_as="other")
    record = server.add("text of the second")
    server.properties.append({**server.new_part(), "name": "n", "title": "N", **copy.deepcopy(PROPERTY)})
    second = world.argilla()
    one = Argilla(server.url, server.owner_key, "recorded/other")
    made = [
        (one, review(one, server.datasets[1].records[0]["id"]).remote["review_project"]),
        (second, review(second, record["id"]).remote["review_project"]),
    ]
    assert len(server.workspaces) == 2
    for tool, number in (made[first], made[1 - first]):
        assert server.workspaces != rooms
        tool.apply(RemoveReview(number))
    assert server.workspaces == rooms
    one.close()
