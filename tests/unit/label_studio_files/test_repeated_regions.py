"""Regions and conditions in a Repeater: every item of the task's list is a unit with its own set of regions."""

from __future__ import annotations

from typing import Any

import pytest

from connector.annotations.collect import QuestionTable, Table
from tests.unit.label_studio_files.tasks import alpha, annotation, choose, table_of, task, values

BOXES = """<View><Repeater on="$pages" indexFlag="{{idx}}"><Image name="page_{{idx}}" value="$pages[{{idx}}].url"/>
    <RectangleLabels name="box_{{idx}}" toName="page_{{idx}}"><Label value="Car"/><Label value="Bus"/></RectangleLabels>
    <Rating name="sharp_{{idx}}" toName="page_{{idx}}" perRegion="true"/></Repeater></View>"""
PAGES = {"pages": [{"url": "a.png"}, {"url": "b.png"}]}

Results = list[dict[str, Any]]


def box(page: int, x: float, label: str = "Car", stars: int | None = None, ident: str = "r") -> Results:
    value = {"x": x, "y": 0, "width": 10, "height": 10, "rotation": 0}
    made = {"id": f"{ident}{page}{x}", "to_name": f"page_{page}", "original_width": 100, "original_height": 100}
    drawn = {
        **made,
        "from_name": f"box_{page}",
        "type": "rectanglelabels",
        "value": {**value, "rectanglelabels": [label]},
    }
    rated = {**made, "from_name": f"sharp_{page}", "type": "rating", "value": {**value, "rating": stars}}
    return [drawn] if stars is None else [drawn, rated]


def table(config: str, data: dict[str, Any], *answers: Results) -> Table:
    return table_of([task(1, *(annotation(n, n, one) for n, one in enumerate(answers, 1)), data=data)], config)


class TestBoxes:
    def read(self, *answers: Results, data: dict[str, Any] = PAGES) -> QuestionTable:
        return table(BOXES, data, *answers).questions["box_{{idx}}"]

    def test_every_image_is_a_unit(self) -> None:
        found = self.read([*box(0, 0), *box(1, 50)], [*box(0, 0, "Bus"), *box(1, 50)])
        sets = {unit: len(value) for unit, value in values(found).items()}
        assert sets == {("1#0", "1"): 1, ("1#0", "2"): 1, ("1#1", "1"): 1, ("1#1", "2"): 1}
        # 1 - F1: 1 on the first page, 0 on the second; by chance 1 for all pairs but one of twelve times two
        assert alpha(found) == pytest.approx(1 - (2 / 4) / (10 / 12))
        assert found.question.categories == ("Car", "Bus")
        assert found.task_of == {"1#0": "1", "1#1": "1"}
        assert not found.of_regions

    def test_an_image_on_which_a_rater_marked_nothing_is_an_empty_answer(self) -> None:
        found = self.read(box(0, 0), [])
        assert {unit: len(value) for unit, value in values(found).items()} == {
            ("1#0", "1"): 1,
            ("1#0", "2"): 0,
            ("1#1", "1"): 0,
            ("1#1", "2"): 0,
        }
        assert found.left_out == {}

    def test_without_the_list_what_was_marked_is_all_there_is(self) -> None:
        assert list(values(self.read(box(1, 0), [], data={"pages": "gone"}))) == [("1#1", "1")]

    def test_that_nobody_marked_anything_says_nothing_of_items_that_are_not_known(self) -> None:
        found = self.read([], [], data={})
        assert (found.ratings.n_ratings, found.left_out) == (0, {"empty": 2})

    def test_what_was_mended_is_counted_over_all_items(self) -> None:
        found = self.read([*box(0, 95), *box(1, 95), *box(1, 95, ident="again")])
        assert found.mended == {"clipped": 3, "repeated": 1}

    def test_a_question_about_the_boxes_of_all_images(self) -> None:
        found = table(BOXES, PAGES, [*box(0, 0, stars=1), *box(1, 0, stars=2)], [*box(1, 1, stars=3), *box(0, 40)])
        sharp = found.questions["sharp_{{idx}}"]
        assert values(sharp) == {("1#1", "1"): 1.0, ("1#3", "1"): 2.0, ("1#3", "2"): 3.0}
        assert list(sharp.ratings.unit_ids) == ["1#1", "1#2", "1#3"]
        assert sharp.left_out == {"empty": 1}


def test_texts_of_a_list_are_read_against_their_own_text() -> None:
    config = """<View><Repeater on="$turns" indexFlag="{{i}}"><Text name="t_{{i}}" value="$turns[{{i}}].said"/>
        <Labels name="ner_{{i}}" toName="t_{{i}}"><Label value="PER"/></Labels></Repeater></View>"""
    mark = {"id": "r", "from_name": "ner_1", "to_name": "t_1", "type": "labels"}
    marked = [mark | {"value": {"start": 0, "end": 4, "labels": ["PER"]}}]
    data = {"turns": [{"said": "Hello there"}, {"said": "Ana says"}]}
    found = table(config, data, marked).questions["ner_{{i}}"]
    assert values(found) == {("1#0", "1"): (11, ()), ("1#1", "1"): (8, ((0, 3, ("PER",)),))}
    assert found.mended == {"trimmed": 1}


def test_lists_in_lists() -> None:
    config = """<View><Repeater on="$pages" indexFlag="{{p}}"><Repeater on="$pages[{{p}}].images" indexFlag="{{i}}">
        <Image name="image_{{p}}_{{i}}" value="$pages[{{p}}].images[{{i}}]"/>
        <Rectangle name="box_{{p}}_{{i}}" toName="image_{{p}}_{{i}}"/></Repeater></Repeater></View>"""
    data = {"pages": [{"images": ["a"]}, {"images": ["b", "c"]}, {}]}
    found = table(config, data, []).questions["box_{{p}}_{{i}}"]
    assert list(values(found)) == [("1#0.0", "1"), ("1#1.0", "1"), ("1#1.1", "1")]


class TestConditions:
    """`whenTagName="c_{{idx}}"` is the item's own control."""

    CONFIG = """<View><Choices name="all" toName="t_0"><Choice value="Yes"/><Choice value="No"/></Choices>
        <Repeater on="$x" indexFlag="{{idx}}"><Text name="t_{{idx}}" value="$x[{{idx}}]"/>
        <Choices name="c_{{idx}}" toName="t_{{idx}}"><Choice value="Yes"/><Choice value="No"/></Choices>
        <View visibleWhen="choice-selected" whenTagName="WHEN" whenChoiceValue="Yes">
        <Choices name="why_{{idx}}" toName="t_{{idx}}"><Choice value="a"/><Choice value="b"/></Choices>
        <Labels name="ner_{{idx}}" toName="t_{{idx}}"><Label value="PER"/></Labels></View></Repeater></View>"""

    def read(self, *results: Results, when: str = "c_{{idx}}", name: str = "why_{{idx}}") -> QuestionTable:
        found = table(
            self.CONFIG.replace("WHEN", when), {"x": ["one", "two"]}, [one for part in results for one in part]
        )
        return found.questions[name]

    def test_each_item_by_its_own_control(self) -> None:
        found = self.read(
            choose("Yes", name="c_0"), choose("No", name="c_1"), choose("a", name="why_0"), choose("b", name="why_1")
        )
        assert values(found) == {("1#0", "1"): "a"}
        assert found.left_out == {"stale_child": 1}
        assert found.question.conditional

    def test_not_shown_for_any_item(self) -> None:
        assert self.read(choose("No", name="c_0")).left_out == {"not_shown": 1}

    def test_a_control_of_the_whole_task(self) -> None:
        both = choose("a", name="why_0"), choose("b", name="why_1")
        assert len(values(self.read(choose("Yes", name="all"), *both, when="all"))) == 2
        assert self.read(choose("No", name="all"), *both, when="all").left_out == {"stale_child": 1}

    def test_an_item_that_was_not_shown_is_no_empty_set(self) -> None:
        found = self.read(choose("Yes", name="c_1"), name="ner_{{idx}}")
        assert values(found) == {("1#1", "1"): (3, ())}
