"""Relations between regions: sets of (region, label, region), the regions those of all raters matched."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from connector.agreement.report import QuestionReport
from connector.annotations.collect import CountingRules, QuestionChoice, QuestionTable, Table
from connector.annotations.display import text_of
from connector.config import Settings
from connector.workflow.measure import report_on
from tests.unit.label_studio_files.tasks import CASES, alpha, annotation, choose, report, table_of, task, values

TEXT = """<Text name="text" value="$text"/><Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/>
    </Labels>"""
DECLARED = f'<View>{TEXT}<Relations><Relation value="lives_in"/><Relation value="knows"/></Relations></View>'
PLAIN = f"<View>{TEXT}</View>"
SETTINGS = Settings.model_validate({"tool": "label_studio", "url": "http://x", "api_key": "k", "project": 1})

Results = list[dict[str, Any]]
Drawn = tuple[int, int] | tuple[int, int, str] | tuple[int, int, str, str]
PLACES = ((0, 3, "PER"), (13, 17, "LOC"), (20, 24, "PER"), (30, 34, "LOC"))


def span(ident: str, start: int, end: int, label: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label]}
    return {"id": ident, "from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def drawn(*relations: Drawn, prefix: str = "r", moved: int = 0) -> Results:
    """Four regions, and relations between those of these numbers: label, then direction."""
    made = [span(f"{prefix}{n}", start, end + moved, label) for n, (start, end, label) in enumerate(PLACES)]
    for start, end, *more in relations:
        labels = {"labels": [more[0]]} if more and more[0] else {}
        direction = more[1] if len(more) > 1 else "right"
        ends = {"from_id": f"{prefix}{start}", "to_id": f"{prefix}{end}"}
        made.append({"type": "relation", **ends, "direction": direction, **labels})
    return made


def table(*tasks: list[Results], config: str | None = DECLARED, **choice: Any) -> Table:
    made = [
        task(
            number,
            *(annotation(10 * number + rater, rater, results) for rater, results in enumerate(answers, 1)),
            data={"text": "x" * 40},
        )
        for number, answers in enumerate(tasks, 1)
    ]
    return table_of(made, config, choices={"relations": QuestionChoice(**choice)} if choice else None)


def read(*tasks: list[Results], **more: Any) -> QuestionTable:
    return table(*tasks, **more).questions["relations"]


def reported(*tasks: list[Results], **more: Any) -> QuestionReport:
    return report_on(table(*tasks, **more), SETTINGS, questions=["relations"]).questions["relations"]


@pytest.mark.parametrize("config", [None, DECLARED])
def test_ls_09_relations_are_compared_through_their_ends(config: str | None) -> None:
    tasks, expected = report("LS-09")
    config = config and config.replace('"ner"', '"label"')
    found = table_of(tasks, config).questions["relations"]
    one, other = values(found).values()
    assert (one == other) is (expected["relations_agree"] == 1)
    assert text_of(one, "relations") == "0-3 PER -> lives_in -> 13-17 LOC"
    assert one == ((("1#1", "0-3 PER"), "lives_in", ("1#2", "13-17 LOC"), "->"),)


def test_relations_of_regions_that_match_are_the_same() -> None:
    found = read([drawn((0, 1, "lives_in")), drawn((0, 1, "lives_in"), prefix="other", moved=1)])
    assert len(set(values(found).values())) == 1


def test_alpha_by_hand() -> None:
    a, b, c = (0, 1, "lives_in"), (0, 2, "knows"), (2, 3, "lives_in")
    found = read([drawn(a, b), drawn(a)], [drawn(c), drawn(c)], [drawn(), drawn()])
    # MASI of {a, b} and {a}: 1 - 1/2 * 2/3 = 2/3. Answers: {a, b}, {a}, twice {c}, twice {}.
    # Observed: 2 * 2/3 of 6 ratings. Expected over 30 ordered pairs: {a, b} and {a} 2 * 2/3, the two pairs of
    # equal ones 0, and 1 for the 30 - 2 - 4 others, as relations of two tasks are never the same.
    observed, expected = 2 * (2 / 3) / 6, (2 * (2 / 3) + 24) / 30
    assert alpha(found) == pytest.approx(1 - observed / expected)
    assert found.question.distance == "masi_of_relations"
    by_jaccard = read(
        [drawn(a, b), drawn(a)], [drawn(c), drawn(c)], [drawn(), drawn()], distance="jaccard_of_relations"
    )
    assert alpha(by_jaccard) == pytest.approx(1 - (2 * 0.5 / 6) / ((2 * 0.5 + 24) / 30))


def test_the_same_relation_in_two_tasks_is_two() -> None:
    found = read([drawn((0, 1, "knows")), []], [drawn((0, 1, "knows")), []])
    one, other = (value for value in values(found).values() if value)
    assert one != other
    assert text_of(one, "relations") == text_of(other, "relations")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((0, 1, "knows"), (0, 1, "knows", "right"), True),
        ((0, 1, "knows"), (1, 0, "knows", "left"), True),
        ((0, 1, "knows"), (0, 1, "knows", "left"), False),
        ((0, 1, "knows"), (1, 0, "knows"), False),
        ((0, 1, "knows", "bi"), (1, 0, "knows", "bi"), True),
        ((0, 1, "knows", "bi"), (0, 1, "knows"), False),
        ((0, 1), (0, 1, ""), True),
        ((0, 1), (0, 1, "knows"), False),
        ((0, 1, "lives_in"), (0, 1, "knows"), False),
        ((0, 0, "knows"), (0, 0, "knows"), True),
    ],
)
def test_directions_and_labels(one: Drawn, other: Drawn, same: bool) -> None:
    found = read([drawn(one), drawn(other, prefix="other")])
    assert (len(set(values(found).values())) == 1) is same


def test_a_relation_with_two_labels_is_two() -> None:
    both = drawn((0, 1, "knows"))
    both[-1]["labels"] = ["knows", "lives_in"]
    found = read([both, drawn((0, 1, "lives_in"), (0, 1, "knows"))])
    assert len(set(values(found).values())) == 1


class TestNothing:
    def test_an_annotation_without_relations_says_so_where_they_are_declared(self) -> None:
        found = read([[], drawn()], [drawn((0, 1)), choose("a")])
        assert [len(value) for value in values(found).values()] == [0, 0, 1, 0]
        assert found.left_out == {}

    @pytest.mark.parametrize("config", [None, PLAIN])
    def test_or_where_somebody_drew_one(self, config: str | None) -> None:
        for answers in ([[], drawn((0, 1))], [drawn((0, 1)), []]):
            found = read(answers, config=config)
            assert sorted(len(value) for value in values(found).values()) == [0, 1]
            assert found.left_out == {}

    @pytest.mark.parametrize("config", [None, PLAIN])
    def test_nobody_is_asked_where_nobody_speaks_of_them(self, config: str | None) -> None:
        assert list(table([drawn(), drawn()], config=config).questions) == ["ner"]

    def test_declared_ones_that_nobody_draws_are_unanswered(self) -> None:
        assert "relations" in table([drawn(), drawn()]).unanswered

    def test_a_gate_decides_on_declared_ones_alone(self) -> None:
        assert read([drawn((0, 1))]).question.required
        assert not read([drawn((0, 1))], config=PLAIN).question.required


class TestEnds:
    def test_a_relation_to_nowhere_is_left_out_and_counted(self) -> None:
        found = read([[*drawn((0, 1)), {"type": "relation", "from_id": "r0", "to_id": "gone", "direction": "right"}]])
        assert len(values(found)["1", "1"]) == 1
        assert found.mended == {"loose": 1}

    @pytest.mark.parametrize("ident", [None, ["r0"], {}, 1.5])
    def test_ends_that_are_no_ids(self, ident: Any) -> None:
        for config in (DECLARED, None):
            broken = {"type": "relation", "from_id": "r0", "to_id": ident, "direction": "right"}
            assert read([[*drawn((0, 1)), broken]], config=config).mended == {"loose": 1}

    def test_a_relation_drawn_twice_counts_once(self) -> None:
        found = read([drawn((0, 1, "knows"), (1, 0, "knows", "left")), drawn((0, 1, "knows"))])
        assert len(set(values(found).values())) == 1
        assert found.mended == {"repeated": 1}

    def test_a_control_may_be_called_relations(self) -> None:
        config = DECLARED.replace(
            "</View>", '<Choices name="relations" toName="text"><Choice value="a"/></Choices></View>'
        )
        found = table([[*drawn((0, 1)), *choose("a", name="relations")]], config=config)
        assert {name: one.question.kind for name, one in found.questions.items()} == {
            "ner": "spans",
            "relations": "choice",
            "relations_2": "relations",
        }

    def test_regions_of_two_objects_are_never_one(self) -> None:
        def on(name: str) -> Results:
            return [{**one, "to_name": name} if "to_name" in one else one for one in drawn((0, 1))]

        assert len(set(values(read([on("text"), on("other")], config=None)).values())) == 2

    def test_between_boxes_and_spans_of_what_raters_drew(self) -> None:
        shape = next(
            one for one in json.loads((CASES / "shapes.json").read_text())["shapes"] if one["example"] == "image_tools"
        )
        for config in (shape["config"], None):
            found = table_of([task(1, *(annotation(n, n, shape["result"]) for n in (1, 2)))], config).questions[
                "relations"
            ]
            one, other = values(found).values()
            assert one == other
            assert len(one) == sum(result["type"] == "relation" for result in shape["result"])
            assert found.question.kind == "relations"


def test_order_and_names_change_nothing() -> None:
    answers = [
        drawn((0, 1, "knows"), (2, 3, "lives_in", "bi")),
        drawn((1, 0, "knows", "left"), (3, 2, "lives_in", "bi"), prefix="b", moved=1),
        drawn((0, 3), prefix="c", moved=2),
    ]
    shuffle = random.Random(1)
    expected = alpha(read(answers))
    for order in itertools.permutations(answers):
        mixed = [shuffle.sample(one, len(one)) for one in order]
        assert alpha(read(mixed)) == expected
        assert {*values(read(mixed)).values()} == {*values(read(answers)).values()}


def test_new_names_of_labels() -> None:
    found = read([drawn((0, 1, "old")), drawn((0, 1, "knows"))], relabel={"old": "knows"})
    assert len(set(values(found).values())) == 1
    assert found.stale == {}


def test_labels_that_are_not_declared_are_stale() -> None:
    assert read([drawn((0, 1, "old"), (0, 2)), drawn((0, 1, "knows"))]).stale == {"old": 1}


def test_gold_and_earlier_work_speak_of_the_same_regions() -> None:
    early = annotation(1, 2, drawn((0, 1, "knows")), updated_at="2024-03-01T09:00:00Z")
    late = annotation(2, 2, drawn((0, 2, "knows")))
    gold = annotation(3, 9, drawn((0, 1, "knows"), prefix="g", moved=1), ground_truth=True)
    rules = CountingRules(reviewers=frozenset({"9"}))
    found = table_of([task(1, early, late, gold, data={"text": "x" * 40})], DECLARED, rules).questions["relations"]
    relation = ((("1#1", "0-3 PER"), "knows", ("1#2", "13-17 LOC"), "->"),)
    assert found.gold == {"1": relation}
    assert found.replaced == [("1", "2", relation)]


class TestReport:
    """Each label by itself, and what raters disagree between."""

    A, B, C = (0, 1, "lives_in"), (0, 2, "knows"), (2, 3, "lives_in")

    def test_every_label_has_its_own_alpha_and_f1(self) -> None:
        tasks = [[drawn(self.A, self.B), drawn(self.A)], [drawn(self.C), drawn(self.C)], [drawn(), drawn()]]
        found = {one.category: one for one in reported(*tasks).categories}
        assert list(found) == ["lives_in", "knows"]
        lives, knows = found["lives_in"], found["knows"]
        # lives_in alone: {a}, {a}; {c}, {c}; {}, {}
        assert lives.one_vs_rest == pytest.approx(1)
        assert lives.specific_agreement == pytest.approx(1)
        # knows alone: {b}, {}; {}, {}; {}, {}: observed 2/6, expected 2 * 5 / 30
        assert knows.one_vs_rest == pytest.approx(1 - (2 / 6) / (10 / 30))
        assert knows.specific_agreement == 0
        assert [lives.share, knows.share] == pytest.approx([4 / 5, 1 / 5])

    def test_what_raters_disagree_between(self) -> None:
        tasks = [[drawn((0, 1, "knows"), self.C), drawn((0, 1, "lives_in"))], [drawn((0, 1)), drawn((0, 1, "knows"))]]
        assert [(one.a, one.b, one.n) for one in reported(*tasks).pairs] == [
            ("(no label)", "knows", 1),
            ("knows", "lives_in", 1),
            ("lives_in", "(no relation)", 1),
        ]

    def test_a_tasks_own_score_and_consensus(self) -> None:
        found = reported([drawn(self.A, self.B), drawn(self.A), drawn(self.A, self.C)])
        # MASI of {a, b} and {a} 2/3 twice, of {a, b} and {a, c} 1 - 1/3 * 1/3 = 8/9
        assert found.units["1"].agreement == pytest.approx(1 - (2 / 3 + 2 / 3 + 8 / 9) / 3, abs=0.005)
        assert text_of(found.units["1"].majority, "relations") == "0-3 PER -> lives_in -> 13-17 LOC"

    def test_three_raters_weigh_as_in_alpha(self) -> None:
        found = {one.category: one for one in reported([drawn(self.A), drawn(self.A), drawn()]).categories}
        # three pairs of ratings: one shares 2 of 2, two share 0 of 1: F1 2 / 4
        assert found["lives_in"].specific_agreement == pytest.approx(2 / 4)


@pytest.mark.parametrize("attributes", ["", ' name="rel"', ' toName="text"', ' name="rel" toName="text"'])
def test_what_declares_the_labels_is_no_question_of_its_own(attributes: str) -> None:
    """However it is written: a question that nobody can answer would keep a gate from deciding."""
    config = DECLARED.replace("<Relations>", f"<Relations{attributes}>")
    found = table([drawn((0, 1, "lives_in")), drawn((0, 1, "lives_in"))], config=config)
    assert list(found.questions) == ["ner", "relations"]
    assert found.questions["relations"].question.categories == ("lives_in", "knows")
    assert not found.unanswered
