"""Questions about regions, regions in a Repeater, and relations, made through the real server's API, measured and
pushed back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from connector.demo.label_studio_seed import Api, Rater
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import Run, fields
from tests.live.support import SmallProject

CONFIG = """<View><Text name="text" value="$text"/>
    <Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
    <Choices name="tone" toName="text" perRegion="true"><Choice value="good"/><Choice value="bad"/></Choices>
    <Rating name="sure" toName="text" perRegion="true" maxRating="5"/>
    <TextArea name="note" toName="text" perRegion="true"/>
    <Relations><Relation value="knows"/><Relation value="lives_in"/></Relations></View>"""
PAGES = """<View><Repeater on="$pages" indexFlag="{{idx}}"><Image name="page_{{idx}}" value="$pages[{{idx}}].url"/>
    <RectangleLabels name="box_{{idx}}" toName="page_{{idx}}"><Label value="Car"/></RectangleLabels></Repeater>
    </View>"""
TEXT = "Ana knows Ben in Rome"
Results = list[dict[str, Any]]


def about(ident: str, start: int, end: int, label: str, tone: str, sure: int, note: str) -> Results:
    """A stretch with its label and three answers about it, as the tool stores them."""
    place = {"start": start, "end": end}

    def made(name: str, kind: str, **value: Any) -> dict[str, Any]:
        return {"id": ident, "from_name": name, "to_name": "text", "type": kind, "value": {**place, **value}}

    return [
        made("ner", "labels", text=TEXT[start:end], labels=[label]),
        made("tone", "choices", choices=[tone]),
        made("sure", "rating", rating=sure),
        made("note", "textarea", text=[note]),
    ]


def related(start: str, end: str, label: str, direction: str = "right") -> dict[str, Any]:
    return {"from_id": start, "to_id": end, "type": "relation", "direction": direction, "labels": [label]}


def submitted(
    owner: Api, made: SmallProject, answers: Sequence[Sequence[Results]], raters: Sequence[Rater]
) -> list[list[Results]]:
    """Let raters answer every task through the API; what the server then holds."""
    for task, rows in zip(made.task_ids, answers, strict=True):
        for rater, result in zip(raters, rows, strict=False):
            body = {"result": result, "completed_by": rater.id}
            owner.call("POST", f"/api/tasks/{task}/annotations/", body)
    return [
        [one["result"] for one in owner.call("GET", f"/api/tasks/{task}/")["annotations"]] for task in made.task_ids
    ]


@pytest.fixture
def run(label_studio: LabelStudioServer, tmp_path: Path) -> Callable[..., Run]:
    def make(made: SmallProject, **sections: Any) -> Run:
        return Run(label_studio.url, label_studio.token, made.id, tmp_path, **sections)

    return make


def test_answers_about_regions_and_relations_between_them(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], run: Callable[..., Run]
) -> None:
    made = project(tasks=[{"data": {"text": TEXT}}] * 2, label_config=CONFIG)
    ana, ben, rome = (0, 3, "PER"), (10, 13, "PER"), (17, 21, "LOC")
    answers = [
        [
            [
                *about("a", *ana, "good", 5, "she"),
                *about("b", *ben, "bad", 2, "he there"),
                related("a", "b", "knows"),
                related("b", "a", "knows", "bi"),
            ],
            [
                # in another order, with other ids, one stretch longer by a sign, one that only this rater marked
                *about("x", *rome, "good", 3, "a town"),
                *about("y", 10, 14, "PER", "good", 3, "he"),
                *about("z", *ana, "good", 5, "she"),
                related("y", "z", "knows", "left"),
            ],
        ],
        [
            [*about("a", *ana, "bad", 1, "x"), *about("c", *rome, "bad", 4, "x"), related("a", "c", "lives_in")],
            [*about("k", *ana, "bad", 1, "x"), *about("m", *rome, "bad", 5, "x"), related("k", "m", "lives_in")],
        ],
    ]
    assert submitted(owner, made, answers, raters) == answers, "the server keeps what it was given"
    connector = run(made)
    connector("sync", "--full")
    found = json.loads(connector("report", "--format", "json"))
    assert found["not_measured"] == []
    questions = found["questions"]
    assert {name: (one["kind"], one["n_units"], one["n_pairable_units"]) for name, one in questions.items()} == {
        "ner": ("spans", 2, 2),
        "tone": ("choice", 5, 4),
        "sure": ("rating", 5, 4),
        "note": ("text", 5, 4),
        "relations": ("relations", 2, 2),
    }
    # tone: good good; bad good; bad bad; bad bad: n = 8, good 3, D = 2
    tone = questions["tone"]["coefficients"]["krippendorff_alpha"]["value"]
    assert tone == pytest.approx(1 - 7 * 2 / (2 * 3 * 5))
    # relations: {a, b} and {a} differ by MASI 2/3, the others are equal; by chance all but equal ones differ by 1
    relations = questions["relations"]["coefficients"]["krippendorff_alpha"]
    assert relations["observed"] == pytest.approx(2 * (2 / 3) / 4)
    assert relations["value"] == pytest.approx(1 - (2 * (2 / 3) / 4) / ((2 * (2 / 3) + 8) / 12))
    first, second = fields(owner, made)
    assert (first["status_tone"], first["agreement_tone"], first["raters_tone"]) == ("conflict", 0.5, 2)
    # 5 and 5 agree, 2 and 3 are a quarter of the range apart
    assert first["agreement_sure"] == pytest.approx((1 + 0.75) / 2, abs=0.005)
    # "he there" and "he": 6 of 8 signs
    assert first["agreement_note"] == pytest.approx((1 + 0.25) / 2, abs=0.005)
    assert (second["status_tone"], second["status_note"]) == ("agreed", "agreed")
    assert first["agreement_relations"] == pytest.approx(1 / 3, abs=0.005)
    assert second["majority_relations"] == "0-3 PER -> lives_in -> 17-21 LOC"
    assert "Nothing to write" in connector("sync")


def test_boxes_on_the_pages_of_a_document(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], run: Callable[..., Run]
) -> None:
    def box(page: int, x: float) -> dict[str, Any]:
        value = {"x": x, "y": 0, "width": 10, "height": 10, "rotation": 0, "rectanglelabels": ["Car"]}
        size = {"original_width": 100, "original_height": 100, "image_rotation": 0}
        named = {"from_name": f"box_{page}", "to_name": f"page_{page}", "type": "rectanglelabels"}
        return {"id": f"b{page}", **size, **named, "value": value}

    pages = [{"url": f"/data/upload/{page}.png"} for page in range(3)]
    made = project(tasks=[{"data": {"pages": pages}}], label_config=PAGES)
    submitted(owner, made, [[[box(0, 0), box(1, 0)], [box(0, 1), box(1, 50)]]], raters)
    connector = run(made)
    connector("sync")
    found = json.loads(connector("report", "--format", "json"))["questions"]["box_{{idx}}"]
    assert (found["kind"], found["n_units"], found["n_ratings"]) == ("regions", 3, 6)
    # 0 on the first page (9 of 11 in common), 1 on the second, both empty on the third
    assert found["coefficients"]["krippendorff_alpha"]["observed"] == pytest.approx(2 / 6)
    (row,) = fields(owner, made)
    assert (row["agreement"], row["raters"]) == (pytest.approx(2 / 3, abs=0.005), 2)
