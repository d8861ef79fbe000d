"""Review records: the votes as a table that shows nothing but text, and which records are ours."""

from __future__ import annotations

from typing import Any

import pytest

from connector.tools.argilla.client import Client
from connector.tools.argilla.read import Reader
from connector.tools.argilla.review import (
    BATCH,
    BYTES,
    HEADER,
    Reviews,
    _batches,
    free_name,
    literal,
    unit_of,
    workspace_id,
)
from connector.tools.argilla.schema import Dataset
from connector.tools.argilla.write import Records
from connector.tools.base import ReviewItem

ID = "6058e2f5-1434-46d6-bde5-c4905809588b"
SOURCE = Dataset("bb6baded-8767-438e-91a7-61cff984cfb3", "sur|vey", "lab", "w", "t", 1, 2, [])


@pytest.fixture
def reviews() -> Reviews:
    client = Client("https://host/sub", "key")
    reader = Reader(client)
    return Reviews(client, reader, Records(client, reader, SOURCE.id), SOURCE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("one\ntwo\r\nthree", "one<br>two<br>three"),
        ("*b* _i_ `c` # h", "\\*b\\* \\_i\\_ \\`c\\` \\# h"),
        ("[l](http://x) www.x.y a@b.c", "\\[l\\](http&#58;//x) www&#46;x.y a&#64;b.c"),
        ("back\\slash", "back\\\\slash"),
        ("", " "),
        ("\n", " "),
        ("感情 é 😀", "感情 é 😀"),
        ("a\u202eb\x1b[1m\x00", "a\\\\u202eb\\\\x1b\\[1m\\\\x00"),
    ],
)
def test_an_answer_is_text_on_one_line_of_the_table(text: str, shown: str) -> None:
    assert literal(text) == shown


def test_half_of_a_surrogate_pair_which_would_spoil_the_record_is_spelt_out() -> None:
    literal("half \ud83d pair").encode()


def test_the_votes_are_a_table_with_a_way_back(reviews: Reviews) -> None:
    record = {"id": ID, "external_id": "rec-1", "fields": {"text": "t", "context": None}, "metadata": {"k": "v"}}
    made = reviews._record(ReviewItem(ID, {"Rater A": "pos", "topics: Rater B": "a, b|c"}), record, "iaa_votes")
    assert made == {
        "external_id": ID,
        "fields": {
            "text": "t",
            "iaa_votes": "| Rater | Answer |\n| --- | --- |\n| Rater A | pos |\n| topics: Rater B | a, b\\|c |\n"
            f"\nFrom [lab/sur\\|vey](https://host/sub/dataset/{SOURCE.id}/annotation-mode), record {ID}, rec-1.",
        },
        "metadata": {"source_record": ID},
    }
    assert set(made) == {"external_id", "fields", "metadata"}, "no suggestion, which the page would pre-select"


def test_the_guidelines_are_the_sources_own_and_not_too_long(reviews: Reviews) -> None:
    assert reviews._guidelines("Label *it*.").endswith("\n\nLabel *it*.")
    assert "[lab/sur\\|vey](https://host/sub/dataset/" in reviews._guidelines(None)
    assert len(reviews._guidelines("x" * 10_000)) == 10_000


@pytest.mark.parametrize(
    ("record", "unit"),
    [
        ({"external_id": ID, "metadata": {"source_record": ID}, "fields": {}}, ID),
        ({"external_id": ID, "metadata": {}, "fields": {"votes": f"{HEADER}| A | x |"}}, ID),
        ({"external_id": ID, "metadata": None, "fields": {"text": "own"}}, None),
        ({"external_id": "rec-1", "metadata": {"source_record": "rec-1"}, "fields": {}}, None),
        ({"external_id": None, "metadata": {"source_record": ID}, "fields": {}}, None),
        ({"external_id": ID, "metadata": {"source_record": "other"}, "fields": {"text": 5}}, None),
    ],
)
def test_a_review_record_is_known_by_what_we_wrote(record: dict[str, Any], unit: str | None) -> None:
    assert unit_of(record) == unit


def test_the_field_of_the_votes_gets_out_of_the_way() -> None:
    assert free_name("iaa_votes", ["text"]) == "iaa_votes"
    assert free_name("iaa_votes", ["iaa_votes", "iaa_votes_2", "text"]) == "iaa_votes_3"


def test_batches_hold_so_many_records_and_so_much_text() -> None:
    short = {str(number): {"fields": {"text": "x"}} for number in range(BATCH * 2 + 1)}
    assert [len(part) for part in _batches(short)] == [BATCH, BATCH, 1]
    long = {str(number): {"fields": {"text": "x" * (BYTES // 2)}} for number in range(4)}
    assert [len(part) for part in _batches(long)] == [1, 1, 1, 1]
    assert [unit for part in _batches(short) for unit in part] == list(short)
    assert list(_batches({})) == []


def test_each_workspace_that_we_make_has_an_id_by_which_it_is_known_again() -> None:
    assert workspace_id("review") == workspace_id("review")
    assert workspace_id("review") != workspace_id("other")
