"""Every kind of annotation there and back: made on the real server, pulled, measured, its scores pushed and read back.

Through the API for every kind; for a choice, a span and a box also through the labelling page, as a rater makes them.
Each alpha is worked out by hand beside its votes.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connector import cli
from connector.demo.label_studio_seed import Api, Rater
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import fields
from tests.live.support import SmallProject

if TYPE_CHECKING:
    from playwright.sync_api import Page

Results = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One control: its config, what its tasks show, the answers by letter, and two raters' votes on three tasks.

    `alpha`, `agreement` and `status` are what must come of them; `question` is not `q` where no control bears its name,
    `settings` are those of the question in the configuration.
    """

    kind: str
    config: str
    data: Mapping[str, Any]
    answers: Mapping[str, Results]
    alpha: float
    votes: Sequence[str] = ("aa", "ab", "bb")
    agreement: Sequence[float | None] = (1, 0, 1)
    status: Sequence[str | None] = ("agreed", "conflict", "agreed")
    question: str = "q"
    settings: Mapping[str, Any] = field(default_factory=dict)


def one(type_: str, to: str = "text", /, **value: Any) -> dict[str, Any]:
    """A result of the control `q`."""
    return {"id": "r0", "from_name": "q", "to_name": to, "type": type_, "value": value}


# Answers about the whole task. Two values, three times each of six, one of three tasks in disagreement: observed 1/3,
# expected 2 x 3 x 3 / (6 x 5) = 3/5.
TWO_VALUES = 1 - (1 / 3) / (3 / 5)
# {A, B} three times, {A} once, {C} twice. MASI of {A, B} and {A} is 1 - 1/2 x 2/3 = 2/3: observed 2/9, expected
# 2 x (3 x 1 x 2/3 + 3 x 2 x 1 + 1 x 2 x 1) / (6 x 5) = 2/3.
THREE_SETS = 1 - (2 / 9) / (2 / 3)

TEXT = {"text": "Anna lives"}


def on_text(control: str) -> str:
    return f'<View><Text name="text" value="$text"/>{control}</View>'


def choices(*labels: Any) -> Results:
    return [one("choices", choices=list(labels))]


ABC = "".join(f'<Choice value="{label}"/>' for label in "ABC")
TASK_LEVEL = {
    "choice": Case(
        "choice",
        on_text(f'<Choices name="q" toName="text" choice="single">{ABC}</Choices>'),
        TEXT,
        {"a": choices("A"), "b": choices("B")},
        TWO_VALUES,
    ),
    "choices": Case(
        "choices",
        on_text(f'<Choices name="q" toName="text" choice="multiple">{ABC}</Choices>'),
        TEXT,
        {"a": choices("A", "B"), "b": choices("A"), "c": choices("C")},
        THREE_SETS,
        ("aa", "ab", "cc"),
        (1, 0.33, 1),
    ),
    "nested": Case(
        "paths",
        on_text(
            '<Choices name="q" toName="text" choice="multiple">'
            '<Choice value="N"><Choice value="N1"/></Choice></Choices>'
        ),
        TEXT,
        {"a": choices(["N", "N1"]), "b": choices(["N"])},
        TWO_VALUES,
    ),
    "taxonomy": Case(
        "paths",
        on_text(
            '<Taxonomy name="q" toName="text"><Choice value="Animal"><Choice value="Dog"/></Choice>'
            '<Choice value="Plant"/></Taxonomy>'
        ),
        TEXT,
        {
            "a": [one("taxonomy", taxonomy=[["Animal", "Dog"], ["Plant"]])],
            "b": [one("taxonomy", taxonomy=[["Animal", "Dog"]])],
            "c": [one("taxonomy", taxonomy=[["Animal"]])],
        },
        THREE_SETS,
        ("aa", "ab", "cc"),
        (1, 0.33, 1),
    ),
    # Ordinal: 4 4 | 5 1 | 2 3. Two values lie apart by the ratings between them and half of those on each: with one 1,
    # 2, 3 and 5 and two 4 the values lie at 0, 1, 2, 3.5 and 5. Observed (0 + 25 + 1) / 3; the squared differences of
    # all 15 pairs sum to 6 x (1 + 4 + 2 x 12.25 + 25) - (1 + 2 + 7 + 5)^2 = 102.
    "rating": Case(
        "rating",
        on_text('<Rating name="q" toName="text" maxRating="5"/>'),
        TEXT,
        {str(n): [one("rating", rating=n)] for n in range(1, 6)},
        1 - (26 / 3) / (102 / 15),
        ("44", "51", "23"),
        (1, 0, 0.75),
        ("agreed", "conflict", "majority"),
    ),
    # Interval: 7 7 | 2 7 | 3 3. Observed (0 + 25 + 0) / 3; all pairs: 6 x (3 x 49 + 4 + 18) - 29^2 = 173.
    "number": Case(
        "number",
        on_text('<Number name="q" toName="text" min="0" max="10"/>'),
        TEXT,
        {str(n): [one("number", number=n)] for n in (2, 3, 7)},
        1 - (25 / 3) / (173 / 15),
        ("77", "27", "33"),
        (1, 0.5, 1),
    ),
    # The same in days; without a declared range a task has no score.
    "datetime": Case(
        "date",
        on_text('<DateTime name="q" toName="text" only="date" format="%Y-%m-%d"/>'),
        TEXT,
        {str(n): [one("datetime", datetime=f"2026-01-{n:02}")] for n in (2, 3, 7)},
        1 - (25 / 3) / (173 / 15),
        ("77", "27", "33"),
        (None, None, None),
        ("agreed", None, "agreed"),
    ),
    "pairwise": Case(
        "pairwise",
        '<View><Pairwise name="q" toName="left,right"/><Text name="left" value="$text"/>'
        '<Text name="right" value="$text"/></View>',
        TEXT,
        {"a": [one("pairwise", "q", selected="left")], "b": [one("pairwise", "q", selected="right")]},
        TWO_VALUES,
    ),
}

# What the configuration asks for, each with answers that come to something else without it.
ANIMALS = on_text(
    '<Taxonomy name="q" toName="text"><Choice value="Animal"><Choice value="Dog"/><Choice value="Cat"/></Choice>'
    '<Choice value="Toy"><Choice value="Dog"/></Choice><Choice value="Plant"/></Taxonomy>'
)


def chosen(*path: str) -> Results:
    return [one("taxonomy", taxonomy=[list(path)])]


ASKED_FOR = {
    # Animal and Animal/Dog three times, Animal once, Plant twice
    "by prefix": Case(
        "paths",
        ANIMALS,
        TEXT,
        {"a": chosen("Animal", "Dog"), "b": chosen("Animal"), "c": chosen("Plant")},
        THREE_SETS,
        ("aa", "ab", "cc"),
        (1, 0.33, 1),
        settings={"by": "prefix"},
    ),
    "by leaf": Case(
        "paths",
        ANIMALS,
        TEXT,
        {"a": chosen("Animal", "Dog"), "b": chosen("Toy", "Dog"), "c": chosen("Plant")},
        TWO_VALUES,
        ("ab", "ac", "cc"),
        settings={"by": "leaf"},
    ),
    "by top": Case(
        "paths",
        ANIMALS,
        TEXT,
        {"a": chosen("Animal", "Dog"), "b": chosen("Animal", "Cat"), "c": chosen("Plant")},
        TWO_VALUES,
        ("ab", "ac", "cc"),
        settings={"by": "top"},
    ),
    # submitted without a label: nobody said that it is missing
    "empty is none": Case(
        "choices",
        on_text(f'<Choices name="q" toName="text" choice="multiple">{ABC}</Choices>'),
        TEXT,
        {"a": choices("A"), "n": []},
        TWO_VALUES,
        ("aa", "an", "nn"),
        settings={"empty": "none"},
    ),
    # a label that the config no longer has is what the configuration says it is
    "relabelled": Case(
        "choice",
        on_text(f'<Choices name="q" toName="text" choice="single">{ABC}</Choices>'),
        TEXT,
        {"a": choices("A"), "b": choices("B"), "o": choices("Old")},
        TWO_VALUES,
        ("bo", "ao", "aa"),
        settings={"relabel": {"Old": "B"}},
    ),
}

# Marked stretches of ten places: PER over four of them, LOC over four more, or nothing. Of 60 places judged 16 are PER,
# 4 LOC and 40 blank; on 4 places two raters differ.
PER_LOC_NOTHING = ("aa", "ba", "nn")
PAIRS = 60**2 - (16**2 + 4**2 + 40**2)
BY_CHARACTER = 1 - 59 * 8 / PAIRS
BY_TIME = 1 - 60 * 8 / PAIRS  # a moment has no extent, so it is never paired with itself
# How long a recording is only marks tell: the one without counts for nothing, and 20 of 40 places are blank.
BY_KNOWN_TIME = 1 - 40 * 8 / (40**2 - (16**2 + 4**2 + 20**2))
# So it is for a video, whose frames are counted as they are: 4 of the task where both marked 4, 9 of the other.
BY_KNOWN_FRAMES = 1 - 25 * 8 / (26**2 - (16**2 + 4**2 + 6**2))
# F1 over places of {PER, LOC} and {PER}: 2 x 4 / (8 + 4).
OF_STRETCHES = (1, 0.67, 1)


def stretches(
    config: str, data: Mapping[str, Any], alpha: float, mark: Callable[[int, int, str], dict[str, Any]]
) -> Case:
    """Two marks of one control over ten places."""
    labels = '<Label value="PER"/><Label value="LOC"/>'
    per, loc = mark(0, 4, "PER"), {**mark(5, 9, "LOC"), "id": "r1"}
    return Case(
        "spans",
        f"<View>{config.format(labels=labels)}</View>",
        data,
        {"a": [per], "b": [per, loc], "n": []},
        alpha,
        PER_LOC_NOTHING,
        OF_STRETCHES,
        ("agreed", "majority", "agreed"),
    )


def in_html(start: int, end: int, label: str) -> dict[str, Any]:
    path = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": start, "endOffset": end}
    offsets = {"globalOffsets": {"start": start, "end": end}}
    return one("hypertextlabels", "page", **path, **offsets, hypertextlabels=[label], text=TEXT["text"][start:end])


def in_audio(start: int, end: int, label: str) -> dict[str, Any]:
    return one("labels", "audio", start=float(start), end=float(end), channel=0, labels=[label]) | {
        "original_length": 10.0
    }


STRETCHES = {
    "text": stretches(
        '<Text name="text" value="$text"/><Labels name="q" toName="text">{labels}</Labels>',
        TEXT,
        BY_CHARACTER,
        lambda start, end, label: one(
            "labels", start=start, end=end, labels=[label], text=TEXT["text"][start:end]
        ),
    ),
    "hypertext": stretches(
        '<HyperText name="page" value="$page"/><HyperTextLabels name="q" toName="page">{labels}</HyperTextLabels>',
        {"page": f"<p>{TEXT['text']}</p>"},
        BY_CHARACTER,
        in_html,
    ),
    "paragraphs": stretches(
        '<Paragraphs name="talk" value="$talk" layout="dialogue" nameKey="who" textKey="said"/>'
        '<ParagraphLabels name="q" toName="talk">{labels}</ParagraphLabels>',
        {"talk": [{"who": "Ben", "said": TEXT["text"]}]},
        BY_CHARACTER,
        lambda start, end, label: one(
            "paragraphlabels", "talk", start="0", end="0", startOffset=start, endOffset=end,
            paragraphlabels=[label], text=TEXT["text"][start:end],
        ),
    ),
    "audio": stretches(
        '<Audio name="audio" value="$audio"/><Labels name="q" toName="audio">{labels}</Labels>',
        {"audio": "http://127.0.0.1/none.wav"},
        BY_KNOWN_TIME,
        in_audio,
    ),
    "time series": stretches(
        '<TimeSeries name="series" value="$series" valueType="json" timeColumn="t"><Channel column="v"/></TimeSeries>'
        '<TimeSeriesLabels name="q" toName="series">{labels}</TimeSeriesLabels>',
        {"series": {"t": list(range(11)), "v": [0] * 11}},
        BY_TIME,
        lambda start, end, label: one(
            "timeserieslabels", "series", start=start, end=end, instant=False, timeserieslabels=[label]
        ),
    ),
    "timeline": stretches(
        '<TimelineLabels name="q" toName="video">{labels}</TimelineLabels><Video name="video" value="$video"/>',
        {"video": "http://127.0.0.1/none.mp4"},
        BY_KNOWN_FRAMES,
        # frames count from 1, and the last one belongs to it
        lambda start, end, label: one(
            "timelinelabels", "video", ranges=[{"start": start + 1, "end": end}], timelinelabels=[label]
        ),
    ),
}  # fmt: skip

# Two regions that lie apart, three times both of them, once the one, twice the other. F1 of both and one is 2/3:
# observed (1/3) / 3, expected 2 x (3 x 1 x 1/3 + 3 x 2 x 1/3 + 1 x 2 x 1) / (6 x 5) = 1/3.
OF_REGIONS = 1 - (1 / 9) / (1 / 3)
IMAGE = {"image": "http://127.0.0.1/none.png"}


def regions(tag: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Case:
    """Two regions of an image of 200 x 100 pixels, drawn with one control."""
    type_ = tag.lower()
    drawn = [
        one(type_, "image", **value, **{type_: ["Car"]})
        | {"id": f"r{place}", "original_width": 200, "original_height": 100, "image_rotation": 0}
        for place, value in enumerate((first, second))
    ]
    config = (
        f'<View><Image name="image" value="$image"/><{tag} name="q" toName="image"><Label value="Car"/></{tag}></View>'
    )
    return _of_regions(config, IMAGE, drawn)


def _of_regions(config: str, data: Mapping[str, Any], drawn: Results) -> Case:
    return Case(
        "regions",
        config,
        data,
        {"a": drawn, "b": drawn[:1], "c": drawn[1:]},
        OF_REGIONS,
        ("aa", "ab", "cc"),
        (1, 0.67, 1),
        ("agreed", "majority", "agreed"),
    )


GREY, RGBA = 0, 6


def png(width: int, height: int, row: bytes, *, colours: int) -> str:
    """A PNG of equal rows as an address that needs no server; each row begins with how it is filtered, 0."""

    def chunk(name: bytes, content: bytes) -> bytes:
        body = name + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    whole = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(row * height))
        + chunk(b"IEND", b"")
    )
    return f"data:image/png;base64,{base64.b64encode(whole).decode()}"


def mask(left: int, right: int) -> dict[str, Any]:
    """Columns `left` to `right` of an image of 200 x 100 pixels, packed by runs as the page packs them."""
    rows = [0] * left + [255] * (right - left) + [0] * (200 - right)
    values = [value for value in rows * 100 for _ in range(4)]
    # how many values; eight bits each; counts have up to 3, 5, 8 or 16 bits
    bits = f"{len(values):032b}{7:05b}{2:04b}{4:04b}{7:04b}{15:04b}"
    for value, n in _runs(values):
        bits += f"111{n - 1:016b}{value:08b}"
    bits += "0" * (-len(bits) % 8)
    return {"format": "rle", "rle": [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]}


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1] = value, runs[-1][1] + 1
        else:
            runs.append((value, 1))
    return runs


def bitmask(left: int, right: int) -> dict[str, Any]:
    """The same columns as a picture that is transparent elsewhere."""
    row = b"\0" + b"".join(b"\xff\0\0\xff" if left <= x < right else bytes(4) for x in range(200))
    return {"imageDataURL": png(200, 100, row, colours=RGBA)}


def vector(*corners: tuple[float, float]) -> dict[str, Any]:
    """A closed path, each corner knowing the one before."""
    names = [f"p{place}" for place in range(len(corners))]
    vertices = [
        {"id": name, "prevPointId": before, "x": x, "y": y, "isBezier": False, "disconnected": False}
        for name, before, (x, y) in zip(names, [None, *names], corners, strict=False)
    ]
    return {"vertices": vertices, "closed": True}


def tracked(number: int, x: float) -> dict[str, Any]:
    """A box that stands still for five frames of a video."""
    box = {"x": x, "y": 10, "width": 20, "height": 20, "rotation": 0}
    keys = [{"frame": 1, "enabled": True, **box}, {"frame": 5, "enabled": False, **box}]
    drawn = one("videorectangle", "video", sequence=keys, framesCount=10, duration=1, labels=["Car"])
    return drawn | {"id": f"r{number}"}


REGIONS = {
    "rectangle": regions(
        "RectangleLabels",
        {"x": 10, "y": 10, "width": 20, "height": 30, "rotation": 0},
        {"x": 60, "y": 50, "width": 20, "height": 30, "rotation": 30},
    ),
    "ellipse": regions(
        "EllipseLabels",
        {"x": 20, "y": 20, "radiusX": 10, "radiusY": 15, "rotation": 0},
        {"x": 70, "y": 60, "radiusX": 10, "radiusY": 15, "rotation": 30},
    ),
    "polygon": regions(
        "PolygonLabels",
        {"points": [[10, 10], [30, 10], [20, 40]], "closed": True},
        {"points": [[60, 50], [80, 50], [70, 90]], "closed": True},
    ),
    "key point": regions("KeyPointLabels", {"x": 20, "y": 20, "width": 1}, {"x": 70, "y": 60, "width": 1}),
    "brush": regions("BrushLabels", mask(10, 60), mask(120, 180)),
    "bitmask": regions("BitmaskLabels", bitmask(10, 60), bitmask(120, 180)),
    "vector": regions(
        "VectorLabels", vector((10, 10), (30, 10), (20, 40)), vector((60, 50), (80, 50), (80, 90), (60, 90))
    ),
    "video": _of_regions(
        '<View><Labels name="label" toName="video"><Label value="Car"/></Labels><Video name="video" value="$video"/>'
        '<VideoRectangle name="q" toName="video"/></View>',
        {"video": "http://127.0.0.1/none.mp4"},
        [tracked(0, 10), tracked(1, 60)],
    ),
}

# What is said of regions, and of two of them: the same two values on regions that all raters marked alike.
PERSON, PLACE = (
    one("labels", start=start, end=end, labels=[label]) | {"id": f"r{start}", "from_name": "ner"}
    for start, end, label in ((0, 4, "PER"), (5, 10, "LOC"))
)
NER = '<Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>'


def said(label: str) -> Results:
    return [PERSON, one("choices", start=0, end=4, choices=[label]) | {"id": PERSON["id"]}]


def related(label: str) -> Results:
    ends = {"from_id": PERSON["id"], "to_id": PLACE["id"]}
    return [PERSON, PLACE, {"type": "relation", **ends, "direction": "right", "labels": [label]}]


OF_REGIONS_SAID = {
    "per region": Case(
        "choice",
        on_text(f'{NER}<Choices name="q" toName="text" perRegion="true">{ABC}</Choices>'),
        TEXT,
        {"a": said("A"), "b": said("B")},
        TWO_VALUES,
    ),
    "relation": Case(
        "relations",
        on_text(f'{NER}<Relations><Relation value="in"/><Relation value="near"/></Relations>'),
        TEXT,
        {"a": related("in"), "b": related("near")},
        # no relation of one task is one of another: of 15 pairs the 12 of two tasks differ, and one within a task
        1 - (1 / 3) / (13 / 15),
        question="relations",
    ),
}

CASES = {**TASK_LEVEL, **ASKED_FOR, **STRETCHES, **REGIONS, **OF_REGIONS_SAID}


Measure = Callable[..., Any]


@pytest.fixture
def measured(
    label_studio: LabelStudioServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Measure:
    """`measured(made, **sections)` syncs a project, with more sections of the configuration where they are given, and
    gives what the report says of its questions.

    In this process: to start one for each kind would take longer than all else together.
    """
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", label_studio.token)

    def sync(made: SmallProject, **sections: Any) -> Any:
        config = tmp_path / "config.yaml"
        settings = {"tool": "label_studio", "url": label_studio.url, "project": made.id, **sections}
        config.write_text(json.dumps(settings), encoding="utf-8")
        assert cli.run(["sync", "-c", str(config)]) == 0
        capsys.readouterr()
        assert cli.run(["report", "-c", str(config), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)["questions"]

    return sync


@pytest.mark.parametrize("name", CASES)
def test_a_kind_made_through_the_api(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], measured: Measure, name: str
) -> None:
    case = CASES[name]
    tasks = [
        {
            "data": dict(case.data),
            "annotations": [
                {"completed_by": rater.id, "ground_truth": False, "result": case.answers[letter]}
                for rater, letter in zip(raters, votes, strict=False)
            ],
        }
        for votes in case.votes
    ]
    made = project(tasks=tasks, label_config=case.config)
    found = measured(made, questions={case.question: case.settings} if case.settings else {})[case.question]
    assert (found["kind"], found["n_units"], found["n_ratings"]) == (case.kind, 3, 6)
    assert found["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(case.alpha)
    pushed = fields(owner, made)
    assert [row.get("agreement") for row in pushed] == pytest.approx(list(case.agreement))
    assert [row.get("status") for row in pushed] == list(case.status)
    assert {value for row in pushed for name, value in row.items() if name.startswith("raters")} == {2}


SHOWN_IF_A = on_text(
    '<Choices name="parent" toName="text" choice="single"><Choice value="A"/><Choice value="B"/></Choices>'
    '<View visibleWhen="choice-selected" whenTagName="parent" whenChoiceValue="A">'
    '<Choices name="child" toName="text" choice="single"><Choice value="x"/><Choice value="y"/></Choices></View>'
)


def test_a_question_that_is_asked_only_of_who_chose_so(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], measured: Measure
) -> None:
    def both(answers: str) -> Results:
        """`Ax`: A, and x of the question that it opens."""
        given = zip(("parent", "child"), answers, strict=False)
        return [one("choices", choices=[label]) | {"id": name, "from_name": name} for name, label in given]

    # a child answered before its parent was changed, a child left open, and a task where nobody was asked
    rows = (("Ax", "Ax", "By"), ("Ay", "Ax", "B"), ("B", "B", "B"), ("Ay", "Ay", "A"))
    made = project([[both(cell) for cell in row] for row in rows], label_config=SHOWN_IF_A)
    found = measured(made)
    parent, child = found["parent"], found["child"]
    # A seven times of twelve: observed (2/3 + 2/3 + 0 + 0) / 4, expected 2 x 7 x 5 / (12 x 11)
    assert parent["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(1 - (1 / 3) / (70 / 132))
    assert parent["left_out"] == {}
    # x x | y x | y y
    assert child["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(TWO_VALUES)
    assert (child["n_units"], child["n_ratings"]) == (3, 6)
    assert child["left_out"] == {"not_shown": 4, "stale_child": 1, "empty": 1}
    pushed = fields(owner, made)
    assert [row.get("agreement_child") for row in pushed] == [1, 0, None, 1]
    assert [row["status_child"] for row in pushed] == ["agreed", "conflict", "unrated", "agreed"]
    assert [row["raters_child"] for row in pushed] == [2, 2, 0, 2]
    assert [row["agreement_parent"] for row in pushed] == pytest.approx([1 / 3, 1 / 3, 1, 1], abs=0.001)


# Through the page


@pytest.fixture
def rated_on_the_page(
    owner: Api,
    project: Callable[..., SmallProject],
    raters: tuple[Rater, ...],
    measured: Measure,
    label_studio: LabelStudioServer,
    page: Page,
    login: Callable[..., None],
    screenshot: Callable[..., Path],
) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    """`rated_on_the_page(case, data, do, other)`: the first rater does that on the page of a task and submits it, the
    second rates the task equally, and both rate another task with the results `other`. Gives the result that was
    submitted and what was pushed on the task; alpha is 1.
    """

    def rate(
        case: Case, data: Mapping[str, Any], do: Callable[[Page], None], other: Results
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        same = [{"completed_by": rater.id, "ground_truth": False, "result": other} for rater in raters[:2]]
        tasks = [{"data": dict(data)}, {"data": dict(data), "annotations": same}]
        made = project(tasks=tasks, label_config=case.config)
        task = made.task_ids[0]
        login(page, raters[0])
        page.goto(f"{label_studio.url}/projects/{made.id}/data?task={task}")
        page.get_by_role("button", name="Submit").first.wait_for(timeout=60_000)
        do(page)
        screenshot(page)
        with page.expect_response(lambda answer: answer.request.method == "POST" and "/annotations" in answer.url):
            page.get_by_role("button", name="Submit").first.click()
        (stored,) = owner.call("GET", f"/api/tasks/{task}/")["annotations"]
        assert stored["completed_by"]["id"] == raters[0].id
        (result,) = stored["result"]
        equal = {"completed_by": raters[1].id, "result": stored["result"]}
        owner.call("POST", f"/api/tasks/{task}/annotations/", equal)
        found = measured(made)["q"]
        assert (found["kind"], found["n_ratings"]) == (case.kind, 4)
        assert found["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(1.0)
        pushed = fields(owner, made)
        assert [row["status"] for row in pushed] == ["agreed", "agreed"]
        return result, pushed[0]

    return rate


Rated = Callable[..., tuple[dict[str, Any], dict[str, Any]]]


def test_a_choice_made_on_the_page(rated_on_the_page: Rated) -> None:
    def pick(page: Page) -> None:
        page.locator(".lsf-choice__checkbox", has_text="B").click()

    result, pushed = rated_on_the_page(CASES["choice"], TEXT, pick, choices("A"))
    assert result["value"] == {"choices": ["B"]}
    assert pushed["majority"] == "B"


def test_a_span_dragged_on_the_page(rated_on_the_page: Rated) -> None:
    """Over "in R", between signs that count two units of UTF-16 each."""
    text = "Ana \N{ROCKET} lives in Rome \N{ROCKET}"
    start = text.index("lives")

    def drag(page: Page) -> None:
        page.get_by_text("PER").first.click()
        edges = page.evaluate(
            """word => {
                const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
                while (walker.nextNode()) {
                    const at = walker.currentNode.data.indexOf(word)
                    if (at < 0 || !walker.currentNode.parentElement.closest('.lsf-htx-richtext')) continue
                    const range = document.createRange()
                    range.setStart(walker.currentNode, at)
                    range.setEnd(walker.currentNode, at + word.length)
                    const box = range.getBoundingClientRect()
                    return [box.left, box.right, (box.top + box.bottom) / 2]
                }
            }""",
            "lives in Rome",
        )
        left, right, middle = edges
        page.mouse.move(left + 1, middle)
        page.mouse.down()
        page.mouse.move((left + right) / 2, middle, steps=5)
        page.mouse.move(right - 1, middle, steps=5)
        page.mouse.up()
        page.locator("[class*=htx-highlight]").first.wait_for()

    other = one("labels", start=0, end=3, labels=["LOC"], text="Ana")
    result, pushed = rated_on_the_page(CASES["text"], {"text": text}, drag, [other])
    assert (result["value"]["text"], result["value"]["labels"]) == ("lives in Rome", ["PER"])
    assert pushed["majority"] == f"{start}-{start + len('lives in Rome')} PER"


def test_a_box_drawn_on_the_page(rated_on_the_page: Rated) -> None:
    """Percent of the image, within a pixel of the screen; pushed in pixels of the image."""
    width, height = 400, 200
    wanted = {"x": 25.0, "y": 30.0, "width": 50.0, "height": 40.0}
    per_pixel: list[float] = []

    def draw(page: Page) -> None:
        page.get_by_text("Car").first.click()
        shown = page.locator(".lsf-image img").first.bounding_box()
        assert shown is not None
        per_pixel.extend((100 / shown["width"], 100 / shown["height"]))
        corners = [
            (shown["x"] + shown["width"] * across / 100, shown["y"] + shown["height"] * down / 100)
            for across, down in ((25, 30), (75, 70))
        ]
        page.mouse.move(*corners[0])
        page.mouse.down()
        page.mouse.move(corners[0][0] + 30, corners[0][1] + 30, steps=5)
        page.mouse.move(*corners[1], steps=5)
        page.mouse.up()

    box = {"x": 5, "y": 5, "width": 10, "height": 10, "rotation": 0}
    other = one("rectanglelabels", "image", **box, rectanglelabels=["Car"]) | {
        "original_width": width, "original_height": height, "image_rotation": 0,
    }  # fmt: skip
    result, pushed = rated_on_the_page(CASES["rectangle"], {"image": picture(width, height)}, draw, [other])
    value = result["value"]
    assert (result["original_width"], result["original_height"]) == (width, height)
    assert value["rectanglelabels"] == ["Car"]
    across, down = per_pixel
    for edge, tolerance in (("x", across), ("y", down), ("width", 2 * across), ("height", 2 * down)):
        assert value[edge] == pytest.approx(wanted[edge], abs=tolerance), edge
    pixels = [round(value[edge] * side / 100, 1) for edge, side in zip(wanted, (width, height) * 2, strict=True)]
    left, top, wide, high = (f"{one:.15g}" for one in pixels)
    assert pushed["majority"] == f"Car: rectangle {wide} x {high} at {left}, {top}"


def picture(width: int, height: int) -> str:
    """A grey PNG as an address that needs no server."""
    return png(width, height, b"\0" + b"\x99" * width, colours=GREY)
