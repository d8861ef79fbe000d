"""What is left of the pairwise scores of Label Studio's older open engine (label-studio-evalme): mixtures of several
controls, scores by label, and what it does otherwise or not at all.

Each is either ours, or what comes of our parts by a rule of the engine that the test names.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.distances import COMPARISONS
from connector.agreement.shapes import figures_of
from connector.annotations.collect import Table
from connector.annotations.kinds import KINDS
from connector.annotations.model import Unit
from connector.tools.label_studio.export import read_export
from tests.reference import test_evalme_choices, test_evalme_regions, test_evalme_spans
from tests.unit.label_studio_files.tasks import annotation, table_of, task, values

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "cases"
CASES = json.loads((HERE / "cases" / "evalme_further.json").read_text(encoding="utf-8"))["cases"]
TESTED = {**test_evalme_choices.KNOWN, **test_evalme_regions.KNOWN, **test_evalme_spans.KNOWN}
KNOWN = {**TESTED, **{one["id"]: one for one in CASES}}


def cases(*numbers: int | range) -> list[str]:
    each = [number for one in numbers for number in (one if isinstance(one, range) else [one])]
    return [f"evalme-{number:03}" for number in each]


GROUPS = {
    # the score of a case that another test has, whichever of the two is asked first, and under each label of it
    "the same again": [
        *cases(6, 17, 18, 20, 22, 24, 26, 28, 30, 32, 34, 121, 122, 123, 135, 138, 164, 166),
        *cases(*range(207, 210), *range(217, 220), *range(221, 224), *range(226, 237, 2)),
    ],
    "the weighted mean of the controls": cases(
        *(35, 36, range(41, 69), range(70, 103), range(104, 111), range(112, 119)),
        *(125, 126, 127, 129, 162),
    ),
    "a score under each label": cases(9, 10),
    "an answer about a region times the overlap": cases(38),
    "marks that touch are one": cases(39, 40, 132, 133),
    "region times label times text": cases(141, 142, 144, 145, 158),
    "a text without a region": cases(147),
    "region times label times text, by label": cases(143, 149, 151, 153, 155, 157, 159),
    "the order of the results": cases(14, 16),
    "two types under one name": cases(1, 2, 3, 4),
    "paths": cases(169, 170, 171, 172),
    "no offsets": cases(167, 168),
    "no label in common": cases(174, 175, 178, 179, 186, 187, 190, 191, 196, 197, 200, 201),
    "what lies below the branches": cases(184, 185),
    "mean IoU": cases(119),
    "no measure": cases(128, 161),
    "no answer at all": cases(130, 131),
}


def sides(case: str) -> list[list[dict[str, Any]]]:
    """What the first said and what the second said."""
    known = KNOWN[case]
    found = sides(known["input"]) if "input" in known else [known["x"], known["y"]]
    return found[::-1] if known.get("turned") else found


def table(case: str) -> Table:
    """The two answers as the only ones to a task, read as any others."""
    given = [
        [{"id": f"r{place}", "from_name": "q", "to_name": "text", **one} for place, one in enumerate(side)]
        for side in sides(case)
    ]
    made = (annotation(number, number, results) for number, results in enumerate(given, 1))
    return table_of([task(1, *made, data={"text": "x" * 400})])


def alike(case: str) -> dict[str, list[float]]:
    """By control how alike the two are in each unit that both rated: the task, or a region that both marked.

    Of marked stretches it is the intersection over the union, of regions F1, of all else 1 less the distance.
    """
    return {name: list(_alike(question)) for name, question in table(case).questions.items()}


def _alike(question: Any) -> Iterator[float]:
    ratings = question.ratings
    by_unit: dict[int, list[int]] = {}
    for unit, value in zip(ratings.units.tolist(), ratings.values.tolist(), strict=True):
        by_unit.setdefault(unit, []).append(value)
    for pair in by_unit.values():
        if len(pair) == 2:
            found = similarity(question.question.distance, *(ratings.codebook.categories[value] for value in pair))
            yield found / (2 - found) if question.question.kind == "spans" else found


def similarity(distance: str | None, a: Any, b: Any) -> float:
    if a == b or distance not in COMPARISONS:
        return float(a == b)
    return 1 - float(COMPARISONS[distance].pairs([a, b], np.array([0]), np.array([1]))[0])


def mean(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The engine's: nothing weighs nothing and is no agreement."""
    whole = sum(weights.get(name, 1) for name in scores)
    return sum(score * weights.get(name, 1) for name, score in scores.items()) / whole if whole else 0


def numbers(expected: Any) -> set[float]:
    """All scores that the engine gave."""
    if isinstance(expected, Mapping):
        return set(expected.values())
    return set().union(*map(numbers, expected)) if isinstance(expected, list) else {expected}


def test_every_case_of_the_engine_is_in_one_group_or_another_test() -> None:
    grouped = [case for group in GROUPS.values() for case in group]
    assert sorted([*grouped, *TESTED]) == cases(range(1, 238))
    assert sorted(grouped) == [one["id"] for one in CASES]
    # the other tests name every case of theirs, or take all of a kind
    for module in (test_evalme_regions, test_evalme_spans):
        assert set(re.findall(r"evalme-\d+", inspect.getsource(module))) == set(module.KNOWN)
    texts = [one["id"] for one in test_evalme_choices.CASES if one["function"] == "utils.texts_similarity"]
    of_choices = [*test_evalme_choices.CHOICES, *test_evalme_choices.TAXONOMIES, *texts]
    assert sorted(of_choices) == sorted(test_evalme_choices.KNOWN)


def of(group: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", GROUPS[group])


@of("the same again")
def test_a_case_again_turned_or_under_its_label(case: str) -> None:
    assert KNOWN[case]["input"] in TESTED
    assert numbers(KNOWN[case]["expected"]) == {TESTED[KNOWN[case]["input"]]["expected"]}


@of("the weighted mean of the controls")
def test_a_mixture_of_controls_is_their_weighted_mean(case: str) -> None:
    # an answer about a region that the other did not mark counts nothing there; we have no pair to compare
    scores = {name: sum(found) / len(found) if found else 0 for name, found in alike(case).items()}
    assert mean(scores, KNOWN[case].get("weights", {})) == pytest.approx(KNOWN[case]["expected"])


@of("a score under each label")
def test_each_label_of_equal_answers_has_the_score_of_the_whole(case: str) -> None:
    ((score,),) = alike(case).values()
    assert KNOWN[case]["expected"] == dict.fromkeys(sides(case)[0][0]["value"]["choices"], score)


@of("an answer about a region times the overlap")
def test_where_the_engine_is_wrong_an_answer_is_less_where_the_regions_differ(case: str) -> None:
    # whoever marks a little less has said the same of what was marked: ours is 1
    found = alike(case)
    assert found["choice"] == [1]
    (overlap,) = found["label"]
    assert mean({"label": overlap, "choice": overlap * 1}, {}) == pytest.approx(KNOWN[case]["expected"])


@of("marks that touch are one")
def test_where_the_engine_is_wrong_marks_that_touch_are_the_same(case: str) -> None:
    # under one of its flags a stretch counts whole however little of it is shared; ours counts what is shared, and
    # what was said of two stretches is compared where they share a half
    found = alike(case)
    (control,) = {"label", "labels"} & found.keys()
    (other,) = found.keys() - {control}
    assert 0 < found[control][0] < 1
    assert bool(found[other]) == (found[control][0] >= 0.5)
    said = ([_said(one["value"]) for one in side if one["from_name"] == other] for side in sides(case))
    score = float(np.mean([similarity("edit", *pair) for pair in zip(*said, strict=True)]))
    assert mean({control: 1, other: score}, KNOWN[case].get("weights", {})) == pytest.approx(KNOWN[case]["expected"])


def _said(value: Mapping[str, Any]) -> str:
    """The one label or text; a label stands beside the text that is marked."""
    (said,) = value.get("choices") or value["text"]
    return str(said)


@of("region times label times text")
def test_a_text_read_from_an_image_is_the_product_of_its_questions(case: str) -> None:
    found = alike(case)
    assert len(found) == 3
    product = np.prod([score for scores in found.values() for score in scores])
    assert product == pytest.approx(KNOWN[case]["expected"])


@of("a text without a region")
def test_where_the_engine_is_wrong_an_equal_text_of_the_whole_task_counts_nothing(case: str) -> None:
    # it looks for the region of each result; a text about the task has none, and halves the score
    assert alike(case) == {"bbox": [1], "label": [1], "transcription": [1], "transcription1": [1]}
    assert KNOWN[case]["expected"] == 0.5


@of("region times label times text, by label")
def test_what_one_marked_under_a_label_that_the_other_marked_too(case: str) -> None:
    found, given = table(case).questions, sides(case)
    scores, times = KNOWN[case]["expected"]
    regions = [question for question in found.values() if question.question.kind == "regions"]
    said = [scores for name, scores in alike(case).items() if found[name].question.kind == "text"]
    if not scores:
        assert 0 in [score for question in regions for score in _alike(question)], "no region of one is the other's"
    for label, score in scores.items():
        # of F1, twice those matched over all that both marked, the number of those matched
        with_label = [
            [sum(label in labels for _, _, labels, _ in answer) for answer in _answers(question)]
            for question in regions
        ]
        (n,) = (one for one in with_label if any(one))
        (question,) = (one for one, counts in zip(regions, with_label, strict=True) if any(counts))
        kept = [tuple(one for one in answer if label in one[2]) for answer in _answers(question)]
        matched = similarity(question.question.distance, *kept) * sum(n) / 2
        assert times[label] == n[1] == len([one for one in given[1] if label in str(one["value"])])
        assert score == pytest.approx(matched * (said[0][0] if said else 1))


def _answers(question: Any, raters: Sequence[str] = ("1", "2")) -> list[Any]:
    """What each of the raters said of the one task."""
    return [values(question)[question.ratings.unit_ids[0], rater] for rater in raters]


@of("the order of the results")
def test_where_the_engine_is_wrong_the_same_marks_in_another_order_are_none(case: str) -> None:
    # asked so it compares the first result with the first; which comes first says nothing about the video
    assert KNOWN[case]["expected"] == 0
    ((found,),) = alike(case).values()
    assert found == pytest.approx(1 if case == "evalme-014" else 11 / 13)


@of("two types under one name")
def test_results_of_two_types_are_no_answers_to_one_question(case: str) -> None:
    assert numbers(KNOWN[case]["expected"]) <= {0}
    (question,) = table(case).questions.values()
    assert question.left_out == {"unreadable": 1}
    assert list(_alike(question)) == []


@of("paths")
def test_where_the_engine_is_wrong_paths_tell_no_overlap(case: str) -> None:
    # LS-31 again: it compares offsets within a path whatever was marked there before
    assert KNOWN[case]["expected"] == 0.5
    (question,) = table(case).questions.values()
    assert question.mended == {"paths": 2}


@of("no offsets")
def test_a_mark_that_does_not_say_where_it_is_is_not_compared(case: str) -> None:
    assert KNOWN[case]["expected"] == 0
    assert table(case).questions == {}
    assert [(one.question, one.kind) for one in table(case).not_measured] == [("q", "hypertextlabels")]


@of("no label in common")
def test_by_label_the_engine_says_nothing_of_labels_that_are_not_in_both(case: str) -> None:
    assert KNOWN[case]["expected"] == {}
    paths = [{tuple(path) for one in side for path in one["value"]["taxonomy"]} for side in sides(case)]
    if case in cases(174, 175):
        # without the label config it gives nothing by label even of what both chose
        assert paths[0] & paths[1] == {("Bacteria",)}
        # MASI: a third is shared, and counts a third as neither holds the other
        assert alike(case) == {"taxonomy": [pytest.approx(1 / 9)]}
        return
    assert not paths[0] & paths[1]
    assert [score for scores in alike(case).values() for score in scores] in ([0], []), "empty is no rating"


@of("what lies below the branches")
def test_where_the_engine_is_wrong_a_branch_is_all_that_lies_below(case: str) -> None:
    # to it who chose A chose each leaf below, also those that the other did not open; ours compares what was chosen,
    # or with `by: prefix` gives credit for the branch
    a, b = ([tuple(path) for path in side[0]["value"]["taxonomy"]] for side in sides(case))
    branches, chosen = sorted((a, b), key=len)
    assert {path[0] for path in chosen} == {path[0] for path in branches}
    leaves = {path[-1] for path in chosen if path != ("A", "AA")} | {"AAB", "AAC"}
    assert KNOWN[case]["expected"] == dict.fromkeys(leaves, 1)
    assert [score for scores in alike(case).values() for score in scores] == [0]
    by_prefix = KINDS["paths"].readings["prefix"]
    prefixes = [by_prefix(tuple(sorted(one))) for one in (branches, chosen)]
    assert similarity("jaccard", *prefixes) == pytest.approx(3 / 9), "A, B and C of those and the six below"


@of("mean IoU")
def test_where_the_engine_weighs_each_box_by_how_much_of_it_is_shared(case: str) -> None:
    # it has no count of boxes that match; ours is F1 at half an overlap, and mean IoU stands beside it
    for one in json.loads((EXAMPLES / "evalme_bbox.json").read_text(encoding="utf-8")):
        boxes = table_of([one]).questions["label"]
        given = _answers(boxes, [str(made["completed_by"]["id"]) for made in one["annotations"]])
        found = [[None if a is b else _mean_iou(a, b) for b in given] for a in given]
        for mine, theirs in zip(found, KNOWN[case]["expected"][str(one["id"])], strict=True):
            assert mine == [None if score is None else pytest.approx(score) for score in theirs]


def _mean_iou(one: Any, other: Any) -> float:
    """The mean over one's boxes of the best overlap with one of the other's; whichever way round it is less."""
    ways = ([max(_iou(a, b) for b in theirs) for a in mine] for mine, theirs in ((one, other), (other, one)))
    return float(min(np.mean(best) for best in ways))


def _iou(a: Any, b: Any) -> float:
    mine, theirs = figures_of([a[0], b[0]], [a[1], b[1]])
    return float(mine.intersection(theirs).area / mine.union(theirs).area) if a[2] == b[2] else 0.0


def test_what_the_engine_has_no_measure_for_is_no_agreement_to_it() -> None:
    assert [KNOWN[case]["expected"] for case in GROUPS["no measure"]] == [0, 0]
    assert [(one.question, one.kind) for one in table("evalme-128").not_measured] == [("image", "no_control")]
    # the file of the other: three completions that were put together, whose choices it is not told how to compare
    first, _ = (unit for unit in read_export(EXAMPLES / "evalme_old_format.json") if isinstance(unit, Unit))
    assert [one.result[0]["type"] for one in first.annotations] == ["choices"] * 3


@of("no answer at all")
def test_a_value_without_a_type_is_no_answer(case: str) -> None:
    # its own tests of how it takes the largest of several numbers
    assert [list(one) for side in sides(case) for one in side] == [["value"], ["value"]]
    assert [sides(case)[0][0]["value"], KNOWN[case]["function"]] == [0, "EvalItem.max_score"]
    assert table(case).questions == {}
