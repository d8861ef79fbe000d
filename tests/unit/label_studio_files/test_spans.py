"""Marks in texts, pages, dialogues, sounds, series and videos as Label Studio stores them, and reported faults."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.annotations.collect import QuestionChoice, QuestionTable
from connector.tools.label_studio.spans import visible_text
from tests.unit.label_studio_files.tasks import CASES, annotation, report, table_of, task, values

LABELS = '<Label value="PER"/><Label value="LOC" alias="Place"/>'
TEXT = f'<View><Labels name="q" toName="text">{LABELS}</Labels><Text name="text" value="$text"/></View>'
HTML = (
    f'<View><HyperTextLabels name="q" toName="html">{LABELS}</HyperTextLabels>'
    '<HyperText name="html" value="$html"/></View>'
)
TALK = (
    f'<View><ParagraphLabels name="q" toName="talk">{LABELS}</ParagraphLabels>'
    '<Paragraphs name="talk" value="$talk" textKey="said" layout="dialogue"/></View>'
)
SOUND = f'<View><Labels name="q" toName="sound">{LABELS}</Labels><Audio name="sound" value="$url"/></View>'
SERIES = (
    f'<View><TimeSeriesLabels name="q" toName="ts">{LABELS}</TimeSeriesLabels>'
    '<TimeSeries name="ts" value="$series" valueType="json" timeColumn="t"/></View>'
)
VIDEO = (
    f'<View><TimelineLabels name="q" toName="video">{LABELS}</TimelineLabels><Video name="video" value="$url"/></View>'
)
EXAMPLES = {one["example"]: one for one in json.loads((CASES / "shapes.json").read_text())["shapes"]}


def mark(kind: str = "labels", labels: list[str] | None = None, name: str = "q", **value: Any) -> dict[str, Any]:
    found = {kind: labels} if labels is not None else {}
    return {"id": "r", "from_name": name, "to_name": "text", "type": kind, "value": {**value, **found}}


def read(config: str | None, data: dict[str, Any], *answers: list[dict[str, Any]], **choice: Any) -> QuestionTable:
    """One task with these answers, one rater each."""
    made = [annotation(place, place + 10, results) for place, results in enumerate(answers, 1)]
    choices = {"q": QuestionChoice(**choice)} if choice else None
    return table_of([task(1, *made, data=data)], config, choices=choices).questions["q"]


def value(config: str | None, data: dict[str, Any], *results: dict[str, Any]) -> Any:
    return values(read(config, data, list(results)))["1", "11"]


def assessed(found: QuestionTable) -> QuestionReport:
    question = QuestionRatings("q", "spans", found.ratings, distance=found.question.distance, mended=found.mended)
    return assess(question, confidence=None).questions["q"]


def agreement(found: QuestionTable) -> float | None:
    return assessed(found).units["1"].agreement


def reported(case: str) -> tuple[QuestionTable, Any]:
    tasks, expected = report(case)
    (found,) = table_of(tasks).questions.values()
    return found, expected


# Forms


def test_marks_in_a_text() -> None:
    results = [mark(start=7, end=11, labels=["Place"], text="Rome"), mark(start=0, end=3, labels=["PER"], text="Ana")]
    assert value(TEXT, {"text": "Ana in Rome"}, *results) == (11, ((0, 3, ("PER",)), (7, 11, ("LOC",))))


def test_the_declared_labels_are_known_and_others_are_stale() -> None:
    found = read(
        TEXT, {"text": "Ana in Rome"}, [mark(start=0, end=3, labels=["PER"])], [mark(start=0, end=3, labels=["ORG"])]
    )
    assert found.question.categories == ("PER", "LOC")
    assert found.stale == {"ORG": 1}


def test_labels_can_be_renamed() -> None:
    found = read(TEXT, {"text": "Ana"}, [mark(start=0, end=3, labels=["ORG"])], relabel={"ORG": "PER"})
    assert values(found) == {("1", "11"): (3, ((0, 3, ("PER",)),))}
    assert found.stale == {}


def test_an_annotation_without_marks_says_that_there_are_none() -> None:
    found = read(TEXT, {"text": "Ana"}, [], [mark(start=0, end=3, labels=["PER"])])
    assert values(found) == {("1", "11"): (3, ()), ("1", "12"): (3, ((0, 3, ("PER",)),))}
    assert found.left_out == {}


def test_without_a_config_an_annotation_without_marks_has_the_others_length() -> None:
    one, two = [mark(start=0, end=3, labels=["PER"])], list[dict[str, Any]]()
    for answers in ([one, two], [two, one]):
        assert sorted(values(read(None, {"text": "Ana went"}, *answers)).values()) == [
            (8, ()),
            (8, ((0, 3, ("PER",)),)),
        ]


def test_a_control_that_was_not_shown_says_nothing() -> None:
    config = (
        '<View><Text name="text" value="$text"/>'
        '<Choices name="any" toName="text"><Choice value="yes"/><Choice value="no"/></Choices>'
        '<View visibleWhen="choice-selected" whenTagName="any" whenChoiceValue="yes">'
        f'<Labels name="q" toName="text">{LABELS}</Labels></View></View>'
    )

    def said(label: str) -> dict[str, Any]:
        return {"id": "c", "from_name": "any", "to_name": "text", "type": "choices", "value": {"choices": [label]}}

    one = mark(start=0, end=3, labels=["PER"])
    found = read(config, {"text": "Ana"}, [said("no")], [said("yes")], [said("yes"), one], [said("no"), one])
    assert values(found) == {("1", "12"): (3, ()), ("1", "13"): (3, ((0, 3, ("PER",)),))}
    assert found.left_out == {"not_shown": 1, "stale_child": 1}


def test_what_hangs_on_a_marked_region_is_asked_where_there_is_one() -> None:
    config = TEXT.replace(
        "</View>",
        '<View visibleWhen="region-selected"><Choices name="sure" toName="text"><Choice value="yes"/></Choices></View>'
        "</View>",
    )
    one = mark(start=0, end=3, labels=["PER"])
    table = table_of([task(1, annotation(1, 2, []), annotation(2, 3, [one]), data={"text": "Ana"})], config)
    assert table.questions["sure"].left_out == {"not_shown": 2}
    answered = annotation(3, 4, [one, {**mark("choices", ["yes"], "sure"), "id": "other"}])
    table = table_of([task(1, answered, data={"text": "Ana"})], config)
    assert values(table.questions["sure"]) == {("1", "4"): "yes"}


def test_the_labels_of_a_config_are_no_answers() -> None:
    assert not {"choices", "choice"} & {read(TEXT, {"text": "Ana"}, []).question.kind}
    image = '<View><Labels name="q" toName="i"><Label value="A"/></Labels><Image name="i" value="$i"/></View>'
    table = table_of([task(1, annotation(1, 2, []))], image)
    assert "q" not in table.questions or table.questions["q"].question.kind != "spans"


def test_marks_in_a_page_by_offsets_into_its_visible_text() -> None:
    data = {"html": "<p>Hi <b>Ana</b> &amp; Bo</p><script>no()</script>"}
    offsets = {"start": 3, "end": 6}
    one = mark(
        "hypertextlabels",
        ["PER"],
        start="/p[1]/b[1]/text()[1]",
        end="/p[1]/b[1]/text()[1]",
        startOffset=0,
        endOffset=3,
        globalOffsets=offsets,
    )
    assert value(HTML, data, one) == (len("Hi Ana & Bo"), ((3, 6, ("PER",)),))


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("plain", "plain"),
        ("<p>a<br/>b</p>", "ab"),
        ("a &lt; b &amp; c&nbsp;d", "a < b & c\u00a0d"),
        ("x<!-- a > b -->y", "xy"),
        ("x<SCRIPT>if (a > b) {}</script >y<style>p{}</style>z", "xyz"),
        ("x<script>never ends", "x"),
        ("x<p", "x"),
        ("", ""),
    ],
)
def test_what_is_seen_of_a_page(page: str, seen: str) -> None:
    assert visible_text(page) == seen


def test_a_page_made_to_be_slow_is_read_in_one_pass() -> None:
    started = time.perf_counter()
    for piece in ("<script>", "<", "<!--", "<style", "&"):
        visible_text(piece * 200_000)
    assert time.perf_counter() - started < 10


def paths(start: str, end: str, first: int, last: int, text: str | None = None) -> dict[str, Any]:
    more = {} if text is None else {"text": text}
    return mark("hypertextlabels", ["PER"], start=start, end=end, startOffset=first, endOffset=last, **more)


def test_marks_in_a_page_by_paths_alone_are_equal_or_different() -> None:
    data = {"html": "<p>" + "Hi Ana and Bo, " * 10 + "</p>"}
    one, same = (paths("/p[1]/text()[1]", "/p[1]/text()[1]", 3, 6, "Ana") for _ in range(2))
    other = paths("/p[1]/text()[1]", "/p[1]/text()[1]", 3, 10, "Ana and")
    assert agreement(read(HTML, data, [one], [same])) == 1.0
    found = read(HTML, data, [one], [other])
    assert agreement(found) == 0.0
    assert found.mended == {"paths": 2}


def test_paths_that_another_mark_gives_an_offset_have_that_offset() -> None:
    known = paths("/p[1]/text()[1]", "/p[1]/text()[1]", 3, 6)
    known["value"]["globalOffsets"] = {"start": 3, "end": 6}
    alone = paths("/p[1]/text()[1]", "/p[1]/text()[1]", 3, 6)
    found = read(HTML, {"html": "<p>Hi Ana</p>"}, [known], [alone])
    assert set(values(found).values()) == {(6, ((3, 6, ("PER",)),))}


DIALOGUE = [{"who": "A", "said": "Hello Bo"}, {"who": "B", "said": "\N{ROCKET} Hi Ana"}, {"who": "A"}]


def spoken(start: Any, first: Any, end: Any, last: Any) -> dict[str, Any]:
    return mark("paragraphlabels", ["PER"], start=start, end=end, startOffset=first, endOffset=last)


def test_marks_in_a_dialogue_by_phrase_and_offset() -> None:
    whole = len("Hello Bo\n\N{ROCKET} Hi Ana\n")
    assert value(TALK, {"talk": DIALOGUE}, spoken("0", 6, "0", 8)) == (whole, ((6, 8, ("PER",)),))
    # over two phrases, and in UTF-16 units as the tool counts
    assert value(TALK, {"talk": DIALOGUE}, spoken("0", 6, "1", 9)) == (whole, ((6, 17, ("PER",)),))
    found = read(TALK, {"talk": DIALOGUE}, [spoken("1", 6, "1", 9)])
    assert values(found)["1", "11"] == (whole, ((14, 17, ("PER",)),))
    assert found.mended == {"utf16": 2}


def test_a_phrase_that_does_not_exist_is_no_place() -> None:
    found = read(TALK, {"talk": DIALOGUE}, [spoken("7", 0, "7", 3), spoken(None, 0, "0", 3)])
    assert (values(found), found.mended) == ({}, {"invalid": 2})
    assert found.left_out == {"unreadable": 1}


def test_marks_in_a_dialogue_that_is_not_in_the_task_are_compared_as_they_are() -> None:
    found = read(TALK, {"talk": "https://host/talk.json"}, [spoken("0", 6, "0", 8)], [spoken("0", 6, "0", 8)])
    assert agreement(found) == 1.0
    assert found.mended == {"paths": 2, "length_unknown": 2}


def test_marks_on_a_sound_are_in_seconds_of_its_length() -> None:
    one = mark(start=12.5, end=20, labels=["PER"]) | {"original_length": 60.25}
    assert value(SOUND, {"url": "/data/a.wav"}, one) == (60.25, ((12.5, 20.0, ("PER",)),))


def test_a_sound_of_unknown_length_ends_with_the_last_mark_of_any_rater() -> None:
    found = read(
        SOUND,
        {"url": "/data/a.wav"},
        [mark(start=1, end=2, labels=["PER"])],
        [mark(start=3.5, end=9.5, labels=["PER"])],
        [],
    )
    assert {length for length, _ in values(found).values()} == {9.5}
    assert found.mended == {"length_unknown": 3}


def test_marks_on_a_series_begin_with_its_first_moment() -> None:
    series = {"t": [1000.0, 1001.0, 1010.0], "v": [1, 2, 3]}
    one = mark("timeserieslabels", ["PER"], start=1002, end=1004.5, instant=False)
    assert value(SERIES, {"series": series}, one) == (10.0, ((2.0, 4.5, ("PER",)),))


def test_a_series_elsewhere_begins_with_the_first_mark_of_any_rater() -> None:
    def at(start: Any, end: Any) -> list[dict[str, Any]]:
        return [mark("timeserieslabels", ["PER"], start=start, end=end)]

    found = read(
        SERIES, {"series": "s3://bucket/series.csv"}, at(1_602_708_145, 1_602_708_155), at(1_602_708_150, 1_602_708_165)
    )
    assert sorted(values(found).values()) == [(20.0, ((0.0, 10.0, ("PER",)),)), (20.0, ((5.0, 20.0, ("PER",)),))]
    dated = read(None, {"series": "s3://bucket/series.csv"}, at("2022-12-26 12:33:37", "2022-12-26 12:33:47"))
    assert list(values(dated).values()) == [(10.0, ((0.0, 10.0, ("PER",)),))]


NUMBERED = SERIES.replace(' timeColumn="t"', "")


def moment(at: Any, label: str = "PER") -> dict[str, Any]:
    return mark("timeserieslabels", [label], start=at, end=at, instant=True)


@pytest.mark.parametrize(
    ("at", "stretch"),
    [(100, (0.0, 0.5)), (101, (0.5, 2.0)), (103, (2.0, 6.0)), (109, (6.0, 9.0)), (105, (2.0, 6.0)), (107, (6.0, 9.0))],
)
@pytest.mark.parametrize(
    "series",
    [{"t": [100, 101, 103, 109], "v": [1, 2, 3, 4]}, [{"t": at, "v": 1} for at in (100, 101, 103, 109)]],
    ids=["columns", "rows"],
)
def test_a_moment_of_a_series_is_the_time_nearest_to_its_sample(series: Any, at: int, stretch: Any) -> None:
    found = read(SERIES, {"series": series}, [moment(at)])
    assert (list(values(found).values()), found.mended) == ([(9.0, ((*stretch, ("PER",)),))], {"samples": 1})


def test_moments_of_all_samples_cover_a_series_once() -> None:
    times = [0.0, 0.5, 0.75, 4, 4.5, 100]
    found = read(SERIES, {"series": {"t": times}}, [moment(at) for at in times])
    ((length, marks),) = values(found).values()
    assert [start for start, _, _ in marks] == [0.0, *(end for _, end, _ in marks[:-1])]
    assert (length, marks[-1][1]) == (100.0, 100.0)


def test_moments_agree_where_their_samples_are_the_same() -> None:
    data = {"series": {"t": list(range(11))}}
    assert agreement(read(SERIES, data, [moment(4)], [moment(4)])) == 1
    assert agreement(read(SERIES, data, [moment(4)], [moment(5)])) == 0
    assert agreement(read(SERIES, data, [moment(4)], [moment(4, "Place")])) == 0
    # one of ten units of time in all against nothing
    assert agreement(read(SERIES, data, [moment(4), moment(8)], [moment(4)])) == round(2 / 3, 2)


def test_a_moment_told_by_its_date_has_a_sample_too() -> None:
    dates = [f"2022-12-26 12:33:{second}" for second in (37, 47, 57)]
    found = read(SERIES, {"series": {"t": dates}}, [moment(dates[1])])
    assert list(values(found).values()) == [(20.0, ((5.0, 15.0, ("PER",)),))]


@pytest.mark.parametrize(
    ("data", "length", "stretch"),
    [
        ({"series": {"v": [5, 6, 7, 8]}}, 3.0, (2.5, 3.0)),
        ({"series": [{"v": one} for one in (5, 6, 7, 8)]}, 3.0, (2.5, 3.0)),
        # of a file no more is known than that its samples are numbered
        ({"series": "s3://bucket/series.csv"}, 3.5, (2.5, 3.5)),
    ],
)
def test_the_samples_of_a_series_without_times_are_numbered(data: Any, length: float, stretch: Any) -> None:
    found = read(NUMBERED, data, [moment(3)])
    assert list(values(found).values()) == [(length, ((*stretch, ("PER",)),))]
    assert found.mended["samples"] == 1


@pytest.mark.parametrize(
    ("config", "data", "at"),
    [
        (SERIES, {"series": "s3://bucket/series.csv"}, 4),
        (SERIES, {"series": {"t": [4]}}, 4),
        (SERIES, {"series": {"t": [0, 9]}}, 10),
        (SERIES, {"series": {"t": [0, None, "x", 9]}}, 4),
        (SERIES, {"series": {"other": [0, 9]}}, 4),
        (None, {"series": {"t": [0, 9]}}, 4),
    ],
)
def test_a_moment_without_a_sample_is_counted_and_left_out(config: str | None, data: Any, at: float) -> None:
    found = read(config, data, [moment(at)])
    assert (values(found), found.left_out) == ({}, {"unreadable": 1})
    assert found.mended["instants"] == 1
    assert "samples" not in found.mended


def test_a_moment_of_a_sound_is_counted_and_left_out() -> None:
    one = mark(start=4.5, end=4.5, labels=["PER"]) | {"original_length": 60.0}
    found = read(SOUND, {"url": "/data/a.wav"}, [one])
    assert (values(found), found.left_out, found.mended) == ({}, {"unreadable": 1}, {"instants": 1})


def test_marks_on_the_line_of_a_video_hold_both_of_their_frames() -> None:
    one = mark("timelinelabels", ["PER"], ranges=[{"start": 1, "end": 7}, {"start": 9, "end": 9}])
    assert value(VIDEO, {"url": "/data/v.mp4"}, one) == (9, ((0, 7, ("PER",)), (8, 9, ("PER",))))
    found = read(
        VIDEO, {"url": "/data/v.mp4"}, [mark("timelinelabels", ["PER"], ranges=[{"start": 0, "end": 7}, None, {}])]
    )
    assert found.mended == {"invalid": 3}


@pytest.mark.parametrize(
    ("example", "control", "expected"),
    [
        ("named_entity", "ner", ((343, 354, ("Date",)),)),
        ("rich_text_plain", "label", ((343, 354, ("Date",)),)),
        ("phrases", "ner", None),
        ("audio_video_paragraphs", "label", None),
        ("audio_video_paragraphs", "audio_label", ((2.0, 4.0, ("Neutral",)),)),
        (
            "audio_regions",
            "label",
            ((12.778410892095105, 28.50568583621215, ("Beat",)), (55.747572792986325, 59.39854733358493, ("Other",))),
        ),
        ("html_document", "ner", None),
        (
            "rich_text_html",
            "ner",
            ((0, 5, ("Person",)), (69, 104, ("Date",)), (81, 105, ("Date",)), (180, 188, ("Person",))),
        ),
        ("timeseries", "label", ((0.0, 230079.0, ("Voice",)), (549996.0, 830048.0, ("Other",)))),
        ("timeseries_single", "label", ((0.0, 19.0, ("Run",)), (48.0, 65.0, ("Walk",)))),
    ],
)
@pytest.mark.parametrize("with_config", [True, False])
def test_the_examples_of_the_tool(example: str, control: str, expected: Any, with_config: bool) -> None:
    known = EXAMPLES[example]
    made = task(1, annotation(1, 2, known["result"]), annotation(2, 3, known["result"]), data={})
    found = table_of([made], known["config"] if with_config else None).questions[control]
    assert found.question.kind == "spans"
    one, other = values(found).values()
    marked = sum(result["from_name"] == control for result in known["result"])
    assert len(one[1]) == marked
    assert expected is None or one[1] == expected
    assert one == other


# Reported faults


def test_ls_22_a_mark_without_labels_is_counted_and_no_category() -> None:
    found, expected = reported("LS-22")
    assert found.mended["unlabelled"] == expected["unlabelled_regions"]
    shown = assessed(found)
    assert [one.category for one in shown.categories] == ["PER"]
    assert [(pair.a, pair.b) for pair in shown.pairs] == [("(no label)", "PER")]
    assert shown.to_json()["mended"] == {"unlabelled": 1}


def test_ls_28_an_end_behind_the_text() -> None:
    found, expected = reported("LS-28")
    assert found.mended["clamped"] == expected["clamped"]
    assert values(found)["1", "2"] == (11, ((8, 11, ("A",)),))


def test_ls_29_runs_of_blanks_squeezed_in_the_stored_text() -> None:
    found, expected = reported("LS-29")
    assert agreement(found) == expected["agree"]
    assert found.mended == {}, "nothing was repaired"


def test_ls_30_blanks_at_the_edges() -> None:
    found, expected = reported("LS-30")
    assert assessed(found).coefficients["span_f1_exact"].value == expected["trimmed"] == found.mended["trimmed"]
    as_marked = table_of(report("LS-30")[0], choices={"label": QuestionChoice(by="untrimmed")}).questions["label"]
    assert assessed(as_marked).coefficients["span_f1_exact"].value == expected["exact"]


@pytest.mark.parametrize("case", ["LS-31", "LS-33"])
def test_pages_by_their_global_offsets_and_labels_under_their_older_name(case: str) -> None:
    found, expected = reported(case)
    assert agreement(found) == expected["agree"]


def test_ls_32_global_offsets_never_cut_the_source() -> None:
    given, expected = report("LS-32")
    marks = [mark("hypertextlabels", ["PER"], globalOffsets=one, text="Hi") for one in given["globalOffsets"]]
    for config in (HTML, None):
        found = read(config, {"html": given["html"]}, *([one] for one in marks))
        assert agreement(found) == expected["agree"]
        assert found.mended == {}, "two visible characters, as many as the offsets say"
        assert set(values(found).values()) == {(2, ((0, 2, ("PER",)),))}


def test_ls_44_a_mark_without_offsets() -> None:
    found, expected = reported("LS-44")
    assert found.mended["invalid"] == expected["invalid_regions"]
    assert list(values(found).values()) == [(17, ((0, 3, ("A",)),))]
    assert found.left_out == {"unreadable": 1}


def test_ls_53_an_address_is_not_the_text() -> None:
    found, expected = reported("LS-53")
    assert agreement(found) == expected["agree"]
    assert found.mended.get("clamped", 0) == expected["clamped"]
    assert found.mended["length_unknown"] == 2
    url = TEXT.replace('value="$text"', 'value="$text" valueType="url"')
    by_config = read(url, {"text": "texts/one two.txt"}, [mark(start=100, end=110, labels=["PER"])])
    assert by_config.mended == {"length_unknown": 1}
