"""A question about parts of a task is judged on the parts of which two raters were asked."""

from __future__ import annotations

from typing import Any

import pytest

from connector.annotations.collect import Table
from connector.config import Settings
from connector.workflow.check import ratings_per_unit
from connector.workflow.measure import measure
from tests.unit.label_studio_files.tasks import annotation, choose, table_of, task, values
from tests.unit.label_studio_files.test_per_region import SPANS, marked, read, span, table

PAGES = """<View><Repeater on="$pages" indexFlag="{{i}}"><Text name="page_{{i}}" value="$pages[{{i}}]"/>
    <Choices name="tone_{{i}}" toName="page_{{i}}"><Choice value="good"/><Choice value="bad"/></Choices></Repeater>
    </View>"""
Results = list[dict[str, Any]]
NOTHING: list[Results] = [[], []]


def judged(found: Table, question: str) -> tuple[str, int, tuple[str, ...]]:
    """The verdict on one question of 100 tasks at a threshold of .5, the units judged, and the reasons."""
    settings = Settings.model_validate(
        {
            "tool": "label_studio",
            "url": "http://x",
            "api_key": "k",
            "project": 1,
            "gate": {"threshold": 0.5, "size": 100},
        }
    )
    decision = measure(found, settings).decision.questions[question]
    return decision.verdict, decision.n_units, decision.reasons


def agreeing(number: int, *more: tuple[float, float, str]) -> Results:
    return marked((0, 10, "good" if number % 2 else "bad"), *more, prefix=f"{number}.")


BOTH = [[agreeing(n), agreeing(n)] for n in range(60)]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([[[], []]] * 40, ("GO", 60, ())),
        ([[marked((0, 10, "good")), []]] * 40, ("GO", 60, ())),
        ([[agreeing(1, (20, 30, "bad")), agreeing(1)]] * 40, ("GO", 100, ())),
        ([[agreeing(1), marked((0, 10, ""))]] * 40, ("UNDECIDED", 100, ("incomplete",))),
        ([[agreeing(1)]] * 40, ("UNDECIDED", 100, ("incomplete",))),
        ([[[]]] * 40, ("UNDECIDED", 100, ("incomplete",))),
    ],
    ids=["no region", "one rater's", "one rater's beside", "no answer", "one rater alone", "one rater, no region"],
)
def test_a_region_is_judged_where_two_were_asked(
    others: list[list[Results]], expected: tuple[str, int, tuple[str, ...]]
) -> None:
    assert judged(table(*BOTH, *others), "tone") == expected


def test_few_regions_of_two_raters_decide_nothing() -> None:
    assert judged(table(*BOTH[:40], *[NOTHING] * 60), "tone") == ("UNDECIDED", 40, ("missing_units",))


def test_a_task_without_items_was_asked_nothing() -> None:
    def of(number: int, items: int, raters: int = 2) -> dict[str, Any]:
        results = [one for i in range(items) for one in choose("good" if number % 2 else "bad", name=f"tone_{i}")]
        made = (annotation(10 * number + rater, rater, results) for rater in range(raters))
        return task(number, *made, data={"pages": ["x"] * items})

    found = table_of([of(n, 0 if n < 10 else 1) for n in range(100)], PAGES)
    assert judged(found, "tone_{{i}}") == ("GO", 90, ())
    assert found.left_out == {"nothing_to_ask": 20}
    assert ratings_per_unit(found) == {2: 100}
    alone = table_of([of(n, 1, 2 if n < 90 else 1) for n in range(100)], PAGES)
    assert judged(alone, "tone_{{i}}") == ("UNDECIDED", 100, ("incomplete",))
    assert ratings_per_unit(alone) == {2: 90, 1: 10}


def test_tasks_are_counted_by_those_who_worked_on_them() -> None:
    found = table([marked((0, 10, "good")), marked((0, 10, "good"), (20, 30, "bad"))], [[], []], [[]])
    assert ratings_per_unit(found) == {2: 2, 1: 1}
    assert found.questions["tone"].left_out == {"nothing_to_ask": 3}
    assert found.questions["tone"].times_shown == {"1#1": 2, "1#2": 1, "2": 0, "3": 0}
    assert found.questions["tone"].annotated == {"1": 2, "2": 2, "3": 1}


class TestConditionsWithCommas:
    @pytest.mark.parametrize(
        ("wanted", "label", "asked"),
        [
            ("Person, living", "Person, living", True),
            ("Person, living", "Person", True),
            ("Person, living", "living", False),
            ("PER,LOC", "LOC", True),
            ("PER,LOC", "ORG", False),
        ],
    )
    @pytest.mark.parametrize("when", ['visibleWhen="region-selected"', ""])
    def test_of_labels(self, wanted: str, label: str, when: str, *, asked: bool) -> None:
        config = SPANS.replace(
            'perRegion="true"', f'perRegion="true" whenTagName="ner" whenLabelValue="{wanted}" {when}'
        )
        found = read([span("a", 0, 9, label), *marked((0, 9, "good", label), prefix="b")], config=config)
        assert (found.ratings.n_ratings, "stale_child" in found.left_out) == ((1, False) if asked else (0, True))

    def test_of_choices(self) -> None:
        config = """<View><Text name="text" value="$text"/><Choices name="ok" toName="text"><Choice value="Yes, sure"/>
            <Choice value="No"/></Choices><Choices name="why" toName="text" visibleWhen="choice-selected"
            whenTagName="ok" whenChoiceValue="Yes, sure"><Choice value="a"/></Choices></View>"""
        made = [
            annotation(n, n, [*choose(ok, name="ok"), *choose("a", name="why")])
            for n, ok in ((1, "Yes, sure"), (2, "No"))
        ]
        assert values(table_of([task(1, *made)], config).questions["why"]) == {("1", "1"): "a"}


@pytest.mark.parametrize(
    ("options", "given", "expected"),
    [
        ([{"value": "a", "alias": "A1"}, {"value": "b"}], ["A1", "a", "b"], ["A1", "A1", "b"]),
        # of two choices of one value the value alone names neither
        ([{"value": "a", "alias": "A1"}, {"value": "a", "alias": "A2"}], ["A1", "A2"], ["A1", "A2"]),
    ],
)
def test_choices_of_the_task_have_one_spelling(options: Any, given: list[str], expected: list[str]) -> None:
    config = '<View><Text name="text" value="$text"/><Choices name="sent" toName="text" value="$options"/></View>'
    made = [annotation(n, n, choose(one)) for n, one in enumerate(given)]
    found = table_of([task(1, *made, data={"text": "x", "options": options})], config).questions["sent"]
    assert [values(found)["1", str(n)] for n in range(len(given))] == expected


def test_a_second_region_of_the_same_id_is_a_region_without_answers() -> None:
    twice = [*marked((0, 10, "good")), span("r0", 20, 30)]
    found = read(twice, marked((0, 10, "good"), (20, 30, "bad")))
    assert values(found) == {("1#1", "1"): "good", ("1#1", "2"): "good", ("1#2", "2"): "bad"}
    assert found.times_shown == {"1#1": 2, "1#2": 2}
    assert found.left_out == {"empty": 1}
