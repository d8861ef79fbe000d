"""Questions that are asked of each region that a rater marked: the units are the regions of all raters, matched."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from connector.annotations.collect import CountingRules, QuestionChoice, QuestionTable, Table
from connector.config import Settings
from connector.workflow.fields import desired_fields
from connector.workflow.measure import report_on
from connector.workflow.review import review_items
from tests.unit.label_studio_files.tasks import CASES, alpha, annotation, choose, result, table_of, task, values

LABELS = '<Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'
TEXT = '<Text name="text" value="$text"/>'
TONE = '<Choices name="tone" toName="text" perRegion="true"><Choice value="good"/><Choice value="bad"/></Choices>'
SPANS = f"<View>{TEXT}{LABELS}{TONE}</View>"
IMAGE = '<Image name="image" value="$image"/>'
BOXES = f"""<View>{IMAGE}<RectangleLabels name="box" toName="image"><Label value="Car"/><Label value="Bus"/>
    </RectangleLabels><KeyPointLabels name="point" toName="image"><Label value="Eye"/></KeyPointLabels>
    <Rating name="sharp" toName="image" perRegion="true"/></View>"""
SETTINGS = Settings.model_validate({"tool": "label_studio", "url": "http://x", "api_key": "k", "project": 1})

Results = list[dict[str, Any]]


def span(ident: str, start: float, end: float, label: str = "PER") -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label]}
    return {"id": ident, "from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def about(region: dict[str, Any], name: str, kind: str, **value: Any) -> dict[str, Any]:
    """A result about a region, as the tool stores it: its id and its place beside the answer."""
    place = {key: one for key, one in region["value"].items() if not key.endswith("labels")}
    kept = {key: one for key, one in region.items() if key in ("id", "to_name", "item_index")}
    return {**kept, "from_name": name, "type": kind, "value": {**place, **value}}


def marked(*regions: tuple[float, float, str] | tuple[float, float, str, str], prefix: str = "r") -> Results:
    """Spans, each with its tone; "" for no answer."""
    made: Results = []
    for number, (start, end, tone, *label) in enumerate(regions):
        one = span(f"{prefix}{number}", start, end, *label)  # at most one
        made += [one, about(one, "tone", "choices", choices=[tone])] if tone else [one]
    return made


def box(ident: str, x: float, y: float, side: float = 10, label: str = "Car", **more: Any) -> dict[str, Any]:
    value = {"x": x, "y": y, "width": side, "height": side, "rotation": 0, "rectanglelabels": [label]}
    size = {"original_width": 100, "original_height": 100}
    return {
        "id": ident,
        "from_name": "box",
        "to_name": "image",
        "type": "rectanglelabels",
        "value": value,
        **size,
        **more,
    }


def read(*answers: Results, config: str | None = SPANS, name: str = "tone", **choice: Any) -> QuestionTable:
    """The question of one task with these answers, by raters 1, 2, ..."""
    return table(list(answers), config=config, **choice).questions[name]


def table(*tasks: list[Results], config: str | None = SPANS, **choice: Any) -> Table:
    made = [
        task(
            number,
            *(annotation(10 * number + rater, rater, results) for rater, results in enumerate(answers, 1)),
            data={"text": "x" * 40, "image": "i.png", "images": ["a", "b"], "url": "s.wav"},
        )
        for number, answers in enumerate(tasks, 1)
    ]
    return table_of(made, config, choices={"tone": QuestionChoice(**choice)} if choice else None)


ONE = marked((0, 4, "good"), (6, 10, "bad"), (12, 16, "good"))
TWO = marked((0, 4, "good"), (6, 11, "good"), (18, 20, "bad"), prefix="other")


@pytest.mark.parametrize("config", [SPANS, None])
def test_the_regions_of_two_raters_are_units_where_they_match(config: str | None) -> None:
    found = table([ONE, TWO], [marked((0, 4, "bad")), marked((1, 4, "bad"))], config=config).questions["tone"]
    assert values(found) == {
        ("1#1", "1"): "good",
        ("1#1", "2"): "good",
        ("1#2", "1"): "bad",  # 6-10 and 6-11 are alike by 4/5
        ("1#2", "2"): "good",
        ("1#3", "1"): "good",  # nobody else marked 12-16
        ("1#4", "2"): "bad",
        ("2#1", "1"): "bad",
        ("2#1", "2"): "bad",
    }
    # good 3, bad 3 among six pairable ratings: D = 2, P = 2 * 3 * 3, alpha = 1 - 5 * 2 / 18
    assert alpha(found) == pytest.approx(1 - 10 / 18)
    assert found.task_of == {"1#1": "1", "1#2": "1", "1#3": "1", "1#4": "1", "2#1": "2"}
    assert (found.question.kind, found.of_regions, found.left_out) == ("choice", True, {})


def test_labels_do_not_keep_regions_apart_but_decide_where_places_are_equal() -> None:
    one = marked((0, 4, "good", "PER"), (0, 4, "bad", "LOC"))
    other = marked((0, 4, "bad", "LOC"), (0, 4, "good", "PER"))
    assert alpha(read(one, other)) == 1
    assert values(read(marked((0, 4, "good", "PER")), marked((0, 4, "bad", "LOC")))) == {
        ("1#1", "1"): "good",
        ("1#1", "2"): "bad",
    }


@pytest.mark.parametrize(
    ("start", "end", "same"), [(0, 20, True), (5, 10, True), (0, 21, False), (6, 10, False), (5, 15, False)]
)
def test_half_of_what_both_cover_is_enough(start: int, end: int, same: bool) -> None:
    found = read(marked((0, 10, "good")), marked((start, end, "good")))
    assert len({unit for unit, _ in values(found)}) == (1 if same else 2)


def test_of_a_raters_overlapping_regions_the_one_most_alike_matches() -> None:
    found = read(marked((0, 10, "good"), (0, 8, "bad")), marked((0, 9, "good")), marked((0, 8, "bad")))
    # 0-8 is equal in two; 0-9 is alike 0-10 by .9 and 0-8 by 8/9
    assert values(found) == {
        ("1#1", "1"): "bad",
        ("1#1", "3"): "bad",
        ("1#2", "2"): "good",
        ("1#2", "1"): "good",
    }


def test_three_raters_meet_in_one_region() -> None:
    found = read(marked((0, 10, "good")), marked((0, 8, "good")), marked((2, 10, "bad")))
    assert len({unit for unit, _ in values(found)}) == 1
    assert alpha(found) == pytest.approx(0)  # D = 2, P = 2 * 2 * 1, n = 3


def test_nobody_is_twice_in_one_region_even_where_others_hang_together() -> None:
    # 0-10 and 4-14 of rater 1 both overlap 2-12 of rater 2 by 8/12
    found = read(marked((0, 10, "good"), (4, 14, "bad")), marked((2, 12, "good")))
    assert values(found) == {("1#1", "1"): "good", ("1#1", "2"): "good", ("1#2", "1"): "bad"}


def test_order_and_names_change_nothing() -> None:
    answers = [
        marked((0, 10, "good"), (4, 14, "bad"), (20, 30, "good", "LOC")),
        marked((2, 12, "good"), (21, 30, "bad")),
        marked((1, 11, "bad"), (4, 13, "bad"), (20, 29, "")),
    ]
    expected = grouped(read(*answers), {"1": "1", "2": "2", "3": "3"})
    shuffle = random.Random(2)
    for order in itertools.permutations(range(3)):
        mixed = [shuffle.sample(answers[place], len(answers[place])) for place in order]
        names = {str(rater): str(place + 1) for rater, place in enumerate(order, 1)}
        assert grouped(read(*mixed), names) == expected


def grouped(found: QuestionTable, names: dict[str, str]) -> dict[tuple[str, str], Any]:
    return {(unit, names[rater]): value for (unit, rater), value in values(found).items()}


def test_a_region_without_an_answer_is_a_region_all_the_same() -> None:
    found = read(marked((0, 4, "good"), (6, 10, "")), marked((0, 4, ""), (6, 10, "bad")), [])
    assert values(found) == {("1#1", "1"): "good", ("1#2", "2"): "bad"}
    # two annotations lack an answer about a region; the third was not asked about any
    assert found.left_out == {"empty": 2, "nothing_to_ask": 1}


def test_regions_in_which_nobody_answers_are_units_without_a_rating() -> None:
    found = table([marked((0, 4, "")), marked((0, 4, ""))]).questions["tone"]
    assert (list(found.ratings.unit_ids), found.ratings.n_ratings) == (["1#1"], 0)
    assert found.left_out == {"empty": 2}


def test_a_region_whose_answer_cannot_be_read_is_a_region_all_the_same() -> None:
    def rated(*stars: Any) -> Results:
        regions = [span(f"r{n}", start, start + 4) for n, start in enumerate((0, 10))]
        return [*regions, *(about(one, "q", "rating", rating=given) for one, given in zip(regions, stars, strict=True))]

    config = f'<View>{TEXT}{LABELS}<Rating name="q" toName="text" perRegion="true"/></View>'
    for of_config in (config, None):
        found = read(rated("many", 2), rated({}, 3), config=of_config, name="q")
        assert values(found) == {("1#2", "1"): 2.0, ("1#2", "2"): 3.0}
        assert found.left_out == {"unreadable": 2}
    both = [span("r0", 0, 4), about(span("r0", 0, 4), "tone", "choices", choices=["good", "bad"])]
    found = read([*both, *marked((10, 14, "good"), prefix="s")], config=SPANS)
    assert (values(found), found.left_out) == ({("1#2", "1"): "good"}, {"unreadable": 1})


def test_no_answer_can_mean_none_of_the_labels() -> None:
    config = SPANS.replace('name="tone"', 'name="tone" choice="multiple"')
    found = read(marked((0, 4, "good"), (6, 10, "")), marked((0, 4, "")), config=config, empty="none")
    assert values(found) == {("1#1", "1"): ("good",), ("1#1", "2"): (), ("1#2", "1"): ()}
    assert found.left_out == {}


@pytest.mark.parametrize("config", [SPANS, None])
def test_a_region_that_nothing_but_its_answer_tells_of(config: str | None) -> None:
    lone = about(span("r9", 6, 10), "tone", "choices", choices=["bad"])
    assert values(read([*marked((0, 4, "good")), lone], ONE, config=config))["1#2", "1"] == "bad"


@pytest.mark.parametrize("configured", [True, False])
def test_such_regions_of_a_page_are_told_by_their_paths(configured: bool) -> None:
    page = "<p>Ana</p><p>Ben and Tom</p>"
    config = """<View><HyperText name="text" value="$html"/><HyperTextLabels name="ner" toName="text"><Label value="A"/>
        </HyperTextLabels><Choices name="tone" toName="text" perRegion="true"><Choice value="good"/></Choices></View>"""

    def lone(path: str, end: int, **more: Any) -> Results:
        value = {"start": path, "end": path, "startOffset": 0, "endOffset": end, "choices": ["good"], **more}
        return [{"id": "a", "from_name": "tone", "to_name": "text", "type": "choices", "value": value}]

    answers = [lone("/p[1]/text()[1]", 3), lone("/p[2]/text()[1]", 3), lone("/p[1]/text()[1]", 3)]
    made = [task(1, *(annotation(n, n, one) for n, one in enumerate(answers, 1)), data={"html": page})]
    found = table_of(made, config if configured else None).questions["tone"]
    assert [unit for unit, _ in values(found)] == ["1#1", "1#1", "1#2"]


@pytest.mark.parametrize("value", [None, {}, "text", {"text": ["x"]}, {"start": "a", "end": None}, {"x": None}])
@pytest.mark.parametrize("kind", ["choices", "textarea"])
def test_hostile_results_about_regions_break_nothing(value: Any, kind: str) -> None:
    broken = {"id": "r0", "from_name": "tone", "to_name": "text", "type": kind, "value": value}
    unreadable = {
        "id": "r0",
        "from_name": "ner",
        "to_name": "text",
        "type": "labels",
        "value": {"start": "?", "end": 1},
    }
    relation = {"type": "relation", "from_id": "r0", "to_id": "r0", "direction": 3, "labels": {"a": 1}}
    pages = (
        SPANS.replace("Text name", "HyperText name")
        .replace("<Labels", "<HyperTextLabels")
        .replace("</Labels", "</HyperTextLabels")
    )
    for config in (SPANS, pages, None):
        found = table([[unreadable, broken, relation], marked((0, 4, "good"))], config=config)
        assert not found.malformed
        assert values(found.questions["tone"]).keys() <= {("1#1", "2")}


def test_an_answer_about_a_region_that_is_nowhere_is_unreadable() -> None:
    gone = {"id": "gone", "from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": ["bad"]}}
    found = read([*marked((0, 4, "good")), gone | {"item_index": 0}])
    assert values(found) == {("1#1", "1"): "good"}
    assert found.left_out == {"unreadable": 1}


def test_an_answer_of_a_control_about_regions_to_the_whole_task_is_unreadable() -> None:
    found = read(choose("good", name="tone"))
    assert found.left_out == {"unreadable": 1}
    assert found.ratings.n_ratings == 0


def test_a_region_marked_twice_has_one_answer() -> None:
    def twice(one: str, other: str) -> QuestionTable:
        return read(marked((0, 4, one), (0, 4, other)))

    assert list(values(twice("good", "")).values()) == list(values(twice("", "good")).values()) == ["good"]
    assert list(values(twice("good", "good")).values()) == ["good"]
    assert twice("good", "bad").left_out == twice("bad", "good").left_out == {"unreadable": 1}


def test_a_question_about_regions_beside_one_about_the_task() -> None:
    config = SPANS.replace(
        "</View>", '<Choices name="sent" toName="text"><Choice value="a"/><Choice value="b"/></Choices></View>'
    )
    found = table([[*ONE, *choose("a")], [*TWO, *choose("b")]], config=config)
    assert values(found.questions["sent"]) == {("1", "1"): "a", ("1", "2"): "b"}
    assert len(values(found.questions["tone"])) == 6
    assert len(values(found.questions["ner"])) == 2


class TestKinds:
    """The kind's own method over matched regions."""

    def read(self, control: str, kind: str, key: str, *answers: Any) -> QuestionTable:
        config = f'<View>{TEXT}{LABELS}<{control} name="q" toName="text" perRegion="true"/></View>'
        given = []
        for answer in answers:
            one = span("r", 0, 4)
            given.append([one, about(one, "q", kind, **{key: answer})])
        for of_config in (config, None):
            found = read(*given, config=of_config, name="q")
            assert found.of_regions
        return read(*given, config=config, name="q")

    def test_rating(self) -> None:
        found = self.read("Rating", "rating", "rating", 4, 5)
        assert (found.question.level, list(values(found).values())) == ("ordinal", [4.0, 5.0])

    def test_number(self) -> None:
        found = self.read("Number", "number", "number", 1, 2.5)
        assert (found.question.level, list(values(found).values())) == ("interval", [1.0, 2.5])

    def test_date(self) -> None:
        found = self.read("DateTime", "datetime", "datetime", "1970-01-02", "1970-01-01")
        assert list(values(found).values()) == [86400.0, 0.0]

    def test_text(self) -> None:
        found = self.read("TextArea", "textarea", "text", ["one ", "two"], ["one"])
        assert (found.question.kind, list(values(found).values())) == ("text", ["one\ntwo", "one"])
        assert not found.question.required

    def test_taxonomy(self) -> None:
        found = self.read("Taxonomy", "taxonomy", "taxonomy", [["A", "B"], ["C"]], [["C"]])
        assert (found.question.distance, list(values(found).values())) == ("masi", [(("A", "B"), ("C",)), (("C",),)])

    def test_a_taxonomy_that_labels_marks_the_regions_itself(self) -> None:
        config = f'<View>{TEXT}<Taxonomy name="q" toName="text" labeling="true"/></View>'
        answers = [
            [
                {
                    "id": "a",
                    "from_name": "q",
                    "to_name": "text",
                    "type": "taxonomy",
                    "value": {"start": 0, "end": end, "taxonomy": [["A"]]},
                }
            ]
            for end in (4, 5, 20)
        ]
        assert [unit for unit, _ in values(read(*answers, config=config, name="q"))] == ["1#1", "1#1", "1#2"]


class TestShapes:
    def read(self, *answers: Results) -> QuestionTable:
        return read(*answers, config=BOXES, name="sharp")

    def rated(self, *boxes: tuple[dict[str, Any], int]) -> Results:
        return [one for region, stars in boxes for one in (region, about(region, "sharp", "rating", rating=stars))]

    def test_boxes_match_by_their_areas(self) -> None:
        one = self.rated((box("a", 0, 0), 1), (box("b", 50, 50), 3))
        # 10 x 10 boxes: moved by 2, they share 80 of 120; by 4, 60 of 140
        other = self.rated((box("x", 54, 50), 5), (box("y", 0, 2), 2))
        assert values(self.read(one, other)) == {
            ("1#1", "1"): 1.0,
            ("1#1", "2"): 2.0,
            ("1#2", "1"): 3.0,
            ("1#3", "2"): 5.0,
        }

    def test_turned_boxes_and_polygons_too(self) -> None:
        turned = box("a", 10, 0)
        turned["value"]["rotation"] = 90  # about its corner: 0-10, 0-10
        assert (
            len({unit for unit, _ in values(self.read(self.rated((turned, 1)), self.rated((box("b", 0, 0), 1))))}) == 1
        )

    def test_key_points_match_by_distance(self) -> None:
        def point(x: float) -> Results:
            value = {"x": x, "y": 10, "width": 1, "keypointlabels": ["Eye"]}
            made = {"id": "p", "from_name": "point", "to_name": "image", "type": "keypointlabels", "value": value}
            return self.rated((made | {"original_width": 100, "original_height": 100}, 1))

        # half alike at 1% of the diagonal, 1.41
        assert len({unit for unit, _ in values(self.read(point(10), point(11.4)))}) == 1
        assert len({unit for unit, _ in values(self.read(point(10), point(11.5)))}) == 2

    def test_regions_of_two_images_are_two(self) -> None:
        one = self.rated((box("a", 0, 0, item_index=0), 1))
        other = self.rated((box("a", 0, 0, item_index=1), 1))
        assert list(values(self.read(one, other))) == [("1#1", "1"), ("1#2", "2")]

    def test_what_is_drawn_by_one_control_and_named_by_another_is_one_region(self) -> None:
        config = f"""<View>{IMAGE}<Rectangle name="rect" toName="image"/><Labels name="what" toName="image">
            <Label value="Car"/></Labels><Rating name="sharp" toName="image" perRegion="true"/></View>"""
        value = {key: one for key, one in box("a", 0, 0)["value"].items() if key != "rectanglelabels"}
        drawn = {"id": "a", "from_name": "rect", "to_name": "image", "type": "rectangle", "value": value}
        named = drawn | {"from_name": "what", "type": "labels", "value": {**value, "labels": ["Car"]}}
        results = [drawn, named, about(drawn, "sharp", "rating", rating=4)]
        for order in itertools.permutations(results):
            assert values(read(list(order), config=config, name="sharp")) == {("1#1", "1"): 4.0}


def test_stretches_of_a_time_line_match_in_seconds() -> None:
    config = SPANS.replace(TEXT, '<Audio name="text" value="$url"/>')
    one, other = marked((0.5, 2.5, "good"), (10.0, 10.2, "bad")), marked((0.6, 2.5, "bad"), (10.25, 10.4, "bad"))
    assert [unit for unit, _ in values(read(one, other, config=config))] == ["1#1", "1#1", "1#2", "1#3"]


class TestTracks:
    CONFIG = """<View><Video name="video" value="$url"/><VideoRectangle name="box" toName="video"/>
        <Labels name="what" toName="video"><Label value="Car"/></Labels>
        <Choices name="tone" toName="video" perRegion="true"><Choice value="good"/><Choice value="bad"/></Choices>
        </View>"""

    def track(self, first: int, last: int, x: float = 0) -> Results:
        box = {"x": x, "y": 0, "width": 10, "height": 10, "rotation": 0, "time": 0}
        sequence = [{**box, "frame": first, "enabled": True}, {**box, "frame": last, "enabled": False}]
        value = {"framesCount": 100, "duration": 4, "sequence": sequence, "labels": ["Car"]}
        made = {"id": "v", "from_name": "box", "to_name": "video", "type": "videorectangle", "value": value}
        return [made, {**made, "from_name": "tone", "type": "choices", "value": {**value, "choices": ["good"]}}]

    @pytest.mark.parametrize(
        ("first", "last", "x", "same"),
        [
            (1, 10, 0, True),
            (1, 20, 0, True),  # 10 of 20 frames
            (1, 21, 0, False),
            (6, 10, 0, True),
            (7, 10, 0, False),
            (1, 10, 2, True),  # 80 of 120 in each frame
            (1, 14, 2, False),  # 10 times 2/3 in 14 frames
            (11, 20, 0, False),
        ],
    )
    def test_tracks_match_over_all_their_frames(self, first: int, last: int, x: float, same: bool) -> None:
        found = read(self.track(1, 10), self.track(first, last, x), config=self.CONFIG)
        assert len({unit for unit, _ in values(found)}) == (1 if same else 2)


class TestConditions:
    CONFIG = f"""<View>{TEXT}{LABELS}{TONE}
        <View visibleWhen="region-selected" whenTagName="ner" whenLabelValue="PER">
        <Choices name="role" toName="text" perRegion="true"><Choice value="x"/><Choice value="y"/></Choices></View>
        <View visibleWhen="choice-selected" whenTagName="tone" whenChoiceValue="bad">
        <Choices name="why" toName="text" perRegion="true"><Choice value="x"/><Choice value="y"/></Choices></View>
        </View>"""

    def asked(self, label: str, tone: str, **answers: str) -> Table:
        one = span("r", 0, 4, label)
        tones = [about(one, "tone", "choices", choices=[tone])] if tone else []
        more = [about(one, name, "choices", choices=[given]) for name, given in answers.items()]
        return table([[one, *tones, *more]], config=self.CONFIG)

    def test_a_region_with_another_label_was_not_asked(self) -> None:
        assert self.asked("LOC", "good").questions["role"].left_out == {"not_shown": 1}
        assert self.asked("PER", "good").questions["role"].left_out == {"empty": 1}

    def test_an_answer_that_outlived_its_condition_is_dropped_and_counted(self) -> None:
        stale = self.asked("LOC", "good", role="x").questions["role"]
        assert (stale.left_out, stale.ratings.n_ratings) == ({"stale_child": 1}, 0)
        assert stale.question.conditional
        assert values(self.asked("PER", "good", role="x").questions["role"]) == {("1#1", "1"): "x"}

    def test_that_a_region_is_selected_is_no_condition_of_its_own(self) -> None:
        config = SPANS.replace(TONE, f'<View visibleWhen="region-selected">{TONE}</View>')
        assert not table([ONE], config=config).questions["tone"].question.conditional

    def test_the_same_regions_answer_is_what_a_condition_asks_for(self) -> None:
        assert self.asked("PER", "good", why="x").questions["why"].left_out == {"stale_child": 1}
        assert self.asked("PER", "bad", why="x").questions["why"].left_out == {}
        assert self.asked("PER", "bad").questions["why"].left_out == {"empty": 1}
        assert self.asked("PER", "").questions["why"].left_out == {"not_shown": 1}

    def test_each_region_by_itself(self) -> None:
        per, loc = span("a", 0, 4, "PER"), span("b", 6, 9, "LOC")
        results = [per, loc, *(about(one, "role", "choices", choices=["x"]) for one in (per, loc))]
        found = table([results], config=self.CONFIG).questions["role"]
        assert values(found) == {("1#1", "1"): "x"}
        assert found.left_out == {"stale_child": 1}


class TestWork:
    """Earlier work of a rater and gold answers are about the same regions."""

    def test_what_was_replaced_and_gold(self) -> None:
        early, late = "2024-03-01T09:00:00Z", "2024-03-01T10:00:00Z"
        first = annotation(1, 2, marked((0, 5, "good"), (20, 30, "bad")), updated_at=early)
        newer = annotation(2, 2, marked((0, 4, "bad")), updated_at=late)
        gold = annotation(3, 9, marked((1, 4, "good"), (10, 12, "bad")), ground_truth=True)
        rules = CountingRules(reviewers=frozenset({"9"}))
        found = table_of([task(1, first, newer, gold, data={"text": "x" * 40})], SPANS, rules).questions["tone"]
        assert values(found) == {("1#1", "2"): "bad"}
        assert found.replaced == [("1#1", "2", "good")]
        assert found.gold == {"1#1": "good"}


class TestPushed:
    def test_scores_and_reviews_go_by_task(self) -> None:
        found = table([ONE, TWO], [marked((0, 4, "bad"), (8, 9, "bad")), marked((1, 4, "bad"))], [[], []])
        report = report_on(found, SETTINGS, questions=["tone"])
        fields = desired_fields(report, prefix="iaa_", required_ratings=2, scores=True, majority=True)
        # 1#1 agrees, 1#2 does not, the others are of one rater
        assert fields["iaa_agreement"] == {"1": 0.5, "2": 1.0}
        assert fields["iaa_status"] == {"1": "conflict", "2": "agreed", "3": "unrated"}
        assert fields["iaa_raters"] == {"1": 2.0, "2": 2.0, "3": 0.0}
        (item,) = review_items(report, required_ratings=2, letters={}, existing=set(), names=None, limit=None)
        assert item.unit == "1"
        assert (item.votes["#2 Rater A"], item.votes["#2 Rater B"]) == ("bad", "good")


def test_answers_about_images_of_a_list_are_by_image() -> None:
    config = """<View><Image name="image" valueList="$images"/><Choices name="tone" toName="image" perItem="true">
        <Choice value="good"/><Choice value="bad"/></Choices></View>"""
    one = [result("tone", "choices", [label], item_index=place) for place, label in enumerate(["good", "bad"])]
    other = [result("tone", "choices", ["good"], item_index=1), result("tone", "choices", ["bad"])]
    for of_config in (config, None):
        found = read(one, other, config=of_config)
        assert values(found)["1#0", "1"] == "good"
        assert (values(found)["1#1", "1"], values(found)["1#1", "2"]) == ("bad", "good")
        assert found.left_out == {"unreadable": 1}
        assert not found.of_regions


def test_what_others_export_about_a_region_in_a_repeater() -> None:
    """Of the tool's own converter: a taxonomy about boxes on the pages of a document."""
    config = """<View><Repeater on="$images" indexFlag="{{idx}}">
        <Image name="page_{{idx}}" value="$images[{{idx}}].url"/>
        <RectangleLabels name="labels_{{idx}}" toName="page_{{idx}}"><Label value="Document Title"/></RectangleLabels>
        <Taxonomy name="categories_{{idx}}" toName="page_{{idx}}" perRegion="true">
        <Choice value="Archaea"/><Choice value="Bacteria"/></Taxonomy></Repeater></View>"""
    tasks = json.loads((CASES / "sdk" / "json_min_data_repeater.json").read_text())
    found = table_of(tasks, config)
    assert not found.not_measured
    assert values(found.questions["categories_{{idx}}"]) == {("86#1", "1"): (("Archaea",),)}
    assert {unit: len(value) for (unit, _), value in values(found.questions["labels_{{idx}}"]).items()} == {
        "86#0": 1,
        "86#1": 0,
        "86#2": 0,
    }
