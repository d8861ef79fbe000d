"""What is written into a record's metadata, and whose the properties are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.tools.argilla.client import Client
from connector.tools.argilla.read import Reader
from connector.tools.argilla.write import (
    GAP,
    LARGEST,
    LONGEST,
    MARK,
    WINDOW,
    Writer,
    conflicts_link,
    is_id,
    is_ours,
    merged,
    refused_unit,
    typed,
    unlike_ours,
    windows,
)
from connector.tools.http import Refused

ID = "6058e2f5-1434-46d6-bde5-c4905809588b"


def prop(name: str, kind: str, *, title: str = "Mine", shown: bool = False, **settings: Any) -> dict[str, Any]:
    """A metadata property as the API gives it."""
    limits = {"values": None} if kind == "terms" else {"min": None, "max": None}
    return {
        "id": ID,
        "name": name,
        "title": title,
        "settings": {"type": kind, **limits, **settings},
        "visible_for_annotators": shown,
    }


@pytest.mark.parametrize(
    ("value", "kind", "taken"),
    [(1, "float", 1.0), (0.25, "float", 0.25), (2.0, "integer", 2), (3, "integer", 3), ("agreed", "terms", "agreed")],
)
def test_a_value_is_sent_in_the_type_of_its_property(value: Any, kind: str, taken: Any) -> None:
    sent = typed(value, kind)
    assert sent == taken
    assert type(sent) is type(taken)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (float("nan"), "float"),
        (float("inf"), "float"),
        (2.5, "integer"),
        ("2", "integer"),
        ("0.5", "float"),
        (True, "float"),
        (1.0, "terms"),
        ("a\0b", "terms"),
        ("half \ud83d pair", "terms"),
        ("é" * (LARGEST // 2 + 1), "terms"),
    ],
)
def test_a_value_that_the_server_would_refuse_or_choke_on_is_not_sent(value: Any, kind: str) -> None:
    assert typed(value, kind) is None


def test_the_longest_text_of_a_plan_can_be_stored() -> None:
    assert typed("😀" * LONGEST, "terms") is not None


@pytest.mark.parametrize("prefix", ["iaa_", "agreement_"])
def test_each_field_has_its_type(prefix: str) -> None:
    writer = Writer(client := Client("http://127.0.0.1:9", "key"), Reader(client), ID, prefix)
    kinds = {
        "agreement": "float",
        "consensus": "float",
        "majority": "terms",
        "raters": "integer",
        "status": "terms",
        "agreement_sentiment": "float",
        "raters_sentiment": "integer",
        "majority_agreement": "terms",
        "status_raters": "terms",
    }
    assert {name: writer.kind(prefix + name) for name in kinds} == kinds


METADATA = {"source": "web", "n": 3, "iaa_status": "single", "nested": {"a": [1]}}


def test_what_people_put_into_the_metadata_stays() -> None:
    new = merged(METADATA, {"iaa_status": "agreed", "iaa_raters": 2, "iaa_majority": None})
    assert new == {"source": "web", "n": 3, "nested": {"a": [1]}, "iaa_status": "agreed", "iaa_raters": 2}
    assert merged(new, {"iaa_status": None, "iaa_raters": None}) == {"source": "web", "n": 3, "nested": {"a": [1]}}
    assert METADATA["iaa_status"] == "single"


def test_no_metadata_stay_none() -> None:
    assert merged(None, {"iaa_status": None}) is None
    assert merged(None, {"iaa_status": "agreed"}) == {"iaa_status": "agreed"}
    assert merged({}, {"iaa_status": None}) == {}


def test_none_comes_back_where_it_was_before_our_first_field_and_nothing_else_is_left() -> None:
    assert merged({"iaa_status": "agreed"}, {"iaa_status": None}, bare=True) is None
    assert merged({"iaa_status": "agreed", "n": 3}, {"iaa_status": None}, bare=True) == {"n": 3}
    assert merged({"iaa_status": "agreed", "iaa_raters": 2}, {"iaa_status": None}, bare=True) == {"iaa_raters": 2}
    assert merged({"iaa_status": "agreed"}, {"iaa_status": None}) == {}


@given(
    st.dictionaries(st.text(max_size=3), st.integers() | st.none()),
    st.dictionaries(st.text(max_size=3), st.integers() | st.none()),
)
def test_writing_twice_gives_what_writing_once_does(metadata: dict[str, Any], fields: dict[str, Any]) -> None:
    once = merged(metadata, fields)
    assert merged(once, fields) == once
    assert once is not None
    assert {key: value for key, value in once.items() if key not in fields} == {
        key: value for key, value in metadata.items() if key not in fields
    }


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=120))
def test_pages_hold_every_record_wanted_and_few_others(places: set[int]) -> None:
    found = windows(sorted(places))
    read = [place for first, count in found for place in range(first, first + count)]
    assert places <= set(read)
    assert len(read) == len(set(read)), "no record is read twice"
    assert all(count <= WINDOW for _, count in found)
    assert len(read) <= GAP * len(places)


def test_neighbours_come_in_one_page() -> None:
    assert windows(range(200, 300)) == [(200, 100)]
    assert windows([0, GAP]) == [(0, GAP + 1)]
    assert windows([0, GAP + 1]) == [(0, 1), (GAP + 1, 1)]


def test_a_property_is_ours_by_the_end_of_its_title() -> None:
    assert is_ours(prop("iaa_status", "terms", title="iaa_status" + MARK))
    assert not is_ours(prop("iaa_status", "terms", title="iaa_status"))
    assert not is_ours(prop("iaa_status", "terms", title=MARK.strip() + " of mine"))


@pytest.mark.parametrize(
    ("item", "trouble"),
    [
        (prop("iaa_status", "terms"), None),
        (prop("iaa_status", "terms", title="x" + MARK, shown=True), None),
        (prop("iaa_status", "integer"), "of type integer"),
        (prop("iaa_status", "integer", title="x" + MARK), "of type integer"),
        (prop("iaa_status", "terms", values=["agreed"]), "of type terms with values"),
        (prop("iaa_status", "terms", shown=True), "of type terms, shown to annotators"),
        ({"name": "iaa_status"}, "of type None, shown to annotators"),
    ],
)
def test_a_persons_property_holds_our_values_only_if_it_is_just_like_ours(
    item: dict[str, Any], trouble: str | None
) -> None:
    assert unlike_ours(item, "terms") == trouble


def test_limits_of_numbers_count_too() -> None:
    assert unlike_ours(prop("iaa_agreement", "float", max=0.5), "float") == "of type float with max"
    assert unlike_ours(prop("iaa_agreement", "float"), "float") is None


@pytest.mark.parametrize(
    ("status", "detail", "unit"),
    [
        (422, "Record at position 1 is not valid because fields cannot be empty", "b"),
        (422, "body.items.2.id: Input should be a valid UUID", "c"),
        (422, "Record at position 3 is not valid", None),
        (422, "List should have at least 1 item", None),
        (500, "Record at position 1 is not valid", None),
    ],
)
def test_the_record_that_was_refused_is_known_by_its_position(status: int, detail: str, unit: str | None) -> None:
    assert refused_unit(Refused(status, "Argilla refused it.", detail=detail), ["a", "b", "c"]) == unit


@pytest.mark.parametrize("text", ["", "5", "rec-00001", ID.upper(), ID.replace("-", ""), f"{{{ID}}}", f"urn:uuid:{ID}"])
def test_only_the_servers_own_form_of_an_id_is_one(text: str) -> None:
    assert not is_id(text)
    assert is_id(ID)


def test_the_link_lists_the_conflicts_lowest_agreement_first() -> None:
    assert conflicts_link("https://host/sub/", ID, "iaa_") == (
        f"https://host/sub/dataset/{ID}/annotation-mode?page=1&status=pending&metadata=iaa_status.conflict"
        "&sort=metadata.iaa_agreement.asc"
    )
