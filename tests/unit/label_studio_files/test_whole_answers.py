"""Free text, rankings, choices that each task brings along, and controls that a Repeater makes, as Label Studio stores
them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from connector.agreement.report import QuestionRatings, assess
from connector.annotations.collect import QuestionChoice, Table
from connector.config import Settings
from connector.workflow.fields import desired_fields
from connector.workflow.measure import measure, report_on
from connector.workflow.review import review_items
from tests.unit.label_studio_files.tasks import (
    CASES,
    alpha,
    annotation,
    choose,
    report,
    result,
    table_of,
    task,
    values,
)

TEXT = '<Text name="text" value="$text"/>'
SHAPES = {one["example"]: one for one in json.loads((CASES / "shapes.json").read_text())["shapes"]}


def rank(value: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"id": "r", "from_name": "rank", "to_name": "list", "type": "ranker", "value": {"ranker": value}, **more}]


RANKER = '<View><List name="list" value="$items"/><Ranker name="rank" toName="list"/></View>'
BUCKETS = """<View><List name="list" value="$items"/><Ranker name="rank" toName="list">
    <Bucket name="good"/><Bucket name="bad"/></Ranker></View>"""


class TestText:
    @pytest.mark.parametrize("config", [None, f'<View>{TEXT}<TextArea name="q" toName="text"/></View>'])
    def test_texts_of_one_answer_are_joined_in_their_order(self, config: str | None) -> None:
        given = [["one ", "two"], "one", ["two", "one"], [""], None, {"a": 1}]
        annotations = [annotation(n, n, [result("q", "textarea", raw)]) for n, raw in enumerate(given, 1)]
        question = table_of([task(1, *annotations)], config).questions["q"]
        assert list(values(question).values()) == ["one\ntwo", "one", "two\none"]
        assert question.left_out == {"empty": 2, "unreadable": 1}
        assert (question.question.kind, question.question.required) == ("text", False)

    def test_several_results_of_one_control_are_one_answer(self) -> None:
        results = [result("q", "textarea", ["one"]), result("q", "textarea", ["two"])]
        question = table_of([task(1, annotation(1, 2, results))]).questions["q"]
        assert list(values(question).values()) == ["one\ntwo"]

    def test_a_text_about_a_region_is_not_one_about_the_task(self) -> None:
        region: dict[str, Any] = {"id": "a", "from_name": "ner", "to_name": "text", "type": "labels"}
        region["value"] = {"start": 0, "end": 1, "labels": ["X"]}
        note: dict[str, Any] = {"id": "a", "from_name": "note", "to_name": "text", "type": "textarea"}
        note["value"] = {"start": 0, "end": 1, "text": ["about it"]}
        table = table_of([task(1, annotation(1, 2, [region, note]))])
        assert values(table.questions["note"]) == {("1#1", "2"): "about it"}


class TestRanker:
    @pytest.mark.parametrize("config", [None, RANKER])
    @pytest.mark.parametrize("stored", [["b", "a", 3], {"rank": ["b", "a", 3]}])
    def test_an_order_of_items(self, config: str | None, stored: Any) -> None:
        question = table_of([task(1, annotation(1, 2, rank(stored)))], config).questions["rank"]
        assert question.question.kind == "ranking"
        assert list(values(question).values()) == [(("3", 3.0), ("a", 2.0), ("b", 1.0))]

    def test_buckets_come_in_the_order_of_the_config_and_what_was_left_comes_last(self) -> None:
        stored = {"_": ["z"], "bad": ["b", "a"], "good": ["c"]}
        configured, inferred = (
            table_of([task(1, annotation(1, 2, rank(stored)))], config).questions["rank"] for config in (BUCKETS, None)
        )
        assert list(values(configured).values()) == [(("a", 2.0), ("b", 2.0), ("c", 1.0), ("z", 3.0))]
        # without the config they come as they are stored
        assert list(values(inferred).values()) == [(("a", 1.0), ("b", 1.0), ("c", 2.0), ("z", 3.0))]

    @pytest.mark.parametrize("stored", [["a", "a"], {"x": 1}, 3, "a", [["a"]], None])
    def test_what_is_no_ranking_is_unreadable(self, stored: Any) -> None:
        question = table_of([task(1, annotation(1, 2, rank(stored)))], RANKER).questions["rank"]
        assert question.left_out == {"unreadable": 1}

    def test_an_empty_list_is_empty(self) -> None:
        assert table_of([task(1, annotation(1, 2, rank({"rank": []})))], RANKER).questions["rank"].left_out == {
            "empty": 1
        }

    @pytest.mark.parametrize(("example", "kind"), [("ranker", "ranking"), ("ranker_buckets", "ranking")])
    @pytest.mark.parametrize("configured", [True, False])
    def test_the_tools_own_examples(self, example: str, kind: str, configured: bool) -> None:
        shape = SHAPES[example]
        table = table_of([task(1, annotation(1, 2, shape["result"]))], shape["config"] if configured else None)
        question = table.questions["rank"]
        assert (question.question.kind, question.ratings.n_ratings) == (kind, 1)


@pytest.mark.parametrize(
    ("example", "name", "value"),
    [
        ("transcribe_audio", "answer", "Mario"),
        ("dialogue_analysis", "answer", "5/5"),
        ("classification_mixed", "txt", "Hello\nWorld"),
    ],
)
@pytest.mark.parametrize("configured", [True, False])
def test_the_tools_own_examples_of_text(example: str, name: str, value: str, configured: bool) -> None:
    shape = SHAPES[example]
    table = table_of([task(1, annotation(1, 2, shape["result"]))], shape["config"] if configured else None)
    assert list(values(table.questions[name]).values()) == [value]


class TestChoicesOfTheTask:
    CONFIG = f'<View>{TEXT}<Choices name="sent" toName="text" value="$options"/></View>'

    def tasks(self, *rows: tuple[list[Any], list[str]]) -> list[dict[str, Any]]:
        return [
            task(
                n,
                *(annotation(10 * n + rater, rater, choose(label)) for rater, label in enumerate(labels, 1)),
                data={"options": options},
            )
            for n, (options, labels) in enumerate(rows, 1)
        ]

    def test_what_all_tasks_bring_along_is_what_is_declared(self) -> None:
        options = [{"value": "a"}, {"value": "b", "alias": "B"}, "c"]
        table = table_of(self.tasks((options, ["a", "B"]), (options, ["a", "a"])), self.CONFIG)
        question = table.questions["sent"]
        assert question.question.categories == ("a", "B", "c")
        assert list(question.ratings.codebook.categories) == ["a", "B", "c"]

    def test_choices_that_differ_are_compared_by_position_where_that_is_asked_for(self) -> None:
        tasks = self.tasks((["x", "y"], ["x", "x"]), (["u", "v"], ["v", "u"]), (["u", "y"], ["gone", "y"]))
        assert "`by: position`" in table_of(tasks, self.CONFIG).not_measured[0].reason
        table = table_of(tasks, self.CONFIG, choices={"sent": QuestionChoice(by="position")})
        assert not table.not_measured
        question = table.questions["sent"]
        assert list(values(question).values()) == ["1", "1", "2", "1", "2"]
        assert question.left_out == {"unreadable": 1}
        assert alpha(question) is not None

    def test_choices_that_all_tasks_share_have_positions_too(self) -> None:
        tasks = self.tasks((["x", "y", "z"], ["x", "z"]), (["x", "y", "z"], ["y", "y"]))
        question = table_of(tasks, self.CONFIG, choices={"sent": QuestionChoice(by="position")}).questions["sent"]
        assert list(values(question).values()) == ["1", "3", "2", "2"]
        assert list(question.ratings.codebook.categories) == ["1", "2", "3"]

    def test_several_choices_by_position(self) -> None:
        config = self.CONFIG.replace('value="$options"', 'value="$options" choice="multiple"')
        tasks = [
            task(1, annotation(1, 2, choose("y", "x")), data={"options": ["x", "y"]}),
            task(2, annotation(2, 2, choose("u")), data={"options": ["w", "u"]}),
        ]
        question = table_of(tasks, config, choices={"sent": QuestionChoice(by="position")}).questions["sent"]
        assert list(values(question).values()) == [("1", "2"), ("2",)]
        assert question.question.kind == "choices"

    def test_a_choice_of_the_task_is_what_a_condition_asks_for(self) -> None:
        child = """<View visibleWhen="choice-selected" whenTagName="sent" whenChoiceValue="x">
            <Choices name="why" toName="text"><Choice value="p"/><Choice value="q"/></Choices></View>"""
        config = self.CONFIG.replace("</View>", f"{child}</View>")
        results = [choose("x") + choose("p", name="why"), choose("y") + choose("p", name="why")]
        tasks = [task(1, *(annotation(n, n, one) for n, one in enumerate(results, 1)), data={"options": ["x", "y"]})]
        question = table_of(tasks, config).questions["why"]
        assert list(values(question)) == [("1", "1")]
        assert question.left_out == {"stale_child": 1}


REPEATER = f"""<View>{TEXT}<Repeater on="$parts" indexFlag="{{{{idx}}}}">
    <Text name="t_{{{{idx}}}}" value="$parts[{{{{idx}}}}]"/>
    <Choices name="q_{{{{idx}}}}" toName="t_{{{{idx}}}}"><Choice value="yes"/><Choice value="no"/></Choices>
    </Repeater></View>"""


class TestRepeater:
    def table(self, *tasks: list[list[str]]) -> Table:
        """One list of raters per task, of each the answers to its items."""
        made = [
            task(
                n,
                *(
                    annotation(
                        10 * n + rater,
                        rater,
                        [one for k, label in enumerate(given) for one in choose(label, name=f"q_{k}")],
                    )
                    for rater, given in enumerate(raters, 1)
                ),
            )
            for n, raters in enumerate(tasks, 1)
        ]
        return table_of(made, REPEATER)

    def test_the_items_of_a_task_are_units_of_one_question(self) -> None:
        tasks, expected = report("LS-43")
        table = table_of(tasks, REPEATER)
        assert list(table.questions) == expected["controls"]
        question = table.questions["q_{{idx}}"]
        assert len(question.ratings.unit_ids) == expected["units"]
        assert question.task_of == {"1#0": "1", "1#1": "1"}
        assert alpha(question) == pytest.approx(expected["alpha_nominal"])
        assert question.question.categories == ("yes", "no")

    def test_items_sort_as_numbers_and_a_task_that_nobody_rated_is_a_unit_of_its_own(self) -> None:
        labels = ["yes"] * 11
        table = self.table([labels], [])
        assert list(table.questions["q_{{idx}}"].ratings.unit_ids) == [*(f"1#{k}" for k in range(11)), "2"]
        assert table.unit_ids == ["1", "2"]

    def test_what_is_pushed_and_gated_are_tasks(self) -> None:
        table = self.table([["yes", "no"], ["yes", "yes"]], [["no"], ["no"]], [["yes"]])
        settings = Settings.model_validate({"tool": "label_studio", "url": "http://x", "api_key": "k", "project": 1})
        report_ = report_on(table, settings)
        fields = desired_fields(report_, prefix="iaa_", required_ratings=2, scores=True, majority=True)
        assert fields["iaa_status"] == {"1": "conflict", "2": "agreed", "3": "single"}
        assert fields["iaa_agreement"] == {"1": 0.5, "2": 1.0}
        assert fields["iaa_raters"] == {"1": 2.0, "2": 2.0, "3": 1.0}
        assert "iaa_majority" not in fields
        decided = measure(table, settings, batch=["1", "2", "3", "4"]).decision.questions["q_{{idx}}"]
        assert "1 of the named units is not there: 4." in " ".join(decided.messages)

    def test_a_conflict_about_an_item_makes_one_review_task_with_every_vote(self) -> None:
        table = self.table([["yes", "no"], ["yes", "yes"]])
        settings = Settings.model_validate({"tool": "label_studio", "url": "http://x", "api_key": "k", "project": 1})
        (item,) = review_items(
            report_on(table, settings), required_ratings=2, letters={}, existing=set(), names=None, limit=None
        )
        assert item.unit == "1"
        assert item.votes == {
            "#0 Rater A": "yes",
            "#0 Rater B": "yes",
            "#1 Rater A": "no",
            "#1 Rater B": "yes",
        }

    def test_gold_and_repeats_go_by_item(self) -> None:
        first = annotation(
            1, 2, choose("yes", name="q_0") + choose("no", name="q_1"), updated_at="2024-03-01T09:00:00Z"
        )
        newer = annotation(2, 2, choose("no", name="q_0"), ground_truth=True)
        question = table_of([task(1, first, newer)], REPEATER).questions["q_{{idx}}"]
        assert values(question) == {("1#0", "2"): "no"}
        assert question.gold == {"1#0": "no"}
        assert question.replaced == [("1#0", "2", "yes"), ("1#1", "2", "no")]

    def test_an_answer_without_a_label_is_empty_once_per_annotation(self) -> None:
        table = table_of([task(1, annotation(1, 2, choose(name="q_0") + choose(name="q_1")))], REPEATER)
        assert table.questions["q_{{idx}}"].left_out == {"empty": 1}

    def test_the_tools_own_example(self) -> None:
        shape = SHAPES["repeater"]
        table = table_of([task(1, annotation(1, 2, shape["result"]))], shape["config"])
        assert list(values(table.questions["utterance_action_{{idx}}"]).values()) == ["New Intent", "Training"]


def test_ls_24_a_rater_who_was_not_asked_is_missing_and_did_not_say_no() -> None:
    def branch(name: str) -> str:
        return f"""<View visibleWhen="choice-selected" whenTagName="l1" whenChoiceValue="{name}">
            <Choices name="l2{name}" toName="text"><Choice value="{name}1"/><Choice value="{name}2"/></Choices>
            </View>"""

    config = f"""<View>{TEXT}<Choices name="l1" toName="text"><Choice value="A"/><Choice value="B"/></Choices>
        {branch("A")}{branch("B")}</View>"""
    given, expected = report("LS-24")
    table = table_of(given["tasks"], config)
    child = table.questions["l2A"]
    assert child.left_out == {"not_shown": 1}
    asked = QuestionRatings("l2A", "choice", child.ratings, times_shown=child.times_shown, conditional=True)
    assert assess(asked).questions["l2A"].n_pairable_units == expected["pairable_units[l2A]"]
    assert child.times_shown == {"1": 1, "2": 2}
    assert table.questions["l1"].ratings.n_ratings == 4


def test_ls_26_a_taxonomy_is_a_set_of_paths_whatever_their_order() -> None:
    tasks, expected = report("LS-26")
    for config in (None, f'<View>{TEXT}<Taxonomy name="tx" toName="text"/></View>'):
        question = table_of(tasks, config).questions["tx"]
        assert (len(set(values(question).values())) == 1) is expected["equal"]


def test_ls_26_a_flat_list_is_one_path_as_it_once_was_stored() -> None:
    old, new = ([result("tx", "taxonomy", raw)] for raw in (["A", "A1"], [["A", "A1"]]))
    question = table_of([task(1, annotation(1, 2, old), annotation(2, 3, new))]).questions["tx"]
    assert set(values(question).values()) == {(("A", "A1"),)}
