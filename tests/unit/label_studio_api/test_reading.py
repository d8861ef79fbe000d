"""Every task once, whatever the server does with pages, filters and clocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from connector.annotations.model import Missing, Unit
from connector.errors import DataNotTrusted, UnexpectedAnswer
from connector.tools import http
from connector.tools.base import Cursor
from connector.tools.label_studio import read
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.conversation import choice
from tests.contract.label_studio_world import PAGE, TASKS, RecordedWorld
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request


def ids_of(pages: Any) -> list[str]:
    return [unit.id for page in pages for unit in page.units]


def known_of(pages: list[Any]) -> dict[str, str | None]:
    return {unit.id: unit.updated_at for page in pages for unit in page.units}


def capped(server: RecordedLabelStudio, most: int) -> Any:
    """A server (or proxy) that gives at most so many rows, whatever is asked."""

    def cap(request: Request) -> Answer | None:
        if request.is_page:
            request.params = {**request.params, "page_size": str(min(most, int(request.params.get("page_size", 100))))}
        return None

    return server.failing(cap)


def on_page(server: RecordedLabelStudio, number: int, act: Any) -> Any:
    """`act(answer)` on the server's answer to the page of this number, counted from 1."""
    seen: list[Request] = []

    def fault(request: Request) -> Answer | None:
        if not request.is_page:
            return None
        seen.append(request)
        answer = server.real(request)
        if len(seen) == number:
            act(answer)
        return answer

    return server.failing(fault)


# Whole pulls


def test_a_server_that_gives_fewer_rows_than_asked_loses_none(server: RecordedLabelStudio) -> None:
    """LS-11: 250 tasks, 100 a page at most."""
    world = RecordedWorld(server, server.legacy_token)
    world._import(250 - TASKS)
    tool = world.tool()
    assert isinstance(tool, LabelStudio)
    tool.reader.page_size = 1000
    with capped(server, 100):
        pages = list(tool.pull())
    assert [len(page.units) for page in pages] == [100, 100, 50]
    assert len(set(ids_of(pages))) == 250
    world.close()


def test_the_last_page_needs_no_further_question(tool: LabelStudio) -> None:
    """LS-12: no page past the end is ever asked for."""
    list(tool.pull())
    assert tool.client.requests == -(-TASKS // PAGE)


def test_an_empty_project_is_no_failure(server: RecordedLabelStudio, world: RecordedWorld, ids: list[str]) -> None:
    for unit in ids:
        world.delete(unit)
    tool = world.tool()
    assert ids_of(tool.pull()) == []
    assert tool.unit_ids() == {}
    assert ids_of(tool.pull_changed(Cursor(), {})) == []


def test_a_page_that_is_empty_too_early_raises(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    with (
        on_page(server, 2, lambda answer: answer.body.update(tasks=[])),
        pytest.raises(DataNotTrusted, match="5 more tasks than the 3 it sent"),
    ):
        list(tool.pull())


@pytest.mark.parametrize("break_it", ["drop key", "null"])
def test_a_task_without_its_annotations_raises(server: RecordedLabelStudio, tool: LabelStudio, break_it: str) -> None:
    """LS-13: without the key nothing is known; a null is a malformed task, left out by name."""

    def act(answer: Answer) -> None:
        if break_it == "drop key":
            del answer.body["tasks"][1]["annotations"]
        else:
            answer.body["tasks"][1]["annotations"] = None

    with on_page(server, 1, act):
        if break_it == "drop key":
            with pytest.raises(DataNotTrusted, match="without its annotations"):
                list(tool.pull())
        else:
            pages = list(tool.pull())
            assert [malformed.unit for malformed in pages[0].skipped] == ["102"]
            assert len(ids_of(pages)) == TASKS - 1


@pytest.mark.parametrize(
    "break_it",
    [
        lambda body: body.update(total="many"),
        lambda body: body.pop("total"),
        lambda body: body.update(total=1),
        lambda body: body.update(tasks=None),
        lambda body: body["tasks"].reverse(),
        lambda body: body["tasks"].append(body["tasks"][-1]),
        lambda body: body["tasks"][0].update(id="101"),
        lambda body: body["tasks"].__setitem__(0, "task"),
    ],
)
def test_an_answer_of_another_form_raises(server: RecordedLabelStudio, tool: LabelStudio, break_it: Any) -> None:
    with on_page(server, 2, lambda answer: break_it(answer.body)), pytest.raises(UnexpectedAnswer):
        list(tool.pull())


def test_a_list_instead_of_a_page_raises(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    instead = server.failing(lambda request: Answer(200, []) if request.is_page else None)
    with instead, pytest.raises(UnexpectedAnswer, match="another form"):
        list(tool.pull())


def test_tasks_that_come_and_go_in_mid_pull_shift_nothing(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    pages = tool.pull()
    found = ids_of([next(pages)])
    world.delete(ids[0])
    new = world.add()
    found += ids_of(pages)
    assert found == [*ids, new]


def test_storage_addresses_are_not_resolved(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    """A signed address would otherwise be written back in place of the owner's."""
    list(tool.pull())
    tool.reader.by_id([int(ids[0])], "id,data")
    assert {
        request.params["resolve_uri"] for request in server.log if request.is_page and request.params.get("include")
    } == {"false"}


def test_long_lists_of_ids_are_cut_into_addresses_that_proxies_allow(
    server: RecordedLabelStudio, tool: LabelStudio
) -> None:
    tool.reader.by_id(list(range(10**6, 10**6 + 450)), "id")
    asked = [
        json.loads(request.params["query"])["filters"]["items"][0]["value"] for request in server.log if request.is_page
    ][-3:]
    assert [len(one) for one in asked] == [200, 200, 50]


# What changed


def test_a_change_behind_the_reading_is_not_lost(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """While later pages are read, a task of the first page changes, and then one of the last page does."""
    pages = tool.pull()
    first = next(pages)
    world.change(ids[0])
    server.tasks[int(ids[0])]["updated_at"] = "2030-01-01T00:00:01.000000Z"
    server.tasks[int(ids[-1])]["updated_at"] = "2030-01-01T00:00:09.000000Z"
    rest = list(pages)
    known = known_of([first, *rest])
    assert ids_of(tool.pull_changed(rest[-1].cursor, known)) == [ids[0]]


def test_a_new_task_with_an_old_time_is_found(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    """A long import commits tasks whose times lie before the last pull."""
    pages = list(tool.pull())
    new = world.add()
    server.tasks[int(new)]["updated_at"] = "2020-01-01T00:00:00.000000Z"
    assert ids_of(tool.pull_changed(pages[-1].cursor, known_of(pages))) == [new]


def test_a_change_within_the_last_second_is_found(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    for task in server.tasks.values():
        task["updated_at"] = "2026-01-01T00:00:10.500000Z"
    pages = list(tool.pull())
    assert pages[-1].cursor.newest_update == "2026-01-01T00:00:10.500000Z"
    server.tasks[int(ids[3])]["updated_at"] = "2026-01-01T00:00:09.700000Z"
    assert ids_of(tool.pull_changed(pages[-1].cursor, known_of(pages))) == [ids[3]]


@pytest.mark.parametrize(
    "times",
    [
        ("2026-01-01T00:00:10Z", "2026-01-01T00:00:10.000001Z"),
        ("2026-01-01T02:00:10.250000+02:00", "2026-01-01T02:00:11.250000+02:00"),
        ("2025-12-31T19:00:10.250000-05:00", "2025-12-31T19:00:11.250000-05:00"),
    ],
)
def test_times_with_and_without_fraction_and_of_any_zone(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], times: tuple[str, str], monkeypatch: Any
) -> None:
    """The server reads a filter's time in its own zone, whatever it is."""
    for task in server.tasks.values():
        task["updated_at"] = times[0]
    pages = list(tool.pull())
    asked: list[str] = []

    def listen(request: Request) -> Answer | None:
        query = json.loads(request.params["query"])
        for item in query["filters"]["items"]:
            if item["filter"].endswith("updated_at"):
                asked.append(item["value"])
                # the recorded server lives in UTC: let the id decide
                item.update(filter="filter:tasks:id", operator="greater", value=int(ids[0]) - 1)
        request.params = {**request.params, "query": json.dumps(query)}
        return None

    server.tasks[int(ids[2])]["updated_at"] = times[1]
    with server.failing(listen):
        assert ids_of(tool.pull_changed(pages[-1].cursor, known_of(pages))) == [ids[2]]
    local = times[0][:18]
    assert asked[0].startswith(local[:17])
    assert asked[0].endswith("Z")
    assert "." in asked[0]


def test_many_changes_are_read_by_keysets(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(read, "THIN_PAGE", 2)
    monkeypatch.setattr(read, "BY_ID", 2)
    pages = list(tool.pull())
    for unit in ids[:6]:
        world.change(unit)
    new = [world.add(), world.add(), world.add()]
    changed = list(tool.pull_changed(pages[-1].cursor, known_of(pages)))
    assert ids_of(changed) == [*ids[:6], *new]
    assert [page.total for page in changed] == [9] * 5
    # Only the last page moves the time: a run that ends before it will look again.
    assert {page.cursor.newest_update for page in changed[:-1]} == {pages[-1].cursor.newest_update}


def test_an_ignored_time_filter_raises(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    """The server answers an operator it does not understand with everything."""
    for task in server.tasks.values():
        task["updated_at"] = "2026-01-01T00:00:00.000000Z"
    list(tool.pull())
    cursor = Cursor("2026-02-01T00:00:00.000000Z", str(max(server.tasks)))

    def ignore(request: Request) -> Answer | None:
        request.params = {**request.params, "query": request.params["query"].replace("greater_or_equal", "in")}
        return None

    with server.failing(ignore), pytest.raises(UnexpectedAnswer, match="ignored the filter 'updated_at'"):
        list(tool.pull_changed(cursor, {}))


def test_an_ignored_id_list_raises(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    def ignore(request: Request) -> Answer | None:
        request.params = {**request.params, "query": "{}", "page_size": "1"}
        return None

    with server.failing(ignore), pytest.raises(UnexpectedAnswer, match="ignored the filter 'id in list'"):
        tool.reader.by_id([int(ids[3])], "id")


def test_a_task_deleted_between_the_questions_is_left_to_the_sweep(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    pages = list(tool.pull())
    world.change(ids[0])
    world.change(ids[1])
    thin: list[Request] = []

    def delete(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page and not thin:
            thin.append(request)
            del server.tasks[int(ids[0])]
        return answer

    with server.failing(delete):
        assert ids_of(tool.pull_changed(pages[-1].cursor, known_of(pages))) == [ids[1]]


def test_a_time_that_cannot_be_read_raises(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    server.tasks[int(ids[0])]["updated_at"] = "yesterday"
    with pytest.raises(UnexpectedAnswer, match="yesterday"):
        list(tool.pull())


def test_counts_and_content_come_along(tool: LabelStudio) -> None:
    unit = next(iter(tool.pull())).units[0]
    assert isinstance(unit, Unit)
    assert (unit.declared, unit.declared_cancelled) == (2, 0)
    assert unit.data["text"] == "text 0"
    assert unit.created_at is not None


# What no server should send


HUGE = 10**30


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00"])
def test_a_time_at_the_edge_of_the_calendar(server: RecordedLabelStudio, tool: LabelStudio, time: str) -> None:
    for task in server.tasks.values():
        task["updated_at"] = time
    pages = list(tool.pull())
    assert sum(len(page.units) for page in pages) == 8
    cursor = Cursor(time, pages[-1].cursor.last_id)
    assert ids_of(tool.pull_changed(cursor, known_of(pages))) == []


def without_times(server: RecordedLabelStudio, *, null: bool) -> Any:
    def strip(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page and answer.status == 200:
            for task in answer.body["tasks"]:
                task["updated_at"] = None
                if not null:
                    del task["updated_at"]
        return answer

    return strip


@pytest.mark.parametrize("null", [True, False])
def test_rows_without_a_time(server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, null: bool) -> None:
    """New tasks are read all the same; of old ones nobody can say whether they are those that were asked for."""
    pages = list(tool.pull())
    new = world.add()
    future = Cursor("2100-01-01T00:00:00Z", pages[-1].cursor.last_id)
    with server.failing(without_times(server, null=null)):
        assert ids_of(tool.pull_changed(future, known_of(pages))) == [new]
        with pytest.raises(UnexpectedAnswer, match="time that cannot be read: None"):
            list(tool.pull_changed(pages[-1].cursor, known_of(pages)))
        assert [page.cursor.newest_update for page in tool.pull()][-1] is None


@pytest.mark.parametrize("number", [HUGE, -1, 2**31, True, 1.0, "2", None])
def test_a_count_that_cannot_be_is_none(server: RecordedLabelStudio, tool: LabelStudio, number: Any) -> None:
    def change(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page:
            answer.body["tasks"][0].update(total_annotations=number, cancelled_annotations=number)
        return answer

    with server.failing(change):
        unit = next(iter(tool.pull())).units[0]
    assert (unit.declared, unit.declared_cancelled) == (None, None)


def sent_as(server: RecordedLabelStudio, change: Any) -> Any:
    """The first page, its text changed."""

    def fault(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page and answer.status == 200:
            answer.body = change(json.dumps(answer.body))
        return answer

    return fault


ODD = {
    "1e999": "Infinity",
    "-1e999": "-Infinity",
    "Infinity": "Infinity",
    "NaN": None,
    '"\\ud83d bad"': "\\ud83d bad",
    '["\\udc00", {"\\ud83d": 1}]': ["\\udc00", {"\\ud83d": 1}],
    "9" * 400: int("9" * 400),
    '"\\ud83d\\ude00"': "😀",
}


@pytest.mark.parametrize("content", ODD)
def test_what_no_store_takes_is_spelt_out(server: RecordedLabelStudio, tool: LabelStudio, content: str) -> None:
    """In the data, and so that the unit can be stored as JSON and shown."""
    with server.failing(sent_as(server, lambda text: text.replace('"text 0"', content))):
        units = next(iter(tool.pull())).units
    assert units[0].data["text"] == ODD[content]
    json.dumps(units, ensure_ascii=False, allow_nan=False).encode()
    assert units[1].data["text"] == "text 1"


@pytest.mark.parametrize("field", ["result", "created_at", "updated_by", "id", "completed_by"])
def test_a_lone_surrogate_anywhere_in_an_annotation(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], field: str
) -> None:
    odd = choice("\ud83d") if field == "result" else "\ud83d"
    server.tasks[int(ids[0])]["annotations"][0][field] = odd
    with server.failing(lambda request: (request.params.pop("include", None), None)[1]):
        units = next(iter(tool.pull())).units
    text = json.dumps(units, ensure_ascii=False)
    assert "\\\\ud83d" in text
    text.encode()


def test_a_lone_surrogate_in_a_tasks_times(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    server.tasks[int(ids[0])]["created_at"] = "\ud83d"
    assert next(iter(tool.pull())).units[0].created_at == "\\ud83d"
    assert tool.unit_ids()[ids[0]] == "\\ud83d"


def test_a_number_that_is_none_is_no_answer(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    """NaN is never a category, nor is its name."""
    server.tasks[int(ids[0])]["annotations"][0]["result"] = choice(float("nan"))  # type: ignore[arg-type]
    project = tool.open()
    unit = next(iter(tool.pull())).units[0]
    assert project.schema.answers(unit.annotations[0], unit) == {"sentiment": Missing("empty")}


def test_a_task_that_is_nested_too_deeply_is_skipped(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """So deeply that it can just be parsed but not be written again from deeper down the stack."""
    depth = next(depth for depth in range(50, 5000, 10) if not _parses(depth)) - 20
    content = "[" * depth + "]" * depth
    with server.failing(sent_as(server, lambda text: text.replace('"text 0"', content))):
        page = next(iter(tool.pull()))
    assert [(one.unit, one.reason) for one in page.skipped] == [(ids[0], "it is nested too deeply")]
    assert [unit.id for unit in page.units] == ids[1:3]


def _parses(depth: int) -> bool:
    text = json.dumps({"tasks": [{"data": {"text": "x"}}]}).replace('"x"', "[" * depth + "]" * depth)
    found: list[bool] = []

    def parse() -> None:
        try:
            json.loads(text)
        except RecursionError:
            found.append(False)
        else:
            found.append(True)

    # as deep down the stack as a test is, and some way more
    _deeper(40, parse)
    return found[0]


def _deeper(levels: int, then: Any) -> None:
    if levels:
        _deeper(levels - 1, then)
    else:
        then()


@pytest.mark.parametrize("listing", ["pull", "unit_ids", "changed"])
def test_a_listing_that_never_ends_is_given_up(
    server: RecordedLabelStudio, tool: LabelStudio, listing: str, monkeypatch: Any
) -> None:
    """Ids rise, the rows are well formed, and the server counts as many more with every page."""
    monkeypatch.setattr(read, "MOST_NEW", 30)
    asked: list[Request] = []

    def more(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page:
            asked.append(request)
            (value, *_) = [
                i["value"] for i in json.loads(request.params["query"])["filters"]["items"] if type(i["value"]) is int
            ]
            template = server._row(server.tasks[min(server.tasks)])
            rows = [{**template, "id": value + n} for n in range(1, 6)]
            answer.body.update(tasks=rows, total=10**9)
        return answer

    calls: dict[str, Callable[[], object]] = {
        "pull": lambda: list(tool.pull()),
        "unit_ids": tool.unit_ids,
        "changed": lambda: list(tool.pull_changed(Cursor("2026-01-01T00:00:00Z", "108"), {})),
    }
    with server.failing(more), pytest.raises(DataNotTrusted, match="counts more with every page"):
        calls[listing]()
    assert len(asked) < 20


def test_an_import_during_a_pull_is_no_endless_listing(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(read, "MOST_NEW", 30)
    pages = tool.pull()
    found = [next(pages)]
    world._import(28)
    found += pages
    assert sum(len(page.units) for page in found) == 8 + 28


@pytest.mark.parametrize("number", [True, 10**30, 1.0, "101", None])
def test_ids_that_are_no_whole_numbers_are_unexpected(
    server: RecordedLabelStudio, tool: LabelStudio, number: Any
) -> None:
    def change(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page:
            answer.body["tasks"][-1]["id"] = number
            answer.body["total"] = len(answer.body["tasks"])
        return answer

    with server.failing(change):
        if number == 10**30:
            assert ids_of(tool.pull())[-1] == str(10**30)
        else:
            with pytest.raises(UnexpectedAnswer):
                list(tool.pull())


@pytest.mark.parametrize("at", ["-0000", "+0000"])
def test_a_servers_clock_without_a_zone(
    server: RecordedLabelStudio, tool: LabelStudio, monkeypatch: Any, at: str
) -> None:
    monkeypatch.setattr(http, "parsedate_to_datetime", lambda text: parsedate_to_datetime(text.replace("GMT", at)))
    for task in server.tasks.values():
        task["updated_at"] = "2100-01-01T00:00:00Z"
    newest = [page.cursor.newest_update for page in tool.pull()][-1]
    assert newest is not None
    assert newest < "2100"
