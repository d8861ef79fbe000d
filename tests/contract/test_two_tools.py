"""A Label Studio project, an Argilla dataset and a file as one table: what either tool is told of the other's ratings,
and that a tool that is away leaves the other as it was."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from connector.tools.argilla import write
from connector.tools.argilla.tool import Argilla
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.argilla_world import PROPERTY, left_alone, state
from tests.contract.joined_projects import JoinedProjects
from tests.contract.recorded_argilla import RecordedArgilla
from tests.contract.recorded_label_studio import RecordedLabelStudio
from tests.contract.served import Answer, Request, Served
from tests.contract.synced_project import writes

P, N = "Positive", "Negative"
FILE = "third.csv"
HERS = "b996cfda-fc0d-4cd1-8013-0b5352504ad2"
"""The id of Argilla's first user."""
ROWS = [("a", "1", P), ("b", HERS, N), ("e", "1", N), ("f", "1", P)]
SAME: dict[str, Any] = {"raters": {"map": {"label_studio:7/1": "anna", f"{FILE}/1": "anna"}}}


class TwoTools:
    """Six units that project 7, a dataset and a file share; each is known by its `sku`.

           Label Studio   Argilla       the file
           1     2        HERS  2nd     1     HERS
    a      P     P        P     N       P
    b      P     N        N                   N
    c      N     N
    d                     P     N
    e                     N             N
    f                                   P
    """

    def __init__(self, label_studio: RecordedLabelStudio, argilla: RecordedArgilla, folder: Path) -> None:
        self.projects = JoinedProjects(label_studio, folder)
        self.argilla = argilla
        self.sources = {argilla.dataset["id"]}
        argilla.faults.append(left_alone(argilla, self.sources))
        del argilla.questions[1:]
        settings = {**argilla.questions[0]["settings"], "options": [{"value": P, "text": P}, {"value": N, "text": N}]}
        argilla.questions[0].update(name="sentiment", title="Sentiment", settings=settings)
        self.projects.others = [self.dataset(argilla.project)]
        path = folder / FILE
        path.write_text("unit,rater,value,question\n" + "".join(f"{u},{r},{v},sentiment\n" for u, r, v in ROWS))
        self.projects.files = [path]
        self.projects.make(("a", {1: P, 2: P}), ("b", {1: P, 2: N}), ("c", {1: N, 2: N}))
        for sku, answers in (("a", (P, N)), ("b", (N,)), ("d", (P, N)), ("e", (N,))):
            self.record(sku, *answers)

    def dataset(self, project: str) -> dict[str, str]:
        """A dataset as the configuration names it."""
        return {"tool": "argilla", "url": self.argilla.url, "api_key": self.argilla.owner_key, "project": project}

    def record(self, sku: str, *answers: str) -> None:
        record = self.argilla.add(metadata={"sku": sku})
        for rater, answer in enumerate(answers):
            self.argilla.respond(record, rater, {"sentiment": answer})

    def __call__(self, *arguments: str, **sections: Any) -> int:
        """The exit code of `connector ARGUMENTS -c config.yaml`."""
        return self.projects.shell(*arguments, **{"store": str(self.projects.store_path), **sections})

    def calls(self, *arguments: str, code: int = 0, **sections: Any) -> tuple[list[str], list[str]]:
        """What a run asks of Label Studio, and of Argilla."""
        before = len(self.projects.server.log), len(self.argilla.log)
        assert self(*arguments, **sections) == code
        logs = self.projects.server.log[before[0] :], self.argilla.log[before[1] :]
        asked, of_argilla = ([f"{one.method} {one.path}" for one in log] for log in logs)
        return asked, of_argilla

    def state(self) -> Any:
        """Everything that stands in the two tools and in the file."""
        return self.projects.state(), state(self.argilla), self.projects.files[0].read_bytes()

    def shown(self) -> tuple[dict[Any, dict[str, Any]], dict[Any, dict[str, Any]]]:
        """Our fields by `sku`: those in Label Studio, those in Argilla."""
        return self.projects.ours(7), ours(self.argilla.records)


def ours(records: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    return {
        one["metadata"]["sku"]: {key: value for key, value in one["metadata"].items() if key.startswith("iaa_")}
        for one in records
    }


def scores(agreement: float, consensus: float, majority: str | None, raters: int, status: str) -> dict[str, Any]:
    whole = {"agreement": agreement, "consensus": consensus, "majority": majority, "raters": raters, "status": status}
    return {f"iaa_{name}": value for name, value in whole.items() if value is not None}


SCORES = {
    "a": scores(0.6, 0.8, P, 5, "majority"),  # 6 of 10 pairs agree
    "b": scores(0.5, 0.75, N, 4, "majority"),  # 3 of 6
    "c": scores(1.0, 1.0, N, 2, "agreed"),
    "d": scores(0.0, 0.5, None, 2, "conflict"),
    "e": scores(1.0, 1.0, N, 2, "agreed"),
}
ALPHA = 2 / 9
"""15 pairable ratings, 6 P and 9 N: observed (2*4/4 + 2*3/3 + 2*1/1) / 15 = 2/5, expected 2*6*9 / (15*14) = 18/35."""


def _of(*skus: str, **changed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {sku: {**SCORES, **changed}[sku] for sku in skus}


Make = Callable[[], TwoTools]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(write, "PAUSE", 0.0)
    for tool in (Argilla, LabelStudio):
        monkeypatch.setattr(tool, "__init__", partialmethod(tool.__init__, patience=0.2))
    with ExitStack() as stack:

        def one() -> TwoTools:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            servers = stack.enter_context(RecordedLabelStudio()), stack.enter_context(RecordedArgilla())
            return TwoTools(*servers, folder)

        yield one


@pytest.fixture
def both(make: Make) -> TwoTools:
    return make()


def test_check_tells_of_one_table(both: TwoTools, capsys: pytest.CaptureFixture[str]) -> None:
    before = both.state()
    asked = both.calls("check", **SAME)
    assert [writes(calls) for calls in asked] == [[], []]
    assert both.state() == before
    said = " ".join(capsys.readouterr().out.split())
    dataset = f"argilla:{both.argilla.project}"
    assert "label_studio:7: Project reached" in said
    assert f"{dataset}: Project reached" in said
    assert f"5 raters: anna, {dataset}/{both.argilla.users[1]['id']}, {dataset}/{HERS}, label_studio:7/2," in said
    assert "6 units by number of ratings: 1 with 1, 3 with 2, 2 with 4." in said
    assert "Question sentiment: choice, level nominal, 15 ratings." in said
    assert "Left out: 1 repeat" in said, "anna rated a in the project and in the file"


def test_a_sync_writes_the_scores_of_the_whole_table_on_both(both: TwoTools) -> None:
    ratings = copy.deepcopy([one["responses"] for one in both.argilla.records]), both.projects.files[0].read_bytes()
    assert both("sync") == 0
    assert both.shown() == (_of("a", "b", "c"), _of("a", "b", "d", "e"))
    assert both.projects.tabs(7) == ["Default", "Conflicts"]
    assert "Agreement: over 3 sources: alpha" in both.projects.description(7)
    assert ([one["responses"] for one in both.argilla.records], both.projects.files[0].read_bytes()) == ratings


def test_raters_of_one_id_in_two_sources_are_two_people_until_mapped(
    both: TwoTools, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = f"argilla:{both.argilla.project}"
    second = both.argilla.users[1]["id"]
    both("sync")
    capsys.readouterr()
    both("table")
    raters = capsys.readouterr().out.splitlines()[0].split(",")[1:]
    assert set(raters) == {
        *("label_studio:7/1", "label_studio:7/2"),
        *(f"{dataset}/{HERS}", f"{dataset}/{second}"),
        *(f"{FILE}/1", f"{FILE}/{HERS}"),
    }
    her = {
        "map": {f"{FILE}/{HERS}": "eve", f"{dataset}/{HERS}": "eve", "label_studio:7/1": "anna", f"{FILE}/1": "anna"}
    }
    assert both("sync", raters=her) == 0
    # anna rated a twice, eve b: 3 of 4 and 1 of 3 are positive.
    a, b = scores(0.5, 0.75, P, 4, "majority"), scores(0.3333, 0.6667, N, 3, "majority")
    assert both.shown() == (_of("a", "b", "c", a=a, b=b), _of("a", "b", "d", "e", a=a, b=b))


def test_a_sync_that_finds_nothing_changed_asks_what_each_tool_alone_costs_and_writes_nothing(both: TwoTools) -> None:
    both("sync", review={})
    before = both.state()
    asked, of_argilla = both.calls("sync", review={})
    place = f"GET /api/v1/datasets/{both.argilla.dataset['id']}"
    assert of_argilla == [place, f"{place}/records"]
    assert len(asked) <= 3
    assert writes(asked) == []
    assert [writes(calls) for calls in both.calls("sync", "--full", review={})] == [[], []]
    assert both.state() == before


def test_a_change_in_one_tool_is_written_on_both_where_both_hold_the_unit(both: TwoTools) -> None:
    both("sync")
    times = [record["updated_at"] for record in both.argilla.records]
    _, _, c = both.projects.tasks(7)
    both.projects.answer(c, P)
    _, of_argilla = both.calls("sync")
    assert writes(of_argilla) == [], "c is in the project alone"
    c_now = scores(0.0, 0.5, None, 2, "conflict")
    assert both.shown() == (_of("a", "b", "c", c=c_now), _of("a", "b", "d", "e"))

    both.argilla.respond(both.argilla.records[0], 1, {"sentiment": P})
    both("sync")
    a = scores(1.0, 1.0, P, 5, "agreed")
    assert both.shown() == (_of("a", "b", "c", a=a, c=c_now), _of("a", "b", "d", "e", a=a))
    moved = [record["updated_at"] != then for record, then in zip(both.argilla.records, times, strict=True)]
    assert moved == [True, False, False, False]


@pytest.mark.parametrize(
    ("gate", "code", "reasons"),
    [({}, 3, ["incomplete"]), ({"coverage": 0.8}, 1, []), ({"coverage": 0.8, "threshold": 0.22}, 0, [])],
)
def test_the_gate_decides_on_the_whole_table_and_writes_nothing(
    both: TwoTools, capsys: pytest.CaptureFixture[str], gate: Mapping[str, Any], code: int, reasons: list[str]
) -> None:
    """Of six units one, f, has a single rating."""
    before = both.state()
    asked = both.calls("gate", "--size", "6", "--format", "json", code=code, gate=gate)
    assert [writes(calls) for calls in asked] == [[], []]
    assert both.state() == before
    found = json.loads(capsys.readouterr().out)
    assert found["gate"]["reasons"] == reasons
    assert found["questions"]["sentiment"]["n_ratings"] == 16
    assert found["questions"]["sentiment"]["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(ALPHA)


def test_the_report_names_and_links_each_source(both: TwoTools, capsys: pytest.CaptureFixture[str]) -> None:
    both("sync")
    capsys.readouterr()
    before = both.state()
    assert both.calls("report", "--format", "json") == ([], []), "from the store, without the network"
    report = json.loads(capsys.readouterr().out)
    dataset = both.argilla.dataset["id"]
    assert [(one["name"], one["tasks"], one.get("link")) for one in report["sources"]] == [
        ("label_studio:7", 3, f"{both.projects.server.url}/projects/7/data"),
        (f"argilla:{both.argilla.project}", 4, f"{both.argilla.url}/dataset/{dataset}/annotation-mode"),
        (FILE, 4, None),
    ]
    assert report["questions"]["sentiment"]["n_units"] == 6
    assert report["questions"]["sentiment"]["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(ALPHA)
    assert both("report", "--format", "html") == 0
    page = capsys.readouterr().out
    assert f"{both.projects.server.url}/projects/7/data?task={both.projects.tasks(7)[1]}" in page
    assert both.state() == before


def test_a_conflict_is_reviewed_once_where_its_unit_stands_first_with_everybodys_votes(both: TwoTools) -> None:
    sections: dict[str, Any] = {"review": {}, "conflict": {"share_below": 0.78}}
    both("sync", **sections)
    assert both.projects.reviewed() == [("7", str(both.projects.tasks(7)[1]))], "b, which stands in both"
    (room,) = both.projects.review_projects
    (task,) = both.projects.tasks(room)
    votes = both.projects.server.tasks[task]["data"]["iaa_votes"]
    assert sorted(votes.values()) == [N, N, N, P], "those of the other tool and of the file with them"
    _, review = both.argilla.datasets
    d = both.argilla.records[2]
    assert [one["external_id"] for one in review.records] == [d["id"]]
    both.argilla.respond(review.records[0], 2, {"sentiment": P})
    decided = copy.deepcopy(review.records)
    both("sync", "--full", **sections)
    assert review.records == decided, "a reviewer's answer stays"


def test_a_removal_restores_both_after_a_whole_life(both: TwoTools) -> None:
    """Every request on the way is held against `left_alone`."""
    before = both.state()
    sections: dict[str, Any] = {"review": {}, "conflict": {"share_below": 0.78}}
    assert both("sync", **sections) == 0
    kept = both.argilla.dataset["last_activity_at"], copy.deepcopy(both.argilla.records[0]["responses"])
    both.argilla.respond(both.argilla.records[0], 1, {"sentiment": P})
    assert both("sync", **sections) == 0
    assert both.shown()[1]["a"]["iaa_status"] == "agreed"
    assert both("review", "create", **sections) == 0
    assert both("remove", "--review", "--dry-run", **sections) == 0
    assert len(both.argilla.datasets) == 2
    assert both("remove", "--review", **sections) == 0
    both.argilla.dataset["last_activity_at"], both.argilla.records[0]["responses"] = kept
    assert both.state() == before
    bulk = [one for one in both.argilla.log if one.path.endswith(f"{both.argilla.dataset['id']}/records/bulk")]
    assert len(bulk) >= 3, "scores, one record's scores, and no scores"


def test_a_removal_without_the_store_restores_both(both: TwoTools) -> None:
    before = both.state()
    both("sync", review={})
    both.projects.lose_the_store()
    assert both("remove", "--review", review={}) == 0
    assert both.state() == before


def test_a_lost_store_makes_nothing_twice(both: TwoTools) -> None:
    both("sync", review={})
    before = both.state()
    both.projects.lose_the_store()
    assert [writes(calls) for calls in both.calls("sync", review={})] == [[], []]
    assert both.state() == before


# One of the two is away


def _server(both: TwoTools, which: str) -> Served:
    return both.argilla if which == "argilla" else both.projects.server


VERBS = [["sync"], ["sync", "--full"], ["gate", "--size", "1"], ["review", "create"], ["remove", "--review"]]


@pytest.mark.parametrize("synced", [False, True])
@pytest.mark.parametrize("how", ["down", "refused"])
@pytest.mark.parametrize("which", ["label_studio", "argilla"])
def test_of_one_tool_that_is_away_the_other_is_told_nothing(
    both: TwoTools, capsys: pytest.CaptureFixture[str], which: str, how: str, synced: bool
) -> None:
    if synced:
        both("sync", review={})
        both.projects.answer(both.projects.tasks(7)[0], N)
        both.argilla.respond(both.argilla.records[0], 0, {"sentiment": N})
    before = both.state()
    server = _server(both, which)
    if how == "down":
        server.stop()
    else:
        both.projects.server.legacy_enabled = which != "label_studio"
        both.argilla.owner_key = "another" if which == "argilla" else both.argilla.owner_key
    for verb in VERBS:
        capsys.readouterr()
        asked = both.calls(*verb, code=4, review={})
        assert [writes(calls) for calls in asked] == [[], []], verb
        name = "Argilla" if which == "argilla" else "Label Studio"
        assert name in capsys.readouterr().err, verb
    assert both.state() == before


@pytest.mark.parametrize("which", ["label_studio", "argilla"])
def test_of_one_tool_that_goes_away_in_mid_pull_nothing_is_written_and_the_next_sync_makes_it_good(
    make: Make, which: str
) -> None:
    both = make()
    before = both.state()

    def away(request: Request) -> Answer | None:
        return Answer(503, "down", "text/html") if request.is_page else None

    with _server(both, which).failing(away):
        asked = both.calls("sync", code=4)
    assert [writes(calls) for calls in asked] == [[], []]
    assert both.state() == before
    assert both.projects.ledger(7) == {}
    assert both("sync") == 0
    assert both.shown() == (_of("a", "b", "c"), _of("a", "b", "d", "e"))


@pytest.mark.parametrize("which", ["label_studio", "argilla"])
def test_writes_that_fail_in_one_tool_do_not_keep_the_other_from_its_own(
    both: TwoTools, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    def broken(request: Request) -> Answer | None:
        bulk = request.path.endswith("/records/bulk") or request.path.startswith("/api/dm/actions")
        return Answer(500, {"detail": "it broke"}) if bulk else None

    with _server(both, which).failing(broken):
        assert both("sync") == 6
    name = "label_studio:7" if which == "label_studio" else f"argilla:{both.argilla.project}"
    assert f"{name}: Some writes" in " ".join(capsys.readouterr().err.split())
    in_label_studio, in_argilla = both.shown()
    nothing: dict[str, Any] = {}
    assert (in_label_studio == _of("a", "b", "c")) == (which == "argilla")
    assert (in_argilla == _of("a", "b", "d", "e")) == (which == "label_studio")
    assert all(one == nothing for one in (in_argilla if which == "argilla" else in_label_studio).values())
    assert both("sync") == 0
    assert both.shown() == (_of("a", "b", "c"), _of("a", "b", "d", "e"))


@pytest.mark.parametrize("which", ["label_studio", "argilla"])
def test_a_persons_own_field_in_one_tool_stops_the_run_before_anything_is_written_in_either(
    both: TwoTools, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    if which == "argilla":
        both.argilla.properties.append({**both.argilla.new_part(), "name": "iaa_status", "title": "Mine", **PROPERTY})
    else:
        both.projects.server.tasks[both.projects.tasks(7)[0]]["data"]["iaa_status"] = "mine"
        both.projects.server.columns[7].add("iaa_status")
    before = both.state()
    assert [writes(calls) for calls in both.calls("sync", code=2, review={})] == [[], []]
    assert which in capsys.readouterr().err
    assert both.state() == before


# Two datasets of one Argilla


def test_two_datasets_of_one_argilla_are_one_table(both: TwoTools, capsys: pytest.CaptureFixture[str]) -> None:
    """The same users answer in both, and are two people each until the map says otherwise."""
    argilla = both.argilla
    argilla.remake(keep_as="the other")
    both.sources.add(argilla.dataset["id"])
    for sku, answers in (("a", (P, P)), ("d", (N,)), ("g", (P, N))):
        both.record(sku, *answers)
    both.projects.projects.clear()
    both.projects.files.clear()
    workspace = argilla.project.split("/")[0]
    both.projects.others = [both.dataset(f"{workspace}/the other"), both.dataset(argilla.project)]
    new, old = argilla.datasets
    before = state(argilla)

    assert both("sync", review={}) == 0
    shared = {"a": scores(0.5, 0.75, P, 4, "majority"), "d": scores(0.3333, 0.6667, N, 3, "majority")}
    single = {"iaa_raters": 1, "iaa_status": "single"}
    assert ours(new.records) == {**shared, "g": scores(0.0, 0.5, None, 2, "conflict")}
    assert ours(old.records) == {**shared, "b": single, "e": single}
    places = [f"GET /api/v1/datasets/{one.dataset['id']}" for one in (new, old)]
    _, asked = both.calls("sync", review={})
    assert sorted(asked) == sorted(place + end for place in places for end in ("", "/records"))

    names = [f"argilla:{workspace}/the other", f"argilla:{argilla.project}"]
    one_person = {"map": {f"{name}/{HERS}": "eve" for name in names}}
    capsys.readouterr()
    assert both("check", raters=one_person) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Left out: 2 repeat" in said, "a and d"
    assert "3 raters: " in said
    assert both("remove", "--review", review={}) == 0
    assert state(argilla) == before
