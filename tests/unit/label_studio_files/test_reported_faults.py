"""Faults that people reported, one test each with its right value, and others of the same kind beside it."""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path

import pytest

from connector.agreement.distances import COMPARISONS
from connector.annotations.collect import CountingRules, QuestionChoice
from connector.errors import DataNotTrusted
from connector.tools.files import open_files
from tests.unit.label_studio_files.tasks import alpha, annotation, choose, report, result, table_of, task, values


def test_ls_01_a_task_with_fewer_annotations_than_it_declares_is_incomplete() -> None:
    tasks, expected = report("LS-01")
    assert table_of(tasks).incomplete == [str(one) for one in expected["incomplete_tasks"]]


def test_ls_01_more_than_declared_is_drift_and_skipped_ones_do_not_fill_a_gap() -> None:
    one, two = annotation(1, 2, choose("pos")), annotation(2, 3, choose("pos"))
    skipped = annotation(3, 4, [], was_cancelled=True)
    assert table_of([task(1, one, two, total_annotations=1)]).incomplete == []
    assert table_of([task(1, one, skipped, total_annotations=2)]).incomplete == ["1"]


def test_ls_01_two_parts_of_one_export_complete_each_other() -> None:
    one, two = annotation(1, 2, choose("pos")), annotation(2, 3, choose("pos"))
    table = table_of([task(1, one, total_annotations=2), task(1, two, total_annotations=2)])
    assert table.incomplete == []
    assert table.questions["sent"].ratings.n_ratings == 2


def test_ls_02_a_task_listed_twice_is_one_unit() -> None:
    tasks, expected = report("LS-02")
    table = table_of(tasks)
    assert len(table.unit_ids) == expected["units"]
    assert table.questions["sent"].ratings.n_ratings == expected["ratings"]
    assert (table.copies, table.questions["sent"].repeats) == (3, 0)


def test_ls_02_of_two_states_of_one_annotation_the_newer_counts_in_either_order() -> None:
    old = task(1, annotation(1, 2, choose("pos")))
    new = task(1, annotation(1, 2, choose("neg"), updated_at="2024-03-02T10:00:00Z"))
    for tasks in ([old, new], [new, old]):
        table = table_of(tasks)
        assert values(table.questions["sent"]) == {("1", "2"): "neg"}
        assert table.n_annotations == 1


def test_ls_02_an_annotation_listed_twice_inside_one_task_is_one() -> None:
    one = annotation(1, 2, choose("pos"))
    table = table_of([task(1, one, copy.deepcopy(one))])
    assert (table.n_annotations, table.left_out) == (1, {})


def test_ls_02_a_later_skip_of_the_same_annotation_takes_its_rating_away() -> None:
    old = task(1, annotation(1, 2, choose("pos")))
    new = task(1, annotation(1, 2, choose("pos"), was_cancelled=True, updated_at="2024-03-02T10:00:00Z"))
    for tasks in ([old, new], [new, old]):
        assert table_of(tasks).left_out == {"cancelled": 1}


def test_ls_04_skipped_and_empty_annotations_are_no_ratings() -> None:
    tasks, expected = report("LS-04")
    table = table_of(tasks)
    assert table.questions["sent"].ratings.n_ratings == expected["ratings[sent]"]
    assert table.left_out == {"cancelled": expected["cancelled"], "empty": expected["empty"]}


def test_ls_05_an_annotation_without_labels_has_no_value_and_makes_no_category() -> None:
    tasks, expected = report("LS-05")
    question = table_of(tasks).questions["sent"]
    assert question.ratings.n_ratings == expected["ratings[sent]"]
    assert question.left_out == {"empty": expected["no_value"]}


@pytest.mark.parametrize("nothing", [None, float("nan"), "", "  "])
def test_ls_05_none_nan_and_blank_are_never_a_category(nothing: object) -> None:
    question = table_of([task(1, annotation(1, 2, choose("pos")), annotation(2, 3, choose(nothing)))]).questions["sent"]
    assert list(question.ratings.codebook.categories) == ["pos"]
    assert question.left_out == {"empty": 1}


def test_ls_06_annotations_without_a_rater_are_left_out_and_counted_each() -> None:
    tasks, expected = report("LS-06")
    table = table_of(tasks)
    assert table.left_out == {"no_rater": expected["unknown_rater_annotations"]}
    assert table.questions["sent"].ratings.n_ratings == 0


def test_ls_07_one_person_is_one_rater_whatever_the_form_of_the_id() -> None:
    tasks, expected = report("LS-07")
    table = table_of(tasks)
    assert len(table.rater_ids) == expected["raters"]
    assert list(table.rater_ids) == ["7", "8", "99999"]
    assert table.left_out == {}


def test_ls_07_ids_are_text_and_an_address_serves_only_without_an_id() -> None:
    raters = [{"id": 7, "email": "a@example.org"}, 7.0, "07", {"email": "a@example.org"}]
    table = table_of([task(1, *(annotation(n, rater, choose("pos")) for n, rater in enumerate(raters, 1)))])
    assert list(table.rater_ids) == ["07", "7", "a@example.org"]
    assert table.left_out == {"repeat": 1}


def test_ls_13_a_task_without_its_annotations_is_a_fault_of_the_read() -> None:
    tasks, _ = report("LS-13")
    with pytest.raises(DataNotTrusted, match="Task 1 came without its annotations"):
        table_of(tasks)


def test_ls_13_an_export_whose_tasks_carry_no_annotations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(json.dumps(report("LS-13")[0]))
    with pytest.raises(DataNotTrusted, match="without its annotations"):
        list(open_files([tmp_path / "e.json"]).units)


def test_ls_21_a_label_that_left_the_config_stays_a_category_and_is_reported() -> None:
    case, expected = report("LS-21")
    question = table_of(case["tasks"], case["config"]).questions["sent"]
    assert question.stale == expected["stale"]
    assert alpha(question) == pytest.approx(expected["alpha_nominal"])
    assert list(question.ratings.codebook.categories) == ["positive", "negative", "pos"]


def test_ls_21_relabel_maps_it() -> None:
    case, expected = report("LS-21")
    choices = {"sent": QuestionChoice(relabel={"pos": "positive"})}
    question = table_of(case["tasks"], case["config"], choices=choices).questions["sent"]
    assert alpha(question) == pytest.approx(expected["alpha_nominal_with_map pos->positive"])
    assert question.stale == {}


def test_ls_21_a_control_that_left_the_config_is_listed() -> None:
    case, _ = report("LS-21")
    tasks = [*case["tasks"], task(9, annotation(99, 2, choose("old", name="mood")))]
    table = table_of(tasks, case["config"])
    assert [(one.question, one.kind) for one in table.not_measured] == [("mood", "choices")]
    assert "no control of this name" in table.not_measured[0].reason


def test_ls_25_alias_and_value_are_one_choice() -> None:
    case, _ = report("LS-25")
    one, two = case["values"]
    tasks = [
        task(1, annotation(1, 2, [result("tx", "taxonomy", one)]), annotation(2, 3, [result("tx", "taxonomy", two)]))
    ]
    question = table_of(tasks, case["config"]).questions["tx"]
    assert values(question) == {("1", "2"): (("Foo",),), ("1", "3"): (("Foo",),)}
    assert question.stale == {}


def test_ls_25_in_choices_and_in_nested_ones_too() -> None:
    config = """<View><Text name="text" value="$text"/><Choices name="sent" toName="text">
      <Choice value="Good" alias="g"><Choice value="Very" alias="v"/></Choice><Choice value="Bad"/></Choices></View>"""
    tasks = [task(1, annotation(1, 2, choose(["g"], ["g", "v"])), annotation(2, 3, choose(["Good"], ["Good", "Very"])))]
    found = values(table_of(tasks, config).questions["sent"])
    assert set(found.values()) == {(("Good",), ("Good", "Very"))}


def test_ls_25_two_choices_of_one_value_are_told_apart_by_alias() -> None:
    config = """<View><Text name="text" value="$text"/><Choices name="sent" toName="text">
      <Choice value="Yes" alias="sure"/><Choice value="Yes" alias="maybe"/></Choices></View>"""
    tasks = [task(1, annotation(1, 2, choose("sure")), annotation(2, 3, choose("maybe")))]
    assert set(values(table_of(tasks, config).questions["sent"]).values()) == {"sure", "maybe"}


def test_ls_38_a_control_without_any_value_is_named() -> None:
    case, expected = report("LS-38")
    table = table_of(case["tasks"], case["config"])
    assert table.unanswered == expected["control_without_values"]
    assert alpha(table.questions["rate"]) is None


def test_ls_39_ratings_are_numbers_whatever_they_are_written_as() -> None:
    tasks, expected = report("LS-39")
    assert alpha(table_of(tasks).questions["q"]) == pytest.approx(expected["alpha_ordinal"], abs=1e-5)
    choices = {"q": QuestionChoice(level="interval")}
    assert alpha(table_of(tasks, choices=choices).questions["q"]) == pytest.approx(expected["alpha_interval"], abs=1e-5)


@pytest.mark.parametrize("kind", ["rating", "number"])
@pytest.mark.parametrize("raw", ["n/a", True, float("nan"), float("inf"), "1_000", [4], {"a": 1}, "1e999", 10**400])
def test_ls_39_what_is_no_number_is_reported_and_not_cast(kind: str, raw: object) -> None:
    tasks = [task(1, annotation(1, 2, [result("q", kind, raw)]), annotation(2, 3, [result("q", kind, 4)]))]
    question = table_of(tasks).questions["q"]
    assert question.left_out == {"unreadable": 1}
    assert question.ratings.n_ratings == 1


def test_ls_40_free_text_as_text_or_as_a_list_is_one_question_of_one_kind() -> None:
    tasks, _ = report("LS-40")
    question = table_of(tasks).questions["tr"]
    assert question.question.kind == "text"
    assert len(set(values(question).values())) == 1


def test_ls_42_a_nested_choice_is_a_path() -> None:
    tasks, _ = report("LS-42")
    question = table_of(tasks).questions["sent"]
    assert question.question.kind == "paths"
    assert set(values(question).values()) == {(("Products", "Loans"),)}


def test_ls_42_flat_and_nested_answers_of_one_control_are_compared_as_paths() -> None:
    tasks = [task(1, annotation(1, 2, choose("Loans")), annotation(2, 3, choose(["Loans"])))]
    assert set(values(table_of(tasks).questions["sent"]).values()) == {(("Loans",),)}


def test_ls_45_a_rater_counts_once_on_a_unit_with_the_newest_annotation() -> None:
    tasks, expected = report("LS-45")
    table = table_of(tasks)
    question = table.questions["sent"]
    assert values(question)["1", "2"] == expected["value[2]"]
    assert len(table.rater_ids) == expected["raters"]
    assert (question.repeats, table.left_out) == (expected["repeats"], {"repeat": 1})


def test_ls_45_the_order_in_the_file_never_decides() -> None:
    tasks, expected = report("LS-45")
    for order in itertools.permutations(tasks[0]["annotations"]):
        table = table_of([{**tasks[0], "annotations": list(order)}])
        assert values(table.questions["sent"])["1", "2"] == expected["value[2]"]


def test_ls_46_copies_and_accepted_predictions_are_counted_and_kept() -> None:
    tasks, expected = report("LS-46")
    table = table_of(tasks)
    assert (table.copied, table.accepted_unchanged) == (expected["copied"], expected["accepted_prediction_unchanged"])
    assert table.questions["sent"].ratings.n_ratings == 3


def test_ls_46_a_changed_prediction_is_not_accepted_unchanged() -> None:
    tasks = copy.deepcopy(report("LS-46")[0])
    tasks[0]["annotations"][2]["result"][0]["value"]["choices"] = ["pos"]
    assert table_of(tasks).accepted_unchanged == 0


def test_ls_47_an_edit_by_another_person_is_counted() -> None:
    tasks, expected = report("LS-47")
    table = table_of(tasks)
    assert table.edited_by_other == expected["edited_by_other"]
    assert table.ground_truth == {"2": 1}
    assert table.questions["sent"].gold == {"1": "pos"}
    assert table.questions["sent"].ratings.n_ratings == 3


def test_ls_47_ground_truth_can_be_left_out_and_stays_gold() -> None:
    tasks, expected = report("LS-47")
    question = table_of(tasks, rules=CountingRules(ground_truth="exclude")).questions["sent"]
    assert list(values(question).values()) == expected["alpha_inputs_without_gt"]
    assert question.left_out == {"ground_truth": 1}
    assert question.gold == {"1": "pos"}


def test_ls_49_completions_of_old_exports_are_annotations() -> None:
    tasks, expected = report("LS-49")
    table = table_of(tasks)
    assert table.n_annotations == expected["annotations"]
    assert table.left_out == {"no_rater": 1}


def test_ls_51_units_with_one_rating_give_no_alpha() -> None:
    tasks, expected = report("LS-51")
    question = table_of(tasks).questions["sent"]
    assert alpha(question) is expected["alpha"]
    assert (question.ratings.per_unit >= 2).sum() == expected["pairable_units"]


def test_ls_52_is_labeled_says_nothing_of_the_ratings_there_are() -> None:
    tasks, _ = report("LS-52")
    question = table_of(tasks).questions["sent"]
    assert question.ratings.per_unit.tolist() == [1]
    assert question.left_out == {"cancelled": 1}


def test_ls_54_the_tools_own_agreement_is_not_taken_over() -> None:
    tasks, _ = report("LS-54")
    table = table_of(tasks, '<View><Text name="text" value="$t"/><Choices name="sent" toName="text"/></View>')
    assert alpha(table.questions["sent"]) is None
    assert table.left_out == {"empty": 2}


def test_st_07_the_unit_is_the_task_not_the_question() -> None:
    case, expected = report("ST-07")
    tasks = [
        task(
            n, *(annotation(10 * n + k, rater, choose(label)) for k, (rater, label) in enumerate(one["label"].items()))
        )
        for n, one in enumerate(case["records"], 1)
    ]
    assert alpha(table_of(tasks).questions["sent"]) == expected["alpha_nominal"]


def test_st_08_labels_are_compared_as_sets() -> None:
    case, expected = report("ST-08")
    one, two = case["values"]
    question = table_of([task(1, annotation(1, 2, choose(*one)), annotation(2, 3, choose(*two)))]).questions["sent"]
    categories = question.ratings.codebook.categories
    assert COMPARISONS["masi"].matrix(categories).tolist() == [[expected["distance"]]]


def test_st_11_labels_that_look_alike_stay_apart() -> None:
    case, expected = report("ST-11")
    tasks = [
        task(n, *(annotation(10 * n + k, k, choose(label)) for k, label in enumerate(unit)))
        for n, unit in enumerate(case["units"], 1)
    ]
    assert alpha(table_of(tasks).questions["sent"]) == pytest.approx(expected["alpha_nominal"], abs=1e-5)
    for one, two in case["sets"]:
        both = [task(1, annotation(1, 2, choose(*one)), annotation(2, 3, choose(*two)))]
        assert len(set(values(table_of(both).questions["sent"]).values())) == 2


def test_st_17_nothing_depends_on_the_order_of_tasks_raters_or_results() -> None:
    draw = random.Random(5)
    tasks = [
        task(n, *(annotation(100 * n + r, r, choose(draw.choice(["a", "b", "c"]))) for r in (2, 10, 3)))
        for n in range(1, 30)
    ]
    first = table_of(tasks)
    for one in tasks:
        draw.shuffle(one["annotations"])
    draw.shuffle(tasks)
    again = table_of(tasks)
    assert (again.unit_ids, again.rater_ids) == (first.unit_ids, first.rater_ids)
    for column in ("units", "raters", "values"):
        one, two = (getattr(table.questions["sent"].ratings, column).tolist() for table in (first, again))
        assert one == two
    assert list(first.rater_ids) == ["2", "3", "10"]
