"""What the diagnosis says on every surface: brief, the same everywhere, and only where there is something to say."""

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from markdown_it import MarkdownIt

from connector.agreement.gate import GateRule, decide
from connector.agreement.ratings import NOTES, Ratings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.agreement.scales import SCALES
from connector.output import json as json_output
from connector.output import shown, text
from connector.output.findings import SCALE_NAMES, reading
from connector.output.view import Context, QuestionView, view
from tests.unit.output.reports import (
    HOSTILE,
    hostile_context,
    hostile_raters_report,
    mixed_report,
    ratings_of,
)
from tests.unit.output.test_surfaces import SURFACES, Page, words_of

LABELS = ("complaint", "refund", "enquiry", "other", "praise")


def busy_report(raters: int = 15, threshold: float = 0.95) -> AgreementReport:
    """300 units, three of many raters each; complaint/refund and enquiry/other are mixed up, everything is known."""
    chance = np.random.default_rng(5)
    rows = []
    for u in range(300):
        true = LABELS[u % 5]
        for k in range(3):
            other = {"complaint": "refund", "refund": "complaint", "enquiry": "other", "other": "enquiry"}.get(true)
            wrong = other if other and chance.random() < (0.3 if u % 5 < 2 else 0.15) else true
            rows.append((str(u), f"rater {(3 * u + k) % raters}", wrong))
    units, ids, values = zip(*rows, strict=True)
    question = QuestionRatings(
        "why",
        "choice",
        Ratings.from_long(units, ids, values),
        gold={str(u): LABELS[u % 5] for u in range(0, 300, 4)},
        lead_times=chance.exponential(20, len(rows)),
        repeats=[(units[row], ids[row], LABELS[row // 3 % 5]) for row in range(0, 120, 3)],
    )
    return assess([question], threshold=threshold)


def paradox_report() -> AgreementReport:
    """The published table: 900 of 1000 alike, "complaint" 67 times by each rater and 17 times by both."""
    alike = [["no", "no"]] * 883 + [["complaint", "complaint"]] * 17
    apart = [["complaint", "no"], ["no", "complaint"]] * 50
    return assess(ratings_of([*alike, *apart]))


def question_of(report: AgreementReport, context: Context | None = None) -> QuestionView:
    return view(report, context).questions[0]


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_shows_the_diagnosis_of_the_json(surface: str) -> None:
    report = busy_report()
    body = json.loads(json_output.render(report))["questions"]["why"]
    seen = words_of(surface, SURFACES[surface](report, None))
    way = body["way_to_threshold"]
    assert f"the {way['needed']} costliest of the {way['n_conflicts']} units" in seen
    assert f"Alpha would reach 0.95 ({shown.number(way['alpha_then'], 0.95)})" in seen
    assert f"{shown.percent(body['mend']['share'])} of 242 disagreeing pairs" in seen
    for pair in way["pairs"]:
        assert f'"{pair["a"]}"/"{pair["b"]}" {shown.number(pair["cost"])}' in seen
    for one in body["raters"][:12]:
        alike = f"{round(one['gold']['accuracy'] * one['gold']['n'])}/{one['gold']['n']}"
        farthest = one["leaning"][0]
        own = f"{farthest['category']} {farthest['own'] - farthest['others']:+.2f}"
        line = f"{one['rater']} {one['n_ratings']} {one['change']:+.3f} {own} {alike} {one['seconds']:.1f}"
        assert line in seen
    assert body["raters"][12]["rater"] not in seen or surface == "html"  # whose pairs of raters name more of them
    for unit in body["units_by_influence"][:5]:
        assert f"{unit['unit']} ({unit['influence']:+.3f})" in seen
    for name, one in body["categories"].items():
        found = f"{name} {one['share']:.3f} {one['specific_agreement']:.3f} {shown.number(one['one_vs_rest'])}"
        assert f"{found} {shown.interval(one['low'], one['high'])}" in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_the_next_step_stands_before_the_tables_and_after_the_sentence(surface: str) -> None:
    report = busy_report()
    seen = words_of(surface, SURFACES[surface](report, None))
    places = [
        seen.index(words)
        for words in (question_of(report).sentence, "Mend these two pairs", "Alpha would reach", "Pairable values")
    ]
    assert places == sorted(places)


def test_pairs_to_mend_are_named_only_where_they_hold_most() -> None:
    (both,) = question_of(busy_report(threshold=0.0)).steps
    assert both == (
        'Mend these two pairs in the guideline first: "complaint"/"refund" (158) and "enquiry"/"other" (84) '
        "hold 100.0% of 242 disagreeing pairs of ratings."
    )
    one_pair = [["a", "b"]] * 30 + [[name, name] for name in "abcd"] * 20
    assert question_of(assess(ratings_of(one_pair), threshold=0.0)).steps[0].startswith("Mend this pair in the")
    spread = [[LABELS[u % 5], LABELS[(u + 1 + u % 4) % 5]] for u in range(100)]
    agreed = [[name, name] for name in LABELS] * 60
    assert question_of(assess(ratings_of([*agreed, *spread]), threshold=0.0)).steps == []


def test_the_way_is_silent_at_the_threshold_and_says_when_there_is_none() -> None:
    rows = [["a", "a"], ["b", "b"]] * 60 + [["a", "b"]]
    assert question_of(assess(ratings_of(rows), threshold=0.9)).steps == []
    (one,) = question_of(assess(ratings_of(rows), threshold=0.999)).steps
    assert one == ("Alpha would reach 0.999 (1.000) if the one unit where raters differ took its commonest answer.")
    no_way = [["a", "a", None] if u < 50 else ["a", "a", "b"] for u in range(53)]
    (none,) = question_of(assess(ratings_of(no_way), threshold=0.7)).steps
    assert none == "Alpha can't reach 0.70 by settling units, however many of the 3 where raters differ."


@pytest.mark.parametrize("surface", SURFACES)
def test_the_paradox_is_named_with_its_numbers_and_only_where_it_is(surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](paradox_report(), None))
    assert (
        'Never decide by PABAK (0.800), AC1 (0.886) or percent agreement (0.900): "no" has 93.3% of the ratings, so '
        "raters who guess by the shares reach such values too, and alpha is 0.201 (the kappa paradox). "
        'Agreement on "complaint" alone: 0.254.'
    ) in seen
    assert "Never decide" not in words_of(surface, SURFACES[surface](busy_report(), None))


def test_what_does_not_apply_takes_one_line_and_no_row() -> None:
    ragged = [[float(u % 7), float((u + u % 2) % 7), None if u % 3 else float(u % 7)] for u in range(60)]
    report = assess([QuestionRatings("score", "number", ratings_of(ragged), level="interval")])
    seen = question_of(report)
    assert seen.coefficients_notes[-1] == (
        "Not applicable here: Cohen's kappa, Scott's pi, weighted kappa (defined for exactly two raters); "
        "ICC (a rater left out a unit)."
    )
    rows = {row.name for row in seen.coefficients}
    assert not rows & {"Cohen's kappa", "Scott's pi", "ICC(1), one rating"}
    assert seen.coefficients_notes[0].startswith("Not every rater rated every unit.")
    complete = assess([QuestionRatings("s", "number", ratings_of([row[:2] for row in ragged]), level="interval")])
    names = [row.name for row in question_of(complete).coefficients]
    assert {"ICC(1), one rating", "ICC(3), mean of raters", "Weighted kappa (linear)", "Scott's pi"} <= set(names)
    assert question_of(complete).coefficients_notes == []


def test_undefined_for_the_same_reason_is_said_once() -> None:
    seen = view(mixed_report()).questions[2]
    assert [row.name for row in seen.coefficients] == ["Krippendorff's alpha", "Percent agreement"]
    (note,) = seen.coefficients_notes
    assert note == (
        "No number for the same reason: Cohen's kappa, Fleiss' kappa, Scott's pi, Conger's kappa, "
        "Brennan-Prediger (PABAK), Gwet's AC1."
    )


def test_categories_too_rare_carry_a_star_that_is_explained() -> None:
    rows = [[LABELS[u % 2], LABELS[u % 2]] for u in range(200)]
    rows += [["rare", "rare"], ["rare", "refund"]]
    seen = question_of(assess(ratings_of(rows)))
    assert seen.categories is not None
    assert {row[0]: row[-1] for row in seen.categories.rows} == {"complaint": "", "rare": "*", "refund": ""}
    assert seen.categories_notes == [
        "* so rare that its own coefficient means little (under five agreements on it are due by chance)."
    ]
    common = question_of(assess(ratings_of(rows[:200])))
    assert common.categories is not None
    assert common.categories.headings[-1] == "95% interval"
    assert common.categories_notes == []
    plain = question_of(assess(ratings_of(rows[:200]), confidence=None))
    assert plain.categories is not None
    assert list(plain.categories.headings) == ["Category", "Share", "Specific", "One-vs-rest"]


# Raters.


def test_raters_are_at_most_twelve_and_those_left_are_counted() -> None:
    seen = question_of(busy_report())
    assert seen.raters is not None
    assert len(seen.raters.rows) == 12
    assert "3 raters are not listed." in seen.raters_sentence
    changes = [float(row[2]) for row in seen.raters.rows]
    assert changes == sorted(changes, reverse=True)


def test_the_raters_table_holds_only_columns_that_say_something() -> None:
    assert question_of(paradox_report()).raters is None, "two raters alike in everything"
    stars = view(mixed_report()).questions[0].raters
    assert stars is not None
    assert list(stars.headings) == ["Rater", "Ratings", "Alpha without", "Leaning", "By"]
    tags = view(mixed_report()).questions[1].raters
    assert tags is not None
    assert list(tags.headings) == ["Rater", "Ratings", "Leaning", "By"], "alpha without one of two raters is undefined"
    full = question_of(busy_report()).raters
    assert full is not None
    assert list(full.headings[5:]) == ["Gold", "Seconds", "Repeats"]


@pytest.mark.parametrize("surface", SURFACES)
def test_no_word_accuses_a_rater(surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](busy_report(), None)).lower()
    assert "whoever differs from the others may be the one who is right." in seen
    assert not re.search(r"\b(bad|worst rater|poor|careless|unreliable|culprit|wrong|guilty|outlier|fault)", seen)


def test_measured_numbers_are_not_listed_one_by_one() -> None:
    chance = np.random.default_rng(3)
    rows = [[float(true + error) for error in chance.normal(0, 1, 3)] for true in chance.uniform(0, 9, 40)]
    seen = question_of(assess([QuestionRatings("score", "number", ratings_of(rows), level="interval")]))
    assert seen.categories is None
    assert not seen.pairs
    assert seen.costs == ""
    assert seen.raters is not None
    assert seen.raters.headings[-1] == "Shift"


@pytest.mark.parametrize("surface", SURFACES)
def test_pairs_of_raters_are_called_what_they_are(surface: str) -> None:
    report = busy_report()
    seen = words_of(surface, SURFACES[surface](report, None))
    assert "Diagnostic only: the mean of these is no coefficient of the whole." in seen
    body = json.loads(json_output.render(report))["questions"]["why"]
    assert body["rater_pairs"]
    for pair in body["rater_pairs"][:10]:
        kappa = shown.number(pair["cohen_kappa"])
        assert f"{pair['a']} {pair['b']} {pair['n']} {shown.number(pair['agreement'])} {kappa}" in seen


def test_the_verdict_alone_works_no_diagnosis_out(monkeypatch: pytest.MonkeyPatch) -> None:
    report = mixed_report()
    monkeypatch.setattr("connector.agreement.report.diagnose", lambda *_, **__: pytest.fail("was worked out"))
    assert "Gate: NO-GO" in text.render_gate(report)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_report_without_a_diagnosis_has_none(surface: str) -> None:
    ratings = ratings_of([["a", "a", "b"], ["b", "b", "b"]] * 20)
    seen = words_of(surface, SURFACES[surface](assess(ratings, diagnose=False), None))
    for words in ("Alpha without", "Alpha would", "Mend"):
        assert words not in seen
    assert "Alpha without" in words_of(surface, SURFACES[surface](assess(ratings), None))


@pytest.mark.parametrize("surface", SURFACES)
def test_what_looks_like_a_mistake_in_the_data_is_said(surface: str) -> None:
    mixed = Ratings.from_wide([[1, "1"], ["a", "a"]] * 10)
    assert NOTES["mixed_types"] in words_of(surface, SURFACES[surface](assess(mixed), None))
    turned = Ratings.from_wide([[str(u % 3) for u in range(40)] for _ in range(3)])
    assert NOTES["maybe_turned"] in words_of(surface, SURFACES[surface](assess(turned), None))


# Reading scales.


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("scale", "line"),
    [
        ("landis_koch", "Read by Landis and Koch: substantial (0.60 to 0.80). Ready for use."),
        ("fleiss", "Read by Fleiss: fair to good (0.40 to 0.75). Review the conflicts."),
        ("daily", "Read by the daily bands: discuss (0.60 to 0.70). The disagreements are gone through."),
        ("krippendorff", "Read by Krippendorff: unreliable (under 0.667). Draw no conclusions from it."),
    ],
)
def test_a_scale_chosen_by_name_is_one_line(surface: str, scale: str, line: str) -> None:
    report = busy_report()
    seen = words_of(surface, SURFACES[surface](report, Context(scale=scale)))
    assert seen.count("Read by") == 1
    assert line in seen
    assert "Read by" not in words_of(surface, SURFACES[surface](report, Context()))


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("scale", SCALES)
def test_no_scale_stands_beside_a_verdict_even_where_one_is_asked_for(surface: str, scale: str) -> None:
    report = busy_report()
    gated = report.with_gate(decide(report, GateRule(size=30)))
    assert SURFACES[surface](gated, Context(scale=scale)) == SURFACES[surface](gated, Context())
    assert text.render_gate(gated, Context(scale=scale)) == text.render_gate(gated, Context())
    assert "Read by" not in text.render_gate(gated, Context(scale=scale))


def test_every_scale_has_a_name_and_every_band_reads() -> None:
    assert set(SCALE_NAMES) == set(SCALES)
    assert reading(1.0, "landis_koch").endswith("almost perfect (from 0.80 up). A candidate for gold data.")
    assert reading(-0.2, "landis_koch").endswith("poor (under 0.00). Look for conflicting standards.")
    assert reading(None, "daily") == reading(0.5, None) == ""


# Text from a tool.


@pytest.mark.parametrize("surface", SURFACES)
def test_nothing_in_a_diagnosis_acts(surface: str) -> None:
    report = hostile_raters_report()
    rendered = SURFACES[surface](report, hostile_context())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]", rendered)
    rendered.encode("utf-8")
    seen = words_of(surface, rendered)
    for words in ("Mend these two pairs", "Alpha would reach", "Gold:", "Seconds:", "Repeats:", "higher without:"):
        assert words in seen
    if surface == "html":
        page = Page(rendered)
        assert not {"script", "img", "iframe", "object", "link", "base", "form"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("href", "src")]
        assert HOSTILE[0] in page.text
        assert "details" in page.tags
    if surface == "markdown":
        parsed = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(rendered)
        kinds = {child.type for token in parsed for child in [token, *(token.children or ())]}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "em_open", "s_open"}
        assert "@all" not in rendered


@pytest.mark.parametrize("report", [hostile_raters_report, busy_report, paradox_report])
def test_the_diagnosis_fits_the_terminal(report: Callable[[], AgreementReport]) -> None:
    lines = text.render(report(), Context(scale="landis_koch")).splitlines()
    assert max(map(text.cells, lines)) <= 80
