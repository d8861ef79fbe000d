"""Every task once, whatever the server does with pages, filters and clocks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, UnexpectedAnswer
from connector.tools.base import Cursor
from connector.tools.label_studio import read
from connector.tools.label_studio.tool import LabelStudio
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
