"""What holds of marked stretches and of regions whatever is marked: alpha of two raters who mark the same, who mark
nothing, who miss a little.
"""

from __future__ import annotations

import copy
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector import QuestionRatings, assess
from connector.agreement.report import QuestionReport
from tests.unit.label_studio_files.tasks import annotation, table_of, task

Result = dict[str, Any]
Marked = list[list[Result]]
LENGTH = 1_000
SIDE = 1_000
KINDS = pytest.mark.parametrize("kind", ["spans", "regions"])
CONFIG = """
<View><{0} name="at" value="$text"/><{1} name="q" toName="at"><Label value="A"/><Label value="B"/></{1}></View>"""
CONTROLS = {"spans": ("Text", "Labels"), "regions": ("Image", "RectangleLabels")}


def stretch(start: int, length: int, label: str) -> Result:
    return {"type": "labels", "value": {"start": start, "end": start + length, "labels": [label]}}


def box(place: int, label: str, width: float = 4) -> Result:
    """One of 100 places of a grid, no two of which touch."""
    across, down = place % 10 * 10.0, place // 10 * 10.0
    value = {"x": across, "y": down, "width": width, "height": 5, "rotation": 0, "rectanglelabels": [label]}
    return {"type": "rectanglelabels", "original_width": SIDE, "original_height": SIDE, "value": value}


def marks(kind: str, labels: str = "AB") -> st.SearchStrategy[Result]:
    label = st.sampled_from(labels)
    if kind == "spans":
        return st.builds(stretch, st.integers(0, LENGTH - 60), st.integers(1, 50), label)
    return st.builds(box, st.integers(0, 99), label)


def several(kind: str) -> st.SearchStrategy[Marked]:
    """What one rater marked in each of several tasks, no mark twice in one."""
    one = st.lists(marks(kind), max_size=5, unique_by=repr)
    return st.lists(one, min_size=2, max_size=5).filter(lambda found: any(found) and found != [found[0]] * len(found))


def measured(kind: str, first: Marked, second: Marked) -> QuestionReport:
    tasks = [
        task(
            number,
            *(
                annotation(
                    10 * number + rater,
                    rater,
                    [{**one, "id": f"r{place}", "from_name": "q", "to_name": "at"} for place, one in enumerate(given)],
                )
                for rater, given in enumerate(pair, 1)
            ),
            data={"text": "x" * LENGTH},
        )
        for number, pair in enumerate(zip(first, second, strict=True), 1)
    ]
    question = table_of(tasks, CONFIG.format(*CONTROLS[kind])).questions["q"]
    ratings = QuestionRatings("q", kind, question.ratings, distance=question.question.distance)
    return assess(ratings, confidence=None, diagnose=False).questions["q"]


def agreements(report: QuestionReport) -> list[float | None]:
    """Of every task."""
    return [report.units[str(number)].agreement for number in range(1, report.n_units + 1)]


def alpha(report: QuestionReport) -> float:
    found = report.coefficients["krippendorff_alpha"]
    assert found.value is not None, found.reason
    return found.value


@KINDS
@settings(max_examples=50)
@given(data=st.data())
def test_the_same_marks_in_another_order_agree_wholly(kind: str, data: st.DataObject) -> None:
    first = data.draw(several(kind))
    second = [data.draw(st.permutations(copy.deepcopy(given))) for given in first]
    report = measured(kind, first, second)
    assert alpha(report) == pytest.approx(1)
    assert agreements(report) == [1] * len(first)


@KINDS
@settings(max_examples=50)
@given(data=st.data())
def test_who_marks_nothing_where_the_other_marks_lowers_it(kind: str, data: st.DataObject) -> None:
    first = data.draw(several(kind))
    place = data.draw(st.sampled_from([place for place, given in enumerate(first) if given]))
    second = [[] if number == place else given for number, given in enumerate(first)]
    for report in (measured(kind, first, second), measured(kind, second, first)):
        assert alpha(report) < 1 - 1e-6
        assert agreements(report) == [float(number != place) for number in range(len(first))]


@KINDS
@settings(max_examples=25)
@given(n=st.integers(4, 8), common=st.booleans(), seed=st.integers(0, 10_000))
def test_one_label_and_two_raters_who_nearly_agree(kind: str, n: int, common: bool, seed: int) -> None:
    """F1 is .95, and alpha hardly less: corrected for chance, but never near nothing."""
    random = Random(seed)  # drawn by itself: where all tasks were marked alike nothing would be left to agree on
    if kind == "spans":
        # twenty stretches, of two fifths of the text together or of one; the second misses a tenth of each
        length = 20 if common else 10
        starts = [[50 * step + random.randrange(10) for step in range(20)] for _ in range(n)]
        first, second = (
            [[stretch(at, long, "A") for at in row] for row in starts] for long in (length, length * 9 // 10)
        )
        observed = 20 * length / 10 / LENGTH
        marked, judged = n * 20 * length * 1.9, 2 * n * LENGTH
        expected = 2 * marked * (judged - marked) / (judged * (judged - 1))
    else:
        # ten of a hundred places, or of fifty; the second misses one
        places = [random.sample(range(50 if common else 100), 10) for _ in range(n)]
        first, second = [[[box(place, "A") for place in row[:size]] for row in places] for size in (10, 9)]
        observed = 1 / 19
        pool = [set(row[:size]) for row in places for size in (10, 9)]
        expected = float(np.mean([1 - 2 * len(a & b) / (len(a) + len(b)) for a, b in combinations(pool, 2)]))
    report = measured(kind, first, second)
    assert agreements(report) == [pytest.approx(18 / 19, abs=0.005)] * n
    assert alpha(report) == pytest.approx(1 - observed / expected)
    assert alpha(report) > 0.85
