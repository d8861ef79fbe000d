"""The pairwise similarity of spans beside what Label Studio's older open engine (label-studio-evalme) gives.

Its measure is the intersection over the union of positions; ours, F1 over them, is the same told otherwise:
F1 / (2 - F1).
Neither is corrected for chance.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.spans import CHARACTER
from connector.agreement.unitizing import Unitizing
from connector.annotations.model import Annotation, Unit
from connector.annotations.spans import SPANS
from connector.tools.label_studio.spans import SpanReader
from tests.reference.test_unitizing import documents

CASES = json.loads((Path(__file__).parent / "cases" / "evalme_spans.json").read_text(encoding="utf-8"))["cases"]
KNOWN = {one["id"]: one for one in CASES}


def answers(case: str, by: str | None = None) -> tuple[list[Any], Counter[str]]:
    """Both raters' answers."""
    given = [[{**result, "from_name": "q"} for result in KNOWN[case][side]] for side in ("x", "y")]
    unit = Unit("1", [Annotation(str(place), str(place), results) for place, results in enumerate(given)])
    reader = SpanReader("q")
    values = [reader.read(results, unit) for results in given]
    read = SPANS.readings[by] if by else lambda value: value[:2]
    return [read(value) for value in values], reader.notes


def overlap(case: str, by: str | None = None) -> float:
    """Intersection over union of (position, label)."""
    found, _ = answers(case, by)
    f1 = 1 - float(CHARACTER.pairs(found, np.array([0]), np.array([1]))[0])
    return f1 / (2 - f1)


@pytest.mark.parametrize("case", ["evalme-013", "evalme-025", "evalme-037", "evalme-163", "evalme-216", "evalme-220"])
def test_the_overlap_of_marks_is_the_same(case: str) -> None:
    assert overlap(case) == pytest.approx(KNOWN[case]["expected"])


def test_marks_that_are_equal_as_a_whole_are_as_many() -> None:
    found, _ = answers("evalme-015")
    assert float(Unitizing(documents(*found)).exact.evaluate(np.ones((1, 1)))[0]) == KNOWN["evalme-015"]["expected"]
    assert overlap("evalme-015") == pytest.approx(11 / 13), "two of the frames are one rater's alone, of 13"


def test_blanks_at_the_edges_are_no_disagreement() -> None:
    assert overlap("evalme-206", "untrimmed") == pytest.approx(KNOWN["evalme-206"]["expected"])
    assert overlap("evalme-206") == pytest.approx(142 / 154), "143 of 154, and the last of the 143 is a blank"


def test_where_the_engine_is_wrong_labels_are_the_same_under_their_older_key() -> None:
    # LS-33: it compares value.htmllabels of one with value.hypertextlabels of the other, and finds nothing alike
    assert KNOWN["evalme-120"]["expected"] == 0
    assert overlap("evalme-120", "untrimmed") == pytest.approx(143 / 154)


def test_where_the_engine_is_wrong_paths_tell_no_overlap() -> None:
    # LS-31: a path and the offset in it depend on what was highlighted before, so that half an overlap means nothing
    assert KNOWN["evalme-165"]["expected"] == 0.5
    assert overlap("evalme-165") == 0
    assert answers("evalme-165")[1]["paths"] == 2
