"""Unitized alpha against the worked examples of the books it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from connector.agreement.continua import Documents, Marks
from connector.agreement.patterns import fold
from connector.agreement.ratings import Ratings
from connector.agreement.unitizing import Unitizing, case_of
from connector.agreement.unitizing_2004 import Unitized, alpha_u_2004

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


def test_unitized_alpha_of_2004_where_raters_hardly_meet() -> None:
    # DKPro Statistics, UnitizingAgreementTest: a continuum of 10
    one, other = [(1, 8, "A")], [(2, 1, "A"), (4, 1, "A"), (6, 1, "A")]
    assert of_2004(by_length(one, 0, 10), by_length(other, 0, 10)).alpha.value == pytest.approx(-0.7003, abs=1e-4)


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
