"""A plan of which something is refused: what else is tried, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from connector import cli
from connector.errors import (
    FixAccess,
    FixConfiguration,
    NotThere,
    RetryLater,
    ToolTrouble,
    UnexpectedAnswer,
    WritesFailed,
)
from connector.store import Store
from connector.tools.base import (
    ClearFields,
    PutFields,
    PutReviewTasks,
    PutSummary,
    PutView,
    Receipt,
    RemoveSummary,
    ReviewItem,
    SetField,
    Tool,
    WriteOp,
)
from connector.workflow.plan import WritePlan
from connector.workflow.writing import MOST_REFUSED, Written, apply_plan, failed_together, fields_known, held_fields

SOURCE = "shelf:https://host:one"


class Refused(ToolTrouble):
    """The server is there and does not take this."""


class Shelf:
    """A tool that takes everything but what `answers` has an exception or a receipt for, by number of the call."""

    def __init__(self, **answers: Exception | Receipt) -> None:
        self.answers = answers
        self.asked: list[WriteOp] = []

    def apply(self, op: WriteOp) -> Receipt:
        self.asked.append(op)
        said = self.answers.get(f"call{len(self.asked)}")
        if isinstance(said, Exception):
            raise said
        units: Sequence[str] = ()
        if isinstance(op, SetField | ClearFields | PutFields):
            units = tuple(op.units)
        return said or Receipt(tuple(units))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "connector.db") as store:
        yield store


def sets(n: int) -> list[WriteOp]:
    """So many operations, each on a unit of its own."""
    return [SetField("s", "agreed", (str(unit),)) for unit in range(n)]


def write(shelf: Shelf, store: Store, *operations: WriteOp) -> Written:
    return apply_plan(cast("Tool", shelf), store, SOURCE, WritePlan(operations), lambda _done, _total: None)


def failed(shelf: Shelf, store: Store, *operations: WriteOp) -> WritesFailed:
    with pytest.raises(WritesFailed) as caught:
        write(shelf, store, *operations)
    return caught.value


def arrived(store: Store) -> set[str]:
    return set(store.ledger(SOURCE, "field:").get("field:s", {}))


def test_one_that_is_refused_keeps_no_other_from_being_tried(store: Store) -> None:
    shelf = Shelf(call2=Refused("No room for 1."))
    error = failed(shelf, store, *sets(4))
    assert len(shelf.asked) == 4
    assert arrived(store) == {"0", "2", "3"}
    assert set(store.ledger(SOURCE, "intent:")["intent:s"]) == {"1"}, "it may have arrived all the same"
    assert error.message == "Some writes did not arrive (1 of 4 steps): No room for 1."
    assert error.report == (
        "Written:",
        "  set s on 3 units (0, 2, 3)",
        "Not written (No room for 1):",
        "  set s on 1 unit (1)",
    )
    assert arrived(store) == {"0", "2", "3"}
    assert write(Shelf(), store, SetField("s", "agreed", ("1",))).done, "the next run completes it"


def test_a_tool_that_refuses_one_after_the_other_is_left_alone(store: Store) -> None:
    storm: dict[str, Any] = {f"call{n}": Refused("It broke.") for n in range(2, 2 + MOST_REFUSED)}
    shelf = Shelf(**storm)
    error = failed(shelf, store, *sets(20))
    assert len(shelf.asked) == 1 + MOST_REFUSED
    assert arrived(store) == {"0"}
    assert "(19 of 20 steps)" in error.message


def test_what_arrives_in_between_says_that_the_tool_is_there(store: Store) -> None:
    now_and_then: dict[str, Any] = {f"call{n}": Refused("It broke.") for n in range(1, 40) if n % MOST_REFUSED}
    shelf = Shelf(**now_and_then)
    failed(shelf, store, *sets(40))
    assert len(shelf.asked) == 40
    assert len(arrived(store)) == 40 // MOST_REFUSED


@pytest.mark.parametrize("trouble", [RetryLater, FixAccess, NotThere, UnexpectedAnswer])
def test_a_tool_that_is_gone_or_shuts_us_out_is_asked_no_more(store: Store, trouble: type[ToolTrouble]) -> None:
    shelf = Shelf(call3=trouble("It is away.", "Look after it."))
    error = failed(shelf, store, *sets(6))
    assert len(shelf.asked) == 3
    assert error.hint == "Look after it. What arrived is recorded: run the same command again."
    assert error.report[-2:] == ("Not written (It is away):", "  set s on 4 units (2, 3, 4, 5)")


def test_what_to_do_about_it_is_told_whether_or_not_the_rest_is_tried(store: Store) -> None:
    index = Refused("The server is half there.", "Start the search index and look again.")
    again = "What arrived is recorded: run the same command again."
    error = failed(Shelf(call2=index, call3=index, call4=Refused("No room.")), store, *sets(5))
    assert error.hint == f"Start the search index and look again. {again}"
    storm: dict[str, Any] = {f"call{n}": index for n in range(1, 20)}
    assert failed(Shelf(**storm), store, *sets(20)).hint == error.hint
    away = failed(Shelf(call1=RetryLater("It is away.", "Look after it.")), store, *sets(1))
    both = failed_together({"a:1": error, "b:2": away, "c:3": error}, {}, alone=False)
    assert both.hint == f"Start the search index and look again. Look after it. {again}"


def test_units_are_called_as_the_tool_calls_them(store: Store) -> None:
    plan = WritePlan((SetField("s", "agreed", ("1",)), SetField("s", "single", ("2", "3"))), "record")
    assert plan.lines() == ["set s on 3 records (1, 2, 3)"]
    with pytest.raises(WritesFailed) as caught:
        apply_plan(cast("Tool", Shelf(call2=Refused("No room."))), store, SOURCE, plan, lambda _done, _total: None)
    assert caught.value.report == (
        "Written:",
        "  set s on 1 record (1)",
        "Not written (No room):",
        "  set s on 2 records (2, 3)",
    )


def test_nothing_is_known_to_stand_there_while_its_removal_is_not_confirmed(store: Store) -> None:
    write(Shelf(), store, SetField("s", "agreed", ("1", "2")), PutSummary("alpha 0.7"))
    gone = RetryLater("It is away.")
    for op in (
        ClearFields(("s",), ("1",)),
        PutFields({"1": {"s": None}}),
        SetField("s", "conflict", ("1",)),
        PutFields({"1": {"s": "conflict"}}),
    ):
        failed(Shelf(call1=gone), store, op)
        assert held_fields(store.ledger(SOURCE)) == {"s": {"1": None, "2": "agreed"}}
        assert set(fields_known(store, SOURCE)("1") or ()) == {"s"}, "ours, should it be there still"
        write(Shelf(), store, SetField("s", "agreed", ("1",)))
        assert held_fields(store.ledger(SOURCE)) == {"s": {"1": "agreed", "2": "agreed"}}
    for change in (RemoveSummary(), PutSummary("alpha 0.8")):
        failed(Shelf(call1=gone), store, change)
        assert store.ledger(SOURCE, "summary") == {"summary": {"": False}}
        write(Shelf(), store, PutSummary("alpha 0.7"))
    write(Shelf(), store, ClearFields(("s",), ("1", "2")))
    assert held_fields(store.ledger(SOURCE)) == {}


def test_what_is_not_known_since_a_run_died_stays_so_when_the_next_is_refused(store: Store) -> None:
    write(Shelf(), store, SetField("s", "agreed", ("1", "2")))
    failed(Shelf(call1=RetryLater("It is away.")), store, ClearFields(("s",), ("1",)))
    with pytest.raises(FixConfiguration):
        write(Shelf(call1=FixConfiguration("There is a column 's'.")), store, SetField("s", "conflict", ("1", "2")))
    assert held_fields(store.ledger(SOURCE)) == {"s": {"1": None, "2": "agreed"}}


def test_what_arrived_of_an_operation_is_told_from_what_did_not(store: Store) -> None:
    half = Receipt(("1", "2"), missing=("3",), failed="the disk is full")
    items = tuple(ReviewItem(unit, {}) for unit in "123456")
    for op, line in (
        (SetField("s", "agreed", tuple("12345")), "set s on {}"),
        (ClearFields(("s",), tuple("12345")), "take s away from {}"),
        (PutFields({unit: {"s": "agreed"} for unit in "12345"}), "set s on {}"),
        (PutReviewTasks(items[:5]), "make review tasks for {}"),
    ):
        error = failed(Shelf(call1=half), store, op)
        assert error.report == (
            "Written:",
            f"  {line.format('2 units (1, 2)')}",
            "Not written (the disk is full):",
            f"  {line.format('2 units (4, 5)')}",
        )


def test_what_is_done_whole_or_not_at_all(store: Store) -> None:
    view, line = PutView("Conflicts", "s", "conflict", "a", ()), PutSummary("Agreement: alpha 0.7")
    error = failed(Shelf(call1=Receipt(failed="no tabs here")), store, view, line)
    assert error.report == (
        "Written:",
        "  put into the description: Agreement: alpha 0.7",
        "Not written (no tabs here):",
        '  put the tab "Conflicts" (s = conflict, lowest a first)',
    )


def test_reasons_are_told_once_each(store: Store) -> None:
    shelf = Shelf(call1=Refused("No room."), call2=Refused("Too long."), call3=Refused("No room."))
    assert failed(shelf, store, *sets(3)).report == (
        "Nothing was written.",
        "Not written (No room):",
        "  set s on 2 units (0, 2)",
        "Not written (Too long):",
        "  set s on 1 unit (1)",
    )


def test_of_several_projects_each_is_told_by_its_name(store: Store) -> None:
    error = failed(Shelf(call1=Refused("No room.")), store, *sets(1))
    written = write(Shelf(), store, *sets(2))
    together = failed_together({"a:1": error}, {"b:2": written}, alone=False)
    assert together.report == (
        "b:2:",
        "  Written:",
        "    set s on 2 units (0, 1)",
        "a:1:",
        "  Nothing was written.",
        "  Not written (No room):",
        "    set s on 1 unit (0)",
    )
    assert failed_together({"a:1": error}, {}, alone=True).report == error.report


def test_the_command_line_prints_it_before_the_fault_and_harmless(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(**_: object) -> None:
        raise WritesFailed(
            "Some writes did not arrive.", "Run it again.", ("Written:", "  set \x1b[31ms on 1 unit (0)")
        )

    app: Callable[..., Any] = run
    monkeypatch.setattr(cli, "app", app)
    assert cli.run(["sync"]) == 6
    assert capsys.readouterr().err.splitlines() == [
        "Written:",
        "  set \\x1b[31ms on 1 unit (0)",
        "connector: Some writes did not arrive.",
        "  Run it again.",
    ]
