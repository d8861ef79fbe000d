"""A record of the API -> Unit."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from connector.errors import DataNotTrusted, SkippedTask
from connector.tools.argilla.shape import unit_of
from tests.contract.argilla_conversation import TEXT
from tests.contract.recorded_argilla import RECORDED

ITEMS: list[dict[str, Any]] = RECORDED["records"]["answer"]["items"]


def record(place: int = 0, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ITEMS[place]), **changes}


def test_a_record_is_known_by_the_servers_id_and_keeps_the_owners_as_data() -> None:
    unit = unit_of(record())
    assert unit.id == ITEMS[0]["id"]
    assert unit.data["external_id"] == "rec-0"
    assert unit.created_at == ITEMS[0]["inserted_at"]


def test_metadata_and_fields_are_its_data_and_a_field_never_hides_metadata() -> None:
    data = unit_of(record()).data
    assert data == {"source": "web", "n": 1, "text": TEXT, "field:source": "a field", "external_id": "rec-0"}


def test_a_record_without_metadata_has_its_fields() -> None:
    assert unit_of(record(2)).data == {"text": "More."}


def test_every_response_of_every_user_comes_with_its_status() -> None:
    units = [unit_of(item) for item in ITEMS]
    assert [[one.status for one in unit.annotations] for unit in units] == [
        ["submitted", "submitted", "cancelled"],
        ["submitted", "draft", "draft"],
        ["cancelled", "draft", "submitted"],
    ]
    raters = {one.rater for unit in units for one in unit.annotations}
    assert raters == {response["user_id"] for item in ITEMS for response in item["responses"]}
    assert {one.id for unit in units for one in unit.annotations} == {
        response["id"] for item in ITEMS for response in item["responses"]
    }


def test_of_drafts_and_discarded_responses_no_content_is_kept() -> None:
    """They hold what the page had filled in, or NULL."""
    kept = [one.result for item in ITEMS for one in unit_of(item).annotations if one.status != "submitted"]
    assert kept == [[]] * 5


def test_an_answer_stands_as_it_came() -> None:
    first = unit_of(record()).annotations[0]
    assert {"question": "stars", "value": 4} in first.result
    assert {"question": "why", "value": "  because "} in first.result
    response = ITEMS[0]["responses"][0]
    assert (first.created_at, first.updated_at) == (response["inserted_at"], response["updated_at"])


def test_suggestions_are_left_out() -> None:
    item = RECORDED["records with suggestions"]["answer"]["items"][0]
    assert item["suggestions"]
    assert unit_of(item) == unit_of(ITEMS[0])


def test_its_state_differs_after_a_response_comes_changes_or_goes() -> None:
    """The record's own time moves with none of them."""
    before = unit_of(record()).updated_at
    new = {**ITEMS[0]["responses"][0], "id": "r", "user_id": "u", "updated_at": "2026-12-01T00:00:00"}
    came = record(responses=[*ITEMS[0]["responses"], new])
    changed = record()
    changed["responses"][0]["updated_at"] = "2026-12-01T00:00:00"
    gone = record(responses=ITEMS[0]["responses"][1:])
    metadata = record(updated_at="2026-12-01T00:00:00")
    states = [unit_of(one).updated_at for one in (came, changed, gone, metadata)]
    assert before not in states
    assert unit_of(record()).updated_at == before


def test_a_record_that_came_without_its_responses_is_no_unrated_one() -> None:
    item = record()
    del item["responses"]
    with pytest.raises(DataNotTrusted, match="without its responses"):
        unit_of(item)


def test_a_record_that_nobody_rated_is_a_unit() -> None:
    unit = unit_of(record(responses=[]))
    assert list(unit.annotations) == []
    assert unit.updated_at == f"{ITEMS[0]['updated_at']} 0"


def test_a_user_who_is_not_known_is_nobody() -> None:
    """AR-08: the text of a missing id is no rater."""
    for missing in (None, "None", "null", ""):
        item = record()
        item["responses"][0]["user_id"] = missing
        assert unit_of(item).annotations[0].rater is None


@pytest.mark.parametrize(
    "responses",
    [
        [7],
        [{"status": "pending"}],
        [{"status": "submitted", "values": "text"}],
        [{"status": "submitted", "values": []}],
    ],
)
def test_a_malformed_response_makes_its_record_malformed(responses: list[Any]) -> None:
    with pytest.raises(SkippedTask) as caught:
        unit_of(record(responses=responses))
    assert caught.value.unit == ITEMS[0]["id"]


@pytest.mark.parametrize("responses", ["two of them", 7, True])
def test_responses_that_are_no_list_make_one_record_malformed(responses: Any) -> None:
    """They came, so that the read is not at fault."""
    with pytest.raises(SkippedTask, match="not a list"):
        unit_of(record(responses=responses))


def test_responses_that_are_null_are_none() -> None:
    assert list(unit_of(record(responses=None)).annotations) == []


@pytest.mark.parametrize("item", [None, 7, "x", [], {}])
def test_what_is_no_record_is_malformed(item: Any) -> None:
    with pytest.raises((SkippedTask, DataNotTrusted)):
        unit_of(item)
