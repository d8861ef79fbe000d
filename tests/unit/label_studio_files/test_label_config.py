"""A label config says what is asked, how it is bounded, and when it is shown."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from connector.annotations.collect import QuestionChoice
from connector.annotations.model import Question
from connector.errors import FixConfiguration, InstallExtra
from connector.tools.label_studio.config import schema_of
from tests.unit.label_studio_files.tasks import alpha, annotation, choose, result, table_of, task, values

TEXT = '<Text name="text" value="$text"/>'
YES_NO = '<Choice value="Yes"/><Choice value="No"/>'


def question(control: str, name: str = "q") -> Question:
    return schema_of(f"<View>{TEXT}{control}</View>").questions[name]


@pytest.mark.parametrize(
    ("control", "kind", "categories"),
    [
        (f'<Choices name="q" toName="text">{YES_NO}</Choices>', "choice", ("Yes", "No")),
        (f'<Choices name="q" toName="text" choice="single-radio">{YES_NO}</Choices>', "choice", ("Yes", "No")),
        (f'<Choices name="q" toName="text" choice="multiple">{YES_NO}</Choices>', "choices", ("Yes", "No")),
        (f'<Choices name="q" toName="text"><View>{YES_NO}</View></Choices>', "choice", ("Yes", "No")),
        (
            '<Choices name="q" toName="text"><Choice value="A"><Choice value="B"/></Choice></Choices>',
            "paths",
            (("A",), ("A", "B")),
        ),
        (
            (
                '<Taxonomy name="q" toName="text"><Choice value="A"><Choice value="B"/></Choice>'
                '<Choice value="C"/></Taxonomy>'
            ),
            "paths",
            (("A",), ("A", "B"), ("C",)),
        ),
        ('<Rating name="q" toName="text"/>', "rating", (1.0, 2.0, 3.0, 4.0, 5.0)),
        ('<Number name="q" toName="text"/>', "number", None),
        ('<DateTime name="q" toName="text"/>', "date", None),
        ('<TextArea name="q" toName="text"/>', "text", None),
        ('<Ranker name="q" toName="text"/>', "ranking", None),
        ('<Pairwise name="q" toName="text,text"/>', "pairwise", ("left", "right")),
    ],
)
def test_the_kinds_that_are_measured(control: str, kind: str, categories: Any) -> None:
    found = question(control)
    assert (found.kind, found.categories, found.not_measured, found.inferred) == (kind, categories, None, False)


@pytest.mark.parametrize(
    ("control", "bounds"),
    [
        ('<Rating name="q" toName="text"/>', (1, 5)),
        ('<Rating name="q" toName="text" maxRating="10"/>', (1, 10)),
        ('<Rating name="q" toName="text" maxRating="many"/>', (1, 5)),
        ('<Number name="q" toName="text" min="-2" max="7.5"/>', (-2, 7.5)),
        ('<Number name="q" toName="text" min="0"/>', None),
        ('<Number name="q" toName="text" min="3" max="3"/>', None),
    ],
)
def test_bounds_of_scalars(control: str, bounds: Any) -> None:
    assert question(control).bounds == bounds


@pytest.mark.parametrize(
    ("control", "name", "kind", "reason"),
    [
        ('<Choices name="q" toName="text" perRegion="true" value="$own"/>', "q", "choices", "the task's data"),
        ('<Choices name="q" toName="text" perItem="true" value="$own"/>', "q", "choices", "the task's data"),
        (
            '<Repeater on="$x"><Choices name="c_{{idx}}" toName="text" value="$own"/></Repeater>',
            "c_{{idx}}",
            "choices",
            "Repeater",
        ),
        ('<Chat name="q" value="$chat"/>', "q", "chat", "no unit in common"),
    ],
)
def test_what_is_not_measured_is_listed_with_its_kind_and_reason(
    control: str, name: str, kind: str, reason: str
) -> None:
    table = table_of([task(1, annotation(1, 2, []))], f"<View>{TEXT}{control}</View>")
    assert [(one.question, one.kind) for one in table.not_measured] == [(name, kind)]
    assert reason in table.not_measured[0].reason
    assert not table.questions


def test_a_category_that_nobody_used_is_declared_all_the_same() -> None:
    config = f'<View>{TEXT}<Choices name="sent" toName="text">{YES_NO}<Choice value="Maybe"/></Choices></View>'
    book = table_of([task(1, annotation(1, 2, choose("Yes")))], config).questions["sent"].ratings.codebook
    assert (list(book.categories), book.n_declared) == (["Yes", "No", "Maybe"], 3)


def test_an_ordinal_level_follows_the_declared_order() -> None:
    config = f"""<View>{TEXT}<Choices name="sent" toName="text">
        <Choice value="low"/><Choice value="mid"/><Choice value="high"/></Choices></View>"""
    pairs = [("low", "mid"), ("mid", "mid"), ("high", "high"), ("low", "low")]
    tasks = [
        task(n, annotation(2 * n, 2, choose(a)), annotation(2 * n + 1, 3, choose(b))) for n, (a, b) in enumerate(pairs)
    ]
    by_label = alpha(table_of(tasks, config, choices={"sent": QuestionChoice(level="ordinal")}).questions["sent"])
    numbers = {"low": 1, "mid": 2, "high": 3}
    rated = [
        task(
            n,
            annotation(2 * n, 2, [result("sent", "rating", numbers[a])]),
            annotation(2 * n + 1, 3, [result("sent", "rating", numbers[b])]),
        )
        for n, (a, b) in enumerate(pairs)
    ]
    assert by_label == pytest.approx(alpha(table_of(rated).questions["sent"]))


def test_several_labels_on_a_single_choice_are_reported_not_joined() -> None:
    config = f'<View>{TEXT}<Choices name="sent" toName="text">{YES_NO}</Choices></View>'
    question = table_of([task(1, annotation(1, 2, choose("Yes", "No")))], config).questions["sent"]
    assert question.left_out == {"unreadable": 1}


def test_a_result_of_another_type_than_the_control_is_unreadable() -> None:
    config = f'<View>{TEXT}<Rating name="sent" toName="text"/></View>'
    question = table_of([task(1, annotation(1, 2, choose("4")))], config).questions["sent"]
    assert question.left_out == {"unreadable": 1}


def test_a_number_beyond_its_bounds_is_counted_as_stale_and_kept() -> None:
    config = f'<View>{TEXT}<Number name="q" toName="text" min="0" max="10"/></View>'
    tasks = [task(1, annotation(1, 2, [result("q", "number", 4)]), annotation(2, 3, [result("q", "number", 12)]))]
    question = table_of(tasks, config).questions["q"]
    assert question.stale == {"12": 1}
    assert question.ratings.n_ratings == 2


def test_a_date_is_read_in_the_declared_form() -> None:
    config = f'<View>{TEXT}<DateTime name="q" toName="text" only="date" format="%d.%m.%Y"/></View>'
    tasks = [
        task(
            1,
            annotation(1, 2, [result("q", "datetime", "04.01.2026")]),
            annotation(2, 3, [result("q", "datetime", "2026-01-04")]),
            annotation(3, 4, [result("q", "datetime", "soon")]),
        )
    ]
    question = table_of(tasks, config).questions["q"]
    assert len(set(values(question).values())) == 1
    assert question.left_out == {"unreadable": 1}


def test_a_result_about_a_region_is_no_answer_to_a_task_level_control() -> None:
    config = f'<View>{TEXT}<Choices name="sent" toName="text">{YES_NO}</Choices></View>'
    of_region = [result("sent", "choices", ["Yes"]) | {"value": {"start": 0, "end": 3, "choices": ["Yes"]}}]
    question = table_of([task(1, annotation(1, 2, of_region))], config).questions["sent"]
    assert question.left_out == {"unreadable": 1}


class TestConditions:
    """A control that was not shown is missing; an answer that outlived its condition is dropped and counted."""

    PARENT = f'<Choices name="ok" toName="text">{YES_NO}</Choices>'

    def child(self, condition: str) -> str:
        why = f'<Choices name="why" toName="text">{YES_NO}</Choices>'
        return f"<View>{TEXT}{self.PARENT}<View {condition}>{why}</View></View>"

    def left_out(self, config: str, *results: list[dict[str, Any]]) -> dict[str, int]:
        found = [annotation(n, n, one) for n, one in enumerate(results, 1)]
        return dict(table_of([task(1, *found)], config).questions["why"].left_out)

    CONDITION = 'visibleWhen="choice-selected" whenTagName="ok" whenChoiceValue="Yes"'

    def test_not_shown(self) -> None:
        assert self.left_out(self.child(self.CONDITION), choose("No", name="ok")) == {"not_shown": 1}

    def test_shown_and_not_answered(self) -> None:
        assert self.left_out(self.child(self.CONDITION), choose("Yes", name="ok")) == {"empty": 1}

    def test_shown_and_answered(self) -> None:
        config = self.child(self.CONDITION)
        both = [*choose("Yes", name="ok"), *choose("No", name="why")]
        assert self.left_out(config, both) == {}

    def test_an_answer_that_outlived_its_condition(self) -> None:
        stale = [*choose("No", name="ok"), *choose("No", name="why")]
        question = table_of([task(1, annotation(1, 2, stale))], self.child(self.CONDITION)).questions["why"]
        assert question.left_out == {"stale_child": 1}
        assert question.ratings.n_ratings == 0
        assert question.question.conditional

    def test_times_shown_counts_who_was_asked(self) -> None:
        tasks = [
            task(
                1,
                annotation(1, 2, choose("Yes", name="ok")),
                annotation(2, 3, [*choose("Yes", name="ok"), *choose("No", name="why")]),
                annotation(3, 4, choose("No", name="ok")),
            )
        ]
        table = table_of(tasks, self.child(self.CONDITION))
        assert table.questions["why"].times_shown == {"1": 2}
        assert table.questions["ok"].times_shown is None

    def test_on_the_control_itself(self) -> None:
        config = (
            f'<View>{TEXT}{self.PARENT}<Choices name="why" toName="text" {self.CONDITION}>{YES_NO}</Choices></View>'
        )
        assert self.left_out(config, choose("No", name="ok")) == {"not_shown": 1}

    @pytest.mark.parametrize(("label", "expected"), [("Yes", {"not_shown": 1}), ("No", {"empty": 1})])
    def test_choice_unselected(self, label: str, expected: dict[str, int]) -> None:
        condition = self.CONDITION.replace("selected", "unselected")
        assert self.left_out(self.child(condition), choose(label, name="ok")) == expected

    @pytest.mark.parametrize(("label", "expected"), [("Yes", {"empty": 1}), (None, {"not_shown": 1})])
    def test_any_label_of_the_parent(self, label: str | None, expected: dict[str, int]) -> None:
        condition = 'visibleWhen="choice-selected" whenTagName="ok"'
        given = choose(label, name="ok") if label else []
        assert self.left_out(self.child(condition), given) == expected

    def test_one_of_several_values(self) -> None:
        condition = self.CONDITION.replace('"Yes"', '"Perhaps,No"')
        assert self.left_out(self.child(condition), choose("No", name="ok")) == {"empty": 1}

    def test_a_bare_choice_value_looks_at_every_control(self) -> None:
        assert self.left_out(self.child('whenChoiceValue="Yes"'), choose("No", name="ok")) == {"not_shown": 1}
        assert self.left_out(self.child('whenChoiceValue="Yes"'), choose("Yes", name="ok")) == {"empty": 1}

    def test_without_a_region_the_default_state_is_shown(self) -> None:
        config = self.child('visibleWhen="no-region-selected"')
        question = table_of([task(1, annotation(1, 2, []))], config).questions["why"]
        assert question.left_out == {"empty": 1}
        assert not question.question.conditional

    def test_region_selected_needs_a_region(self) -> None:
        labels = '<Labels name="ner" toName="text"><Label value="PER"/></Labels>'
        config = self.child('visibleWhen="region-selected"').replace(TEXT, TEXT + labels)
        span = {
            "id": "r",
            "from_name": "ner",
            "to_name": "text",
            "type": "labels",
            "value": {"start": 0, "end": 3, "labels": ["PER"]},
        }
        assert self.left_out(config, choose("No", name="why")) == {"stale_child": 1}
        assert self.left_out(config, [span, *choose("No", name="why")]) == {}

    def test_an_alias_meets_a_value(self) -> None:
        config = self.child(self.CONDITION).replace('<Choice value="Yes"/>', '<Choice value="Yes" alias="y"/>', 1)
        assert self.left_out(config, choose("y", name="ok")) == {"empty": 1}

    def test_a_taxonomy_is_asked_for_its_last_step(self) -> None:
        config = self.child(self.CONDITION).replace(
            self.PARENT, '<Taxonomy name="ok" toName="text"><Choice value="A"><Choice value="Yes"/></Choice></Taxonomy>'
        )
        assert self.left_out(config, [result("ok", "taxonomy", [["A", "Yes"]])]) == {"empty": 1}
        assert self.left_out(config, [result("ok", "taxonomy", [["A"]])]) == {"not_shown": 1}

    def test_a_chain_falls_with_its_first_link(self) -> None:
        config = f"""<View>{TEXT}{self.PARENT}
          <Choices name="mid" toName="text" {self.CONDITION}>{YES_NO}</Choices>
          <Choices name="why" toName="text" visibleWhen="choice-selected" whenTagName="mid"
            whenChoiceValue="Yes">{YES_NO}</Choices>
        </View>"""
        stale = [*choose("No", name="ok"), *choose("Yes", name="mid"), *choose("Yes", name="why")]
        assert self.left_out(config, stale) == {"stale_child": 1}

    def test_controls_that_hang_on_each_other_end(self) -> None:
        config = f"""<View>{TEXT}
          <Choices name="ok" toName="text" visibleWhen="choice-selected" whenTagName="why">{YES_NO}</Choices>
          <Choices name="why" toName="text" visibleWhen="choice-selected" whenTagName="ok">{YES_NO}</Choices></View>"""
        assert self.left_out(config, [*choose("Yes", name="ok"), *choose("Yes", name="why")]) == {}

    def test_not_shown_is_never_an_empty_set(self) -> None:
        config = self.child(self.CONDITION).replace('name="why"', 'name="why" choice="multiple"')
        tasks = [task(1, annotation(1, 2, choose("No", name="ok")), annotation(2, 3, choose("Yes", name="ok")))]
        question = table_of(tasks, config, choices={"why": QuestionChoice(empty="none")}).questions["why"]
        assert values(question) == {("1", "3"): ()}
        assert question.left_out == {"not_shown": 1}


class TestDynamicChoices:
    CONFIG = f'<View>{TEXT}<Choices name="sent" toName="text" value="$options"/></View>'

    def test_the_same_choices_everywhere_are_measured(self) -> None:
        tasks = [task(n, annotation(n, 2, choose("a")), data={"options": [{"value": "a"}]}) for n in (1, 2)]
        assert values(table_of(tasks, self.CONFIG).questions["sent"]) == {("1", "2"): "a", ("2", "2"): "a"}

    @pytest.mark.parametrize("other", [{"options": [{"value": "b"}]}, {}])
    def test_choices_that_differ_by_task_are_not(self, other: dict[str, Any]) -> None:
        tasks = [task(1, annotation(1, 2, choose("a")), data={"options": [{"value": "a"}]})]
        tasks.append(task(2, annotation(2, 2, choose("b")), data=other))
        table = table_of(tasks, self.CONFIG)
        assert not table.questions
        assert "differ by task" in table.not_measured[0].reason


class TestUntrustedXml:
    @pytest.mark.parametrize(
        "xml",
        [
            '<!DOCTYPE v [<!ENTITY x SYSTEM "file:///etc/hostname">]><View>&x;</View>',
            '<!DOCTYPE v [<!ENTITY a "xx"><!ENTITY b "&a;&a;">]><View>&b;</View>',
            '<!DOCTYPE v SYSTEM "http://127.0.0.1:9/v.dtd"><View/>',
            '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE v [<!ENTITY a "x">]><View>&a;</View>',
        ],
    )
    def test_declarations_are_refused(self, xml: str) -> None:
        with pytest.raises(FixConfiguration, match="document type or entities"):
            schema_of(xml)

    @pytest.mark.parametrize("xml", ["", "no xml", "<View>", "<View></Veiw>", "<View>\0</View>", "<View>&x;</View>"])
    def test_what_is_no_config_is_said(self, xml: str) -> None:
        with pytest.raises(FixConfiguration, match="cannot be read"):
            schema_of(xml)

    def test_depth_has_an_end(self) -> None:
        with pytest.raises(FixConfiguration, match="cannot be read"):
            schema_of("<View>" * 100_000 + "</View>" * 100_000)

    @pytest.mark.parametrize(
        "xml",
        [
            '<?xml version="1.0" encoding="utf-8"?><View/>',
            "<View></View>",
            "<View><!-- <!DOCTYPE html> --></View>",
            '<View><Choices name="a" toName="nowhere"/></View>',
            '<View><!-- {"data": --></View>',
        ],
    )
    def test_what_is_only_odd_is_read(self, xml: str) -> None:
        schema_of(xml)


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "label_studio_sdk.label_interface", None)
    with pytest.raises(InstallExtra, match=r"agreement-connector\[label-studio\]"):
        schema_of("<View/>")
