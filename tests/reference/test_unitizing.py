"""Unitized alpha against the worked examples of the books it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from connector.agreement.continua import Documents, Marks
from connector.agreement.patterns import fold
from connector.agreement.ratings import Ratings
from connector.agreement.unitizing import Unitizing, case_of
from connector.agreement.unitizing_2004 import Unitized, alpha_u_2004
from tests.reference.support import records

# Krippendorff, Mathet, Bouvry and Widloecher 2016 and Krippendorff 2019, fig. 12.11, as first and last position of each
# unit; the transcription and the rounded values are quallmer's (quallmer/quallmer, test-alpha-u.R)
ALEX = [(1, 7, "1"), (8, 13, "2"), (31, 32, "5"), (33, 37, "6"), (38, 44, "6"), (45, 60, "7")]
PAUL = [(1, 7, "1"), (8, 13, "3"), (14, 21, "5"), (33, 44, "6")]
SUZAN = [(1, 7, "1"), (8, 13, "4"), (14, 21, "5"), (33, 37, "6"), (38, 41, "6"), (42, 44, "6")]

# Krippendorff 2004, p. 254, as begin, length and label of each unit of a continuum from 150 to 450; the transcription
# is DKPro Statistics' (Krippendorff2004Test)
OBSERVER_I = [(225, 70, "c"), (370, 30, "c"), (180, 60, "k"), (300, 50, "k")]
OBSERVER_J = [(220, 80, "c"), (355, 20, "c"), (400, 20, "c"), (180, 60, "k"), (300, 50, "k")]


def documents(*raters: Any) -> Documents:
    """One document with the answer of each rater."""
    answers = list(dict.fromkeys(raters))
    ratings = Ratings.from_codes(
        [0] * len(raters), range(len(raters)), [answers.index(one) for one in raters], categories=answers
    )
    return Documents(fold(ratings).pairable, Marks.of(answers))


def inclusive(units: list[tuple[int, int, str]], length: int) -> Any:
    return length, tuple((first - 1, last, (label,)) for first, last, label in units)


def by_length(units: list[tuple[int, int, str]], begin: int, length: int) -> Any:
    return length, tuple(sorted((at - begin, at - begin + size, (label,)) for at, size, label in units))


def of_book() -> Unitizing:
    return Unitizing(documents(*(inclusive(one, 60) for one in (ALEX, PAUL, SUZAN))))


@pytest.mark.parametrize(("name", "published"), [("unitized", 0.510), ("marked", 0.413), ("coding", 0.724)])
def test_the_family_of_2016(name: str, published: float) -> None:
    assert case_of(getattr(of_book(), name)).found.value == pytest.approx(published, abs=7e-4)


def test_the_family_of_2016_by_value() -> None:
    found = {one.label: one for one in of_book().labels}
    assert {label: one.coding for label, one in found.items()} == {
        **dict.fromkeys("156", pytest.approx(1.0)),
        **dict.fromkeys("234", pytest.approx(0.0)),
        "7": None,
    }
    assert found["5"].coverage == pytest.approx(8 / 18)
    assert found["7"].coverage == 0


def of_2004(*raters: Any) -> Unitized:
    found = alpha_u_2004(documents(*raters))
    assert found is not None
    return found


def test_unitized_alpha_of_2004() -> None:
    found = of_2004(*(by_length(units, 150, 300) for units in (OBSERVER_I, OBSERVER_J)))
    c, k = found.by_label["c"], found.by_label["k"]
    assert (c.observed, c.expected, c.value) == pytest.approx((0.0144, 0.0532, 0.7286), abs=1e-4)
    assert (k.observed, k.expected, k.value) == pytest.approx((0.0, 0.0490, 1.0), abs=1e-4)
    assert found.alpha.value == pytest.approx(0.8591, abs=5e-4)


UNITIZING = [one for one in records("reference.json") if one.get("level") == "unitizing"]


@pytest.mark.parametrize("record", UNITIZING, ids=[one["name"] for one in UNITIZING])
def test_unitized_alpha_of_2004_as_other_programs_give_it(record: dict[str, Any]) -> None:
    """Each unit as begin, length, rater and label; the raters of the toy hardly meet."""
    raters: dict[int, list[tuple[int, int, str]]] = {}
    for begin, length, rater, label in record["data"]:
        raters.setdefault(rater, []).append((begin, length, label))
    found = of_2004(*(by_length(units, 0, record["length"]) for units in raters.values()))
    expected = {name: (one["value"], one["tolerance"]) for name, one in record["expected"].items()}
    assert set(expected) <= {f"alpha_u[{label}]" for label in found.by_label}
    for name, (value, tolerance) in expected.items():
        label = name.removeprefix("alpha_u[").removesuffix("]")
        assert found.by_label[label].value == pytest.approx(value, abs=tolerance, rel=0)
    if len(found.by_label) == 1:
        assert found.alpha.value == pytest.approx(found.by_label[label].value)


def test_several_documents_of_2004_are_one_continuum_with_cuts() -> None:
    answers = [by_length(units, 150, 300) for units in (OBSERVER_I, OBSERVER_J)]
    twice = Ratings.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1], categories=answers)
    found = alpha_u_2004(Documents(fold(twice).pairable, Marks.of(answers)))
    once = of_2004(*answers)
    assert found is not None
    assert found.alpha.observed is not None
    assert once.alpha.observed is not None
    assert found.alpha.observed == pytest.approx(once.alpha.observed / 2), (
        "twice the sum, over twice the length squared"
    )


def test_unitized_alpha_of_2004_needs_one_number_of_raters() -> None:
    answers = [by_length(units, 150, 300) for units in (OBSERVER_I, OBSERVER_J)]
    ragged = Ratings.from_codes([0, 0, 1, 1, 1], [0, 1, 0, 1, 2], [0, 1, 0, 1, 1], categories=answers)
    assert alpha_u_2004(Documents(fold(ragged).pairable, Marks.of(answers))) is None
