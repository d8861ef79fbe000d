"""Fields, tab and summary: only what was asked, only where it is ours, and checked."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from connector.errors import RetryLater, UnexpectedAnswer
from connector.tools.base import ClearFields, PutSummary, PutView, RemoveSummary, RemoveView, SetField
from connector.tools.label_studio import write
from connector.tools.label_studio.tool import LabelStudio
from connector.tools.label_studio.write import END, START, summary_of, without_summary
from tests.contract.label_studio_world import TASKS, RecordedWorld
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request

VIEW = PutView("Conflicts", "iaa_status", "conflict", "iaa_agreement", ("iaa_agreement", "iaa_raters", "iaa_status"))


def sent(server: RecordedLabelStudio, method: str, path: str) -> list[Any]:
    return [request.body for request in server.log if request.method == method and request.path.startswith(path)]


# Fields


def test_equal_values_go_in_one_call(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
    (body,) = sent(server, "POST", "/api/dm/actions")
    assert body["selectedItems"] == {"all": False, "included": [int(one) for one in ids]}
    assert (body["value_name"], body["value_type"], body["value"]) == ("iaa_agreement", "Number", 0.5)


def test_many_tasks_go_in_small_groups(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(write, "BULK", 3)
    receipt = tool.apply(SetField("iaa_status", "agreed", tuple(ids)))
    groups = [body["selectedItems"]["included"] for body in sent(server, "POST", "/api/dm/actions")]
    assert [len(group) for group in groups] == [3, 3, 2]
    assert receipt.written == tuple(ids)


@pytest.mark.parametrize("units", [(), ("no number",), ("",), ("-5",), ("٣",), ("1.0",)])
def test_an_empty_list_of_tasks_is_never_sent(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, units: tuple[str, ...]
) -> None:
    """To the server it means every task of the project."""
    before = world.state()
    receipt = tool.apply(SetField("iaa_status", "conflict", units))
    assert (receipt.written, receipt.missing, receipt.failed) == ((), units, None)
    assert sent(server, "POST", "/api/dm/actions") == []
    assert world.state() == before


def test_a_unit_named_twice_is_no_shortfall(tool: LabelStudio, ids: list[str]) -> None:
    receipt = tool.apply(SetField("iaa_status", "agreed", (ids[0], ids[0], ids[1])))
    assert (receipt.written, receipt.missing, receipt.failed) == (tuple(ids[:2]), (), None)


def test_a_server_that_stores_nothing_is_found_out(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """LS-19: it answers with the right count, and the value is not there when read back."""

    def drop(request: Request) -> Answer | None:
        if request.path == "/api/dm/actions":
            return Answer(200, {"detail": f"Updated {len(request.body['selectedItems']['included'])} tasks"})
        return None

    with server.failing(drop):
        receipt = tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
    assert receipt.failed is not None
    assert "read back" in receipt.failed
    assert receipt.written == ()


def test_a_server_that_stores_nothing_from_some_chunk_on_is_found_out(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    """What was confirmed before is written; of the rest nothing is."""
    monkeypatch.setattr(write, "BULK", 3)
    calls: list[Request] = []

    def drop(request: Request) -> Answer | None:
        if request.path == "/api/dm/actions":
            calls.append(request)
            if len(calls) > 1:
                return Answer(200, {"detail": f"Updated {len(request.body['selectedItems']['included'])} tasks"})
        return None

    with server.failing(drop):
        receipt = tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
        assert (receipt.written, len(calls)) == (tuple(ids[:3]), 2)
        assert "read back" in (receipt.failed or "")


def test_a_field_that_was_not_stored_once_is_read_back_the_next_time(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """One operation a value: each of them would otherwise pass as written."""

    def drop(request: Request) -> Answer | None:
        if request.path == "/api/dm/actions":
            return Answer(200, {"detail": f"Updated {len(request.body['selectedItems']['included'])} tasks"})
        return None

    with server.failing(drop):
        receipts = [tool.apply(SetField("iaa_agreement", value, (ids[0],))) for value in (0.1, 0.2, 0.3)]
    assert [(one.written, one.failed is None) for one in receipts] == [((), False)] * 3


@pytest.mark.parametrize("stored", [10**400, True, None, "0.5", [0.5]])
def test_what_the_server_holds_instead_is_no_bug(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], stored: Any
) -> None:
    def other(request: Request) -> Answer | None:
        if request.path == "/api/dm/actions":
            server.tasks[int(ids[0])]["data"]["iaa_agreement"] = stored
            return Answer(200, {"detail": "Updated 1 tasks"})
        return None

    with server.failing(other):
        receipt = tool.apply(SetField("iaa_agreement", 0.5, (ids[0],)))
    assert (receipt.written, receipt.failed is None) == ((), False)


def test_a_server_that_stores_on_some_only_is_found_out(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """All tasks exist, and yet it says it updated fewer."""

    def some(request: Request) -> Answer | None:
        if request.path == "/api/dm/actions":
            request.body["selectedItems"]["included"] = request.body["selectedItems"]["included"][:3]
        return None

    with server.failing(some):
        receipt = tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
    assert receipt.failed is not None
    assert "5 tasks that exist" in receipt.failed
    assert receipt.written == ()


@pytest.mark.parametrize("detail", ["Updated 99 tasks", "done", None])
def test_an_answer_that_cannot_be_right_raises(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], detail: str | None
) -> None:
    def lie(request: Request) -> Answer | None:
        return Answer(200, {"detail": detail}) if request.path == "/api/dm/actions" else None

    with server.failing(lie), pytest.raises(UnexpectedAnswer):
        tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))


def test_what_was_written_before_a_refusal_is_told(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(write, "BULK", 3)
    calls: list[Request] = []

    def second(request: Request) -> Answer | None:
        if request.path != "/api/dm/actions":
            return None
        calls.append(request)
        return Answer(500, {"detail": "it broke"}) if len(calls) == 2 else None

    with server.failing(second):
        receipt = tool.apply(SetField("iaa_status", "agreed", tuple(ids)))
    assert receipt.written == tuple(ids[:3])
    assert receipt.failed is not None
    assert "it broke" in receipt.failed


@pytest.mark.parametrize(
    "refusal",
    [
        Answer(404, {"detail": "Not found."}),
        Answer(404, "<html>", "text/html"),
        Answer(405, {"detail": "Method not allowed"}),
        Answer(403, {"detail": "Action is not allowed for the current user: add_data_field"}),
        Answer(500, {"detail": "Can't find 'add_data_field' in registered actions"}),
    ],
)
def test_without_the_bulk_action_fields_are_merged_and_patched(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], refusal: Answer
) -> None:
    """LS-20: the whole data object and nothing else of the task; the other keys stay."""
    with server.failing(lambda request: refusal if request.path == "/api/dm/actions" else None):
        receipt = tool.apply(SetField("iaa_agreement", 0.5, (ids[0], "999")))
        assert (receipt.written, receipt.missing, receipt.failed) == ((ids[0],), ("999",), None)
        tool.apply(SetField("iaa_status", "agreed", (ids[0],)))
    assert sent(server, "PATCH", "/api/tasks/") == [
        {"data": {"text": "text 0", "iaa": 0, "iaa_agreement": 0.5}},
        {"data": {"text": "text 0", "iaa": 0, "iaa_agreement": 0.5, "iaa_status": "agreed"}},
    ]
    # Once refused, the action is not tried again.
    assert len(sent(server, "POST", "/api/dm/actions")) == 1
    assert world.content(ids[0])["text"] == "text 0"


@pytest.mark.parametrize("data", ["a string", ["a", "list"], None, 3])
@pytest.mark.parametrize("bulk", [True, False])
def test_data_that_is_no_object_is_never_patched(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], data: Any, bulk: bool
) -> None:
    """LS-20: such a PATCH is stored and breaks the project's listing for good."""
    server.has_bulk_action = False
    server.tasks[int(ids[0])]["data"] = data
    op = SetField("iaa_agreement", 0.5, (ids[0], ids[1])) if bulk else ClearFields(("text",), (ids[0], ids[1]))
    receipt = tool.apply(op)
    assert receipt.failed is not None
    assert f"task {ids[0]}" in receipt.failed
    assert all(isinstance(body["data"], dict) for body in sent(server, "PATCH", "/api/tasks/"))
    assert server.tasks[int(ids[0])]["data"] == data


def test_clearing_patches_only_tasks_that_hold_the_field(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    tool.apply(SetField("iaa_agreement", 0.5, tuple(ids[:2])))
    receipt = tool.apply(ClearFields(("iaa_agreement",), tuple(ids)))
    assert receipt.written == tuple(ids)
    assert len(sent(server, "PATCH", "/api/tasks/")) == 2


def test_clearing_goes_on_after_one_refusal(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
    broken = f"/api/tasks/{ids[2]}/"

    def refuse(request: Request) -> Answer | None:
        return Answer(500, {"detail": "no"}) if (request.method, request.path) == ("PATCH", broken) else None

    with server.failing(refuse):
        receipt = tool.apply(ClearFields(("iaa_agreement",), tuple(ids)))
    assert len(receipt.written) == TASKS - 1
    assert receipt.failed is not None
    assert tool.apply(ClearFields(("iaa_agreement",), tuple(ids))).failed is None


def test_a_server_that_goes_away_while_patching_is_waited_for_once(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """And what is left can be cleared afterwards."""
    tool.apply(SetField("iaa_agreement", 0.5, tuple(ids)))
    patched: list[Request] = []

    def away(request: Request) -> Answer | None:
        if request.method == "PATCH":
            patched.append(request)
            if len(patched) > 2:
                return Answer(503, "", "text/html")
        return None

    started = time.monotonic()
    with server.failing(away), pytest.raises(RetryLater):
        tool.apply(ClearFields(("iaa_agreement",), tuple(ids)))
    assert time.monotonic() - started < 4 * world.patience + 4
    assert any("iaa_agreement" in world.content(unit) for unit in ids)
    assert tool.apply(ClearFields(("iaa_agreement",), tuple(ids))).written == tuple(ids)
    assert not any("iaa_agreement" in world.content(unit) for unit in ids)


# The tab


def test_the_tab_shows_conflicts_worst_first_sorted_as_numbers(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    receipt = tool.apply(VIEW)
    data = server.views[int(receipt.remote["view"])]["data"]
    (item,) = data["filters"]["items"]
    assert item == {
        "filter": "filter:tasks:data.iaa_status",
        "operator": "equal",
        "type": "String",
        "value": "conflict",
    }
    assert data["ordering"] == ["tasks:data.iaa_agreement"]
    assert data["columnsDisplayType"] == {"tasks:data.iaa_agreement": "Number", "tasks:data.iaa_raters": "Number"}


def test_the_first_tab_of_a_project_is_not_ours(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    receipt = tool.apply(VIEW)
    assert [view["data"]["title"] for view in server.views.values()] == ["Default", "Conflicts"]
    tool.apply(RemoveView(receipt.remote["default_view"]))
    assert server.views == {}


def test_a_removal_of_the_tab_that_dies_is_completed_by_the_next(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    default = tool.apply(VIEW).remote["default_view"]
    deleted: list[Request] = []

    def die(request: Request) -> Answer | None:
        deleted.extend([request] if request.method == "DELETE" else [])
        return Answer(503, "", "text/html") if len(deleted) > 1 else None

    with server.failing(die), pytest.raises(RetryLater):
        tool.apply(RemoveView(default))
    assert "view" in world.tool().find_ours()
    tool.apply(RemoveView(default))
    assert server.views == {}


def owners_tab(world: RecordedWorld, **data: Any) -> int:
    body = {"project": int(world.project), "data": {"title": "Mine", **data}}
    return int(world.api("POST", "/api/dm/views/", body)["id"])


def test_no_default_tab_where_the_owner_has_one(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    mine = owners_tab(world)
    receipt = tool.apply(VIEW)
    assert "default_view" not in receipt.remote
    tool.apply(RemoveView())
    assert list(server.views) == [mine]


@pytest.mark.parametrize("status", ["agreed", "majority"])
def test_an_owners_tab_on_our_field_is_the_owners(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, status: str
) -> None:
    item = {"filter": "filter:tasks:data.iaa_status", "operator": "equal", "type": "String", "value": status}
    mine = owners_tab(world, filters={"conjunction": "and", "items": [item]})
    assert "view" not in tool.find_ours()
    tool.apply(VIEW)
    tool.apply(RemoveView())
    assert list(server.views) == [mine]


def resaved(server: RecordedLabelStudio, number: int, **changes: Any) -> dict[str, Any]:
    """The interface saves a tab without keys it does not know, our mark among them."""
    data: dict[str, Any] = server.views[number]["data"]
    del data[write.MARK]
    data.update(changes)
    return dict(data)


def test_a_tab_whose_look_a_person_changed_is_left_as_it_is(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    number = int(tool.apply(VIEW).remote["view"])
    before = resaved(server, number, columnsWidth={"tasks:id": 60}, hiddenColumns={"explore": []})
    assert tool.apply(VIEW).remote["view"] == str(number)
    assert server.views[number]["data"] == before
    assert tool.find_ours()["view"] == str(number)
    tool.apply(RemoveView())
    assert server.views == {}


STATUS_IS_CONFLICT = {
    "filter": "filter:tasks:data.iaa_status",
    "operator": "equal",
    "type": "String",
    "value": "conflict",
}
ANOTHER = {"filter": "filter:tasks:data.text", "operator": "contains", "type": "String", "value": "x"}
OURS: dict[str, Any] = {
    "title": "Conflicts",
    "filters": {"conjunction": "and", "items": [STATUS_IS_CONFLICT]},
    "ordering": ["tasks:data.iaa_agreement"],
}
CHANGED: list[dict[str, Any]] = [
    {"title": "Bob's conflicts"},
    {"ordering": ["tasks:id"]},
    {"ordering": ["-tasks:data.iaa_agreement"]},
    {"ordering": []},
    {"filters": {"conjunction": "and", "items": [STATUS_IS_CONFLICT, ANOTHER]}},
    {"filters": {"conjunction": "and", "items": [ANOTHER, STATUS_IS_CONFLICT]}},
    {"filters": {"conjunction": "and", "items": [{**STATUS_IS_CONFLICT, "operator": "not_equal"}]}},
    {"filters": {"conjunction": "and", "items": []}},
    {"filters": None},
    {"agreement_connector": {}},
]


@pytest.mark.parametrize("changes", CHANGED)
def test_a_persons_tab_that_resembles_ours_is_the_persons(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, changes: dict[str, Any]
) -> None:
    if "agreement_connector" in changes:
        changes = {**changes, "title": "Mine"}
    mine = owners_tab(world, **{**OURS, **changes})
    before = dict(server.views[mine]["data"])
    assert "view" not in tool.find_ours()
    receipt = tool.apply(VIEW)
    assert receipt.remote["view"] != str(mine)
    tool.apply(RemoveView())
    assert list(server.views) == [mine]
    assert server.views[mine]["data"] == before


@pytest.mark.parametrize("changes", CHANGED[:3])
def test_our_tab_that_a_person_made_their_own_stays(
    server: RecordedLabelStudio, tool: LabelStudio, changes: dict[str, Any]
) -> None:
    """The next sync makes a second one."""
    receipt = tool.apply(VIEW)
    number = int(receipt.remote["view"])
    before = resaved(server, number, **changes)
    second = tool.apply(VIEW).remote["view"]
    assert second != str(number)
    tool.apply(RemoveView(receipt.remote["default_view"]))
    assert int(second) not in server.views
    assert server.views[number]["data"] == before


@pytest.mark.parametrize("number", ["\ud83d", None, [2], True])
def test_a_tab_whose_id_is_no_number_is_unexpected(server: RecordedLabelStudio, tool: LabelStudio, number: Any) -> None:
    with (
        server.failing(lambda request: Answer(200, [{"id": number, "data": {}}]) if "views" in request.path else None),
        pytest.raises(UnexpectedAnswer),
    ):
        tool.find_ours()


def test_a_tab_of_ours_follows_a_new_version(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    number = int(tool.apply(VIEW).remote["view"])
    tool.apply(PutView("Conflicts", "iaa_status", "conflict", "iaa_agreement", (*VIEW.columns, "iaa_consensus")))
    assert len(server.views) == 2
    assert "tasks:data.iaa_consensus" in server.views[number]["data"]["columnsDisplayType"]


def test_a_default_tab_that_somebody_set_up_is_kept(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    receipt = tool.apply(VIEW)
    default = int(receipt.remote["default_view"])
    server.views[default]["data"] = {"title": "Default", "ordering": ["tasks:id"]}
    tool.apply(RemoveView(str(default)))
    assert list(server.views) == [default]


def test_a_default_tab_beside_later_ones_is_kept(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    receipt = tool.apply(VIEW)
    mine = owners_tab(world)
    tool.apply(RemoveView(receipt.remote["default_view"]))
    assert list(server.views) == [int(receipt.remote["default_view"]), mine]


# The summary


WORDS = st.text(st.characters(codec="utf-8"), max_size=60)


def put(before: str, text: str) -> str:
    """What the description would be, without a server."""
    line = START + write._one_line(text) + END
    found = write._LINE.search(before)
    assert found is None
    return f"{before}\n\n{line}" if before else line


@given(WORDS, WORDS)
@example("", "x")
@example("ends with a break\n", "x")
@example("[agreement-connector] ", "x")
@example("a [/agreement-connector] b", "[agreement-connector] [/agreement-connector]")
@example("\r\n\r\n", "</b> & <script>")
@example("\r", "x")
@example("", "a [/agreement-con[/agreement-connector]nector] b")
@example("a\r\n\r", "x")
def test_whatever_the_owner_wrote_comes_back_byte_for_byte(words: str, text: str) -> None:
    assume(without_summary(words) == words)
    full = put(words, text)
    assert without_summary(full) == words
    assert not set("<>\r\n") & set(summary_of(full) or "")


def test_words_added_after_our_line_stay(server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio) -> None:
    world.describe("Before.")
    tool.apply(PutSummary("alpha .6"))
    now = server.projects[int(world.project)]
    now["description"] += "\nAfter."
    tool.apply(PutSummary("alpha .7"))
    assert now["description"] == f"Before.\n\n{START}alpha .7{END}\nAfter."
    tool.apply(RemoveSummary())
    assert now["description"] == "Before.\nAfter."


def test_an_unchanged_summary_writes_nothing(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    tool.apply(PutSummary("alpha .6"))
    writes = len(sent(server, "PATCH", "/api/projects/"))
    tool.apply(PutSummary("alpha .6"))
    assert len(sent(server, "PATCH", "/api/projects/")) == writes


def test_only_the_description_is_sent(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    tool.apply(PutSummary("alpha .6"))
    (body,) = sent(server, "PATCH", "/api/projects/")
    assert set(body) == {"description"}


def test_a_project_without_a_description(server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio) -> None:
    server.projects[int(world.project)]["description"] = None
    tool.apply(RemoveSummary())
    assert server.projects[int(world.project)]["description"] is None
    tool.apply(PutSummary("alpha .6"))
    assert tool.find_ours()["summary"] == "alpha .6"


TEXT = "Agreement: alpha 0.610 (0.50 to 0.70), 8 of 8 tasks with two ratings or more, 3 raters; gate at 0.7: NO-GO"
NEW = "Agreement: alpha 0.720; gate at 0.7: GO"
LINE = f"{START}{TEXT}{END}"
DAMAGED = {
    "end broken": LINE.replace("[/agreement-connector]", "[/agreement]"),
    "end gone": LINE.removesuffix(END),
    "start broken": LINE.replace("[agreement-connector]", "[agreement connector]"),
    "start cut": LINE.replace("[agreement-connector]", "agreement-connector]"),
    "start gone": LINE.removeprefix(START),
    "no-break space": LINE.replace("connector] ", "connector]\xa0").replace(" [/", "\xa0[/"),
    "no blank before the end": LINE.replace(" [/", "[/"),
    "blanks doubled": LINE.replace("connector] ", "connector]   ").replace(" [/", "  [/"),
    "blanks around": f"  {LINE}  ",
    "a break inside": LINE.replace("; gate", "\n gate"),
    "two breaks inside": LINE.replace("; gate", "\r\n gate").replace(", 8 of", ",\n8 of"),
    "a break before the end": LINE.replace(" [/", "\n[/"),
    "a break after the start": LINE.replace("connector] ", "connector]\n"),
    "twice": f"{LINE}\n\n{LINE}",
    "whole and damaged": f"{LINE}\n\n{LINE.removesuffix(END)}",
    "edited inside": LINE.replace("alpha", "ALPHA"),
    "of an older version": f"{START}alpha 0.61{END}",
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize(
    "around", ["{}", "Owner.\n\n{}", "{}\n\nOwner.", "Owner.\n{}\nPS: [hi]", "Owner.\r\n\r\n{}\r\nPS"]
)
def test_a_damaged_line_is_mended_and_goes(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, line: str, around: str
) -> None:
    project = server.projects[int(world.project)]
    project["description"] = around.format(line)
    found = tool.find_ours()["summary"]
    assert found != TEXT
    tool.apply(PutSummary(NEW))
    assert project["description"] == around.format(f"{START}{NEW}{END}")
    assert tool.find_ours()["summary"] == NEW
    project["description"] = around.format(line)
    tool.apply(RemoveSummary())
    left = " ".join(around.format("").split())
    assert " ".join(project["description"].split()) == left
    assert "summary" not in tool.find_ours()


THEIRS = [
    "Do not touch the [agreement-connector] line, it ends with [/agreement-connector] ok",
    "See [agreement-connector] Agreement: alpha 0.6 [/agreement-connector]",
    "[agreement-connector] Agreement: 0.6 [/agreement-connector] is what it writes",
    "[agreement-connector] writes here.",
    "It ends with [/agreement-connector]",
    "Agreement: we have one.",
    "We said: Agreement: alpha .6 [/agreement-connector]",
    "[agreement-connector]",
    "[/agreement-connector]",
    "- [agreement-connector] first\n- second [/agreement-connector]",
]


@pytest.mark.parametrize("words", THEIRS)
@pytest.mark.parametrize("around", ["{}", "Owner.\n{}\n\nMore."])
def test_an_owners_sentence_about_our_marks_stays(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, words: str, around: str
) -> None:
    project = server.projects[int(world.project)]
    project["description"] = before = around.format(words)
    assert "summary" not in tool.find_ours()
    tool.apply(RemoveSummary())
    assert project["description"] == before
    for text in (TEXT, NEW):
        tool.apply(PutSummary(text))
        assert project["description"] == f"{before}\n\n{START}{text}{END}"
    tool.apply(RemoveSummary())
    assert project["description"] == before


def test_a_lone_surrogate_in_the_description_can_be_shown(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    server.projects[int(world.project)]["description"] = f"{START}Agreement: \ud83d{END}"
    assert tool.find_ours()["summary"] == "Agreement: \\ud83d"


@pytest.mark.parametrize("description", [{"a": 1}, ["x"], 3])
def test_a_description_that_is_no_text_is_never_written_over(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, description: Any
) -> None:
    server.projects[int(world.project)]["description"] = description
    with pytest.raises(UnexpectedAnswer):
        tool.apply(PutSummary("x"))
