"""Several sources as one table: names of units and raters, and questions of one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector.annotations.collect import Table
from connector.annotations.model import Annotation, Question, Unit, Value
from connector.config import Settings
from connector.errors import FixConfiguration, SkippedTask
from connector.workflow.joining import Joined, Part, Reading, as_key
from connector.workflow.measure import collect_joined
from connector.workflow.questions import joined_questions

MAP: dict[str, str] = {}


class Plain:
    """Answers as they stand in an annotation's result."""

    def __init__(self, *questions: Question) -> None:
        self.questions = {one.name: one for one in questions}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value]:
        if "broken" in annotation.result:
            raise SkippedTask(unit.id, "cannot be read")
        return dict(annotation.result)


S = Question("s", "choice", categories=("a", "b"))


def task(number: str, *ratings: tuple[str, str], key: Any = None, declared: int | None = None) -> Unit:
    annotations = [
        Annotation(f"{number}{place}", rater, [("s", value)], updated_at=f"2026-01-0{place}T00:00:00Z")
        for place, (rater, value) in enumerate(ratings, start=1)
    ]
    return Unit(number, annotations, {} if key is None else {"key": key}, declared=declared)


def part(name: str, *units: Unit | SkippedTask, schema: Plain | None = None, **more: Any) -> Part:
    schema = schema or Plain(S)
    return Part(name, schema.questions, lambda: Reading(schema, units), **more)


def join(*parts: Part, unit_key: str | None = "key", **sections: Any) -> tuple[Joined, Table]:
    settings = Settings.model_validate({"unit_key": unit_key, **sections})
    joined = Joined(parts, settings)
    return joined, collect_joined(joined, settings)[0]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (1, "1"), (1.0, "1"), ("1", "1"), (" 1\n", "1"), ("01", "01"), ("1.0", "1.0"), (1.5, "1.5"), (0, "0"),
        (True, "true"), (10**18, "1000000000000000000"), ("é", "é"), ("\ud800", "\\ud800"),
        (None, None), ("", None), ("  ", None), (float("nan"), None), ([1], None), ({"a": 1}, None),
    ],
)  # fmt: skip
def test_a_key_is_its_text(value: Any, key: str | None) -> None:
    assert as_key(value) == key


def test_a_single_source_without_a_key_passes_through_as_it_is() -> None:
    unit = task("1", ("r1", "a"), ("r2", "b"), declared=3)
    joined = Joined([part("x:1", unit)], Settings())
    (came,) = joined.read().units
    assert came is unit
    assert collect_joined(joined, Settings())[0].incomplete == ["1"]
    assert (joined.notes(), joined.own(0, {"1": 0.5})) == ([], {"1": 0.5})


def test_annotations_of_one_id_in_two_sources_are_two() -> None:
    _, table = join(part("x", task("1", ("r", "a"), key="k")), part("y", task("1", ("r", "b"), key="k")))
    assert table.n_annotations == 2
    assert table.rater_ids == ["x/r", "y/r"]


def test_a_task_that_comes_twice_is_merged_and_not_a_repeat() -> None:
    one = task("1", ("r", "a"), key="k")
    joined, table = join(part("x", one, one), part("y"))
    assert (table.copies, table.n_annotations, table.left_out) == (1, 1, {})
    assert joined.holders("k") == [(0, "1")]


def test_of_equal_times_the_larger_id_counts_as_within_one_project() -> None:
    def rated(number: str, label: str) -> Annotation:
        return Annotation(number, "r", [("s", label)], updated_at="2026-01-01T00:00:00Z")

    units = [Unit("1", [rated("99", "a"), rated("100", "b")], {"key": "k"})]
    _, table = join(part("x", *units))
    ratings = table.questions["s"].ratings
    assert [ratings.codebook.categories[value] for value in ratings.values.tolist()] == ["b"]


def test_a_key_that_looks_like_a_tasks_own_name_is_another_unit() -> None:
    _, table = join(
        part("x", task("1", ("r", "a"))), part("y", task("2", ("q", "b"), key="x/1"), task("3", key="key:x/1"))
    )
    assert list(table.unit_ids) == ["key:key:x/1", "key:x/1", "x/1"]


def test_a_long_tables_unit_is_its_key() -> None:
    joined, table = join(
        part("x", task("1", ("r", "a"), key=7)), part("t.csv", task("7", ("q", "a")), unit_is_key=True)
    )
    assert list(table.unit_ids) == ["7"]
    assert joined.holders("7") == [(0, "1"), (1, "7")]
    _, apart = join(part("x", task("1")), part("t.csv", task("1"), unit_is_key=True), unit_key=None)
    assert list(apart.unit_ids) == ["t.csv/1", "x/1"]


@pytest.mark.parametrize(("in_task", "in_table"), [(" sku 2", "sku 2 "), ("sku 2", "\tsku 2"), (2, " 2 "), ("2 ", "2")])
def test_a_long_tables_unit_is_read_as_a_key_is(in_task: Any, in_table: str) -> None:
    joined, table = join(
        part("x", task("1", ("r", "a"), key=in_task)), part("t.csv", task(in_table, ("q", "a")), unit_is_key=True)
    )
    (unit,) = table.unit_ids
    assert joined.holders(str(unit)) == [(0, "1"), (1, in_table)]


def test_values_go_back_to_every_task_of_a_unit() -> None:
    joined, _ = join(part("x", task("1", key="k"), task("2", key="k"), task("3")), part("y", task("9", key="k")))
    values = {"k": 0.5, "x/3": 1.0, "gone": 0.0}
    assert (joined.own(0, values), joined.own(1, values)) == ({"1": 0.5, "2": 0.5, "3": 1.0}, {"9": 0.5})
    assert joined.names_of(0, ["1", "3", "4"]) == {"k", "x/3", "x/4"}


def test_each_task_is_held_against_its_own_count() -> None:
    """Together they hold as many as the larger one declares."""
    short = task("1", ("r", "a"), key="k", declared=2)
    joined, table = join(part("x", short), part("y", task("2", ("q", "a"), key="k", declared=1)))
    assert table.incomplete == ["x/1"]
    assert list(joined.found[0].short) == ["1"]
    whole = task("1", ("r", "a"), ("s", "a"), key="k", declared=2)
    assert join(part("x", short, whole), part("y"))[1].incomplete == []
    assert join(part("x", whole, short), part("y"))[1].incomplete == []


def test_malformed_tasks_are_counted_for_their_source_wherever_the_fault_shows() -> None:
    broken = Unit("2", [Annotation("1", "r", ["broken"])], {"key": "k"})
    joined, table = join(part("x", SkippedTask("1", "no list")), part("y", broken, task("3", ("r", "a"), key="k")))
    assert [str(one) for one in table.malformed] == ["task x/1: no list", "task y/2: cannot be read"]
    assert [(one.tasks, one.malformed) for one in joined.found] == [(1, 1), (2, 1)]


def test_who_changed_an_annotation_last_is_named_as_its_rater_is() -> None:
    own = Annotation("1", "3", [("s", "a")], updated_by="3")
    other = Annotation("2", "4", [("s", "a")], updated_by="3")
    _, table = join(part("x", Unit("1", [own, other], {"key": "k"})), part("y"), raters={"map": {"x/3": "anna"}})
    assert table.edited_by_other == 1


# Questions


def questions(*sources: Sequence[Question], settings: Mapping[str, Any] = MAP) -> dict[str, Question]:
    known = {f"source {place}": {one.name: one for one in asked} for place, asked in enumerate(sources)}
    asking: dict[str, frozenset[str]] = {}
    for source, asked in known.items():
        for name in asked:
            asking[name] = asking.get(name, frozenset()) | {source}
    return joined_questions(known, asking, Settings.model_validate({"questions": settings}).questions)


def test_equal_questions_are_one() -> None:
    assert questions([S], [S]) == {"s": S}


def test_a_question_of_some_sources_is_conditional_unless_the_others_ask_nothing() -> None:
    other = Question("t", "number")
    assert {name: one.conditional for name, one in questions([S, other], [S]).items()} == {"s": False, "t": True}
    assert not questions([S], [])["s"].conditional


def test_what_a_file_holds_is_read_as_a_tool_declares_it() -> None:
    for kind in ("choice", "choices", "paths"):
        assert questions([Question("s", kind, inferred=True)], [S])["s"] == S
    rating = Question("s", "rating", bounds=(1.0, 5.0))
    assert questions([rating], [Question("s", "choice", inferred=True)])["s"] == rating


def test_kinds_read_off_values_widen() -> None:
    def read_off(*kinds: str) -> str:
        return questions(*([Question("s", kind, inferred=True)] for kind in kinds))["s"].kind

    assert read_off("choice", "choices") == read_off("choices", "choice") == "choices"
    assert read_off("choices", "paths") == "paths"
    assert read_off("choice", "rating") == read_off("rating", "choice") == "rating"
    with pytest.raises(FixConfiguration):
        read_off("choices", "rating")
    with pytest.raises(FixConfiguration):
        read_off("number", "rating")


def test_a_control_that_only_results_name_does_not_unmake_a_question() -> None:
    stranger = Question("s", "choices", inferred=True, not_measured="not in the configuration")
    assert questions([S], [stranger])["s"] == S
    assert questions([stranger], [S])["s"] == S


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (S, Question("s", "choices"), "is of kind choice in source 0 and is of kind choices in source 1"),
        (S, Question("s", "choice", not_measured="per region"), "is of kind choice (per region) in source 1"),
        (
            Question("s", "rating", bounds=(1.0, 5.0)),
            Question("s", "rating", bounds=(1.0, 10.0)),
            "goes from 1 to 5 in source 0 and goes from 1 to 10 in source 1",
        ),
    ],
)
def test_two_kinds_or_scales_are_not_one_question(one: Question, other: Question, said: str) -> None:
    with pytest.raises(FixConfiguration) as caught:
        questions([one], [other])
    assert said in str(caught.value)


def test_labels_are_joined_and_orders_are_not() -> None:
    more = Question("s", "choice", categories=("b", "c"))
    assert questions([S], [more])["s"].categories == ("a", "b", "c")
    assert questions([S], [Question("s", "choice")])["s"].categories is None
    for level in ("ordinal", "interval"):
        with pytest.raises(FixConfiguration, match="has the labels a, b in source 0"):
            questions([S], [more], settings={"s": {"level": level}})
    turned = Question("s", "choice", categories=("b", "a"))
    assert questions([S], [turned])["s"].categories == ("a", "b")
    with pytest.raises(FixConfiguration):
        questions([S], [turned], settings={"s": {"level": "ordinal"}})


def test_labels_that_are_called_alike_are_one_category() -> None:
    other = Question("s", "choice", categories=("A", "b"))
    assert questions([S], [other], settings={"s": {"relabel": {"A": "a"}}})["s"].categories == ("a", "b")
    paths = [Question("s", "paths", categories=(("x", last),)) for last in "yY"]
    assert questions([paths[0]], [paths[1]], settings={"s": {"relabel": {"Y": "y"}}})["s"].categories == (("x", "y"),)


def test_numbers_have_the_wider_range_or_none() -> None:
    def numbers(*bounds: tuple[float, float] | None) -> Any:
        return questions(*([Question("s", "number", bounds=one)] for one in bounds))["s"].bounds

    assert numbers((0.0, 5.0), (2.0, 9.0)) == (0.0, 9.0)
    assert numbers((0.0, 5.0), None) is None


def test_kinds_that_are_not_measured_may_differ() -> None:
    found = questions([Question("s", "magic", not_measured="x")], [Question("s", "wonder", not_measured="y")])
    assert found["s"].kind == "magic"
