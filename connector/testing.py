"""The contract of an annotation tool as tests: a new tool's author subclasses `ToolContract` and gets every test.

`ReadingContract` is the part of it that holds for a source of files too.

    from connector.testing import ToolContract

    class TestMyTool(ToolContract):
        @pytest.fixture
        def world(self):
            with my_server() as server:
                yield MyWorld(server)

A `World` is a running tool with a small project in it, and the means to act there as its people do. Faults that a world
cannot make are left out of its `faults`, and their tests are skipped by name. Needs pytest.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import pytest

from connector.annotations.collect import Collector, Table
from connector.annotations.model import Schema, Unit
from connector.errors import (
    ConnectorError,
    DataNotTrusted,
    FixAccess,
    FixConfiguration,
    NotThere,
    RetryLater,
    SkippedTask,
    ToolTrouble,
    UnexpectedAnswer,
)
from connector.tools.base import (
    ClearFields,
    Cursor,
    PutFields,
    PutReviewTasks,
    PutSummary,
    PutView,
    Receipt,
    RemoveReview,
    RemoveSummary,
    RemoveView,
    ResetColumns,
    ReviewItem,
    SetField,
    Tool,
    WriteOp,
)

FAULTS: Mapping[str, tuple[type[ConnectorError], ...]] = {
    "down": (RetryLater,),
    "overloaded": (RetryLater,),
    "server_error": (ToolTrouble,),
    "html": (UnexpectedAnswer,),
    "login_page": (UnexpectedAnswer,),
    "broken_json": (UnexpectedAnswer,),
    "cut_connection": (RetryLater,),
    "refused_token": (FixAccess,),
    "forbidden": (FixAccess,),
    "short_page": (DataNotTrusted, UnexpectedAnswer),
    "ignored_filter": (DataNotTrusted, UnexpectedAnswer),
    "no_annotations": (DataNotTrusted,),
}
"""Each fault that a world may make while the tool pulls, and what it must become."""

STATUS, ORDER, MAJORITY, RATERS = "iaa_status", "iaa_agreement", "iaa_majority", "iaa_raters"
VIEW = PutView("Conflicts", STATUS, "conflict", ORDER, (ORDER, "iaa_majority", STATUS))


class Reading(NamedTuple):
    """All that a source gave in one go, from its first unit to its last."""

    units: list[Unit]
    skipped: list[SkippedTask]
    schema: Schema

    def table(self) -> Table:
        """The table that is measured."""
        collector = Collector(self.schema)
        for unit in self.units:
            collector.add(unit)
        for skipped in self.skipped:
            collector.skip(skipped)
        return collector.table()


class ReadingWorld(Protocol):
    """A source with a few units that several raters have rated."""

    faults: Collection[str]
    """Which of "malformed" and "reordered" this source can be made to do."""

    def annotations(self) -> Mapping[str, int]:
        """Unit id -> number of annotations that reading must bring."""

    def add_unrated(self) -> str:
        """Add a unit that nobody has rated; gives its id."""

    def malformed(self) -> AbstractContextManager[str]:
        """Let the source hold one entry that cannot be read while inside; gives its unit's id, or its place where the
        entry names no unit."""

    def reordered(self) -> AbstractContextManager[None]:
        """Let the source give the same content in another order while inside."""


class World(ReadingWorld, Protocol):
    """A running tool with a project of at least 7 units, read 3 a page, every unit with two raters' annotations."""

    secrets: Sequence[str]
    """Texts that must never appear in a message, a log or a traceback."""
    faults: Collection[str]
    """Those of `FAULTS`, "restart", "malformed" and "reordered", that this world can make."""

    def tool(self) -> Tool:
        """A fresh tool on the project; it gives a vanished server at least as long to return as "restart" takes."""

    def requests(self, tool: Tool) -> int:
        """How many questions this tool has put to the server so far (renewing a token aside)."""

    def change(self, unit: str) -> None:
        """Change the answer of one annotation, as its rater does."""

    def add(self) -> str:
        """Add a unit with two annotations; gives its id."""

    def delete(self, unit: str) -> None:
        """Delete a unit."""

    def describe(self, text: str) -> None:
        """Give the project this description, as its owner does."""

    def state(self) -> Any:
        """All that people see, comparable: the units' content, tabs, description, columns, and the projects of ours."""

    def content(self, unit: str) -> Mapping[str, Any]:
        """The unit's own fields as they stand in the tool."""

    def in_the_way(self) -> AbstractContextManager[WriteOp]:
        """Let something that a person made or configured stand in the way of a write while inside; gives that write, of
        units that are there."""

    def decide(self, task: str, *, submitted: bool) -> None:
        """Answer this review task as a reviewer does who submits the answer, or leaves it unfinished or skips it."""

    def fault(self, name: str) -> AbstractContextManager[None]:
        """Make every call fail in this way while inside; "restart" takes the server away once, in mid-pull."""


class ReadingContract:
    """What holds for every source, a tool or files. Override `world` and `read`."""

    @pytest.fixture
    def world(self) -> Iterator[ReadingWorld]:
        """The source."""
        raise NotImplementedError("override the fixture `world`")

    @pytest.fixture
    def read(self, world: ReadingWorld) -> Callable[[], Reading]:
        """Reads the whole source anew each time it is called."""
        raise NotImplementedError("override the fixture `read`")

    def test_every_unit_comes_once_with_every_annotation(
        self, world: ReadingWorld, read: Callable[[], Reading]
    ) -> None:
        """No unit twice, none without its annotations, nothing left out."""
        reading = read()
        assert {unit.id: len(unit.annotations) for unit in reading.units} == dict(world.annotations())
        assert len(reading.units) == len(world.annotations())
        assert not reading.skipped

    def test_ids_are_text(self, read: Callable[[], Reading]) -> None:
        """From the edge inwards 1 and "1" are one."""
        units = read().units
        texts = [text for unit in units for one in unit.annotations for text in (unit.id, one.id, one.rater)]
        assert texts
        assert all(type(text) is str and text for text in texts)

    def test_annotations_of_a_unit_have_ids_of_their_own(self, read: Callable[[], Reading]) -> None:
        """Else one would take the other's place in the store."""
        for unit in read().units:
            assert len({one.id for one in unit.annotations}) == len(unit.annotations)

    def test_the_annotations_are_rated(self, world: ReadingWorld, read: Callable[[], Reading]) -> None:
        """The schema reads an answer out of every unit."""
        reading = read()
        table = reading.table()
        rated = {unit for one in table.questions.values() for unit, _ in _ratings(one.ratings)}
        assert rated == set(world.annotations())
        assert set(table.questions) <= set(reading.schema.questions)

    def test_a_unit_that_nobody_rated_is_kept(self, world: ReadingWorld, read: Callable[[], Reading]) -> None:
        """It counts as a unit and has no rating."""
        before = read().table()
        new = world.add_unrated()
        after = read().table()
        assert sorted(after.unit_ids) == sorted([*before.unit_ids, new])
        assert _numbers(after)[0] == _numbers(before)[0]

    def test_a_malformed_entry_is_left_out_and_named(self, world: ReadingWorld, read: Callable[[], Reading]) -> None:
        """With the reason; everything else comes."""
        _can(world, "malformed")
        there = dict(world.annotations())
        with world.malformed() as name:
            reading = read()
        assert [one.unit for one in reading.skipped] == [name]
        assert len(reading.skipped[0].reason) > 5
        there.pop(name, None)
        assert {unit.id: len(unit.annotations) for unit in reading.units} == there

    def test_reading_twice_gives_the_same(self, world: ReadingWorld, read: Callable[[], Reading]) -> None:
        """Nothing is used up, nothing depends on a clock."""
        assert world.annotations()
        first, second = read(), read()
        assert first.units == second.units
        assert _numbers(first.table()) == _numbers(second.table())

    def test_the_order_does_not_matter(self, world: ReadingWorld, read: Callable[[], Reading]) -> None:
        """Which annotation counts is told by its time, never by its place."""
        _can(world, "reordered")
        before = read().table()
        with world.reordered():
            after = read().table()
        assert _numbers(after) == _numbers(before)


class ToolContract(ReadingContract):
    """What holds for every tool. Override `world`."""

    @pytest.fixture
    def world(self) -> Iterator[World]:
        """The running tool."""
        raise NotImplementedError("override the fixture `world`")

    @pytest.fixture
    def read(self, world: World) -> Callable[[], Reading]:
        """A pull by a tool that remembers nothing."""

        def read() -> Reading:
            tool = world.tool()
            schema = tool.open().schema
            pages = list(tool.pull())
            tool.close()
            return Reading(_units(iter(pages)), [one for page in pages for one in page.skipped], schema)

        return read

    @pytest.fixture
    def tool(self, world: World) -> Iterator[Tool]:
        """A tool on the world's project."""
        tool = world.tool()
        yield tool
        tool.close()

    @pytest.fixture
    def ids(self, world: World) -> list[str]:
        """The project's unit ids, in order."""
        return list(world.annotations())

    # Reading

    def test_open_says_what_is_there(self, world: World, tool: Tool) -> None:
        """The project's identity holds no secret, and its questions are known."""
        project = tool.open()
        assert project.n_units == len(world.annotations())
        assert project.schema.questions
        assert not any(secret in repr(project) for secret in world.secrets)
        assert project.source == tool.source == world.tool().open().source

    def test_the_questions_can_be_read_without_the_network(self, world: World, tool: Tool) -> None:
        """From what is stored of the project's settings."""
        project = tool.open()
        before = world.requests(tool)
        assert dict(tool.read_schema(project.settings).questions) == dict(project.schema.questions)
        assert world.requests(tool) == before

    def test_a_pull_comes_by_pages_that_know_how_many_units_there_are(self, world: World, tool: Tool) -> None:
        """Several pages; each says the same total."""
        pages = list(tool.pull())
        assert len(pages) > 1
        assert {page.total for page in pages} == {len(world.annotations())}

    def test_the_raters_of_one_unit_are_told_apart(self, tool: Tool) -> None:
        """Two raters, two annotations."""
        for unit in _units(tool.pull()):
            assert len({one.rater for one in unit.annotations}) == 2

    def test_a_run_that_finds_nothing_changed_costs_two_requests(self, world: World, tool: Tool) -> None:
        """Opening included, and it gives no unit; nor does asking once more, for two at most."""
        project = tool.open()
        cursor, known = _pulled(tool)
        again = world.tool()
        assert again.open(project.settings).schema.questions == project.schema.questions
        assert _units(again.pull_changed(cursor, known)) == []
        assert world.requests(again) == 2
        assert _units(again.pull_changed(cursor, known)) == []
        assert world.requests(again) <= 4
        again.close()

    def test_a_change_after_opening_is_found_by_the_next_look(self, world: World, tool: Tool, ids: list[str]) -> None:
        """What `open` saw may be taken for what is there, but once only."""
        cursor, known = _pulled(tool)
        tool.open()
        world.change(ids[1])
        _, known, first = _caught_up(tool, cursor, known)
        _, known, second = _caught_up(tool, cursor, known)
        assert first + second == [ids[1]]

    def test_a_deletion_is_told_by_the_number_of_units(self, world: World, tool: Tool, ids: list[str]) -> None:
        """So that the ids need to be listed only then."""
        project = tool.open()
        world.delete(ids[1])
        assert world.tool().open(project.settings).n_units == len(ids) - 1

    def test_only_what_changed_is_read_again(self, world: World, tool: Tool, ids: list[str]) -> None:
        """A changed answer, then a new unit, then nothing."""
        cursor, known = _pulled(tool)
        world.change(ids[2])
        cursor, known, found = _caught_up(tool, cursor, known)
        assert found == [ids[2]]
        new = world.add()
        cursor, known, found = _caught_up(tool, cursor, known)
        assert found == [new]
        assert _caught_up(tool, cursor, known)[2] == []

    def test_a_changed_answer_arrives_whole(self, world: World, tool: Tool, ids: list[str]) -> None:
        """With every annotation of its unit, the unchanged ones too."""
        before = {unit.id: unit for unit in _units(tool.pull())}
        cursor, known = _pulled(tool)
        world.change(ids[0])
        (unit,) = _units(tool.pull_changed(cursor, known))
        assert len(unit.annotations) == len(before[ids[0]].annotations)
        assert {one.id for one in unit.annotations} == {one.id for one in before[ids[0]].annotations}
        assert unit != before[ids[0]]

    def test_an_interrupted_pull_is_finished_by_its_cursor(self, tool: Tool, ids: list[str]) -> None:
        """After the first page the rest comes as a change, nothing twice."""
        first = next(iter(tool.pull()))
        known = {unit.id: unit.updated_at for unit in first.units}
        rest = [unit.id for unit in _units(tool.pull_changed(first.cursor, known))]
        assert [*known, *rest] == ids

    def test_deleted_units_show_in_the_ids(self, world: World, tool: Tool, ids: list[str]) -> None:
        """A deletion leaves no other trace."""
        assert list(tool.unit_ids()) == ids
        world.delete(ids[1])
        assert list(tool.unit_ids()) == [ids[0], *ids[2:]]

    # Before writing

    def test_what_nothing_stands_in_the_way_of_is_verified_in_silence(
        self, world: World, tool: Tool, ids: list[str]
    ) -> None:
        """It writes nothing, also where everything stands there already; then the operation succeeds."""
        can = tool.capabilities
        fields = [SetField(STATUS, "agreed", tuple(ids[:2])), ClearFields((STATUS,), tuple(ids[:2]))]
        per_unit = [PutFields({ids[0]: {ORDER: 0.5, STATUS: None}})] if can.per_unit else []
        shown = [*([VIEW] if can.view else ()), *([PutSummary("alpha .72")] if can.summary else ())]
        reviews = [PutReviewTasks((ReviewItem(ids[0], {"rater 1": "Positive"}),))] if can.review else []
        for op in (*fields, *per_unit, *shown, *reviews):
            for _ in range(2):
                before = world.state()
                world.tool().verify(op)
                assert world.state() == before
                assert tool.apply(op).failed is None

    def test_what_a_person_has_put_in_the_way_is_told_before_anything_is_written(
        self, world: World, tool: Tool
    ) -> None:
        """With what to do about it; carrying the operation out is refused in the same way."""
        with world.in_the_way() as op:
            before = world.state()
            for act in (tool.verify, tool.apply, world.tool().verify, world.tool().apply):
                with pytest.raises((FixConfiguration, NotThere)) as caught:
                    act(op)
                assert len(caught.value.message) > 20
                assert caught.value.hint
                _shows_none(world, caught.value, "")
            assert world.state() == before
        world.tool().verify(op)

    # Writing fields

    def test_a_field_is_written_once(self, world: World, tool: Tool, ids: list[str]) -> None:
        """Numbers and text, confirmed for each unit; again changes nothing."""
        for field, value in ((ORDER, 0.3333), (MAJORITY, 'a "quoted" \\ <b>text</b> $x {{y}} é 😀 \n end')):
            op = SetField(field, value, tuple(ids[:3]))
            first = tool.apply(op)
            assert (sorted(first.written), first.missing, first.failed) == (sorted(ids[:3]), (), None)
            assert [world.content(unit).get(field) for unit in ids[:4]] == [value] * 3 + [None]
            state = world.state()
            assert tool.apply(op).failed is None
            assert world.state() == state

    def test_other_content_stays(self, world: World, tool: Tool, ids: list[str]) -> None:
        """What people put into a unit is there after a write and after taking ours away."""
        before = dict(world.content(ids[0]))
        tool.apply(SetField(ORDER, 1.0, (ids[0],)))
        assert world.content(ids[0]) == {**before, ORDER: 1.0}
        receipt = tool.apply(ClearFields((ORDER, STATUS), (ids[0],)))
        assert (receipt.written, receipt.failed) == ((ids[0],), None)
        assert world.content(ids[0]) == before

    def test_all_fields_of_a_unit_are_written_at_once(self, world: World, tool: Tool, ids: list[str]) -> None:
        """Some set, some taken away, and what people put into the units stays."""
        if not tool.capabilities.per_unit:
            pytest.skip("this tool is written value by value")
        before = {unit: dict(world.content(unit)) for unit in ids}
        tool.apply(PutFields({unit: {STATUS: "agreed", ORDER: 1.0, MAJORITY: "a"} for unit in ids}))
        op = PutFields({ids[0]: {STATUS: "conflict", MAJORITY: None}, ids[1]: {RATERS: 2.0, STATUS: None}})
        receipt = tool.apply(op)
        assert (sorted(receipt.written), receipt.missing, receipt.failed) == (sorted(ids[:2]), (), None)
        assert world.content(ids[0]) == {**before[ids[0]], STATUS: "conflict", ORDER: 1.0}
        assert world.content(ids[1]) == {**before[ids[1]], RATERS: 2, ORDER: 1.0, MAJORITY: "a"}
        assert world.content(ids[2]) == {**before[ids[2]], STATUS: "agreed", ORDER: 1.0, MAJORITY: "a"}
        state = world.state()
        assert tool.apply(op).failed is None
        assert world.state() == state

    def test_columns_go_once_nothing_stands_in_them(self, world: World, tool: Tool, ids: list[str]) -> None:
        """A tool that keeps columns of its own says which are ours, also one that remembers nothing."""
        if not tool.capabilities.per_unit:
            pytest.skip("this tool is written value by value")
        before = world.state()
        tool.apply(PutFields({unit: {STATUS: "agreed", RATERS: 2.0} for unit in ids[:2]}))
        assert set(world.tool().find_ours()["columns"].split(",")) == {STATUS, RATERS}
        tool.apply(PutFields({ids[0]: {STATUS: None, RATERS: None}, ids[1]: {STATUS: None}}))
        receipt = world.tool().apply(ResetColumns())
        assert (receipt.failed, receipt.remote) == (None, {"kept_columns": RATERS})
        assert world.tool().find_ours() == {"columns": RATERS}
        tool.apply(PutFields({ids[1]: {RATERS: None}}))
        assert tool.apply(ResetColumns()) == Receipt()
        assert world.state() == before

    def test_units_that_are_gone_are_told_and_no_failure(self, world: World, tool: Tool, ids: list[str]) -> None:
        """The others are written."""
        world.delete(ids[1])
        for op in (SetField(STATUS, "agreed", tuple(ids[:3])), ClearFields((STATUS,), tuple(ids[:3]))):
            receipt = tool.apply(op)
            assert sorted(receipt.written) == sorted([ids[0], ids[2]])
            assert (receipt.missing, receipt.failed) == ((ids[1],), None)

    def test_no_units_means_none(self, world: World, tool: Tool) -> None:
        """An empty list must never reach every unit."""
        state = world.state()
        assert tool.apply(SetField(STATUS, "conflict", ())) == Receipt()
        assert tool.apply(ClearFields(("text",), ())).written == ()
        assert world.state() == state

    def test_a_number_that_is_none_is_refused(self, world: World, tool: Tool, ids: list[str]) -> None:
        """NaN is no score."""
        state = world.state()
        assert tool.apply(SetField(ORDER, float("nan"), (ids[0],))).failed
        assert world.state() == state

    # Tab, summary, review

    def test_one_tab_however_often_it_is_put(self, world: World, tool: Tool, ids: list[str]) -> None:
        """It is found again by a tool that remembers nothing."""
        if not tool.capabilities.view:
            pytest.skip("this tool has no tabs")
        tool.apply(SetField(STATUS, "conflict", (ids[0],)))
        first = tool.apply(VIEW)
        assert first.failed is None
        state = world.state()
        fresh = world.tool()
        assert fresh.apply(VIEW).remote["view"] == first.remote["view"]
        assert fresh.find_ours()["view"] == first.remote["view"]
        assert world.state() == state

    @pytest.mark.parametrize("words", ["", "The owner's words.", "Two lines,\n\nand <b>&amp; marks</b> ] [."])
    def test_the_summary_leaves_the_owners_words(self, world: World, tool: Tool, words: str) -> None:
        """One line, replaced when it changes, gone without a trace."""
        if not tool.capabilities.summary:
            pytest.skip("this tool has no description")
        world.describe(words)
        before = state = world.state()
        for text in ("alpha .61\nof 3 raters", "alpha .72 [/agreement-connector] of 3"):
            tool.apply(PutSummary(text))
            state = world.state()
            tool.apply(PutSummary(text))
            assert world.state() == state
        assert state != before
        found = tool.find_ours()["summary"]
        assert ".72" in found
        assert ".61" not in found
        tool.apply(RemoveSummary())
        assert world.state() == before
        assert "summary" not in tool.find_ours()

    def test_one_review_task_a_unit(self, world: World, tool: Tool, ids: list[str]) -> None:
        """Also after a crash that left the store without the ids, and for a tool that remembers nothing."""
        if not tool.capabilities.review:
            pytest.skip("this tool has no review tasks")
        items = tuple(ReviewItem(unit, {"rater 1": "Positive", "rater 2": "<i>Negative</i>"}) for unit in ids[:3])
        first = tool.apply(PutReviewTasks(items[:2]))
        assert first.failed is None
        assert sorted(first.written) == sorted(ids[:2])
        again = world.tool().apply(PutReviewTasks(items))
        assert again.failed is None
        assert sorted(again.written) == sorted(ids[:3])
        assert {unit: again.remote[unit] for unit in ids[:2]} == {unit: first.remote[unit] for unit in ids[:2]}
        assert again.remote["review_project"] == first.remote["review_project"]
        assert len({again.remote[unit] for unit in ids[:3]}) == 3

    def test_a_decided_review_task_is_told_from_the_others(self, world: World, tool: Tool, ids: list[str]) -> None:
        """By the unit it is about."""
        if not tool.capabilities.review:
            pytest.skip("this tool has no review tasks")
        items = tuple(ReviewItem(unit, {"rater 1": "Positive", "rater 2": "Negative"}) for unit in ids[:3])
        remote = tool.apply(PutReviewTasks(items)).remote
        project = remote["review_project"]
        assert set(tool.undecided(project)) == set(tool.review_tasks(project)) == set(ids[:3])
        world.decide(remote[ids[1]], submitted=True)
        world.decide(remote[ids[2]], submitted=False)
        assert set(world.tool().undecided(project)) == {ids[0], ids[2]}
        assert set(tool.review_tasks(project)) == set(ids[:3])

    def test_review_tasks_of_units_that_are_gone(self, world: World, tool: Tool, ids: list[str]) -> None:
        """They are told as missing."""
        if not tool.capabilities.review:
            pytest.skip("this tool has no review tasks")
        world.delete(ids[1])
        items = tuple(ReviewItem(unit, {"rater 1": "Positive"}) for unit in ids[:3])
        receipt = tool.apply(PutReviewTasks(items))
        assert (sorted(receipt.written), receipt.missing) == (sorted([ids[0], ids[2]]), (ids[1],))

    def test_everything_of_ours_can_be_taken_away(self, world: World, tool: Tool, ids: list[str]) -> None:
        """Content, tabs, description, columns and projects are as before, and nothing of ours is found."""
        before = world.state()
        ratings = {unit.id: unit.annotations for unit in _units(tool.pull())}
        tool.apply(SetField(ORDER, 0.5, tuple(ids)))
        tool.apply(SetField(STATUS, "conflict", tuple(ids[:2])))
        view = tool.apply(VIEW) if tool.capabilities.view else Receipt()
        if tool.capabilities.summary:
            tool.apply(PutSummary("alpha .72"))
        review = tool.apply(PutReviewTasks((ReviewItem(ids[0], {"rater 1": "Positive"}),)))
        assert world.state() != before
        # Nothing that was written is a rating.
        assert {unit.id: unit.annotations for unit in _units(tool.pull())} == ratings
        fresh = world.tool()
        ops = (
            ClearFields((ORDER, STATUS), tuple(ids)),
            *([RemoveView(view.remote.get("default_view"))] if tool.capabilities.view else ()),
            *([RemoveSummary()] if tool.capabilities.summary else ()),
            RemoveReview(review.remote["review_project"]),
            ResetColumns(),
        )
        for _ in range(2):
            assert [fresh.apply(op).failed for op in ops] == [None] * len(ops)
            assert world.state() == before
        assert not any(fresh.find_ours().values())

    # Faults

    def test_a_restart_in_mid_pull_is_waited_out(self, world: World, tool: Tool) -> None:
        """The pull goes on where it was."""
        _can(world, "restart")
        tool.open()
        with world.fault("restart"):
            found = {unit.id: len(unit.annotations) for unit in _units(tool.pull())}
        assert found == world.annotations()

    @pytest.mark.parametrize("name", sorted(FAULTS))
    def test_each_fault_of_a_pull_says_what_to_do_and_shows_no_token(
        self, world: World, tool: Tool, name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The right kind of error, a sentence to act on, no secret in message, traceback (its variables too) or log."""
        _can(world, name)
        caplog.set_level(logging.DEBUG)
        with world.fault(name):
            error = _failure(lambda: [*tool.pull()])
        assert isinstance(error, FAULTS[name])
        assert error.exit_code in (4, 5)
        assert len(str(error)) > 20
        _shows_none(world, error, caplog.text + repr(tool))

    @pytest.mark.parametrize("name", ["down", "server_error", "html", "refused_token", "broken_json"])
    def test_a_failed_write_shows_no_token(
        self, world: World, tool: Tool, ids: list[str], name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is an error or a receipt that says so, never silence."""
        _can(world, name)
        caplog.set_level(logging.DEBUG)
        can = tool.capabilities
        shown = [*([VIEW] if can.view else ()), *([PutSummary("x")] if can.summary else ())]
        for op in (SetField(ORDER, 1.0, tuple(ids)), ClearFields((ORDER,), tuple(ids)), *shown):
            with world.fault(name):
                try:
                    receipt = tool.apply(op)
                except ToolTrouble as error:
                    _shows_none(world, error, caplog.text)
                else:
                    assert receipt.failed
                    assert not any(secret in repr(receipt) for secret in world.secrets)

    def test_the_tool_can_be_inspected(self, world: World, tool: Tool) -> None:
        """Findings are sentences without secrets."""
        findings = tool.inspect()
        assert findings
        assert not any(secret in repr(findings) for secret in world.secrets)


def _units(pages: Iterator[Any]) -> list[Unit]:
    return [unit for page in pages for unit in page.units]


def _pulled(tool: Tool) -> tuple[Cursor, dict[str, str | None]]:
    cursor, known = Cursor(), {}
    for page in tool.pull():
        cursor = page.cursor
        known.update({unit.id: unit.updated_at for unit in page.units})
    return cursor, known


def _caught_up(
    tool: Tool, cursor: Cursor, known: Mapping[str, str | None]
) -> tuple[Cursor, dict[str, str | None], list[str]]:
    now = dict(known)
    found = []
    for page in tool.pull_changed(cursor, known):
        cursor = page.cursor
        found += [unit.id for unit in page.units]
        now.update({unit.id: unit.updated_at for unit in page.units})
    return cursor, now, found


def _ratings(ratings: Any) -> dict[tuple[str, str], Any]:
    """(unit, rater) -> value"""
    return {
        (str(ratings.unit_ids[unit]), str(ratings.rater_ids[rater])): ratings.codebook.categories[value]
        for unit, rater, value in zip(
            ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
        )
    }


def _numbers(table: Table) -> tuple[Any, ...]:
    """All that numbers are made of, the ratings first."""
    rated = {name: _ratings(one.ratings) for name, one in table.questions.items()}
    return rated, list(table.unit_ids), dict(table.left_out), table.n_annotations


def _can(world: ReadingWorld, fault: str) -> None:
    if fault not in world.faults:
        pytest.skip(f"this world cannot make this fault: {fault}")


def _failure(act: Callable[[], Any]) -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        act()
    return caught.value


def _shows_none(world: World, error: BaseException, also: str) -> None:
    """No secret in the whole chain of exceptions, its frames' local variables included."""
    rendered = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    chain: BaseException | None = error
    while chain is not None:
        rendered += repr(chain) + repr(vars(chain))
        # A foreign exception in the chain may carry the request, and with it the token.
        assert isinstance(chain, ConnectorError), f"{type(chain).__name__} hangs on the error"
        chain = chain.__cause__ or chain.__context__
    for secret in world.secrets:
        assert secret not in rendered + also
