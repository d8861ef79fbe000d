"""What each rater marked is drawn on the review tasks, and never put before the reviewer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connector.annotations.collect import Collector
from connector.errors import ConnectorError
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.joined_projects import JoinedProjects
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request
from tests.contract.synced_project import Killed, SyncedProject, writes

MARKED = LABEL_CONFIG.replace("</View>", '<Labels name="ner" toName="text"><Label value="PER"/></Labels></View>')
Drawn = list[tuple[str, Any]]
NOTHING: tuple[str, Any] = ("iaa nothing", [])
MARKS_ALONE: dict[str, Any] = {"push": {"scores": False, "majority": "off", "view": False, "summary": False}}


def span(start: int, end: int, number: int = 1, **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": ["PER"]}
    return {"id": f"s{number}", "from_name": "ner", "to_name": "text", "type": "labels", "value": value, **more}


def agreeing(*marks: dict[str, Any]) -> list[dict[str, Any]]:
    return [*choice("Positive"), *marks]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[], SyncedProject]]:
    """Eight tasks on whose sentiment two raters agree; on 102 and 103 their marks lie apart."""
    with ExitStack() as stack:

        def one() -> SyncedProject:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            project = SyncedProject(stack.enter_context(RecordedLabelStudio()), folder)
            stack.callback(project.close)
            project.world.api("PATCH", f"/api/projects/{project.project}/", {"label_config": MARKED})
            for task in project.tasks():
                mark(project, task, agreeing(), agreeing())
            mark(project, 102, agreeing(span(0, 4)), agreeing(span(5, 6)))
            mark(project, 103, agreeing(span(0, 2)), agreeing())
            return project

        yield one


@pytest.fixture
def project(make: Callable[[], SyncedProject]) -> SyncedProject:
    return make()


def mark(project: SyncedProject, task: int, *results: list[dict[str, Any]]) -> None:
    """Let raters 1, 2, ... answer so."""
    for annotation, result in zip(project.server.tasks[task]["annotations"], results, strict=False):
        project.world.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": result})


def review_task(project: SyncedProject, source: int) -> dict[str, Any]:
    """The review task of a source task, as the server holds it."""
    (found,) = [task for task in project.server.tasks.values() if task["data"].get("iaa_source_task") == str(source)]
    return found


def drawn(project: SyncedProject, source: int) -> Drawn:
    """Version and result of the predictions of a source task's review task, the oldest first."""
    return [(one["model_version"], one["result"]) for one in review_task(project, source)["predictions"]]


APART = [("iaa Rater B", [span(5, 6)]), ("iaa Rater A", [span(0, 4)]), NOTHING]


def test_each_raters_marks_are_drawn_and_the_newest_prediction_holds_none(project: SyncedProject) -> None:
    """The page copies the prediction of the project's own version, else the newest, into the reviewer's annotation."""
    project.sync(review={})
    assert project.reviewed().keys() == {"102", "103"}
    assert drawn(project, 102) == APART
    assert drawn(project, 103) == [("iaa Rater B", []), ("iaa Rater A", [span(0, 2)]), NOTHING]
    (room,) = project.review_projects
    settings = project.server.projects[room]
    assert (settings["show_collab_predictions"], settings["model_version"]) == (False, "iaa nothing")
    assert review_task(project, 102)["data"]["iaa_votes"]["ner: Rater A"] == "0-4 PER"


def test_what_is_said_of_marks_is_drawn_and_answers_to_the_task_and_remarks_are_not(project: SyncedProject) -> None:
    polarity = {**choice("good")[0], "id": "s1", "from_name": "polarity"}
    polarity["value"] = {"start": 0, "end": 2, **polarity["value"]}
    relation = {"type": "relation", "from_id": "s1", "to_id": "s2", "direction": "right", "labels": ["knows"]}
    dangling = {**relation, "to_id": "gone"}
    box = {"x": 1, "y": 2, "width": 3, "height": 4, "rotation": 0, "rectanglelabels": ["Car"]}
    size = {"original_width": 20, "original_height": 10, "image_rotation": 0, "item_index": 1}
    region = {"id": "b", "from_name": "box", "to_name": "image", "type": "rectanglelabels", "value": box, **size}
    marks = [span(0, 2), polarity, span(3, 4, 2), relation, region]
    remarks = {"meta": {"text": ["Ann was unsure"]}, "origin": "manual", "score": 0.9, "readonly": True}
    mark(project, 102, agreeing(*({**one, **remarks} for one in marks), dangling), agreeing())
    project.sync(review={})
    assert drawn(project, 102)[1] == ("iaa Rater A", marks)


def test_of_a_raters_annotations_the_one_that_counts_is_drawn(project: SyncedProject) -> None:
    """What the rater worked on last, wherever it stands; a skip, a reviewer's and an excluded rater's are none."""
    copies = [
        {"completed_by": 1, "result": agreeing(span(1, 3)), "updated_at": "2020-01-01T00:00:00.000000Z"},
        {"completed_by": 1, "result": agreeing(span(2, 3)), "was_cancelled": True},
        {"completed_by": 1, "result": agreeing(span(2, 4))},
        {"completed_by": 3, "result": agreeing(span(3, 4))},
        {"completed_by": 4, "result": agreeing(span(4, 5))},
    ]
    for body in copies:
        made = project.world.api("POST", "/api/tasks/102/annotations/", {"ground_truth": False, **body})
        stored = next(one for one in project.server.tasks[102]["annotations"] if one["id"] == made["id"])
        stored |= body
        stored["created_at"] = body.get("updated_at", stored["created_at"])
    mark(project, 102, agreeing(span(0, 4)))
    assert project.server.tasks[102]["annotations"][0]["updated_by"] == 1
    project.sync(review={}, raters={"reviewers": ["3"], "exclude": ["4"]})
    assert drawn(project, 102) == APART


def test_nothing_is_drawn_twice_with_or_without_the_store(project: SyncedProject) -> None:
    project.sync(review={})
    there = [project.server.tasks[task]["predictions"] for task in project.tasks(project.review_projects[0])]
    for lost, full in ((False, False), (False, True), (True, False)):
        if lost:
            for file in project.folder.glob("connector.db*"):
                file.unlink()
        with project.counting() as calls:
            project.sync(review={}, full=full)
        assert writes(calls) == []
    assert [project.server.tasks[task]["predictions"] for task in project.tasks(project.review_projects[0])] == there


def test_a_quiet_sync_asks_no_more_for_the_marks(project: SyncedProject) -> None:
    project.sync(review={"raters": "named"})
    with project.counting() as calls:
        project.sync(review={"raters": "named"})
    assert len(calls) <= 2


def test_changed_ratings_change_their_own_task_and_nobody_elses_predictions(project: SyncedProject) -> None:
    project.sync(review={})
    models = {"task": review_task(project, 102)["id"], "model_version": "my model", "result": [span(0, 1)]}
    (room,) = project.review_projects
    project.world.api("POST", f"/api/projects/{room}/import/predictions", [models])
    other = review_task(project, 103)["predictions"]
    mark(project, 102, agreeing(span(1, 3)))
    assert project.planned(review={})[-1] == "show each rater's marks on the review tasks of 1 task (102)"
    project.sync(review={})
    assert drawn(project, 102) == [
        ("my model", [span(0, 1)]), ("iaa Rater B", [span(5, 6)]), ("iaa Rater A", [span(1, 3)]), NOTHING,
    ]  # fmt: skip
    assert review_task(project, 102)["data"]["iaa_votes"]["ner: Rater A"] == "1-3 PER"
    assert review_task(project, 103)["predictions"] == other


def test_raters_who_agree_by_now_are_shown_so(project: SyncedProject) -> None:
    project.sync(review={})
    mark(project, 103, agreeing(), agreeing())
    project.sync(review={})
    assert drawn(project, 103) == [("iaa Rater B", []), ("iaa Rater A", []), NOTHING]


def _annotated(project: SyncedProject, task: int) -> None:
    project.world.api("POST", f"/api/tasks/{task}/annotations/", {"result": agreeing(span(0, 6))})


def _skipped(project: SyncedProject, task: int) -> None:
    project.world.api("POST", f"/api/tasks/{task}/annotations/?was_cancelled=1", {"result": []})


def _begun(project: SyncedProject, task: int) -> None:
    """By another than the token's owner: the list of drafts does not show it."""
    project.server.tasks[task]["draft_exists"] = True


@pytest.mark.parametrize("work", [_annotated, _skipped, _begun])
def test_a_task_that_somebody_works_on_stays_as_it_is(
    project: SyncedProject, work: Callable[[SyncedProject, int], None]
) -> None:
    project.sync(review={})
    work(project, review_task(project, 102)["id"])
    before = json.dumps(review_task(project, 102))
    mark(project, 102, agreeing(span(1, 3)))
    project.sync(review={})
    assert json.dumps(review_task(project, 102)) == before
    with project.counting() as calls:
        project.sync(review={})
    assert len(calls) <= 2


def test_named_raters_where_the_owner_wants_it(project: SyncedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    real = project.server.real

    def named(request: Request) -> Answer:
        if request.path.rstrip("/") == "/api/users":
            return Answer(200, [{"id": number, "first_name": f"Person {number}"} for number in (1, 2)])
        return real(request)

    monkeypatch.setattr(project.server, "real", named)
    project.sync(review={})
    assert [version for version, _ in drawn(project, 102)] == ["iaa Rater B", "iaa Rater A", "iaa nothing"]
    project.sync(review={"raters": "named"})
    assert [version for version, _ in drawn(project, 102)] == ["iaa Person 2", "iaa Person 1", "iaa nothing"]
    assert "ner: Person 1" in review_task(project, 102)["data"]["iaa_votes"]


def test_a_unit_that_lacks_a_rating_is_not_drawn(project: SyncedProject) -> None:
    """Who is to rate it still would see what the others marked."""
    project.sync(review={})
    before = drawn(project, 102)
    mark(project, 102, agreeing(span(1, 3)))
    project.unrate(102, 1)
    project.sync(review={})
    assert drawn(project, 102) == before
    assert project.reviewed().keys() == {"102", "103"}


def test_a_rater_who_was_not_asked_for_marks_has_no_tab(project: SyncedProject) -> None:
    """To the others it would look as if there were nothing to mark."""
    shown = '<View visibleWhen="choice-selected" whenTagName="sentiment" whenChoiceValue="Positive"><Labels '
    config = MARKED.replace("<Labels ", shown).replace("</Labels>", "</Labels></View>")
    project.world.api("PATCH", f"/api/projects/{project.project}/", {"label_config": config})
    (task,) = project.rate(["Positive", "Positive", "Negative"])
    mark(project, task, agreeing(span(0, 2)), agreeing(span(2, 4)), choice("Negative"))
    project.sync(review={})
    assert [version for version, _ in drawn(project, task)] == ["iaa Rater B", "iaa Rater A", "iaa nothing"]
    assert review_task(project, task)["data"]["iaa_votes"]["sentiment: Rater C"] == "Negative"


def test_a_project_that_asks_for_choices_alone_gets_no_predictions(project: SyncedProject) -> None:
    project.world.api("PATCH", f"/api/projects/{project.project}/", {"label_config": LABEL_CONFIG})
    mark(project, 102, choice("Positive"), choice("Negative"))
    project.sync(review={})
    assert project.reviewed().keys() == {"102"}
    assert drawn(project, 102) == []


def test_predictions_of_another_version_than_ours_keep_us_from_drawing(project: SyncedProject) -> None:
    """The owner's project opens its tasks with those of a model: then the votes in words are all there is."""
    body = {"title": "Room", "label_config": MARKED, "model_version": "my model"}
    room = project.world.api("POST", "/api/projects/", body)["id"]
    project.sync(review={"project": str(room)})
    assert project.reviewed().keys() == {"102", "103"}
    assert drawn(project, 102) == []
    assert project.server.projects[room]["model_version"] == "my model"
    project.server.projects[room]["model_version"] = ""
    mark(project, 102, agreeing(span(1, 3)))
    project.sync(review={"project": str(room)})
    assert drawn(project, 102)[1:] == [("iaa Rater A", [span(1, 3)]), NOTHING]


def _invalid(one: Any) -> bool:
    """Whether a prediction is rater A's of task 102: what this server holds to be invalid."""
    return bool(one["result"] == [span(0, 4)])


def _left_out(project: SyncedProject, request: Request) -> Answer | None:
    if request.path.endswith("/import/predictions"):
        request.body = [one for one in request.body if not _invalid(one)]
    return None


def _all_refused(_project: SyncedProject, request: Request) -> Answer | None:
    refused = request.path.endswith("/import/predictions") and any(map(_invalid, request.body))
    return Answer(400, {"detail": "Validation error"}) if refused else None


def _refused_alone_too(project: SyncedProject, request: Request) -> Answer | None:
    if request.path.rstrip("/") == "/api/predictions" and _invalid(request.body):
        return Answer(400, {"detail": "Validation error"})
    return _all_refused(project, request)


@pytest.mark.parametrize(
    ("how", "expected"), [(_left_out, APART), (_all_refused, APART), (_refused_alone_too, [APART[0], NOTHING])]
)
def test_what_the_server_does_not_take_among_many_is_drawn_alone(
    project: SyncedProject, how: Callable[[SyncedProject, Request], Answer | None], expected: Drawn
) -> None:
    with project.server.failing(lambda request: how(project, request)):
        project.sync(review={})
    assert (drawn(project, 102), len(drawn(project, 103))) == (expected, 3)
    assert review_task(project, 102)["data"]["iaa_votes"]["ner: Rater A"] == "0-4 PER"
    with project.counting() as calls:
        project.sync(review={}, full=True)
    assert writes(calls) == []


@pytest.mark.parametrize(("moment", "how"), [("call", None), ("operation", None), ("call", _left_out)])
def test_a_run_that_dies_at_any_write_is_finished_by_the_next(
    make: Callable[[], SyncedProject], moment: str, how: Callable[[SyncedProject, Request], Answer | None] | None
) -> None:
    def run(project: SyncedProject) -> None:
        with project.server.failing(lambda request: how(project, request) if how else None):
            project.sync(review={}, **MARKS_ALONE)
            mark(project, 102, agreeing(span(1, 3)))
            project.sync(review={}, **MARKS_ALONE)

    whole = make()
    run(whole)
    expected = drawn(whole, 102), drawn(whole, 103)
    for lives in range(40):
        project = make()
        left = lives

        def dies(at: str) -> bool:
            nonlocal left
            left -= at == moment
            return at == moment and left < 0

        project.dies_after = dies
        try:
            run(project)
        except Killed:
            project.dies_after = lambda _moment: False
            there = [drawn(project, int(source)) for source in project.reviewed()]
            assert all(not one or NOTHING in one for one in there), "a rater's prediction is never alone"
            run(project)
        else:
            assert lives > 1
            return
        assert (drawn(project, 102), drawn(project, 103)) == expected
        assert set(project.reviewed().values()) == {1}
    raise AssertionError("it never ends")


def test_a_removal_takes_the_predictions_away_and_leaves_a_reviewers_work(project: SyncedProject) -> None:
    room = project.world.api("POST", "/api/projects/", {"title": "Room", "label_config": MARKED})["id"]
    project.sync(review={"project": str(room)})
    task = review_task(project, 102)["id"]
    _annotated(project, task)
    project.remove(reviews=True, review={"project": str(room)})
    assert project.tasks(room) == [task]
    kept = project.server.tasks[task]
    assert (kept["predictions"], [one["result"] for one in kept["annotations"]]) == ([], [agreeing(span(0, 6))])


def test_predictions_are_no_ratings_and_a_copied_one_is_the_reviewers_own(project: SyncedProject) -> None:
    project.sync(review={})
    (room,) = project.review_projects
    task = review_task(project, 102)
    copied = {"result": task["predictions"][0]["result"], "parent_prediction": task["predictions"][0]["id"]}
    _annotated(project, task["id"])
    task["annotations"][0] |= copied
    tool = LabelStudio(project.world.url, project.world.token, str(room))
    collector = Collector(tool.open().schema)
    for page in tool.pull():
        for unit in page.units:
            collector.add(unit)
    tool.close()
    table = collector.table()
    assert (table.n_annotations, table.rater_ids, table.accepted_unchanged) == (1, ["1"], 1)
    assert table.questions["ner"].ratings.codebook.categories == ((6, ((5, 6, ("PER",)),)),)


def test_of_several_projects_each_draws_its_own_raters(tmp_path: Path) -> None:
    """Who rated the unit elsewhere stands in the votes; one person with two accounts has one tab."""
    with RecordedLabelStudio() as server:
        joined = JoinedProjects(server, tmp_path)
        for _ in range(2):
            joined.make(
                ("a", {1: "Positive", 2: "Positive"}), ("b", {1: "Positive", 2: "Positive"}), label_config=MARKED
            )
        for project, one, other in ((7, span(0, 2), span(1, 2)), (8, span(3, 4), span(4, 5))):
            annotations = server.tasks[joined.tasks(project)[0]]["annotations"]
            for annotation, marks in zip(annotations[::-1], (other, one), strict=True):
                joined.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": agreeing(marks)})
        joined.sync(review={}, raters={"map": {"label_studio:7/1": "anna", "label_studio:7/2": "anna"}})
        (room,) = joined.review_projects
        (task,) = [server.tasks[task] for task in joined.tasks(room)]
        assert task["data"]["iaa_votes"]["ner: Rater C"] == "4-5 PER"
        assert [(one["model_version"], one["result"]) for one in task["predictions"]] == [
            ("iaa Rater A", [span(0, 2)]), NOTHING,
        ]  # fmt: skip
        with joined.counting() as calls:
            joined.sync(review={}, raters={"map": {"label_studio:7/1": "anna", "label_studio:7/2": "anna"}})
        assert writes(calls) == []


def test_a_server_that_is_gone_while_drawing_is_asked_again(project: SyncedProject) -> None:
    with (
        project.failing(lambda request: request.path.endswith("/import/predictions"), "done_then_cut"),
        pytest.raises(ConnectorError),
    ):
        project.sync(review={})
    project.sync(review={})
    assert (drawn(project, 102), len(drawn(project, 103))) == (APART, 3)
