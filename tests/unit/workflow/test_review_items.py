"""Which conflicts go to review, in which order, and what a reviewer sees of the votes."""

from __future__ import annotations

from connector.agreement.report import AgreementReport
from connector.workflow.review import dealt_letters, review_items
from tests.unit.workflow.test_fields import COMMENTED, report


def items(found: AgreementReport, **changes: object) -> list[tuple[str, dict[str, str]]]:
    settings: dict[str, object] = {
        "required_ratings": 2,
        "letters": {},
        "names": None,
        "existing": (),
        "limit": None,
        **changes,
    }
    return [(item.unit, dict(item.votes)) for item in review_items(found, **settings)]  # type: ignore[arg-type]


CONFLICTS = report(
    ("s", [["a", "b", None], ["a", "a", "b"], ["a", "b", "c"], ["a", None, None], ["a", "b", None], ["a", "a", None]])
)


def test_the_conflicts_alone_with_votes_under_pseudonyms() -> None:
    assert items(CONFLICTS) == [
        ("1", {"Rater A": "a", "Rater B": "b"}),
        ("3", {"Rater A": "a", "Rater B": "b", "Rater C": "c"}),
        ("5", {"Rater A": "a", "Rater B": "b"}),
    ]


def test_named_raters_where_the_owner_wants_it() -> None:
    people = {"r1": "Ann", "r3": "Ann"}
    assert items(CONFLICTS, names=lambda: people)[1][1] == {"Ann (r1)": "a", "Ann (r3)": "c", "Rater r2": "b"}


def test_a_unit_waits_for_all_its_ratings() -> None:
    assert [unit for unit, _ in items(CONFLICTS, required_ratings=3)] == ["3"]


def test_what_has_a_task_gets_no_other_and_the_limit_counts_it() -> None:
    assert [unit for unit, _ in items(CONFLICTS, existing={"1"})] == ["3", "5"]
    assert [unit for unit, _ in items(CONFLICTS, existing={"1"}, limit=2)] == ["3"]
    assert items(CONFLICTS, existing={"1"}, limit=1) == []


def test_of_several_questions_each_vote_names_its_question() -> None:
    found = report(("one", [["a", "b"]]), ("two", [["x", "x"]]))
    assert items(found) == [("1", {"one: Rater A": "a", "one: Rater B": "b", "two: Rater A": "x", "two: Rater B": "x"})]


def test_votes_stand_by_rater_and_of_each_in_the_order_of_the_questions() -> None:
    """Not by letters, nor by length: after Rater Z comes Rater AA."""
    answers = [*["a"] * 14, *["b"] * 14]
    found = report(("the longest of them", [answers]), ("b", [answers]), ("ab", [answers]))
    ((_, votes),) = items(found)
    ids = sorted(f"r{number}" for number in range(1, 29))  # as text: r1, r10, r11
    letters = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA", "AB"]
    assert list(votes) == [f"{name}: Rater {one}" for one in letters for name in ("the longest of them", "b", "ab")]
    assert [votes[f"b: Rater {one}"] for one in letters] == [answers[int(rater[1:]) - 1] for rater in ids]


def test_a_question_that_the_gate_does_not_require_makes_no_review_task_and_its_votes_are_shown() -> None:
    assert items(report(*COMMENTED, not_required=["comment"])) == [
        (
            "2",
            {
                "comment: Rater A": "bad",
                "comment: Rater B": "bad",
                "sentiment: Rater A": "a",
                "sentiment: Rater B": "b",
            },
        )
    ]


def test_where_the_gate_requires_no_question_every_conflict_goes_to_review() -> None:
    found = report(*COMMENTED, not_required=["comment", "sentiment"])
    assert [unit for unit, _ in items(found)] == ["1", "2", "3"]


def test_more_than_26_raters_have_names_too() -> None:
    from connector.workflow.review import _letters

    assert [_letters(place) for place in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]


def test_a_letter_once_dealt_is_the_same_rater_for_good() -> None:
    """Also where another comes whose id is before theirs: the review tasks made before keep their letters."""
    assert dealt_letters(CONFLICTS, {}) == {"r1": 0, "r2": 1, "r3": 2}
    assert dealt_letters(CONFLICTS, {"r2": 0, "gone": 4}) == {"r2": 0, "gone": 4, "r1": 5, "r3": 6}
    assert items(CONFLICTS, letters={"r3": 0, "r2": 1})[1][1] == {"Rater A": "c", "Rater B": "b", "Rater C": "a"}
