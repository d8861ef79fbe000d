"""Shortcuts for many raters give what the long way gives: pairs of raters, and alpha without each of them."""

from __future__ import annotations

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, assess
from connector.agreement import raters
from connector.agreement.report import QuestionReport


def question(level: str, seed: int = 1, values: int = 5, distance: str | None = None) -> QuestionReport:
    """400 units, 2 to 5 of 30 raters on each."""
    random = np.random.default_rng(seed)
    rows = [
        (unit, rater, int(random.integers(values)) if random.random() < 0.4 else unit % values)
        for unit in range(400)
        for rater in random.choice(30, random.integers(2, 6), replace=False).tolist()
    ]
    units, who, said = ([row[place] for row in rows] for place in range(3))
    given = [("a", "b", f"c{one}") if one % 2 else (f"c{one}",) for one in said] if distance else [1 + v for v in said]
    ratings = Ratings.from_long(units, who, given)
    return assess(QuestionRatings("q", "x", ratings, level, distance), confidence=None).questions["q"]


@pytest.mark.parametrize(
    ("level", "distance", "values"),
    [
        ("nominal", None, 5),
        ("ordinal", None, 5),
        ("interval", None, 5),
        ("ratio", None, 5),
        ("interval", None, 300),
        ("ordinal", None, 300),
        ("nominal", "masi", 6),
    ],
)
def test_alpha_without_each_rater(level: str, distance: str | None, values: int) -> None:
    found = question(level, values=values, distance=distance).diagnosis
    assert found is not None
    data = found.data
    assert data.influence is not None
    answers = np.bincount(data.rows.rater, data.rows.weight, 30).astype(np.int64)
    by_hand = raters._read_again_without(data, data.influence, answers)
    assert len(by_hand) == 30
    shortcut = raters._alpha_without(data, answers)
    assert shortcut == pytest.approx(by_hand, abs=1e-11)
    assert {one.rater: one.alpha_without for one in found.raters} == pytest.approx(
        {data.ratings.rater_ids[rater]: alpha for rater, alpha in by_hand.items()}, abs=1e-11
    )


def test_pairs_of_raters_by_pairs_of_answers_and_by_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for multiplications, held in ((0, 250_000), (0, 7), (10**9, 250_000)):
        monkeypatch.setattr(raters, "PRODUCT", multiplications)
        monkeypatch.setattr(raters, "PAIRS", held)
        diagnosis = question("nominal").diagnosis
        assert diagnosis is not None
        found.append(sorted(diagnosis.rater_pairs, key=lambda pair: (pair.a, pair.b)))
    assert len(found[0]) > 400
    assert found[0] == found[1] == found[2]


def test_a_rater_without_whom_nothing_varies_or_no_pair_is_left() -> None:
    rows: list[list[str | None]] = [["x", "x", "y"], ["x", "x", "x"], ["x", "x", None]]
    for level in ("nominal", "ordinal", "interval", "ratio"):
        numbers = [[{"x": 1.0, "y": 2.0}.get(cell or "") for cell in row] for row in rows]
        ratings = Ratings.from_wide(numbers, rater_ids=["ann", "bob", "cy"])
        found = assess(QuestionRatings("q", "x", ratings, level), confidence=None).questions["q"].diagnosis
        assert found is not None
        without = {one.rater: one.alpha_without for one in found.raters}
        assert without["cy"] is None, "all others say the same"
        assert without["ann"] is not None
