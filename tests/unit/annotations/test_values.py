"""What a value is, kind by kind, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from connector.annotations.choices import as_choice, as_set, label, label_set
from connector.annotations.dates import date
from connector.annotations.kinds import KINDS
from connector.annotations.model import Missing
from connector.annotations.paths import as_paths, path_set
from connector.annotations.scalars import number

EMPTY, UNREADABLE = Missing("empty"), Missing("unreadable")
NAN = float("nan")
NOT_NUMBERS: list[Any] = [True, False, "n/a", NAN, "nan", "inf", float("-inf"), "1_0", 10**400, [4], {}]
NOT_LABELS: list[Any] = [[], {}, ["a"]]
NOT_DATES: list[Any] = ["02/01/1970", "1970-13-01", "25:00", True, 5, [], NAN, "x" * 10_000]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (4, 4.0),
        (4.0, 4.0),
        ("4", 4.0),
        (" 4 ", 4.0),
        ("-1.5e2", -150.0),
        (0, 0.0),
        (-0.0, 0.0),
        (None, EMPTY),
        ("", EMPTY),
        ("  ", EMPTY),
        *((bad, UNREADABLE) for bad in NOT_NUMBERS),
    ],
)
def test_numbers(raw: Any, value: Any) -> None:
    assert number(raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("a", "a"),
        (" a ", " a "),
        (1, "1"),
        (1.0, "1"),
        (1.5, "1.5"),
        (True, "true"),
        ("None", "None"),
        ("nan", "nan"),
        *((nothing, EMPTY) for nothing in (None, "", " ", NAN)),
        *((bad, UNREADABLE) for bad in NOT_LABELS),
    ],
)
def test_labels(raw: Any, value: Any) -> None:
    assert label(raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (["b", "a", "b"], ("a", "b")),
        (["a", None, ""], ("a",)),
        (["a,b"], ("a,b",)),
        ([1, "1"], ("1",)),
        ([], EMPTY),
        ([None], EMPTY),
        (["a", {}], UNREADABLE),
    ],
)
def test_sets(raw: Any, value: Any) -> None:
    assert label_set(raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ([["a", "b"], ["a"]], (("a",), ("a", "b"))),
        ([["a"], "a"], (("a",),)),
        ([["a/b"], ["a", "b"]], (("a", "b"), ("a/b",))),
        ([["a", None]], (("a",),)),
        ([], EMPTY),
        ([[]], EMPTY),
        ([[["a"]]], UNREADABLE),
    ],
)
def test_paths(raw: Any, value: Any) -> None:
    assert path_set(raw) == value


@pytest.mark.parametrize(
    ("raw", "written_as", "value"),
    [
        ("1970-01-01", None, 0.0),
        ("1970-01-01T00:00:01Z", None, 1.0),
        ("1970-01-01T00:00:01+00:01", None, -59.0),
        ("1970-01-01 00:01", None, 60.0),
        ("02/01/1970", "%d/%m/%Y", 86400.0),
        ("1970-01-02", "%d/%m/%Y", 86400.0),
        ("1970", None, 0.0),
        ("1970-02", None, 31 * 86400.0),
        (1970, None, 0.0),
        ("0:01", None, 60.0),
        ("23:59:59.5", None, 86399.5),
        ("", None, EMPTY),
        (None, None, EMPTY),
        *((bad, None, UNREADABLE) for bad in NOT_DATES),
    ],
)
def test_dates(raw: Any, written_as: str | None, value: Any) -> None:
    assert date(raw, written_as) == value


def test_a_loose_value_takes_its_kinds_form_or_is_unreadable() -> None:
    assert [as_choice(one) for one in ("a", ("a",), ("a", "b"), (), (("a",),))] == [
        "a",
        "a",
        UNREADABLE,
        UNREADABLE,
        UNREADABLE,
    ]
    assert [as_set(one) for one in ("a", ("a", "b"), (), (("a",),))] == [("a",), ("a", "b"), (), UNREADABLE]
    assert [as_paths(one) for one in ("a", ("a",), (("a", "b"),))] == [(("a",),), (("a",),), (("a", "b"),)]


def test_the_defaults_of_every_kind() -> None:
    assert {name: (kind.level, kind.distance) for name, kind in KINDS.items()} == {
        "choice": ("nominal", "nominal"),
        "choices": ("nominal", "masi"),
        "paths": ("nominal", "masi"),
        "pairwise": ("nominal", "nominal"),
        "rating": ("ordinal", "ordinal"),
        "number": ("interval", "interval"),
        "date": ("interval", "interval"),
        "text": ("nominal", "edit"),
        "ranking": ("nominal", "kendall"),
        "spans": ("nominal", "character"),
        "regions": ("nominal", "iou_50"),
        "relations": ("nominal", "masi_of_relations"),
    }
