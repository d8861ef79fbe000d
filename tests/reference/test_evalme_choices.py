"""The pairwise similarity of choices, taxonomies and texts beside what Label Studio's older open engine
(label-studio-evalme) gives. It is not corrected for chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.distances import COMPARISONS
from connector.annotations.choices import as_set
from connector.annotations.kinds import KINDS
from connector.annotations.model import Missing
from connector.annotations.paths import as_paths
from connector.tools.label_studio.kinds import read_labels

CASES = json.loads((Path(__file__).parent / "cases" / "evalme_choices.json").read_text(encoding="utf-8"))["cases"]
KNOWN = {one["id"]: one for one in CASES}
CHOICES = [one["id"] for one in CASES if "taxonomy" not in one["function"] and isinstance(one["x"], list)]
TAXONOMIES = [one["id"] for one in CASES if "taxonomy" in one["function"]]


def answer(results: list[dict[str, Any]], key: str) -> Any:
    return read_labels([one["value"][key] for one in results], paths=key == "taxonomy")


def similarity(distance: str, a: Any, b: Any) -> float:
    return 1 - float(COMPARISONS[distance].pairs([a, b], np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize("case", CHOICES)
def test_choices(case: str) -> None:
    known = KNOWN[case]
    controls = [{one.get("from_name") for one in known[side]} for side in ("x", "y")]
    values = [answer(known[side], "choices") for side in ("x", "y")]
    if controls[0] != controls[1]:
        assert known["expected"] == 0, "it scores answers to two questions; they are no answers to one"
        return
    kind = as_paths if any(isinstance(one, tuple) and isinstance(one[0], tuple) for one in values) else as_set
    a, b = (kind(one) for one in values)
    assert isinstance(a, tuple)
    assert isinstance(b, tuple)
    assert (a == b) == (known["expected"] == 1)
    assert known["expected"] in (0, 1)
    if not {step for path in a for step in path} & {step for path in b for step in path}:
        assert similarity("masi", a, b) == similarity("jaccard", a, b) == 0


def mirrored(known: dict[str, Any]) -> list[Any]:
    """What the engine gives for the same two answers the other way round."""
    return [
        one["expected"]
        for one in CASES
        if (one["x"], one["y"], one["function"]) == (known["y"], known["x"], known["function"])
    ]


@pytest.mark.parametrize("case", TAXONOMIES)
def test_taxonomies(case: str) -> None:
    known = KNOWN[case]
    a, b = (answer(known[side], "taxonomy") for side in ("x", "y"))
    if isinstance(a, Missing) or isinstance(b, Missing):
        return  # an empty answer is no rating, and not a score of 0 or 1
    a, b = as_paths(a), as_paths(b)
    by_prefix = KINDS["paths"].readings["prefix"]
    ours = {similarity("jaccard", a, b), similarity("jaccard", by_prefix(a), by_prefix(b))}
    assert ours == {similarity("jaccard", b, a), similarity("jaccard", by_prefix(b), by_prefix(a))}
    if known["expected"] in (0, 1) and mirrored(known) == [known["expected"]]:
        assert known["expected"] in ours
    else:
        # who is asked first changes its score; a distance is the same both ways, and credit for a shared branch partial
        assert 0 <= min(ours) <= max(ours) < 1


def test_texts() -> None:
    (known,) = [one for one in CASES if one["function"] == "utils.texts_similarity"]
    assert similarity("edit", known["x"], known["y"]) == pytest.approx(known["expected"])
