"""Pages, what moves in mid-pull, what changed since, and what is gone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, UnexpectedAnswer
from connector.tools.argilla import read
from connector.tools.argilla.tool import Argilla
from connector.tools.base import Cursor, Page
from tests.contract.recorded_argilla import RecordedArgilla
from tests.contract.served import Answer, Fault, Request
from tests.unit.argilla_api.conftest import PAGE, RECORDS, Make


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_PAUSE", 0.0)


def ids_of(pages: Iterator[Page]) -> list[str]:
    return [unit.id for page in pages for unit in page.units]


def known_of(pages: Iterator[Page]) -> tuple[Cursor, dict[str, str | None], list[Unit]]:
    cursor, units = Cursor(), []
    for page in pages:
        cursor = page.cursor
        units += page.units
    return cursor, {unit.id: unit.updated_at for unit in units}, units


def before_page(number: int, act: Callable[[], object]) -> Fault:
    """Lets something happen right before the so manieth page (from 1) is asked for, once."""
    pages = itertools.count(1)

    def fault(request: Request) -> None:
        if request.is_page and next(pages) == number:
            act()

    return fault


def changed_pages(server: RecordedArgilla, change: Callable[[list[Any]], list[Any]]) -> Fault:
    def fault(request: Request) -> Answer | None:
        if not request.is_page:
            return None
        answer = server.real(request)
        answer.body["items"] = change(answer.body["items"])
        return answer

    return fault


# A quiet pull


def test_every_record_comes_once_in_the_order_of_insertion(tool: Argilla, ids: list[str]) -> None:
    pages = list(tool.pull())
    assert ids_of(iter(pages)) == ids
    assert len(pages) > 2
    assert {page.total for page in pages} == {RECORDS}
    assert not any(page.skipped for page in pages)


def test_only_what_counts_is_asked_for(server: RecordedArgilla, tool: Argilla) -> None:
    list(tool.pull())
    assert {request.params.get("include") for request in server.log if request.is_page} == {None, "responses"}


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6])
def test_any_number_of_records_ends(server: RecordedArgilla, tool: Argilla, count: int) -> None:
    del server.records[count:]
    before = len(server.log)
    cursor, known, _ = known_of(tool.pull())
    assert list(known) == [record["id"] for record in server.records]
    assert cursor == Cursor(server.dataset["last_activity_at"], str(count))
    assert len(server.log) - before <= 4 + 1 + count // 2


def test_a_page_of_two_still_gets_on(server: RecordedArgilla, tool: Argilla, ids: list[str]) -> None:
    tool.reader.page_size = 2
    assert ids_of(tool.pull()) == ids


def test_a_big_pull_takes_one_call_a_thousand_records(server: RecordedArgilla, make: Make) -> None:
    for number in range(RECORDS, 2500):
        server.add(str(number))
    tool = make()
    tool.reader.page_size = 1000
    tool.open()
    before = len(server.log)
    assert len(ids_of(tool.pull())) == 2500
    assert len(server.log) - before == 3


# What moves in mid-pull


@pytest.mark.parametrize("page", [2, 3])
@pytest.mark.parametrize("place", [0, 1, 2, 5, 6])
def test_a_record_that_goes_in_mid_pull_takes_no_other_along(
    server: RecordedArgilla, make: Make, ids: list[str], page: int, place: int
) -> None:
    """All later ones move up, and the first of the next page would be lost."""
    tool = make()
    tool.open()
    with server.failing(before_page(page, lambda: server.records.pop(place))):
        found = ids_of(tool.pull())
    assert len(found) == len(set(found))
    assert {*ids} - {ids[place]} <= {*found}


def test_one_that_goes_and_one_that_comes_do_not_hide_each_other(
    server: RecordedArgilla, make: Make, ids: list[str]
) -> None:
    """The total stays the same."""
    tool = make()
    tool.open()

    def swap() -> None:
        server.records.pop(0)
        server.add("new")

    with server.failing(before_page(2, swap)):
        found = ids_of(tool.pull())
    assert {*ids[1:], server.records[-1]["id"]} <= {*found}


def test_what_was_read_and_is_gone_shows_in_the_next_run(server: RecordedArgilla, make: Make) -> None:
    tool = make()
    tool.open()
    with server.failing(before_page(3, lambda: server.records.pop(0))):
        cursor, known, _ = known_of(tool.pull())
    assert len(known) == RECORDS
    project = tool.open()
    assert project.n_units == RECORDS - 1
    assert cursor != Cursor(server.dataset["last_activity_at"], str(project.n_units))


def test_an_import_in_mid_pull_is_left_for_the_next_run(server: RecordedArgilla, make: Make, ids: list[str]) -> None:
    tool = make()
    tool.open()

    def more(request: Request) -> None:
        if request.is_page:
            for _ in range(5):
                server.add("more")

    with server.failing(more):
        cursor, known, _ = known_of(tool.pull())
    assert list(known)[: len(ids)] == ids
    changed = ids_of(tool.pull_changed(cursor, known))
    assert {*known, *changed} == {record["id"] for record in server.records}


def test_a_response_in_mid_pull_is_found_by_the_next_run(server: RecordedArgilla, make: Make, ids: list[str]) -> None:
    """It changes a record of a page that was read already."""
    tool = make()
    tool.open()
    with server.failing(before_page(3, lambda: server.respond(server.records[0], 2, {"label": "neg"}))):
        cursor, known, _ = known_of(tool.pull())
    assert ids_of(tool.pull_changed(cursor, known)) == [ids[0]]


def test_records_of_one_time_that_stand_at_the_seam_of_pages_are_not_lost(server: RecordedArgilla, make: Make) -> None:
    """The server orders by the time of insertion alone, so that two of one time may stand either way in each answer."""
    for _ in range(40):
        server.add("more")

    def other_order(request: Request) -> Answer | None:
        if not request.is_page or request.params["offset"] == "0":
            return None
        records = server.records
        records[16], records[17] = records[17], records[16]
        answer = server.real(request)
        records[16], records[17] = records[17], records[16]
        return answer

    tool = make()
    tool.reader.page_size = 17
    with server.failing(other_order):
        found = ids_of(tool.pull())
    assert sorted(found) == sorted(record["id"] for record in server.records)


def test_pages_that_bring_the_same_records_again_end(server: RecordedArgilla, make: Make) -> None:
    """Two records that change places with every answer would be read for ever."""
    turns = itertools.count()

    def again(request: Request) -> Answer | None:
        if not request.is_page or request.params["offset"] == "0":
            return None
        turn = next(turns)
        if turn > 99:
            return Answer(418, {"detail": "enough"})
        answer = server.real(request)
        pair = [server.records[2], server.records[1]]
        answer.body["items"] = pair[:: -1 if turn % 2 else 1]
        return answer

    with server.failing(again), pytest.raises(DataNotTrusted):
        list(make().pull())


def test_records_that_never_come_to_rest_are_not_trusted(server: RecordedArgilla, make: Make) -> None:
    def always_one_less(request: Request) -> None:
        if request.is_page and request.params["offset"] != "0":
            server.records.pop(0)
            server.add("another")

    with server.failing(always_one_less), pytest.raises(DataNotTrusted) as caught:
        list(make().pull())
    assert "run the command again" in str(caught.value)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_page_that_lacks_records_is_no_end(server: RecordedArgilla, make: Make, ids: list[str], lost: int) -> None:
    """Whichever of its records it lacks: either all come, or the pull says that it is not whole."""

    def short(items: list[Any]) -> list[Any]:
        return items[:lost] + items[lost + 1 :] if len(items) == PAGE else items

    with server.failing(changed_pages(server, short)):
        try:
            found = ids_of(make().pull())
        except DataNotTrusted:
            return
    assert sorted(found) == sorted(ids)


def test_a_page_of_nothing_is_not_trusted(server: RecordedArgilla, make: Make) -> None:
    with server.failing(changed_pages(server, lambda items: [])), pytest.raises(DataNotTrusted):
        list(make().pull())


def test_records_without_their_responses_are_not_unrated(server: RecordedArgilla, make: Make) -> None:
    def bare(items: list[Any]) -> list[Any]:
        return [{key: value for key, value in item.items() if key != "responses"} for item in items]

    with server.failing(changed_pages(server, bare)), pytest.raises(DataNotTrusted, match="without its responses"):
        list(make().pull())


# What changed


def pulled(tool: Argilla) -> tuple[Cursor, dict[str, str | None]]:
    cursor, known, _ = known_of(tool.pull())
    return cursor, known


def test_a_new_an_edited_and_a_withdrawn_response_are_each_found(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    """The record's own time moves with none of them."""
    cursor, known = pulled(tool)
    server.respond(server.records[1], 2, {"label": "neg"})
    server.respond(server.records[3], 0, {"label": "neg"})
    server.respond(server.records[4], 1, None, "discarded")
    server.records[5]["responses"].pop(0)
    server.dataset["last_activity_at"] = server.now()
    found = {unit.id: unit for page in tool.pull_changed(cursor, known) for unit in page.units}
    assert list(found) == [ids[place] for place in (1, 3, 4, 5)]
    assert [len(found[ids[place]].annotations) for place in (1, 3, 4, 5)] == [3, 2, 2, 1]


def test_a_record_that_came_or_went_is_found_by_the_total(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    """The dataset's last activity moves with neither."""
    cursor, known = pulled(tool)
    new = server.add("new")
    assert ids_of(tool.pull_changed(cursor, known)) == [new["id"]]
    cursor, known = pulled(tool)
    server.records.pop(0)
    assert ids_of(tool.pull_changed(cursor, known)) == []
    assert ids[0] not in tool.unit_ids()


def test_metadata_that_changed_comes_along_with_the_next_activity(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    cursor, known = pulled(tool)
    server.records[2].update(metadata={"batch": "b"}, updated_at=server.now())
    assert ids_of(tool.pull_changed(cursor, known)) == []
    server.respond(server.records[0], 0, {"label": "pos"})
    assert ids_of(tool.pull_changed(cursor, known)) == [ids[0], ids[2]]


def test_what_a_bulk_upload_hides_comes_with_a_full_pull(server: RecordedArgilla, tool: Argilla) -> None:
    """A user's deletion too: neither moves the last activity or the total."""
    cursor, known = pulled(tool)
    activity = server.dataset["last_activity_at"]
    server.respond(server.records[0], 2, {"label": "neg"})
    del server.records[1]["responses"][0]
    server.dataset["last_activity_at"] = activity
    assert ids_of(tool.pull_changed(cursor, known)) == []
    _, _, units = known_of(tool.pull())
    assert [len(unit.annotations) for unit in units[:2]] == [3, 1]


def test_nothing_changed_costs_no_request_after_opening_and_two_without(server: RecordedArgilla, make: Make) -> None:
    tool = make()
    settings = tool.open().settings
    cursor, known = pulled(tool)
    again = make()
    again.open(settings)
    assert list(again.pull_changed(cursor, known)) == []
    assert again.client.requests == 2
    assert list(again.pull_changed(cursor, known)) == []
    assert again.client.requests == 4


def test_the_cursor_of_a_page_in_the_middle_promises_nothing(tool: Argilla, ids: list[str]) -> None:
    pages = list(tool.pull())
    assert {page.cursor for page in pages[:-1]} == {Cursor()}
    known = {unit.id: unit.updated_at for unit in pages[0].units}
    assert [*known, *ids_of(tool.pull_changed(pages[0].cursor, known))] == ids


def test_ids_come_with_their_times_and_without_responses(server: RecordedArgilla, tool: Argilla) -> None:
    tool.open()
    server.log.clear()
    assert tool.unit_ids() == {record["id"]: record["inserted_at"] for record in server.records}
    assert not any("include" in request.params for request in server.log)


# Odd answers


def test_a_malformed_record_is_left_out_and_named(server: RecordedArgilla, tool: Argilla, ids: list[str]) -> None:
    server.records[2]["responses"][0]["status"] = "unheard of"
    pages = list(tool.pull())
    (skipped,) = [one for page in pages for one in page.skipped]
    assert skipped.unit == ids[2]
    assert "unheard of" in skipped.reason
    assert ids_of(iter(pages)) == [*ids[:2], *ids[3:]]


@pytest.mark.parametrize(
    "answer",
    [
        *([], None, {}, {"items": []}, {"items": None, "total": 0}, {"items": [], "total": None}),
        *({"items": [7], "total": 1}, {"items": [{}], "total": 1}, {"items": [{"id": None}], "total": 1}),
        *({"items": [{"id": 7}], "total": 1}, {"items": [{"id": " "}], "total": 1}, {"items": [], "total": True}),
        {"items": [{"id": "a", "responses": []}, {"id": "a", "responses": []}], "total": 2},
        {"items": "abc", "total": 3},
    ],
)
def test_a_list_of_another_form_is_unexpected(server: RecordedArgilla, tool: Argilla, answer: Any) -> None:
    tool.open()
    with (
        server.failing(lambda request: Answer(200, answer) if request.is_page else None),
        pytest.raises(UnexpectedAnswer),
    ):
        list(tool.pull())


def test_more_records_than_asked_for_are_unexpected(server: RecordedArgilla, tool: Argilla) -> None:
    """A server that pages otherwise would be misread."""
    tool.open()

    def ignore(request: Request) -> Answer | None:
        if not request.is_page:
            return None
        request.params.update(limit="1000", offset="0")
        return server.real(request)

    with server.failing(ignore), pytest.raises(UnexpectedAnswer, match="were asked for"):
        list(tool.pull())


def test_what_no_store_takes_is_spelt_out(server: RecordedArgilla, tool: Argilla, ids: list[str]) -> None:
    server.records[0]["fields"]["text"] = "half \ud83d of a sign"
    server.records[1]["metadata"] = {"score": float("nan")}
    deep: Any = 1
    for _ in range(930):
        deep = [deep]
    server.records[2]["metadata"] = {"deep": deep}
    pages = list(tool.pull())
    units = {unit.id: unit for page in pages for unit in page.units}
    units[ids[0]].data["text"].encode()
    assert units[ids[1]].data["score"] is None
    assert [one.unit for page in pages for one in page.skipped] == [ids[2]]


# Records that the server cannot send


HALF = "\ud800"


def spoil(record: dict[str, Any], where: str) -> None:
    """Put half of a surrogate pair into a record."""
    if where == "responses":
        record["responses"][0]["values"]["label"]["value"] = HALF
    else:
        record[where] = {"note": HALF} if where == "metadata" else [{"value": HALF}]


@pytest.mark.parametrize("bad", [[0], [2], [3], [RECORDS - 1], [0, 1], [2, 3, 4], [*range(RECORDS)]])
def test_records_that_cannot_be_sent_are_named_by_their_place_and_all_others_come(
    server: RecordedArgilla, make: Make, ids: list[str], bad: list[int]
) -> None:
    for place in bad:
        spoil(server.records[place], "metadata")
    for size in (2, PAGE, 1000):
        tool = make()
        tool.reader.page_size = size
        with server.failing(server.half_signs):
            assert tool.open().n_units == RECORDS
            pages = list(tool.pull())
            found = tool.unit_ids()
        assert ids_of(iter(pages)) == [one for place, one in enumerate(ids) if place not in bad]
        skipped = [one for page in pages for one in page.skipped]
        assert [one.unit for one in skipped] == [f"at place {place}" for place in bad]
        assert all("does not send it" in one.reason and "surrogates not allowed" in one.reason for one in skipped)
        assert pages[-1].cursor == Cursor(server.dataset["last_activity_at"], str(RECORDS))
        assert [*found] == [f"at place {place}" if place in bad else one for place, one in enumerate(ids)]


def test_one_that_comes_without_its_responses_is_named_by_its_id(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    spoil(server.records[3], "responses")
    with server.failing(server.half_signs):
        assert [one.unit for page in tool.pull() for one in page.skipped] == [ids[3]]
        assert [*tool.unit_ids()] == ids


def test_what_stands_in_suggestions_which_no_pull_asks_for_does_no_harm(
    server: RecordedArgilla, tool: Argilla, ids: list[str]
) -> None:
    spoil(server.records[3], "suggestions")
    with server.failing(server.half_signs):
        assert ids_of(tool.pull()) == ids


def test_it_is_found_with_a_few_requests(server: RecordedArgilla, make: Make) -> None:
    for _ in range(1000 - RECORDS):
        server.add()
    spoil(server.records[617], "metadata")
    tool = make()
    tool.reader.page_size = 1000
    tool.open()
    server.log.clear()
    with server.failing(server.half_signs):
        assert [one.unit for page in tool.pull() for one in page.skipped] == ["at place 617"]
    # A page, two for each time it is halved, once without responses, once for the number of all.
    assert len(server.log) <= 1 + 2 * 10 + 2


def test_many_that_cannot_be_sent_are_not_looked_for_to_the_last(server: RecordedArgilla, make: Make) -> None:
    for _ in range(300):
        spoil(server.add(), "metadata")
    tool = make()
    tool.reader.page_size = 1000
    server.log.clear()
    with (
        server.failing(server.half_signs),
        pytest.raises(DataNotTrusted, match=r"and more among .* 0 to 999") as caught,
    ):
        list(tool.pull())
    assert f"(at place {RECORDS}, at place {RECORDS + 1}, " in caught.value.message
    assert len(server.log) < 200


def test_where_it_cannot_be_told_which_it_is_the_places_are_said(server: RecordedArgilla, make: Make) -> None:
    """The server refuses a page, and fails at a part of it."""
    tool = make()
    tool.reader.page_size = 1000
    tool.open()

    def fails(request: Request) -> Answer | None:
        if not request.is_page:
            return None
        return Answer(422 if request.params["limit"] == "1000" else 400, {"detail": "it broke"})

    with server.failing(fails), pytest.raises(DataNotTrusted, match="a record among those at the places 0 to 999"):
        list(tool.pull())


def test_one_that_goes_while_it_is_looked_for_takes_no_other_along(
    server: RecordedArgilla, make: Make, ids: list[str]
) -> None:
    spoil(server.records[5], "metadata")
    tool = make()
    tool.reader.page_size = 1000
    tool.open()
    pages = itertools.count(1)

    def fault(request: Request) -> Answer:
        if request.is_page and next(pages) == 3:  # between the two halves
            del server.records[0]
        return server.half_signs(request)

    with server.failing(fault):
        found = list(tool.pull())
    assert ids_of(iter(found)) == [*ids[1:5], ids[6]]
    assert [one.unit for page in found for one in page.skipped] == ["at place 4"]


def test_a_dataset_that_is_being_emptied_is_read_again(server: RecordedArgilla, tool: Argilla, ids: list[str]) -> None:
    """The server reads a page and counts after it: what goes in between is in the one and not in the other."""
    tool.open()
    pages = itertools.count(1)

    def fault(request: Request) -> Answer | None:
        if not request.is_page or next(pages) > 1:
            return None
        answer = server.real(request)
        del server.records[:5]
        answer.body["total"] = len(server.records)
        return answer

    with server.failing(fault):
        assert ids_of(tool.pull()) == ids[5:]
