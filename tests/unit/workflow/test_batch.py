"""The gate's batch: ids and ranges, the first N by number, a field's value."""

from __future__ import annotations

from pathlib import Path

import pytest

from connector.annotations.model import Unit
from connector.errors import FixConfiguration, SkippedTask
from connector.workflow.batch import Batch, Restricted, parse_batch

UNITS: list[Unit | SkippedTask] = [
    Unit("10", [], {"batch": 1}),
    Unit("9", [], {"batch": "2"}),
    SkippedTask("11", "bad"),
    Unit("100", [], {"batch": True}),
]


def ids(batch: Batch) -> list[str]:
    return [one.unit if isinstance(one, SkippedTask) else one.id for one in Restricted(UNITS, batch)]


def test_ids_ranges_and_files(tmp_path: Path) -> None:
    assert parse_batch("3,1-2 a-b 2", None, None).units == ("3", "1", "2", "a-b")
    (tmp_path / "ids").write_text("7\n8\n")
    assert parse_batch(f"@{tmp_path / 'ids'}", None, None).units == ("7", "8")


@pytest.mark.parametrize(
    ("ids", "first", "where"),
    [
        ("1", 2, None),
        ("", None, None),
        ("5-1", None, None),
        (None, 0, None),
        (None, None, "field"),
        (None, None, "=x"),
        ("@/no/file", None, None),
    ],
)
def test_what_cannot_be_a_batch_is_refused(ids: str | None, first: int | None, where: str | None) -> None:
    with pytest.raises(FixConfiguration):
        parse_batch(ids, first, where)


def test_the_first_are_the_lowest_numbers() -> None:
    assert ids(Batch(first=2)) == ["9", "10"]
    assert ids(Batch(first=3)) == ["9", "10", "11"]


def test_of_ids_that_are_drawn_at_random_the_first_are_the_oldest() -> None:
    """Argilla's: in the order of insertion, whatever their letters; where one is malformed it comes last."""
    uuid = "{}0000000-0000-4000-8000-000000000000"
    times = {"f": "2026-11-30T08:00:00", "0": "2026-11-30T08:00:00.5", "a": "2026-11-30T08:00:01"}
    for source in ("", "argilla:lab/survey/"):
        units: list[Unit | SkippedTask] = [SkippedTask(source + uuid.format("3"), "bad")]
        units += [Unit(source + uuid.format(sign), [], {}, time) for sign, time in times.items()]
        for shuffled in (units, units[::-1]):
            chosen = [one.id for one in Restricted(shuffled, Batch(first=2)) if isinstance(one, Unit)]
            assert chosen == [source + uuid.format("f"), source + uuid.format("0")]
        assert isinstance(list(Restricted(units, Batch(first=4)))[-1], SkippedTask)


def test_a_field_is_compared_as_text() -> None:
    assert ids(Batch(where=("batch", "1"))) == ["10", "11"]
    assert ids(Batch(where=("batch", "true"))) == ["11", "100"]


def test_named_units_and_no_batch() -> None:
    assert ids(Batch(units=("100", "11", "5"))) == ["11", "100"]
    assert ids(Batch()) == ["10", "9", "11", "100"]


def test_what_lies_outside_is_told() -> None:
    chosen = Restricted(UNITS, Batch(units=("9", "100")))
    assert len(list(chosen)) == 2
    assert chosen.outside == ["10", "11"]


def test_a_field_that_one_part_of_a_unit_bears_selects_all_of_it() -> None:
    parts: list[Unit | SkippedTask] = [
        Unit("a", [], {"batch": 1}),
        Unit("b", []),
        Unit("a", []),
        SkippedTask("c", "bad"),
    ]
    assert Batch(where=("batch", "1")).by_name(parts) == Batch(units=("a", "c"))
    assert list(Restricted([Unit("a", [])], Batch(where=("batch", "2")).by_name([Unit("a", [])]))) == []
    assert Batch(first=3).by_name(parts) == Batch(first=3)
