"""The fields on each unit: names that the tool can filter, values out of the report, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from connector.agreement.ratings import Ratings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.workflow.fields import desired_fields, field_names, slugs, sort_fields
from tests.unit.agreement.test_likeness import boxes
from tests.unit.agreement.test_likeness import report as whole_answers


def report(
    *questions: tuple[str, Sequence[Sequence[str | None]]], not_required: Collection[str] = ()
) -> AgreementReport:
    return assess(
        [
            QuestionRatings(
                name,
                "choice",
                Ratings.from_wide(
                    rows,
                    unit_ids=[str(n) for n in range(1, len(rows) + 1)],
                    rater_ids=[f"r{n}" for n in range(1, len(rows[0]) + 1)],
                ),
                required=name not in not_required,
            )
            for name, rows in questions
        ],
        confidence=None,
    )


def test_slugs_are_lower_case_without_double_underscores_and_never_clash() -> None:
    names = ["Sentiment", "sentiment", "Topics & more", "__x__", "感情", "気分", "sentiment 2", "q"]
    assert list(slugs(names).values()) == [
        "sentiment", "sentiment_2", "topics_more", "x", "q", "q_2", "sentiment_2_2", "q_3",
    ]  # fmt: skip


def test_slugs_of_long_names_are_cut_and_still_never_clash() -> None:
    names = ["q" * 200, "q" * 150, "x" * 99 + " y"]
    assert list(slugs(names).values()) == ["q" * 100, "q" * 100 + "_2", "x" * 99]
    fields = field_names(names, prefix="iaa_", scores=True, majority=True)
    assert len(set(fields)) == len(fields)
    assert max(map(len, fields)) <= 200


def test_what_is_more_or_less_alike_has_its_likeness_to_the_consensus() -> None:
    """Twenty boxes of which nineteen are the same are no conflict of one half."""
    mine, theirs = boxes(*range(20)), boxes(*range(19), 30)
    rows: list[list[Any]] = [[mine, theirs, None], [mine, mine, mine], [mine, None, None]]
    found = desired_fields(
        AgreementReport({"q": whole_answers("regions", rows)}),
        prefix="iaa_", required_ratings=2, scores=True, majority=False,
    )  # fmt: skip
    assert found["iaa_consensus"] == {"u0": 0.98, "u1": 1.0}
    assert found["iaa_agreement"] == {"u0": 0.95, "u1": 1.0}
    assert found["iaa_status"] == {"u0": "majority", "u1": "agreed", "u2": "single"}
    texts: list[list[Any]] = [["cat", "cow", None], ["cat", "cat", "cart"], ["cat", None, None]]
    found = desired_fields(
        AgreementReport({"q": whole_answers("text", texts)}),
        prefix="iaa_", required_ratings=2, scores=True, majority=False,
    )  # fmt: skip
    assert found["iaa_consensus"] == {"u1": 0.92}, "a tie of two texts has none, nor has one alone"


def test_one_question_has_the_bare_names() -> None:
    fields = desired_fields(
        report(("s", [["a", "a", "b"], ["a", None, None], ["a", "b", None]])),
        prefix="iaa_", required_ratings=2, scores=True, majority=True,
    )  # fmt: skip
    assert fields == {
        "iaa_status": {"1": "majority", "2": "single", "3": "conflict"},
        "iaa_raters": {"1": 3.0, "2": 1.0, "3": 2.0},
        "iaa_agreement": {"1": 0.3333, "3": 0.0},
        "iaa_consensus": {"1": 0.6667, "3": 0.5},
        "iaa_majority": {"1": "a"},
    }


def test_the_majority_waits_for_all_required_ratings() -> None:
    fields = desired_fields(
        report(("s", [["a", "a", "a"], ["a", "a", None]])),
        prefix="iaa_",
        required_ratings=3,
        scores=True,
        majority=True,
    )
    assert fields["iaa_majority"] == {"1": "a"}


def test_of_several_questions_the_bare_fields_are_the_worst() -> None:
    fields = desired_fields(
        report(
            ("one", [["a", "a"], ["a", "b"], ["a", None], [None, None]]),
            ("two", [["x", "x"], ["x", "x"], ["y", "y"], [None, None]]),
        ),
        prefix="iaa_",
        required_ratings=2,
        scores=True,
        majority=False,
    )
    assert fields["iaa_status"] == {"1": "agreed", "2": "conflict", "3": "agreed", "4": "unrated"}
    assert fields["iaa_agreement"] == {"1": 1.0, "2": 0.0, "3": 1.0}
    assert "iaa_majority_one" not in fields


COMMENTED: tuple[tuple[str, Sequence[Sequence[str | None]]], ...] = (
    ("sentiment", [["a", "a"], ["a", "b"], ["a", None]]),
    ("comment", [["great", "I like it"], ["bad", "bad"], ["x", "y"]]),
)


def test_a_question_that_the_gate_does_not_require_makes_no_unit_a_conflict() -> None:
    fields = desired_fields(
        report(*COMMENTED, not_required=["comment"]), prefix="iaa_", required_ratings=2, scores=True, majority=False
    )
    assert fields["iaa_status"] == {"1": "agreed", "2": "conflict", "3": "single"}
    assert fields["iaa_agreement"] == {"1": 1.0, "2": 0.0}
    assert fields["iaa_status_comment"] == {"1": "conflict", "2": "agreed", "3": "conflict"}
    assert fields["iaa_agreement_comment"] == {"1": 0.0, "2": 1.0, "3": 0.0}


def test_where_the_gate_requires_no_question_all_of_them_decide() -> None:
    found = report(*COMMENTED, not_required=["comment", "sentiment"])
    fields = desired_fields(found, prefix="iaa_", required_ratings=2, scores=True, majority=False)
    assert fields["iaa_status"] == {"1": "conflict", "2": "conflict", "3": "conflict"}


@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize("majority", [True, False])
@pytest.mark.parametrize("names", [["s"], ["s", "S", "t u"]])
def test_the_names_are_those_of_the_fields(names: list[str], scores: bool, majority: bool) -> None:
    fields = desired_fields(
        report(*((name, [["a", "a"]]) for name in names)),
        prefix="p_",
        required_ratings=2,
        scores=scores,
        majority=majority,
    )
    assert set(fields) == set(field_names(names, prefix="p_", scores=scores, majority=majority))
    assert not any("__" in name for name in fields)
    data = {field: values["1"] for field, values in fields.items()}
    assert sort_fields(data, "p_", known=dict.fromkeys(fields, ())) == (data, set())
    if scores:
        assert sort_fields(data, "p_") == (data, set())


def test_a_person_s_own_fields_are_not_ours() -> None:
    ours = {"iaa_status": "agreed", "iaa_raters": 2, "iaa_agreement": 1.0, "iaa_status_q": "single", "iaa_raters_q": 1}
    theirs = {"iaa_status_note": "please look", "iaa_majority_vote": "my own", "iaa_agreement_x": 0.5}
    plain = {"text": 1, "iaa_notes": 1, "xiaa_status": 1, "iaa_statusx": 1}
    assert sort_fields({**ours, **theirs, **plain}, "iaa_") == (ours, set(theirs))


def test_without_a_status_and_a_number_beside_it_a_field_is_a_person_s_unless_we_know_that_we_wrote_it() -> None:
    data = {"iaa_majority": "my own", "iaa_raters": 3}
    assert sort_fields(data, "iaa_") == ({}, set(data))
    assert sort_fields(data, "iaa_", known={"iaa_majority": ()}) == ({"iaa_majority": "my own"}, {"iaa_raters"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iaa_status", "open"),
        ("iaa_agreement", "high"),
        ("iaa_agreement", 85),
        ("iaa_raters", True),
        ("iaa_majority", 1),
    ],
)
def test_a_value_that_we_would_never_write_is_a_person_s(field: str, value: object) -> None:
    whole = {"iaa_status": "conflict", "iaa_agreement": 0.5, "iaa_raters": 3, "iaa_majority": "x"}
    assert sort_fields(whole, "iaa_") == (whole, set())
    ours, foreign = sort_fields({**whole, field: value}, "iaa_", known=dict.fromkeys(whole, ()))
    assert foreign == {field}
    assert ours == {name: kept for name, kept in whole.items() if name != field}


PREFIXES = ["iaa_", "iaa", "a", "zz_", "status_", "raters", "iaa_majority_", "agreement_of_2"]


@pytest.mark.parametrize("names", [["s"], ["s", "Status of raters", "majority"]])
@pytest.mark.parametrize("written", PREFIXES)
@pytest.mark.parametrize("now", PREFIXES)
def test_the_ledger_proves_every_value_of_ours_whatever_the_prefix_was_and_is(
    written: str, now: str, names: list[str]
) -> None:
    fields = desired_fields(
        report(*((name, [["a", "a"]]) for name in names)),
        prefix=written,
        required_ratings=2,
        scores=True,
        majority=True,
    )
    data = {field: values["1"] for field, values in fields.items()}
    known: dict[str, Any] = {name: (value,) for name, value in data.items()}
    assert sort_fields({"text": "x", **data}, now, known) == (data, set())


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_a_person_wrote_over_ours_is_theirs_whatever_the_prefix_and_the_question_are_called(prefix: str) -> None:
    name = f"{prefix}status_majority_vote"
    assert sort_fields({name: "please look"}, prefix, {name: ("conflict",)}) == ({}, {name})
    assert sort_fields({name: "agreed"}, prefix, {name: ("conflict",)}) == ({name: "agreed"}, set())


def test_fields_under_an_earlier_prefix_are_known_from_the_ledger() -> None:
    data = {"old_status": "agreed", "old_raters": 2, "zz_status": "agreed"}
    assert sort_fields(data, "zz_", known={"old_status": (), "old_raters": ()}) == (
        {"old_status": "agreed", "old_raters": 2},
        {"zz_status"},
    )


def test_of_two_in_conflict_neither_is_the_majority_whatever_the_kind() -> None:
    """A median of two, or what either of two marked, is for the report; it is no majority to show to raters."""
    numbers = QuestionRatings("n", "number", Ratings.from_wide([[1, 2], [3, 3]]), level="interval")
    marks = [(9, ((0, 4, ("a",)),)), (9, ((5, 9, ("a",)),))]
    spans = QuestionRatings(
        "s", "spans", Ratings.from_wide([[marks[0], marks[1]], [marks[0]] * 2]), distance="character"
    )
    for question, shown in ((numbers, "3"), (spans, "0-4 a")):
        fields = desired_fields(assess(question), prefix="iaa_", required_ratings=2, scores=True, majority=True)
        assert list(fields["iaa_majority"].values()) == [shown]
