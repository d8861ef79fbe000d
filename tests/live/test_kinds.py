"""Several questions of different kinds in one project: each pulled, measured and pushed back by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connector.demo.label_studio_seed import Api
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import Run, fields
from tests.live.support import SmallProject

CONFIG = """<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text" choice="single"><Choice value="good" alias="G"/><Choice value="bad"/></Choices>
  <Choices name="Topics &amp; more" toName="text" choice="multiple">
    <Choice value="a"/><Choice value="b"/><Choice value="c"/>
  </Choices>
  <Choices name="nested" toName="text" choice="multiple">
    <Choice value="N1"><Choice value="N11"/></Choice><Choice value="N2"/>
  </Choices>
  <Taxonomy name="tree" toName="text">
    <Choice value="Animal"><Choice value="Dog"/></Choice><Choice value="Plant"/>
  </Taxonomy>
  <Rating name="stars" toName="text" maxRating="5"/>
  <Number name="count" toName="text" min="0" max="10"/>
  <DateTime name="day" toName="text" only="date" format="%Y-%m-%d"/>
  <Labels name="spans" toName="text"><Label value="PER"/></Labels>
  <TextArea name="note" toName="text"/>
</View>"""


def item(name: str, type_: str, key: str, value: Any, **place: Any) -> dict[str, Any]:
    return {"id": f"{name[:3]}1", "from_name": name, "to_name": "text", "type": type_, "value": {key: value, **place}}


def answer(mood: str, topics: list[str], path: list[str], stars: int, count: float, day: str) -> list[dict[str, Any]]:
    return [
        item("mood", "choices", "choices", [mood]),
        item("Topics & more", "choices", "choices", topics),
        item("nested", "choices", "choices", [path]),
        item("tree", "taxonomy", "taxonomy", [["Animal", "Dog"]] if path[0] == "N1" else [["Plant"]]),
        item("stars", "rating", "rating", stars),
        item("count", "number", "number", count),
        item("day", "datetime", "datetime", day),
        item("spans", "labels", "labels", ["PER"], start=0, end=4, text="text"),
        item("note", "textarea", "text", ["fine"]),
    ]


def test_every_kind_is_measured_by_itself_or_named_as_not_measured(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    rows = [
        [
            answer("G", ["a", "b"], ["N1", "N11"], 4, 7.5, "2026-01-04"),
            answer("good", ["b", "a"], ["N1", "N11"], 4, 7.5, "2026-01-04"),
        ],
        [answer("good", ["a"], ["N1"], 5, 2, "2026-01-01"), answer("bad", ["a", "b"], ["N2"], 1, 7, "2026-01-31")],
        [answer("bad", ["c"], ["N2"], 2, 3, "2026-02-02"), answer("bad", ["c"], ["N2"], 3, 3, "2026-02-02")],
    ]
    made = project(rows, label_config=CONFIG)
    connector = Run(label_studio.url, label_studio.token, made.id, tmp_path)
    connector("sync")
    report = json.loads(connector("report", "--format", "json"))
    kinds = {name: (one["kind"], one["level"], one["distance"]) for name, one in report["questions"].items()}
    assert kinds == {
        "mood": ("choice", "nominal", "nominal"),
        "Topics & more": ("choices", "nominal", "masi"),
        "nested": ("paths", "nominal", "masi"),
        "tree": ("paths", "nominal", "masi"),
        "stars": ("rating", "ordinal", "ordinal"),
        "count": ("number", "interval", "interval"),
        "day": ("date", "interval", "interval"),
        "spans": ("spans", "nominal", "character"),
        "note": ("text", "nominal", "edit"),
    }
    assert report["not_measured"] == []

    first, second, third = fields(owner, made)
    assert first["status"] == "agreed"
    assert first["majority_mood"] == "good", "an alias and its value are one choice"
    assert (first["majority_topics_more"], first["majority_nested"]) == ("a, b", "N1/N11")
    assert (first["majority_stars"], first["majority_count"], first["majority_day"]) == ("4", "7.5", "2026-01-04")
    assert second["status"] == "conflict"
    assert second["agreement"] == 0.0
    assert second["agreement_topics_more"] == pytest.approx(0.33), "MASI of {a} and {a, b}: 1 - 1/2 * 2/3"
    assert second["agreement_stars"] == 0.0, "the whole declared range apart"
    assert second["agreement_count"] == pytest.approx(0.5), "5 of 10"
    assert "agreement_day" not in second, "dates have no declared range"
    assert third["agreement_stars"] == pytest.approx(0.75)
    assert (third["status_stars"], third["status_mood"]) == ("majority", "agreed")


def test_a_pairwise_comparison(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    sides = '<Text name="left" value="$l"/><Text name="right" value="$r"/>'
    config = f'<View><Pairwise name="pair" toName="left,right"/>{sides}</View>'

    def side(which: str) -> list[dict[str, Any]]:
        return [{"from_name": "pair", "to_name": "pair", "type": "pairwise", "value": {"selected": which}}]

    made_by = project([["yes"]]).raters
    tasks = [
        {
            "data": {"l": "A", "r": "B"},
            "annotations": [
                {"completed_by": rater.id, "ground_truth": False, "result": side(which)}
                for rater, which in zip(made_by, votes, strict=False)
            ],
        }
        for votes in (["left", "left"], ["right", "left"], ["right", "right"])
    ]
    made = project(tasks=tasks, label_config=config)
    Run(label_studio.url, label_studio.token, made.id, tmp_path)("sync")
    assert [row["status"] for row in fields(owner, made)] == ["agreed", "conflict", "agreed"]


def test_labels_of_any_text_come_back_as_they_are(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    labels = [
        "=1+1",
        'it\'s "quoted" \\ back',
        "$text {{x}}",
        "déjà vu 漢字 👩‍👩‍👧",
        "<b>bold</b>",
        "1",
        "true",
        "null",
        "a,b",
    ]
    rows = [[[item("mood", "choices", "choices", [label])]] * 2 for label in labels]
    made = project(rows, label_config=CONFIG)
    Run(label_studio.url, label_studio.token, made.id, tmp_path)("sync")
    assert [row["majority_mood"] for row in fields(owner, made)] == labels


SPANS = """<View>
  <Text name="text" value="$text"/>
  <Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
</View>"""


def test_spans_are_pulled_measured_and_pushed_back(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    text = "Ana \N{ROCKET} in Rome"

    def span(start: int, end: int, label: str, stored: str) -> dict[str, Any]:
        return item("ner", "labels", "labels", [label], start=start, end=end, text=stored)

    ana, rome = span(0, 3, "PER", "Ana"), span(10, 14, "LOC", "Rome")
    # a blank at the edge, and the same place in UTF-16 units as the page counts them
    votes = [[ana, rome], [span(0, 4, "PER", "Ana "), rome]], [[ana], [ana]], [[rome], []]
    raters = project([["yes"]]).raters
    tasks = [
        {
            "data": {"text": text},
            "annotations": [
                {"completed_by": rater.id, "ground_truth": False, "result": results}
                for rater, results in zip(raters, answers, strict=False)
            ],
        }
        for answers in votes
    ]
    made = project(tasks=tasks, label_config=SPANS)
    connector = Run(label_studio.url, label_studio.token, made.id, tmp_path)
    connector("sync")
    found = json.loads(connector("report", "--format", "json"))["questions"]["ner"]
    assert (found["kind"], found["distance"], found["n_ratings"]) == ("spans", "character", 6)
    assert found["mended"] == {"utf16": 3, "trimmed": 1}
    assert found["coefficients"]["span_f1_exact"]["value"] == pytest.approx(2 * 3 / 7)
    assert [(pair["a"], pair["b"], pair["n"]) for pair in found["pairs"]] == [("LOC", "(blank)", 4)]
    first, second, third = fields(owner, made)
    assert (first["agreement"], second["agreement"], third["agreement"]) == (1, 1, 0)
    assert (first["status"], second["status"], third["status"]) == ("agreed", "agreed", "conflict")
    assert first["majority"] == "0-3 PER, 9-13 LOC"
