"""Fields written unit by unit: the plan in steps, the ledger entry by entry, and whose a value is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.annotations.model import Unit
from connector.errors import FixConfiguration, RetryLater, WritesFailed
from connector.store import Store
from connector.tools.base import ClearFields, PutFields, Receipt, ResetColumns, SetField, Tool, WriteOp
from connector.workflow.fields import fitting
from connector.workflow.plan import WritePlan, plan_removal, plan_units
from connector.workflow.writing import Written, apply_plan, columns_of, fields_known

SOURCE = "shelf:https://host:one"
Held = dict[str, dict[str, float | str]]

values = st.dictionaries(
    st.sampled_from(["iaa_agreement", "iaa_status"]),
    st.dictionaries(
        st.sampled_from([str(n) for n in range(8)]), st.one_of(st.floats(0, 1), st.sampled_from(["agreed", "1", "0"]))
    ),
)


class Shelf:
    """Units with their fields, written as a tool with `per_unit` is; `before` may raise or say why nothing arrives."""

    def __init__(self, units: int) -> None:
        self.units: dict[str, dict[str, Any]] = {str(number): {} for number in range(units)}
        self.before: Callable[[PutFields], Receipt | None] = lambda op: None
        self.asked: list[PutFields] = []

    def apply(self, op: WriteOp) -> Receipt:
        assert isinstance(op, PutFields)
        self.asked.append(op)
        said = self.before(op)
        if said is not None:
            return said
        there = [unit for unit in op.units if unit in self.units]
        for unit in there:
            merged = {**self.units[unit], **op.units[unit]}
            self.units[unit] = {name: value for name, value in merged.items() if value is not None}
        return Receipt(tuple(there), tuple(unit for unit in op.units if unit not in self.units))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "connector.db") as store:
        yield store


def write(shelf: Shelf, store: Store, *operations: PutFields) -> Written:
    return apply_plan(cast("Tool", shelf), store, SOURCE, WritePlan(operations), lambda _done, _total: None)


def held_by(store: Store, kind: str = "field:") -> Held:
    return {item.removeprefix(kind): of for item, of in store.ledger(SOURCE, kind).items()}


# The plan


@given(values, values)
def test_applying_the_plan_gives_what_is_wanted_and_a_second_plan_is_empty(desired: Held, held: Held) -> None:
    now = {field: dict(of_units) for field, of_units in held.items()}
    for op in plan_units(desired, held, {}):
        for unit, fields in op.units.items():
            for field, value in fields.items():
                if value is None:
                    del now[field][unit]
                else:
                    now.setdefault(field, {})[unit] = value
    after = {field: of_units for field, of_units in now.items() if of_units}
    assert after == {field: of_units for field, of_units in desired.items() if of_units}
    assert plan_units(desired, after, {}) == []


def test_all_fields_of_a_unit_go_in_one_operation() -> None:
    desired: Held = {"s": {"1": "agreed", "2": "single"}, "a": {"1": 1.0}}
    held: Held = {"s": {"2": "single"}, "a": {"2": 0.5}, "m": {"1": "x"}}
    (op,) = plan_units(desired, held, {})
    assert op.units == {"1": {"s": "agreed", "a": 1.0, "m": None}, "2": {"a": None}}


def test_the_oldest_come_first_in_steps_of_a_hundred() -> None:
    ids = [f"{number:03}" for number in range(250)]
    created = {unit: f"2026-01-{250 - int(unit):03}" for unit in ids}
    steps = plan_units({"s": dict.fromkeys(ids, "agreed")}, {}, created)
    assert [len(op.units) for op in steps] == [100, 100, 50]
    assert [unit for op in steps for unit in op.units] == ids[::-1]


def test_units_of_unknown_age_come_by_their_ids() -> None:
    (op,) = plan_units({"s": dict.fromkeys(["10", "9", "b", "a"], "agreed")}, {}, {"9": None})
    assert list(op.units) == ["9", "10", "a", "b"]


def test_a_removal_is_planned_as_the_tool_is_written() -> None:
    fields = {"1": ("a", "s"), "2": ("s",), "3": ("a", "s")}
    assert plan_removal(fields, per_unit=False) == [ClearFields(("a", "s"), ("1", "3")), ClearFields(("s",), ("2",))]
    assert plan_removal(fields, per_unit=True) == [
        PutFields({"1": {"a": None, "s": None}, "2": {"s": None}, "3": {"a": None, "s": None}})
    ]
    many = {str(number): ("s",) for number in range(101)}
    assert [len(op.units) for op in plan_removal(many, per_unit=True)] == [100, 1]


def test_the_plan_is_printed_by_kind_of_change() -> None:
    long = "6058e2f5-1434-46d6-bde5-c4905809588b"
    plan = WritePlan(
        (
            PutFields({"2": {"iaa_status": "agreed", "iaa_majority": None}, "10": {"iaa_status": "single"}}),
            PutFields({"1": {"iaa_status": "conflict"}}),
            PutFields({long: {"iaa_raters": 2.0}, long.replace("6", "7"): {"iaa_raters": 2.0}}),
            ResetColumns(),
        )
    )
    assert plan.lines() == [
        "set iaa_status on 3 units (1, 2, 10)",
        f"set iaa_raters on 2 units ({long}, ...)",
        "take iaa_majority away from 1 unit (2)",
        "let the tool forget the columns of fields that are gone",
    ]


def test_texts_are_cut_and_made_storable_the_same_way_each_time() -> None:
    fields: Held = {"iaa_majority": {"1": "x" * 40, "2": "a\0b\ud800", "3": "short"}, "iaa_raters": {"1": 2.0}}
    fitted = fitting(fields, 20)
    assert fitted == {
        "iaa_majority": {"1": "x" * 17 + "...", "2": "a\\0b\\ud800", "3": "short"},
        "iaa_raters": {"1": 2.0},
    }
    assert fitting(fitted, 20) == fitted
    assert fitting(fields, None)["iaa_majority"]["1"] == "x" * 40


# The ledger


def test_what_arrived_is_entered_by_unit_and_field(store: Store) -> None:
    shelf = Shelf(3)
    written = write(shelf, store, PutFields({"0": {"s": "agreed", "r": 2.0}, "2": {"s": "single", "r": 1.0}}))
    assert held_by(store) == {"s": {"0": "agreed", "2": "single"}, "r": {"0": 2.0, "2": 1.0}}
    assert held_by(store, "intent:") == {}
    assert (written.values, written.cleared, written.missing) == (4, 0, set())
    written = write(shelf, store, PutFields({"0": {"s": None, "r": 1.0}, "2": {"s": None, "r": None}}))
    assert held_by(store) == {"r": {"0": 1.0}}
    assert (written.values, written.cleared) == (1, 2)
    assert shelf.units == {"0": {"r": 1.0}, "1": {}, "2": {}}


def test_a_unit_that_is_gone_is_forgotten_and_no_failure(store: Store) -> None:
    store.put_unit(SOURCE, Unit("9", []))
    written = write(Shelf(3), store, PutFields({"0": {"s": "agreed"}, "9": {"s": "agreed"}}))
    assert written.missing == {"9"}
    assert held_by(store) == {"s": {"0": "agreed"}}
    assert store.known(SOURCE) == {}
    assert held_by(store, "intent:") == {}


def test_what_did_not_arrive_stays_an_intent_and_the_other_steps_are_tried(store: Store) -> None:
    shelf = Shelf(6)

    def refuse_one(op: PutFields) -> Receipt | None:
        return Receipt(("0",), failed="no room for 1") if "1" in op.units else None

    shelf.before = refuse_one
    with pytest.raises(WritesFailed, match="no room for 1"):
        write(shelf, store, PutFields({"0": {"s": "agreed"}, "1": {"s": "agreed"}}), PutFields({"2": {"s": "single"}}))
    assert held_by(store) == {"s": {"0": "agreed", "2": "single"}}
    assert held_by(store, "intent:") == {"s": {"1": "agreed"}}
    assert set(fields_known(store, SOURCE)("1") or ()) == {"s"}, "ours, should it have arrived all the same"


def test_a_tool_that_is_gone_ends_the_run(store: Store) -> None:
    shelf = Shelf(6)

    def vanish(_op: PutFields) -> Receipt | None:
        raise RetryLater("The server is away.")

    shelf.before = vanish
    with pytest.raises(WritesFailed):
        write(shelf, store, PutFields({"0": {"s": "agreed"}}), PutFields({"2": {"s": "single"}}))
    assert len(shelf.asked) == 1
    assert held_by(store, "intent:") == {"s": {"0": "agreed"}}


def test_a_column_of_a_persons_stops_the_run_and_leaves_no_doubt(store: Store) -> None:
    shelf = Shelf(6)
    write(shelf, store, PutFields({"1": {"r": 2.0}}))

    def refuse(_op: PutFields) -> Receipt | None:
        raise FixConfiguration("There is a column 's' already.")

    shelf.before = refuse
    with pytest.raises(FixConfiguration):
        write(shelf, store, PutFields({"0": {"s": "agreed"}, "1": {"r": 3.0}}))
    assert held_by(store, "intent:") == {}
    assert held_by(store) == {"r": {"1": 2.0}}


# Whose a value is


def test_columns_of_ours_tell_where_the_ledger_is_lost(store: Store) -> None:
    columns = columns_of({"columns": "iaa_status,iaa_majority"})
    assert columns == ("iaa_status", "iaa_majority")
    assert (columns_of({"view": "7"}), columns_of({"columns": ""})) == (None, ())
    assert fields_known(store, SOURCE)("1") is None
    assert fields_known(store, SOURCE, ())("1") == {}, "no column of ours: no value of ours"
    assert set(fields_known(store, SOURCE, columns)("1") or ()) == {"iaa_status", "iaa_majority"}


def test_where_there_is_a_ledger_it_tells_for_the_units_it_knows(store: Store) -> None:
    columns = ("iaa_status", "iaa_majority")
    store.record(SOURCE, "field:iaa_status", {"1": "agreed"})
    store.record(SOURCE, "foreign:iaa_majority", {"2": True})
    known: Mapping[str, set[str]] = {
        unit: set(fields_known(store, SOURCE, columns)(unit) or ()) for unit in ("1", "2", "3")
    }
    assert known == {"1": {"iaa_status"}, "2": {"iaa_status"}, "3": {"iaa_status", "iaa_majority"}}
    assert set(fields_known(store, SOURCE)("3") or ()) == set(), "a tool that marks no column says nothing"


def test_an_operation_of_another_form_is_entered_as_before(store: Store) -> None:
    class Bulk(Shelf):
        def apply(self, op: WriteOp) -> Receipt:
            assert isinstance(op, SetField | ClearFields)
            return Receipt(op.units)

    apply_plan(
        cast("Tool", Bulk(2)),
        store,
        SOURCE,
        WritePlan((SetField("s", "agreed", ("0", "1")), ClearFields(("s",), ("1",)))),
        lambda _done, _total: None,
    )
    assert held_by(store) == {"s": {"0": "agreed"}}
