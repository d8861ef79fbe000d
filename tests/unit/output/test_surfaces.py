"""One report on every surface: the same numbers, nothing that acts, nothing cut."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from connector.agreement.gate import GateRule, decide
from connector.agreement.ratings import Ratings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.annotations.collect import Collector
from connector.annotations.model import Annotation, Missing, Question, Unit
from connector.errors import SkippedTask
from connector.output import csv as csv_output
from connector.output import html as html_output
from connector.output import json as json_output
from connector.output import markdown, shown, text
from connector.output.view import Bar, Context, context_of, view
from tests.unit.output.reports import HOSTILE, hostile_context, hostile_report, mixed_report, ratings_of

SURFACES: dict[str, Callable[[AgreementReport, Context | None], str]] = {
    "text": text.render,
    "html": html_output.render,
    "markdown": markdown.render,
}
CONTEXT = Context(
    title="A pilot",
    sources=["export.json"],
    link="https://label.example.org/projects/7",
    n_units=120,
    n_annotations=300,
    left_out={"empty": 34, "cancelled": 5},
    incomplete=["12"],
    malformed=[("77", "result is not a list")],
    unit_link=lambda unit: f"https://label.example.org/projects/7/data?task={unit}",
    next_command="connector gate -c config.yaml",
)


class Page(HTMLParser):
    """The elements, attributes and visible words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def words_of(name: str, rendered: str) -> str:
    """What a reader sees, in one line."""
    if name == "html":
        return Page(rendered).text
    if name == "markdown":
        rendered = MarkdownIt("commonmark").enable("table").render(rendered)
        return Page(rendered).text
    return re.sub(r"\s+", " ", rendered)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_shows_the_numbers_of_the_json(surface: str) -> None:
    report = mixed_report()
    body = json.loads(json_output.render(report))
    seen = words_of(surface, SURFACES[surface](report, CONTEXT))
    threshold = body["gate"]["threshold"]
    for question in body["questions"].values():
        for name, found in question["coefficients"].items():
            if found["value"] is None and name != "krippendorff_alpha":
                assert shown.FAMILIES.get(name, shown.coefficient(name)) in seen
                continue
            line = f"{shown.coefficient(name)} {shown.number(found['value'], threshold)}"
            assert line in seen
            assert (shown.interval(found["low"], found["high"], threshold) or shown.NOTHING) in seen
            if found["value"] is not None:
                assert abs(float(shown.number(found["value"], threshold)) - found["value"]) <= 5e-4
    assert body["gate"]["verdict"] in seen
    assert shown.number(body["gate"]["value"], threshold) in seen


def test_there_is_one_number_per_question_whatever_the_surface() -> None:
    report = mixed_report()
    seen = {name: words_of(name, render(report, CONTEXT)) for name, render in SURFACES.items()}
    for question in view(report, CONTEXT).questions:
        assert all(question.sentence in words for words in seen.values())
        for _, value in question.facts:
            assert all(value in words for words in seen.values()), value


@pytest.mark.parametrize("surface", SURFACES)
def test_what_is_left_out_not_measured_and_undefined_is_said(surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](mixed_report(), CONTEXT))
    for words in (
        "every rating is the same category",
        "no unit has two ratings",
        "skipped or cancelled",
        "with a question left empty",
        "boxes",
        "not compared yet",
        "result is not a list",
        "1 task declares more annotations than came: 12",
        "Read 120 tasks and 300 annotations",
    ):
        assert words in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_the_same_report_renders_the_same_bytes(surface: str) -> None:
    first, second = (SURFACES[surface](mixed_report(), CONTEXT) for _ in range(2))
    assert first == second
    assert first.endswith("\n")
    first.encode("utf-8")


def test_the_summary_sentence_says_what_the_interval_allows() -> None:
    import random

    chance = random.Random(1)
    rows: list[list[object]] = []
    for _ in range(150):
        true = chance.choice("ab")
        rows.append([true if chance.random() < 0.93 else chance.choice("ab") for _ in range(2)])
    report = assess(ratings_of(rows))
    alpha = report.questions["value"].alpha
    assert alpha.value is not None
    assert alpha.low is not None
    assert alpha.high is not None
    value, bounds = shown.number(alpha.value), shown.interval(alpha.low, alpha.high)

    def said(threshold: float) -> str:
        return view(report, Context(threshold=threshold)).questions[0].sentence

    middle = (alpha.low + alpha.value) / 2
    assert said(middle).endswith(f"runs on both sides of {middle!r}, so it can't be said to clear it.")
    assert said(0.01) == f"{value} ({bounds}): the whole interval reaches 0.01."
    assert said(0.999).endswith("the whole interval lies under 0.999.")
    above = (alpha.high + alpha.value) / 2
    assert said(above).endswith("so it can't be said to miss it.")
    assert view(report).questions[0].sentence == f"{value} ({bounds})."


@pytest.mark.parametrize("surface", SURFACES)
def test_a_value_just_under_the_threshold_never_shows_as_reaching_it(surface: str) -> None:
    rows: list[list[object]] = [["a", "a" if u < 400 else "b"] if u < 461 else ["b", "b"] for u in range(661)]
    report = assess(ratings_of(rows))
    value = report.questions["value"].alpha.value
    assert value is not None
    threshold = value + 2e-6
    report = report.with_gate(decide(report, GateRule(threshold=threshold)))
    assert report.gate is not None
    assert report.gate.verdict == "NO-GO"
    seen = words_of(surface, SURFACES[surface](report, None))
    assert f"{value:.3f}" not in re.findall(r"Krippendorff's alpha (\S+)", seen)
    assert f"{shown.number(value, threshold)} is under {threshold!r}." in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_no_reading_scale_stands_beside_a_verdict(surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](mixed_report(), CONTEXT)).lower()
    for word in ("substantial", "moderate", "almost perfect", "landis", "retrain", "slight"):
        assert word not in seen


# Text from a tool.


@pytest.mark.parametrize("surface", ["text", "markdown", "html"])
def test_nothing_in_a_label_acts_on_a_terminal_or_an_eye(surface: str) -> None:
    rendered = SURFACES[surface](hostile_report(), hostile_context())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]", rendered)
    rendered.encode("utf-8")


def test_nothing_in_a_label_acts_on_a_page() -> None:
    page = Page(html_output.render(hostile_report(), hostile_context()))
    assert not {"script", "img", "iframe", "object", "link", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name in ("href", "src")]
    assert HOSTILE[0] in page.text
    assert HOSTILE[7] in page.text


def test_the_page_asks_nothing_of_the_network_and_runs_nothing() -> None:
    page = html_output.render(mixed_report(), CONTEXT)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "@import" not in page
    assert "url(" not in page
    found = Page(page)
    addresses = {value for name, value in found.attributes if name in ("href", "src", "xlink:href")}
    assert addresses
    assert all(value is not None and value.startswith("https://label.example.org/") for value in addresses)
    assert found.tags.count("svg") == 2  # the two questions that have a number


def test_the_page_begins_with_the_verdict_and_shows_the_interval_where_it_is() -> None:
    report = mixed_report()
    assert report.gate is not None
    words = Page(html_output.render(report, CONTEXT)).text
    assert words.index(report.gate.verdict) < words.index("Coefficients")
    drawn = html_output.axis(Bar(-0.25, -0.4, 0.1, 0.7))
    assert (drawn.left, drawn.low, drawn.value, drawn.zero) == ("-0.5", 6.67, 16.67, 33.33)
    assert drawn.threshold == pytest.approx(80)
    plain = html_output.axis(Bar(0.5, None, None, None))
    assert plain == html_output.Axis(50.0, None, 0.0, None, None, "0", "1")


def test_nothing_in_a_label_is_markdown() -> None:
    rendered = markdown.render(hostile_report(), hostile_context())
    parsed = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(rendered)
    inline = [child for token in parsed if token.children for child in token.children]
    kinds = {token.type for token in [*parsed, *inline]}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "em_open", "s_open", "fence"}
    assert "@all" not in rendered
    assert "https://evil" not in rendered
    words = words_of("markdown", rendered)
    assert HOSTILE[0] in words
    assert shown.clean(HOSTILE[5]) in words


def test_a_tables_rows_have_its_headings_number_of_cells() -> None:
    rows = [line for line in markdown.render(hostile_report(), hostile_context()).splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    tables = [place for place, row in enumerate(rows) if re.fullmatch(r"[|\s:-]+", row)]
    assert len(tables) >= 5
    for start, end in zip(tables, [*tables[1:], len(rows) + 1], strict=True):
        assert set(widths[start - 1 : end - 1]) == {widths[start]}


def test_markdown_links_lead_to_the_tool() -> None:
    rendered = markdown.render(mixed_report(), CONTEXT)
    assert "](https://label.example.org/projects/7/data?task=" in rendered
    odd = Context(unit_link=lambda unit: f"https://h/a(b)|c?task={unit}")
    assert "](https://h/a%28b%29%7Cc?task=" in markdown.render(mixed_report(), odd)


# The terminal.


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("report", [mixed_report, hostile_report])
def test_lines_fit_the_terminal(report: Callable[[], AgreementReport], width: int) -> None:
    context = hostile_context() if report is hostile_report else CONTEXT
    lines = text.render(report(), context, width=width).splitlines()
    lines = [line for line in lines if not line.startswith(("http", "Next: "))]  # to be copied whole
    assert max(map(text.cells, lines)) <= width


def test_columns_stay_aligned_under_wide_characters() -> None:
    rows = [("漢字", "1.000"), ("ascii label", "0.5"), ("👩‍👩‍👧", "0.25"), ("é̂", "0")]
    lines = text.table(("Label", "Value"), rows, 40, numeric=(1,))
    assert {text.cells(line) for line in lines} == {text.cells(lines[0])}


def test_long_labels_are_shortened_and_numbers_never() -> None:
    rows = [("a" * 50 + " one", "b" * 70, "0.123456789012"), ("a" * 50 + " two", "short", "-1,234,567.5")]
    lines = text.table(("First", "Second", "Number"), rows, 60, numeric=(2,))
    assert all(text.cells(line) <= 60 for line in lines)
    assert "0.123456789012" in lines[1]
    assert "-1,234,567.5" in lines[2]
    assert "…" in lines[1]
    assert "one" in lines[1]
    assert "two" in lines[2]


def test_a_word_wider_than_the_line_is_broken_and_loses_nothing() -> None:
    word = "漢" * 60 + "x" * 90
    lines = text.wrap(f"before {word} after", 40, indent=2, hanging=2)
    assert all(text.cells(line) <= 40 for line in lines)
    assert "".join(lines).replace(" ", "") == f"before{word}after"


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "environ", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals_without_no_color(terminal: bool, environ: dict[str, str], wanted: bool) -> None:
    assert text.wants_colour(Stream(terminal), environ) is wanted


def test_colour_adds_colour_and_nothing_else() -> None:
    plain, coloured = (text.render(mixed_report(), CONTEXT, colour=colour) for colour in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_the_verdict_alone_rests_on_what_it_says() -> None:
    report = mixed_report()
    seen = re.sub(r"\s+", " ", text.render_gate(report, CONTEXT))
    assert report.gate is not None
    for words in (
        "Gate: ",
        report.gate.verdict,
        "Threshold 0.70",
        "Rule point",
        "at least 30 asked for",
        "on 95% of the units",
    ):
        assert words in seen
    assert "Categories" not in seen
    with pytest.raises(ValueError, match="no gate decision"):
        text.render_gate(assess(ratings_of([["a", "a"]])))


# JSON and CSV.


def test_json_is_the_reports_own_sorted_and_without_nan() -> None:
    report = mixed_report()
    rendered = json_output.render(report)
    assert json.loads(rendered, parse_constant=pytest.fail) == report.to_json()
    assert rendered == json_output.dumps(json.loads(rendered))
    with pytest.raises(ValueError, match="Out of range"):
        json_output.dumps({"value": float("nan")})


def test_json_of_a_hostile_report_is_utf8_and_keeps_every_label() -> None:
    rendered = json_output.render(hostile_report())
    assert "漢字" in rendered
    body = json.loads(rendered.encode("utf-8"))
    assert set(HOSTILE) == set(body["questions"][HOSTILE[7]]["categories"])


@pytest.mark.parametrize(
    "formula",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "＝1",
        "-",
        "+",
        "=",
        "-1_0",
        "+٣",
        "-inf",
        "-nan",
        "\u00a0=1",
    ],
)
def test_what_a_spreadsheet_would_calculate_is_disarmed(formula: str) -> None:
    assert csv_output.cell(formula) == f"'{formula}"


@pytest.mark.parametrize("number", ["-1", "+1", "-0.5", "-.5", "+1e-5", "-1.", "1", "0.75", "-1E+10"])
def test_numbers_stay_numbers(number: str) -> None:
    assert csv_output.cell(number) == number


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (1.0, "1"),
        (-0.25, "-0.25"),
        (3, "3"),
        ("a,b", "a,b"),
        (("A", "=B"), '["A", "=B"]'),
        ((("a", "b"), ("c",)), '["a/b", "c"]'),
        ((), "[]"),
    ],
)
def test_values_as_cells(value: object, cell: str) -> None:
    assert csv_output.cell(value) == cell


def test_no_cell_of_a_hostile_report_is_a_formula() -> None:
    rendered = csv_output.render(hostile_report())
    rendered.encode("utf-8")
    rows = list(csv.reader(io.StringIO(rendered, newline="")))
    assert len(rows) == 31
    assert not [one for row in rows for one in row if one.startswith(("=", "+", "@", "\t", "\r"))]
    assert rows[0][-2:] == ["'=1+1", "rater:unit"]
    assert len({len(row) for row in rows}) == 1


def test_units_with_what_each_rater_said() -> None:
    ratings = Ratings.from_long(
        ["10", "10", "9", "9", "9", "a"],
        ["2", "10", "2", "10", "x", "2"],
        ["p", "q", "p", "p", "q", "p"],
        unit_ids=["a", "10", "9", "b"],
    )
    report = assess(
        [QuestionRatings("q1", "choice", ratings), QuestionRatings("q2", "choice", ratings.restrict(["9"]))]
    )
    assert csv_output.render(report) == (
        "unit,question,n_ratings,agreement,consensus,majority,status,"
        "dawid_skene,dawid_skene_probability,alpha_cost,alpha_influence,2,10,x\n"
        "9,q1,3,0.3333,0.6667,p,majority,p,0.788791,0.666667,0.333333,p,p,q\n"
        "9,q2,3,0.3333,0.6667,p,majority,p,0.666667,1,,p,p,q\n"
        "10,q1,2,0,0.5,,conflict,p,0.651242,0.666667,0.333333,p,q,\n"
        "a,q1,1,,1,p,single,p,0.720016,,,p,,\n"
        "b,q1,0,,,,unrated,,,,,,,\n"
    )


def test_the_unit_by_rater_table_reads_back_as_it_was() -> None:
    rows: list[list[object]] = [[1.0, 2.0, None], [None, None, None], [3.5, 3.5, 1.0]]
    stream = io.StringIO(newline="")
    csv_output.write_table(assess({"value": ratings_of(rows)}, confidence=None), stream)
    assert stream.getvalue() == "unit,r1,r2,r3\n1,1,2,\n2,,,\n3,3.5,3.5,1\n"
    stream = io.StringIO(newline="")
    csv_output.write_table(
        assess({"a": ratings_of([["x", "y"]]), "b": ratings_of([["z", None], ["w", "w"]])}, confidence=None), stream
    )
    assert stream.getvalue() == "unit,question,r1,r2\n1,a,x,y\n1,b,z,\n2,b,w,w\n"


def test_conflicts_are_the_worst_units_and_do_not_say_who_said_what() -> None:
    report = mixed_report()
    units = report.questions["stars"].units
    seen = view(report, CONTEXT).questions[0]
    lowest = sorted(one for one in units.agreement if one is not None)[:10]
    assert [row.agreement for row in seen.conflicts] == [shown.number(one) for one in lowest]
    assert all(row.link == f"https://label.example.org/projects/7/data?task={row.unit}" for row in seen.conflicts)
    assert not re.search(r"\br[123]\b", " ".join(row.votes for row in seen.conflicts))


def test_many_categories_are_listed_by_share_and_the_rest_counted() -> None:
    rows: list[list[object]] = [[f"c{u % 30}", f"c{(u * 7) % 30}"] for u in range(200)]
    report = assess(ratings_of(rows))
    seen = view(report).questions[0]
    assert seen.categories is not None
    assert len(seen.categories.rows) == 20
    assert seen.categories_notes[0] == "and 10 categories more, less common"
    shares = [float(row[1]) for row in seen.categories.rows]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("surface", SURFACES)
def test_an_answer_as_long_as_a_page_is_shown_by_its_ends(surface: str) -> None:
    long = "begin " + "x" * 50_000 + " end"
    rendered = SURFACES[surface](assess(ratings_of([[long, "short"], [long, long]])), None)
    assert "begin xxx" in rendered
    assert "xxx end" in rendered
    assert "x" * 1000 not in rendered


def test_an_empty_report_says_that_there_is_nothing() -> None:
    report = assess([], not_measured=[{"question": "boxes", "kind": "box", "reason": "not yet"}])
    for name, render in SURFACES.items():
        seen = words_of(name, render(report, Context(n_units=0, n_annotations=0)))
        assert "Read 0 tasks and 0 annotations: no question that can be measured." in seen
        assert "boxes" in seen
    assert csv_output.render(report) == f"{','.join(csv_output.UNIT_COLUMNS)}\n"


class Asked:
    """The settings of a project with two choices, one of which nobody answers, and a box."""

    questions: Mapping[str, Question] = {
        "tone": Question("tone", "choice", ("good", "bad")),
        "topic": Question("topic", "choice", ("a", "b")),
        "box": Question("box", "rectanglelabels"),
    }

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, str | Missing]:
        return annotation.result[0] if annotation.result else {"tone": Missing("empty")}


def test_what_happened_on_the_way_comes_from_the_table() -> None:
    collector = Collector(Asked())
    said = [{"tone": "good"}]
    collector.add(
        Unit(
            "1",
            [
                Annotation("1", "ann", said, ground_truth=True),
                Annotation("2", "ben", said, updated_by="ann", updated_at="2026-01-02T00:00:00Z"),
                Annotation("3", "cem", [{"tone": "old"}], parent_annotation="1"),
                Annotation("4", "dan", [], status="cancelled"),
                Annotation("5", "eve", []),
            ],
            declared=9,
        )
    )
    collector.add(Unit("1", [Annotation("6", "fay", said)]))
    collector.skip(SkippedTask("7", "no result"))
    context = context_of(collector.table(), title="T", notes=["mine"])
    assert (context.n_units, context.n_annotations, context.title) == (1, 6, "T")
    assert context.left_out == {"cancelled": 1, "empty": 5}  # four answer only one of two questions
    assert context.incomplete == ["1"]
    assert context.stale == {"tone": {"old": 1}}
    notes = "\n".join(view(assess([]), context).notes)
    for words in (
        "1 task declares more annotations than came: 1.",
        "1 malformed task was left out: 7 (no result).",
        "A task came again 1 time and was merged",
        "1 annotation was last changed by another person.",
        "1 annotation began as a copy of another one: it is not blind.",
        "Annotations marked as ground truth, by rater: ann (1).",
        "Nobody answered: topic.",
        "mine",
    ):
        assert words in notes
