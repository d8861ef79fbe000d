"""Which annotation counts, and under which reason the others are counted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector.annotations.collect import NO_RATER, Collector, CountingRules, QuestionChoice, Table
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.annotations.order import natural_key, natural_order
from connector.errors import FixConfiguration, SkippedTask

EARLY, LATE, LATER = "2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000001Z", "2026-01-01T11:30:00+01:00"


class Given:
    """A schema whose results are (question, value) pairs."""

    def __init__(self, *questions: Question) -> None:
        self.questions: Mapping[str, Question] = {one.name: one for one in questions}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        if "bad" in annotation.result:
            raise SkippedTask(unit.id, "cannot be read")
        return dict(annotation.result)


CHOICE = Given(Question("q", "choice"))


def rating(ident: str, rater: str | None, value: Any = "a", **more: Any) -> Annotation:
    return Annotation(ident, rater, [("q", value)], **more)


def collected(
    units: Sequence[Unit],
    schema: Given = CHOICE,
    rules: CountingRules | None = None,
    **choices: QuestionChoice,
) -> Table:
    collector = Collector(schema, rules, choices)
    for unit in units:
        collector.add(unit)
    return collector.table()


def values(table: Table, question: str = "q") -> dict[tuple[str, str], Any]:
    ratings = table.questions[question].ratings
    return {
        (ratings.unit_ids[u], ratings.rater_ids[r]): ratings.codebook.categories[v]
        for u, r, v in zip(ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (rating("9", "r", "old", updated_at=EARLY), rating("1", "r", "new", updated_at=LATE)),
        (rating("9", "r", "old", updated_at=LATE), rating("1", "r", "new", updated_at="2026-01-01T11:00:01+01:00")),
        # equal times: the larger id, as a number
        (rating("9", "r", "old", updated_at=EARLY), rating("10", "r", "new", updated_at=EARLY)),
        (rating("a", "r", "old", updated_at=EARLY), rating("b", "r", "new", updated_at=EARLY)),
        (rating("9", "r", "old"), rating("10", "r", "new")),
        # an unreadable or absent time is older than any
        (rating("9", "r", "old", updated_at="soon"), rating("1", "r", "new", updated_at=EARLY)),
        (rating("9", "r", "old"), rating("1", "r", "new", updated_at=EARLY)),
        # the author's own edit moves it
        (
            rating("9", "r", "old", created_at=LATE, updated_at=LATE, updated_by="r"),
            rating("1", "r", "new", created_at=EARLY, updated_at=LATER, updated_by="r"),
        ),
        # another person's star or edit does not
        (
            rating("9", "r", "old", created_at=EARLY, updated_at=LATER, updated_by="x"),
            rating("1", "r", "new", created_at=LATE, updated_at=LATE),
        ),
        # created_at where there is no updated_at
        (rating("9", "r", "old", created_at=EARLY), rating("1", "r", "new", created_at=LATE)),
    ],
)
def test_the_newest_submission_counts(older: Annotation, newer: Annotation) -> None:
    for order in ([older, newer], [newer, older]):
        for units in ([Unit("1", order)], [Unit("1", [one]) for one in order]):
            table = collected(units)
            assert values(table) == {("1", "r"): "new"}
            assert (table.left_out, table.questions["q"].repeats) == ({"repeat": 1}, 1)


def test_of_three_one_counts_in_any_order() -> None:
    three = [rating(str(n), "r", str(n), updated_at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3)]
    for order in itertools.permutations(three):
        table = collected([Unit("1", order)])
        assert values(table) == {("1", "r"): "3"}
        assert table.left_out == {"repeat": 2}


def test_a_newer_empty_annotation_takes_the_older_answer_away() -> None:
    older, newer = rating("1", "r", updated_at=EARLY), Annotation("2", "r", [], updated_at=LATE)
    assert collected([Unit("1", [older, newer])]).left_out == {"repeat": 1, "empty": 1}


def test_a_later_skip_or_draft_takes_nothing_away() -> None:
    one = rating("1", "r", updated_at=EARLY)
    skip, draft = (rating(s, "r", status=s, updated_at=LATE) for s in ("cancelled", "draft"))
    table = collected([Unit("1", [one, skip, draft])])
    assert values(table) == {("1", "r"): "a"}
    assert table.left_out == {"cancelled": 1, "draft": 1}
    assert table.n_annotations == 2


def test_an_annotation_left_out_by_a_rule_does_not_compete() -> None:
    one = rating("1", "r", "kept", updated_at=EARLY)
    ours = rating("2", "r", "ours", updated_at=LATE)
    gold = rating("3", "r", "gold", updated_at=LATER, ground_truth=True)
    rules = CountingRules(ours={"2"}, ground_truth="exclude")
    table = collected([Unit("1", [one, ours, gold])], rules=rules)
    assert values(table) == {("1", "r"): "kept"}
    assert table.left_out == {"ours": 1, "ground_truth": 1}
    assert table.questions["q"].gold == {"1": "gold"}


def test_every_reason_is_counted_once_per_annotation() -> None:
    annotations = [
        rating("1", "r"),
        rating("2", "r", status="cancelled"),
        rating("3", None, status="draft"),
        rating("4", "r"),
        rating("5", None),
        rating("6", "boss"),
        rating("7", "bot"),
        rating("8", "s", ground_truth=True),
        rating("0", "r"),
        Annotation("9", "t", [("q", Missing("unreadable"))]),
        Annotation("10", "u", []),
    ]
    rules = CountingRules(frozenset({"boss"}), frozenset({"bot"}), "exclude", ours={"4"})
    table = collected([Unit("1", annotations)], rules=rules)
    assert table.left_out == {
        "cancelled": 1,
        "draft": 1,
        "ours": 1,
        "no_rater": 1,
        "reviewer": 1,
        "excluded": 1,
        "ground_truth": 1,
        "repeat": 1,
        "unreadable": 1,
        "empty": 1,
    }
    assert values(table) == {("1", "r"): "a"}
    assert sum(table.left_out.values()) + len(values(table)) == len(annotations)
    assert list(table.rater_ids) == ["r", "t", "u"]


def test_a_reviewers_mark_is_gold_and_no_rating() -> None:
    marked = rating("1", "boss", "right", ground_truth=True)
    table = collected([Unit("1", [marked, rating("2", "r")])], rules=CountingRules(reviewers=frozenset({"boss"})))
    assert values(table) == {("1", "r"): "a"}
    assert (table.questions["q"].gold, table.questions["q"].gold_by) == ({"1": "right"}, {})
    assert table.ground_truth == {"boss": 1}


def test_marks_are_counted_by_rater_and_the_newest_is_gold() -> None:
    annotations = [
        rating("1", "10", "x", ground_truth=True, updated_at=LATE),
        rating("2", "9", "y", ground_truth=True, updated_at=EARLY),
        rating("3", None, "z", ground_truth=True),
        rating("4", "9", "no", ground_truth=True, status="cancelled"),
    ]
    table = collected([Unit("1", annotations)])
    assert list(table.ground_truth.items()) == [("9", 1), ("10", 1), (NO_RATER, 1)]
    assert (table.questions["q"].gold, table.questions["q"].gold_by) == ({"1": "x"}, {"1": "10"})


def test_a_unit_that_cannot_be_read_leaves_nothing_behind() -> None:
    table = collected([Unit("1", [rating("1", "r"), Annotation("2", "s", ["bad"])]), Unit("2", [rating("3", "r")])])
    assert [str(one) for one in table.malformed] == ["task 1: cannot be read"]
    assert (list(table.unit_ids), table.n_annotations, values(table)) == (["2"], 1, {("2", "r"): "a"})


def test_units_without_ratings_are_known() -> None:
    table = collected([Unit("10", []), Unit("9", [rating("1", "r")]), Unit("b", [])])
    assert list(table.unit_ids) == ["9", "10", "b"]
    assert list(table.questions["q"].ratings.unit_ids) == ["9", "10", "b"]


def test_nothing_at_all_is_a_table_too() -> None:
    table = collected([])
    assert (list(table.unit_ids), table.left_out, table.unanswered) == ([], {}, ["q"])
    assert table.questions["q"].ratings.n_ratings == 0


def test_several_questions_count_their_own_gaps_and_annotations_once() -> None:
    schema = Given(Question("p", "choice"), Question("q", "choice"))
    annotations = [Annotation("1", "r", [("p", "x")]), Annotation("2", "s", []), rating("3", "t", status="cancelled")]
    table = collected([Unit("1", annotations)], schema)
    assert table.questions["p"].left_out == {"cancelled": 1, "empty": 1}
    assert table.questions["q"].left_out == {"cancelled": 1, "empty": 2}
    assert table.left_out == {"cancelled": 1, "empty": 2}


class TestEmptySets:
    SCHEMA = Given(Question("q", "choices", categories=("a", "b")))
    UNIT = Unit(
        "1",
        [
            rating("1", "r", ("a",)),
            Annotation("2", "s", []),
            Annotation("3", "t", [("q", Missing("empty"))]),
            Annotation("4", "u", [("q", Missing("not_shown"))]),
            Annotation("5", "v", [], "cancelled"),
        ],
    )

    def test_are_missing_by_default(self) -> None:
        table = collected([self.UNIT], self.SCHEMA)
        assert values(table) == {("1", "r"): ("a",)}
        assert table.left_out == {"cancelled": 1, "empty": 2, "not_shown": 1}

    def test_are_answers_where_the_settings_say_so(self) -> None:
        table = collected([self.UNIT], self.SCHEMA, q=QuestionChoice(empty="none"))
        assert values(table) == {("1", "r"): ("a",), ("1", "s"): (), ("1", "t"): ()}
        assert table.left_out == {"cancelled": 1, "not_shown": 1}

    def test_make_no_sense_for_one_label(self) -> None:
        table = collected([Unit("1", [Annotation("1", "r", [])])], q=QuestionChoice(empty="none"))
        assert table.left_out == {"empty": 1}


class TestSettings:
    def test_level_and_distance_are_resolved(self) -> None:
        table = collected([], Given(Question("q", "paths")), q=QuestionChoice(distance="jaccard", required=False))
        question = table.questions["q"].question
        assert (question.level, question.distance, question.required) == ("nominal", "jaccard", False)
        table = collected([], Given(Question("q", "rating")), q=QuestionChoice(level="interval"))
        assert (table.questions["q"].question.level, table.questions["q"].question.distance) == ("interval", "interval")

    @pytest.mark.parametrize(
        ("kind", "choice", "message"),
        [
            ("choice", QuestionChoice(level="cardinal"), "no level 'cardinal'"),
            ("choice", QuestionChoice(distance="masi"), "no distance 'masi'"),
            ("choices", QuestionChoice(distance="hamming"), "no distance 'hamming'"),
            ("choices", QuestionChoice(level="ordinal"), "have no ordinal level"),
            ("choice", QuestionChoice(by="leaf"), "cannot be read by 'leaf'"),
            ("paths", QuestionChoice(by="position"), "cannot be read by 'position'"),
            ("choices", QuestionChoice(empty="all"), "empty is 'all'"),
        ],
    )
    def test_what_does_not_go_with_the_kind_is_refused(self, kind: str, choice: QuestionChoice, message: str) -> None:
        with pytest.raises(FixConfiguration, match=message):
            collected([], Given(Question("q", kind)), q=choice)

    def test_an_unknown_question_is_refused_with_the_nearest_name(self) -> None:
        with pytest.raises(FixConfiguration, match="Did you mean 'sentiment'"):
            collected([], Given(Question("sentiment", "choice")), sentimant=QuestionChoice())

    def test_a_default_is_for_the_questions_it_goes_with(self) -> None:
        schema = Given(Question("one", "choice"), Question("many", "choices"), Question("text", "textarea"))
        table = Collector(schema, default=QuestionChoice(distance="jaccard")).table()
        found = {name: one.question.distance for name, one in table.questions.items()}
        assert found == {"one": "nominal", "many": "jaccard"}
        with pytest.raises(FixConfiguration, match="no level 'cardinal'"):
            Collector(schema, default=QuestionChoice(level="cardinal")).table()
        own = {"many": QuestionChoice(distance="masi")}
        with pytest.raises(FixConfiguration, match="no distance 'jaccard'"):
            Collector(schema, None, own, QuestionChoice(distance="jaccard")).table()

    @pytest.mark.parametrize(
        ("by", "value"),
        [
            (None, (("a", "b"), ("c",))),
            ("path", (("a", "b"), ("c",))),
            ("prefix", (("a",), ("a", "b"), ("c",))),
            ("leaf", (("b",), ("c",))),
            ("top", (("a",), ("c",))),
        ],
    )
    def test_paths_can_be_read_in_other_ways(self, by: str | None, value: Any) -> None:
        unit = Unit("1", [rating("1", "r", (("a", "b"), ("c",)))])
        assert values(collected([unit], Given(Question("q", "paths")), q=QuestionChoice(by=by))) == {("1", "r"): value}

    def test_relabel_merges_labels_in_sets_and_paths(self) -> None:
        relabel = QuestionChoice(relabel={"old": "new"})
        sets = Unit("1", [rating("1", "r", ("new", "old")), rating("2", "s", ("old", "z"))])
        found = values(collected([sets], Given(Question("q", "choices")), q=relabel))
        assert found == {("1", "r"): ("new",), ("1", "s"): ("new", "z")}
        paths = Unit("1", [rating("1", "r", (("old", "b"),))])
        assert values(collected([paths], Given(Question("q", "paths")), q=relabel)) == {("1", "r"): (("new", "b"),)}

    def test_stale_labels_are_counted_by_label(self) -> None:
        schema = Given(Question("q", "choices", categories=("a",)))
        unit = Unit("1", [rating("1", "r", ("a", "x")), rating("2", "s", ("x", "y"))])
        assert collected([unit], schema).questions["q"].stale == {"x": 2, "y": 1}

    def test_a_stale_label_in_a_repeat_alone_is_no_category(self) -> None:
        schema = Given(Question("q", "choice", categories=("a",)))
        unit = Unit("1", [rating("1", "r", "x", updated_at=EARLY), rating("2", "r", "a", updated_at=LATE)])
        question = collected([unit], schema).questions["q"]
        assert (question.stale, list(question.ratings.codebook.categories)) == ({}, ["a"])


def test_ids_sort_as_numbers_where_they_are_numbers() -> None:
    ids = ["10", "9", "b", "007", "7", "1" * 400, "-1", "²", "a"]
    in_order = ["007", "7", "9", "10", "1" * 400, "-1", "a", "b", "²"]
    assert sorted(ids, key=natural_key) == in_order
    assert [ids[place] for place in natural_order(ids)] == in_order
    many = [str(n) for n in range(3000, 0, -1)]
    assert [many[place] for place in natural_order(many)] == sorted(many, key=int)
    clash = ["01", *many]
    assert [clash[place] for place in natural_order(clash)] == sorted(clash, key=natural_key)


def test_more_can_be_added_after_a_table() -> None:
    collector = Collector(CHOICE)
    collector.add(Unit("1", [rating("1", "r")]))
    assert len(collector.table().unit_ids) == 1
    collector.add(Unit("2", [rating("2", "r")]))
    assert len(collector.table().unit_ids) == 2
