"""The report of spans: what it says, what it leaves undefined, and that documents are what is redrawn."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from connector.agreement.alpha import krippendorff_alpha
from connector.agreement.gate import GateRule, decide
from connector.agreement.intervals import interval_of
from connector.agreement.ratings import Ratings
from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.agreement.spans import CHARACTER
from connector.agreement.unitizing import consensus
from connector.annotations.kinds import KINDS

Answer = Any
A, B = ("A",), ("B",)
FAMILY = ("krippendorff_alpha_u", "krippendorff_alpha_u_binary", "krippendorff_alpha_cu")


def of(documents: list[list[Answer]], confidence: float | None = None, **more: Any) -> QuestionReport:
    """The report of documents, each with one answer per rater."""
    cells = [(str(unit), str(rater), answer) for unit, one in enumerate(documents) for rater, answer in enumerate(one)]
    answers = sorted({answer for _, _, answer in cells}, key=repr)
    units, raters, values = zip(*cells, strict=True)
    names = list(dict.fromkeys(raters))
    ratings = Ratings.from_codes(
        [int(unit) for unit in units],
        [names.index(rater) for rater in raters],
        [answers.index(value) for value in values],
        unit_ids=list(dict.fromkeys(units)),
        rater_ids=names,
        categories=answers,
        n_declared=0,
    )
    assert KINDS["spans"].distance == CHARACTER.name
    question = QuestionRatings("q", "spans", ratings, distance=CHARACTER.name, **more)
    return assess(question, confidence=confidence).questions["q"]


def noisy(n: int, length: int = 200, seed: int = 1, truth: float = 0.9) -> list[list[Answer]]:
    """Documents of two raters who share most of their marks; some documents are harder than others."""
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        hard = rng.random() < 0.3
        places = sorted(rng.sample(range(0, length - 10, 12), 6))
        document = []
        for _rater in range(2):
            kept = [at for at in places if rng.random() < (truth - 0.4 * hard)]
            slips = {at for at in kept if rng.random() < 1 - truth}
            document.append((length, tuple((at, at + 8, A if (at % 24 == 0) ^ (at in slips) else B) for at in kept)))
        made.append(document)
    return made


def values(report: QuestionReport) -> dict[str, float | None]:
    return {name: one.value for name, one in report.coefficients.items()}


def reasons(report: QuestionReport) -> set[str | None]:
    wanted = ("krippendorff_alpha", *FAMILY, "span_f1_exact", "span_f1_partial")
    return {report.coefficients[name].reason for name in wanted}


def test_a_worked_document() -> None:
    # 20 characters: both A on 0-4; 4-6 A against blank; 10-14 A against B; the rest blank
    report = of([[(20, ((0, 6, A), (10, 14, A))), (20, ((0, 4, A), (10, 14, B)))]])
    found = report.coefficients["krippendorff_alpha"]
    n, apart, counts = 40, 2 * (2 + 4), (10 + 4, 4, 10 + 12)
    p = n**2 - sum(count**2 for count in counts)
    assert found.value == pytest.approx(1 - (n - 1) * apart / p)
    assert (found.observed, found.expected) == pytest.approx((apart / n, p / (n * (n - 1))))
    assert [(one.a, one.b, one.n) for one in report.pairs] == [("A", "B", 4), ("A", "(blank)", 2)]
    shares = {one.category: one.share for one in report.categories}
    assert shares == pytest.approx({"A": 14 / 40, "B": 4 / 40})
    assert (values(report)["span_f1_exact"], values(report)["span_f1_partial"]) == (0.0, 0.5)
    assert report.units["0"].agreement == round(1 - (1 - 2 * 4 / (10 + 8)), 2)


def test_one_label_that_two_raters_mark_alike_is_high_agreement() -> None:
    marks = tuple((at, at + 5, A) for at in range(0, 1000, 50))
    report = of([[(1000, marks), (1000, marks[1:])], [(1000, marks[:-1]), (1000, marks)]])
    assert values(report)["span_f1_exact"] == pytest.approx(2 * 38 / 78)
    assert values(report)["krippendorff_alpha"] == pytest.approx(0.97, abs=0.02)


def test_nobody_marked_anything() -> None:
    report = of([[(20, ()), (20, ())], [(30, ()), (30, ())]], categories=("A", "B"))
    assert reasons(report) == {"no_variation"}
    assert [(one.category, one.share, one.reason) for one in report.categories] == [
        ("A", 0.0, "no_variation"),
        ("B", 0.0, "no_variation"),
    ]
    assert report.units["0"].agreement == 1.0
    assert report.units["0"].status == "agreed"


def test_no_document_has_two_raters() -> None:
    report = of([[(20, ((0, 4, A),))], [(20, ())]])
    assert reasons(report) == {"no_pairable_units"}
    assert [one.share for one in report.categories] == [0.1]


def test_documents_without_length_have_nothing_to_compare() -> None:
    assert reasons(of([[(0, ()), (0, ())]])) == {"no_variation"}


def test_everything_marked_with_one_label_is_no_variation() -> None:
    report = of([[(20, ((0, 20, A),)), (20, ((0, 20, A),))]])
    assert values(report)["krippendorff_alpha"] is None
    assert values(report)["span_f1_exact"] == 1.0


def test_what_is_no_spans_has_no_number() -> None:
    report = of([["a", (20, ())], [(20, ()), (20, ())]])
    assert report.coefficients["krippendorff_alpha"].reason == "wrong_level"
    assert "span_f1_exact" not in report.coefficients


def test_the_report_is_plain_json() -> None:
    report = of(noisy(12), confidence=0.95, mended={"trimmed": 3})
    body = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (body["distance"], body["mended"]) == ("character", {"trimmed": 3})
    assert set(body["categories"]["A"]) >= {"share", "one_vs_rest", "low", "krippendorff_alpha_ku", "coverage"}
    for name in (*FAMILY, "span_f1_exact", "span_f1_partial", "krippendorff_alpha_u_2004"):
        assert body["coefficients"][name]["value"] is not None
    assert body["way_to_threshold"]["pairs"] == [], "answers that nobody gives twice tell nothing in pairs"


def test_alpha_from_python() -> None:
    documents = noisy(12)
    ratings = of(documents).source.ratings
    assert krippendorff_alpha(ratings, distance="character").value == values(of(documents))["krippendorff_alpha"]


def test_a_label_among_several_of_one_mark_is_compared_by_itself() -> None:
    report = of([[(20, ((0, 10, ("A", "B")),)), (20, ((0, 10, A),))]])
    found = {one.category: one.one_vs_rest for one in report.categories}
    assert found["A"] == 1.0
    assert found["B"] is not None
    assert found["B"] < 0
    assert [(one.a, one.b, one.n) for one in report.pairs] == [("A", ("A", "B"), 10)]


def test_intervals_redraw_documents_and_not_characters() -> None:
    documents = noisy(60)
    # the same characters in twice and in half as many documents
    halved = [
        [(100, tuple((s - at, e - at, k) for s, e, k in marks if at <= s < e <= at + 100)) for _, marks in document]
        for document in documents
        for at in (0, 100)
    ]
    joined = [
        [
            (400, (*one[1], *((s + 200, e + 200, k) for s, e, k in other[1])))
            for one, other in zip(first, second, strict=True)
        ]
        for first, second in zip(documents[::2], documents[1::2], strict=True)
    ]
    plain, more = of(documents, 0.95).alpha, of([*documents, *documents, *documents], 0.95).alpha
    assert of(joined).alpha.value == pytest.approx(plain.value)
    assert plain.interval is not None
    assert more.interval is not None
    width, narrow = (one.high - one.low for one in (plain.interval, more.interval))
    assert narrow < 0.75 * width, "three times the documents"
    assert len(of(halved).prepared.patterns.weights) > len(of(documents).prepared.patterns.weights)


def test_the_same_for_several_coefficients_is_drawn_at_once() -> None:
    report = of(noisy(150), 0.95)
    for name in ("krippendorff_alpha", *FAMILY, "span_f1_exact", "span_f1_partial"):
        interval = report.coefficients[name].interval
        assert interval is not None, name
        assert interval.method == "bootstrap"
        assert interval.low < report.coefficients[name].value < interval.high  # type: ignore[operator]


def test_raters_who_always_agree_are_not_certain_to() -> None:
    marks = (50, ((0, 10, A), (20, 30, B)))
    report = of([[marks, marks], [marks, marks], [(50, ()), (50, ())]] * 3, 0.95)
    assert report.alpha.value == 1.0
    assert report.alpha.interval is not None
    assert report.alpha.interval.added_conflict
    assert report.alpha.interval.low < 1


def test_many_documents_are_measured_by_their_influence() -> None:
    statistic = of(noisy(1700)).prepared
    found = CHARACTER.statistic(statistic.patterns.pairable, statistic.ratings.codebook.categories)
    assert found.found.value is not None
    interval = interval_of(found, found.found.value, 0.95)
    assert interval is not None
    assert interval.method == "infinitesimal_jackknife"
    drawn = np.random.default_rng(1).multinomial(1700, found.weights / 1700, 400).astype(np.float64)
    assert interval.error == pytest.approx(float(found.evaluate(drawn).std()), rel=0.2)


def test_rare_labels_are_marked_as_such() -> None:
    rare = ((500, 503, ("Rare",)),)
    documents: list[list[Answer]] = [[(1000, ((0, 300, A),)), (1000, ((0, 290, A),))] for _ in range(20)]
    documents.append([(1000, ((0, 300, A), *rare)), (1000, ((0, 300, A), *rare))])
    assert {one.category: one.too_rare for one in of(documents).categories} == {"A": False, "Rare": True}


def test_the_consensus_stands_for_the_majority_of_a_document() -> None:
    one: Answer = (20, ((0, 6, A),))
    two: Answer = (20, ((0, 4, A), (10, 12, B)))
    three: Answer = (20, ((2, 6, A), (10, 12, B)))
    report = of([[one, two, three], [one, one, two]])
    assert report.units["0"].majority == (20, ((0, 6, A), (10, 12, B)))
    assert report.units["1"].majority == (*one[:1], ((0, 6, A),))
    assert report.units["1"].status == "majority"


@pytest.mark.parametrize(
    ("answers", "times", "expected"),
    [
        # neighbours stay apart where half of the raters draw the line
        ([(9, ((0, 3, A), (3, 6, A))), (9, ((0, 6, A),))], [2, 1], ((0, 3, A), (3, 6, A))),
        ([(9, ((0, 3, A), (3, 6, A))), (9, ((0, 6, A),))], [1, 2], ((0, 6, A),)),
        # two raters: each is half
        ([(9, ((0, 3, A),)), (9, ())], [1, 1], ((0, 3, A),)),
        ([(9, ((0, 3, A),)), (9, ())], [1, 2], ()),
        # one rater's overlapping marks count once
        ([(9, ((0, 5, A), (3, 8, A))), (9, ()), (9, ())], [1, 1, 1], ()),
        ([(9, ((0, 3, A), (0, 3, B))), (9, ((0, 3, ("A", "B")),))], [1, 1], ((0, 3, ("A", "B")),)),
        ([(9, ((0, 3, ()),)), (7, ((0, 4, ()),))], [1, 1], ((0, 4, ()),)),
    ],
)
def test_consensus(answers: list[Answer], times: list[int], expected: Any) -> None:
    assert consensus(answers, times) == (9, expected)


def test_a_gate_decides_on_spans() -> None:
    report = assess([of(noisy(60, truth=1.0)).source])
    assert decide(report, GateRule(size=50, threshold=0.5)).verdict == "GO"
    assert decide(report, GateRule(size=50, threshold=0.99)).verdict == "NO-GO"
    assert decide(report, GateRule(size=100)).verdict == "UNDECIDED"
