"""Marks that cannot be used, numbers of no world, and what raters' annotations tell differently of one task."""

from __future__ import annotations

import itertools
import json
import math
import random
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.report import QuestionRatings, assess
from connector.annotations.collect import QuestionTable
from connector.annotations.spans import FARTHEST
from connector.cli import run
from connector.tools.label_studio.pictures import MOST_PIXELS
from connector.tools.label_studio.regions import mask_runs
from tests.unit.label_studio_files.tasks import annotation, table_of, task, values

LABELS = '<Label value="Car"/>'
IMAGE = '<Image name="image" value="$image"/>'
CONFIGS = {
    "rectanglelabels": f'<View>{IMAGE}<RectangleLabels name="q" toName="image">{LABELS}</RectangleLabels></View>',
    "labels": f'<View><Labels name="q" toName="text">{LABELS}</Labels><Text name="text" value="$text"/></View>',
    "sound": f'<View><Labels name="q" toName="text">{LABELS}</Labels><Audio name="text" value="$url"/></View>',
    "timelinelabels": (
        f'<View><TimelineLabels name="q" toName="text">{LABELS}</TimelineLabels>'
        '<Video name="text" value="$url"/></View>'
    ),
    "brushlabels": f'<View>{IMAGE}<BrushLabels name="q" toName="image">{LABELS}</BrushLabels></View>',
}
ELSEWHERE = {"text": "/data/text.txt", "image": "/data/a.png", "url": "/data/a.wav"}
HUGE = [2**63, 2**64, -(2**63), 10**400, 1e200, 1e308]


def result(kind: str, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "r", "from_name": "q", "to_name": "text", "type": kind, "value": {kind: ["Car"], **value}, **more}


def box(x: Any = 10, width: Any = 20, **more: Any) -> dict[str, Any]:
    value = {"x": x, "y": 10, "width": width, "height": 20, "rotation": more.pop("rotation", 0)}
    page = {"pageIndex": more.pop("pageIndex")} if "pageIndex" in more else {}
    return result("rectanglelabels", {**value, **page}, **{"original_width": 200, "original_height": 100, **more})


def span(start: Any, end: Any, **more: Any) -> dict[str, Any]:
    return result("labels", {"start": start, "end": end}, **more)


def tasks_of(*answers: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Tasks of so many raters each."""
    return [
        task(place, *(annotation(10 * place + n, n, one) for n, one in enumerate(given)), data=ELSEWHERE)
        for place, given in enumerate(answers, 1)
    ]


def question(config: str | None, *answers: list[list[dict[str, Any]]]) -> QuestionTable:
    return table_of(tasks_of(*answers), config).questions["q"]


def alpha(found: QuestionTable) -> float | None:
    asked = QuestionRatings("q", found.question.kind, found.ratings, distance=found.question.distance)
    return assess(asked, confidence=None).questions["q"].coefficients["krippendorff_alpha"].value


UNUSABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "no coordinates": ("rectanglelabels", {"x": None, "y": 1, "width": 5, "height": 5}),
    "coordinates beyond all": ("rectanglelabels", {"x": 1e308, "y": 1, "width": 5, "height": 5}),
    "outside": ("rectanglelabels", {"x": 150, "y": 10, "width": 5, "height": 5}),
    "far outside": ("rectanglelabels", {"x": 1000, "y": 10, "width": 5, "height": 5}),
    "flat": ("rectanglelabels", {"x": 10, "y": 10, "width": 0, "height": 5}),
    "no corners": ("polygonlabels", {"points": []}),
    "a broken mask": ("brushlabels", {"rle": [1, 2, 3]}),
    "no bytes": ("brushlabels", {"rle": 10**10}),
    "a broken picture": ("bitmasklabels", {"imageDataURL": "data:image/png;base64,AAAA"}),
    "no points": ("vectorlabels", {"vertices": []}),
    "no key frames": ("videorectangle", {"sequence": []}),
    "no offsets": ("labels", {"start": None, "end": None}),
    "no extent": ("labels", {"start": 3, "end": 3}),
    "turned round": ("labels", {"start": 5, "end": 3}),
    "no ranges": ("timelinelabels", {"ranges": []}),
    "ranges that are none": ("timelinelabels", {"ranges": [None, {"start": 0, "end": 0}]}),
}
USABLE: dict[str, Callable[[int], dict[str, Any]]] = {
    "labels": lambda at: span(at, at + 3),
    "timelinelabels": lambda at: result("timelinelabels", {"ranges": [{"start": at + 1, "end": at + 3}]}),
}


def _box_of(kind: str) -> Callable[[int], dict[str, Any]]:
    return lambda at: {**box(at), "type": kind}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_who_marked_nothing_that_can_be_used_has_not_said_that_there_is_nothing(fault: str) -> None:
    kind, value = UNUSABLE[fault]
    usable = USABLE.get(kind, _box_of(kind))
    bad = result(kind, value)
    apart = [[[usable(10)], [usable(50)]]] * 10
    broken = [[[bad], [bad]]] * 10 + [[[bad], []]] * 10
    alone, with_broken = question(None, *apart), question(None, *apart, *broken)
    assert with_broken.left_out == {"unreadable": 30}
    assert sum(with_broken.mended.values()) >= 30
    # ten empty answers are left, each alone on its task
    assert with_broken.ratings.n_ratings == 30
    assert alpha(with_broken) == alpha(alone)
    if kind not in USABLE:
        assert alpha(alone) == pytest.approx(1 - 1 / (2 * 10 * 10 / (20 * 19)))


@pytest.mark.parametrize("fault", UNUSABLE)
def test_beside_a_mark_that_can_be_used_it_is_left_out(fault: str) -> None:
    kind, value = UNUSABLE[fault]
    usable = USABLE.get(kind, _box_of(kind))(10)
    found = question(None, [[usable, result(kind, value)], [usable], []])
    assert found.left_out == {}
    mine, same, nothing = (values(found)["1", str(rater)] for rater in range(3))
    assert mine == same
    assert nothing in ((), (mine[0], ()))


NOWHERE_AT_ALL = {
    "no value": {**box(), "value": None},
    "an empty value": {**box(), "value": {}},
    "a label alone": result("rectanglelabels", {}),
    "no value of a span": {**span(0, 3), "value": None},
    "a label alone of a span": result("labels", {}),
}


@pytest.mark.parametrize("with_config", [True, False])
@pytest.mark.parametrize("fault", NOWHERE_AT_ALL)
def test_a_mark_without_a_place_is_not_nothing_either(fault: str, with_config: bool) -> None:
    bad = NOWHERE_AT_ALL[fault]
    good = box() if bad["type"] == "rectanglelabels" else span(0, 3)
    found = question(CONFIGS[bad["type"]] if with_config else None, [[bad], [bad], []], [[good], [good, bad], []])
    assert found.left_out == {"unreadable": 2}
    assert len(values(found)) == 4
    assert values(found)["2", "0"] == values(found)["2", "1"]


def test_in_a_repeater_too() -> None:
    config = (
        '<View><Repeater on="$pages"><Image name="image_{{idx}}" value="$pages[{{idx}}].url"/>'
        f'<RectangleLabels name="q_{{{{idx}}}}" toName="image_{{{{idx}}}}">{LABELS}</RectangleLabels></Repeater></View>'
    )
    bad, good = result("rectanglelabels", {}) | {"from_name": "q_0"}, box() | {"from_name": "q_1"}
    made = task(1, *(annotation(n, n, [bad, good]) for n in (1, 2)), data={"pages": [{"url": "a"}, {"url": "b"}]})
    (found,) = table_of([made], config).questions.values()
    assert {unit for unit, _ in values(found)} == {"1#1"}
    assert found.left_out == {"unreadable": 2}


@pytest.mark.parametrize("rotation", [0, 30])
@pytest.mark.parametrize("place", ["item_index", "pageIndex"])
def test_boxes_of_different_pages_are_others_whichever_way_they_stand(place: str, rotation: int) -> None:
    def on(page: int) -> list[dict[str, Any]]:
        return [box(rotation=rotation, **{place: page})]

    found = question(None, [on(1), on(2)], [on(1), on(1)], [[], []])
    # of six answers three, one and two are equal: 1 - (1 / 3) / (22 / 30)
    assert alpha(found) == pytest.approx(6 / 11)
    assert {one[0][3] for one in values(found).values() if one} == {1, 2}


@pytest.mark.parametrize("place", ["item_index", "pageIndex"])
@pytest.mark.parametrize("beyond", HUGE)
def test_a_page_that_cannot_be_is_no_page(place: str, beyond: Any) -> None:
    found = question(None, [[box(**{place: beyond})], [box()]])
    assert (found.left_out, found.mended) == ({"unreadable": 1}, {"invalid": 1})


def test_the_size_that_most_annotations_tell_holds_for_all_in_any_order() -> None:
    small, large = {"original_width": 200, "original_height": 100}, {"original_width": 1000, "original_height": 100}
    few = [box(10 * place, 5, **large) for place in range(5)]
    given = [few, [box(**small)], [box(**small)], [box(rotation=30, **small)]]
    seen = set()
    for order in itertools.permutations(given):
        found = question(CONFIGS["rectanglelabels"], list(order))
        assert found.mended == {"sizes_differ": 1}
        seen.add(frozenset(values(found).values()))
    assert len(seen) == 1
    (answers,) = seen
    assert (("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car",), 0),) in answers


def test_of_sizes_told_as_often_the_largest_holds() -> None:
    one, other = box(original_width=400, original_height=100), box(original_width=100, original_height=900)
    for order in ([one, other], [other, one]):
        found = question(None, [[each] for each in order])
        assert set(values(found).values()) == {(("rectangle", (40.0, 10.0, 80.0, 20.0, 0.0), ("Car",), 0),)}


def test_sizes_are_told_apart_by_image() -> None:
    one, other = box(item_index=0), box(item_index=1, original_width=400)
    found = question(None, [[one, other], [other, one]])
    assert found.mended == {}
    assert [geometry[0] for _, geometry, _, _ in values(found)["1", "0"]] == [20.0, 40.0]


@pytest.mark.parametrize("beyond", [*HUGE, 10.5])
@pytest.mark.parametrize("side", ["original_width", "original_height"])
def test_a_size_that_cannot_be_is_not_taken_and_counted(side: str, beyond: Any) -> None:
    found = question(None, [[box(**{side: beyond})]])
    assert found.mended == {"sizes_invalid": 1}
    assert values(found)["1", "0"] == (("rectangle", (10.0, 10.0, 20.0, 20.0, 0.0), ("Car",), 0),)
    another = question(None, [[box(**{side: beyond})], [box()]])
    assert set(values(another).values()) == {(("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car",), 0),)}


BEYOND: dict[str, Callable[[Any], tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]] = {
    "width": lambda n: ("rectanglelabels", [box(original_width=n)], [box(30, original_height=n)]),
    "turned": lambda n: ("rectanglelabels", [box(original_width=n, rotation=10)], [box(rotation=11)]),
    "coordinate": lambda n: ("rectanglelabels", [box(n)], [box(10, n)]),
    "image": lambda n: ("rectanglelabels", [box(item_index=n)], [box(pageIndex=n)]),
    "span's end": lambda n: ("labels", [span(0, n)], [span(n, n)]),
    "second": lambda n: ("sound", [span(0.5, n)], [span(0.5, 3.5)]),
    "length": lambda n: ("sound", [span(0.5, 1.5, original_length=n)], [span(0.5, 3.5)]),
    "range": lambda n: ("timelinelabels", [result("timelinelabels", {"ranges": [{"start": 1, "end": n}]})], []),
    "frames": lambda n: (
        "timelinelabels",
        [result("timelinelabels", {"ranges": [{"start": 1, "end": 4}], "framesCount": n})],
        [result("timelinelabels", {"ranges": [{"start": n, "end": n}]})],
    ),
    "track": lambda n: (
        "rectanglelabels",
        [{**box(), "value": {"sequence": [{"frame": 1, **box()["value"]}], "framesCount": n}}],
        [{**box(), "value": {"sequence": [{"frame": n, **box()["value"]}, {"frame": 2, "x": n}]}}],
    ),
    "mask": lambda n: (
        "brushlabels",
        [result("brushlabels", {"rle": [1] * 9}, original_width=n, original_height=n)],
        [],
    ),
}


@pytest.mark.parametrize("number", [2**62, 2**62 + 1, 2**63, 10**18, 10**400, -(10**400), 1e200, 1e308])
@pytest.mark.parametrize("where", BEYOND)
def test_no_number_breaks_a_report_or_makes_one_that_is_none(
    where: str, number: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, one, other = BEYOND[where](number)
    plain = other or one
    (tmp_path / "export.json").write_text(json.dumps(tasks_of([one, other], [one, one], [plain, []])))
    (tmp_path / "config.xml").write_text(CONFIGS[kind])
    for arguments in ([], ["--label-config", str(tmp_path / "config.xml")]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            code = run(["agreement", str(tmp_path / "export.json"), *arguments, "--format", "json"])
        assert code == 0
        body = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        coefficients = body["questions"]["q"]["coefficients"].values()
        assert all(each["value"] is None or math.isfinite(each["value"]) for each in coefficients)


@pytest.mark.parametrize("beyond", HUGE)
def test_lengths_that_cannot_be_are_counted(beyond: Any) -> None:
    sound = question(CONFIGS["sound"], [[span(0.5, 1.5, original_length=beyond)], [span(0.5, 3.5)]])
    assert sound.mended == {"length_invalid": 1, "length_unknown": 2}
    assert {length for length, _ in values(sound).values()} == {3.5}
    frames = [{"start": 1, "end": 4}]
    video = question(None, [[result("timelinelabels", {"ranges": frames, "framesCount": beyond})]])
    assert video.mended == {"length_invalid": 1, "length_unknown": 1}


def test_the_farthest_number_is_one() -> None:
    found = question(CONFIGS["labels"], [[span(FARTHEST - 5, FARTHEST)], [span(0, FARTHEST + 1)]])
    assert list(values(found).values()) == [(FARTHEST, ((FARTHEST - 5, FARTHEST, ("Car",)),))]
    assert found.left_out == {"unreadable": 1}


# Pages


def path(start: int, end: int, text: str | None = None, offsets: tuple[int, int] | None = None) -> dict[str, Any]:
    node = "/p[1]/text()[1]"
    more: dict[str, Any] = {} if text is None else {"text": text}
    if offsets is not None:
        more["globalOffsets"] = {"start": offsets[0], "end": offsets[1]}
    place = {"start": node, "startOffset": start, "end": node, "endOffset": end}
    return result("hypertextlabels", {**place, **more})


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ([(0, 3, "Ana", (0, 3)), (0, 3, "Ana", (5, 9)), (0, 3, "Ana", (5, 9))], (5, 9)),
        ([(0, 3, "Ana", (0, 3)), (0, 3, "Ana", (5, 9)), (0, 3, None, None)], (0, 3)),
        ([(0, 3, "Ana", None), (0, 3, "Ana knows Ben", None), (0, 3, "Ana", None)], (0, 3)),
        ([(0, 3, "Ana", None), (0, 3, "Ana knows Ben", None), (0, 3, None, None)], (0, 13)),
    ],
)
def test_a_path_of_which_raters_tell_different_things_is_one_place_in_any_order(given: Any, taken: Any) -> None:
    for order in itertools.permutations(given):
        found = question(None, [[path(*one)] for one in order])
        assert {value[1] for value in values(found).values()} == {((*taken, ("Car",)),)}
        assert found.mended["paths_differ"] == 1


def test_marks_with_offsets_and_no_paths_are_each_their_own() -> None:
    marks = [
        result("hypertextlabels", {"globalOffsets": {"start": start, "end": start + 3}, "text": "Ana"})
        for start in (0, 5)
    ]
    found = question(None, [marks, marks[:1]])
    assert values(found)["1", "0"] == (8, ((0, 3, ("Car",)), (5, 8, ("Car",))))
    assert values(found)["1", "1"] == (8, ((0, 3, ("Car",)),))


@pytest.mark.parametrize("digits", ["9" * 5000, "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT TWO}"])
def test_no_number_in_a_path_breaks_its_order(digits: str) -> None:
    marks = [path(0, 3, "Ana"), path(4, 9, "knows")]
    marks[0]["value"]["start"] = f"/p[{digits}]/text()[1]"
    assert len(values(question(None, [marks, marks]))["1", "0"][1]) == 2


# Masks


def packed(values_: list[int], cuts: list[int], *, word: int = 8) -> list[int]:
    """Values of four channels packed in pieces of these lengths, those of one value alone as a run of it."""
    bits = f"{len(values_):032b}{word - 1:05b}" + "".join(f"{one - 1:04b}" for one in (4, 8, 12, 16))
    place = 0
    for length in cuts:
        piece = values_[place : place + length]
        same = len(set(piece)) == 1
        which = next(k for k, size in enumerate((4, 8, 12, 16)) if length <= 2**size)
        bits += f"{same:b}{which:02b}{length - 1:0{(4, 8, 12, 16)[which]}b}"
        bits += "".join(f"{one:0{word}b}" for one in (piece[:1] if same else piece))
        place += length
    bits += "0" * (-len(bits) % 8)
    return [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]


@pytest.mark.parametrize("word", [1, 5, 8, 16])
def test_the_mask_is_the_last_channel_wherever_runs_begin_and_end(word: int) -> None:
    rng = random.Random(word)
    for _ in range(60):
        width, height = rng.randint(1, 9), rng.randint(1, 9)
        given: list[int] = []
        cuts: list[int] = []
        while len(given) < 4 * width * height:
            length = min(rng.choice([1, 2, 3, 4, 5, 7, 30]), 4 * width * height - len(given))
            one = rng.randrange(2**word)
            given += [one] * length if rng.random() < 0.5 else [rng.choice([0, one]) for _ in range(length)]
            cuts.append(length)
        runs = mask_runs(packed(given, cuts, word=word), width, height)
        assert runs is not None
        assert np.repeat(np.arange(len(runs)) % 2, runs).tolist() == [int(one > 0) for one in given[3::4]]
        assert all(runs[1:])


def full(pixels: int) -> list[int]:
    """A mask of all of them, in runs as long as they can be."""
    head = f"{4 * pixels:032b}{7:05b}" + "".join(f"{one - 1:04b}" for one in (4, 8, 12, 16))
    runs, rest = divmod(4 * pixels, 2**16)
    bits = head + f"111{2**16 - 1:016b}{255:08b}" * runs + (f"111{rest - 1:016b}{255:08b}" if rest else "")
    return [int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8)]


def test_a_large_mask_takes_no_memory_of_its_pixels_and_a_larger_one_is_none() -> None:
    side = math.isqrt(MOST_PIXELS)
    large, larger = full(side * side), full(side * (side + 1))
    tracemalloc.start()
    assert mask_runs(large, side, side) == [0, side * side]
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert mask_runs(full(side), side, 1) == [0, side]
    assert mask_runs(larger, side, side + 1) is None
    drawn = result("brushlabels", {"rle": larger}, original_width=side, original_height=side + 1)
    assert question(None, [[drawn]]).mended == {"invalid": 1}
