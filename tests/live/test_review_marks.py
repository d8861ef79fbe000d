"""What each rater marked is drawn in the review project, and never in the reviewer's own annotation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connector.annotations.collect import Collector
from connector.demo.label_studio_seed import Api, Rater, task_ids
from connector.demo.label_studio_server import LabelStudioServer
from connector.tools.base import DrawMarks, PutReviewTasks, RemoveReview, ReviewItem
from connector.tools.label_studio.tool import LabelStudio
from tests.live.running import Run
from tests.live.support import SmallProject
from tests.live.test_kinds_round_trip import OF_REGIONS_SAID, REGIONS, STRETCHES

if TYPE_CHECKING:
    from playwright.sync_api import Page

CONFIG = """<View>
  <Text name="text" value="$text"/>
  <Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
  <Choices name="mood" toName="text"><Choice value="calm"/><Choice value="loud"/></Choices>
</View>"""
TEXT = "Anna lives in Rome"
ANNA, ROME = (0, 4, "PER"), (14, 18, "LOC")
MARKED = {**STRETCHES, **REGIONS, **OF_REGIONS_SAID}
Mark = tuple[int, int, str]


def answer(mood: str, *marks: Mark) -> list[dict[str, Any]]:
    spans = [
        {
            "id": f"r{start}", "from_name": "ner", "to_name": "text", "type": "labels",
            "value": {"start": start, "end": end, "labels": [label], "text": TEXT[start:end]},
        }
        for start, end, label in marks
    ]  # fmt: skip
    return [
        *spans,
        {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [mood]}},
    ]


@pytest.fixture
def made(project: Callable[..., SmallProject], raters: tuple[Rater, ...]) -> SmallProject:
    """Five tasks on each of which one rater is calm and marked Anna, the other is loud and marked Rome."""
    answers = zip(raters, (answer("calm", ANNA), answer("loud", ROME)), strict=False)
    annotations = [{"completed_by": who.id, "ground_truth": False, "result": result} for who, result in answers]
    return project(tasks=[{"data": {"text": TEXT}, "annotations": annotations}] * 5, label_config=CONFIG)


def places(result: Any) -> list[Mark]:
    return [(one["value"]["start"], one["value"]["end"], *one["value"].get("labels", ["?"])) for one in result]


def drawn(owner: Api, task: int) -> dict[str, list[Mark]]:
    predictions = owner.call("GET", f"/api/tasks/{task}/")["predictions"]
    return {one["model_version"]: places(one["result"]) for one in predictions}


def test_a_reviewer_sees_each_raters_marks_and_starts_with_none(
    label_studio: LabelStudioServer,
    owner: Api,
    made: SmallProject,
    tmp_path: Path,
    page: Page,
    login: Callable[..., None],
    screenshot: Callable[..., Path],
) -> None:
    connector = Run(label_studio.url, label_studio.token, made.id, tmp_path, review={})
    connector("sync")
    assert "Nothing to write" in connector("sync", "--full")
    room = _room(owner, made)
    listed, streamed, saved, copied, later = tasks = task_ids(owner, room)
    apart = {"iaa Rater B": [ROME], "iaa Rater A": [ANNA], "iaa nothing": []}
    assert [drawn(owner, task) for task in tasks] == [apart] * 5

    def submitted(task: int) -> list[dict[str, Any]]:
        with page.expect_response(lambda answer: answer.request.method == "POST" and "/annotations" in answer.url):
            page.get_by_role("button", name="Submit").first.click()
        found: list[dict[str, Any]] = owner.call("GET", f"/api/tasks/{task}/")["annotations"]
        return found

    def opened(address: str) -> None:
        page.goto(f"{label_studio.url}/projects/{room}/data?{address}")
        page.get_by_role("button", name="Submit").first.wait_for(timeout=60_000)
        page.get_by_text("0-4 PER").first.wait_for()
        assert page.locator("[class*=htx-highlight]").count() == 0
        assert page.locator(".lsf-choice input:checked").count() == 0

    login(page)
    opened(f"task={listed}")
    page.get_by_text("iaa Rater A").first.click()
    page.locator("[class*=htx-highlight]", has_text="Anna").wait_for()
    screenshot(page, "rater A")
    page.get_by_text("iaa Rater B").first.click()
    page.locator("[class*=htx-highlight]", has_text="Rome").wait_for()
    assert page.locator(".lsf-choice input:checked").count() == 0, "a choice is no mark"
    opened(f"task={listed}")
    screenshot(page, "from the list")
    (own,) = submitted(listed)
    assert own["result"] == []

    opened("labeling=1")
    screenshot(page, "in the label stream")
    (own,) = submitted(streamed)
    assert own["result"] == []

    # what the settings' page sends when somebody saves it takes the project's version away
    owner.call("PATCH", f"/api/projects/{room}/", {"show_collab_predictions": False})
    owner.call("PATCH", f"/api/projects/{room}/", {"show_collab_predictions": True})
    assert owner.call("GET", f"/api/projects/{room}/")["model_version"] == ""
    opened("labeling=1")
    opened(f"task={saved}")
    (own,) = submitted(saved)
    assert own["result"] == []

    page.goto(f"{label_studio.url}/projects/{room}/data?task={copied}")
    page.get_by_text("iaa Rater B").first.click()
    page.locator("[class*=htx-highlight]", has_text="Rome").wait_for()
    page.locator(".lsf-annotation-button__trigger").last.click()
    page.get_by_text("Duplicate Annotation").click()
    (own,) = submitted(copied)
    assert places(own["result"]) == [ROME]

    for task in made.task_ids:
        annotations = owner.call("GET", f"/api/tasks/{task}/")["annotations"]
        (calm,) = [one["id"] for one in annotations if one["completed_by"]["id"] == made.raters[0].id]
        owner.call("PATCH", f"/api/annotations/{calm}/", {"result": answer("calm", ROME)})
    connector("sync")
    assert drawn(owner, later) == {**apart, "iaa Rater A": [ROME]}
    assert [drawn(owner, task) for task in (listed, streamed, saved, copied)] == [apart] * 4
    assert "Nothing to write" in connector("sync")

    tool = LabelStudio(label_studio.url, label_studio.token, str(room))
    collector = Collector(tool.open().schema)
    for found in tool.pull():
        for unit in found.units:
            collector.add(unit)
    tool.close()
    table = collector.table()
    assert table.n_annotations == 4, "predictions are no ratings"
    assert table.questions["ner"].ratings.codebook.categories == ((18, ()), (18, ((14, 18, ("LOC",)),)))

    connector("remove", "--review")
    with pytest.raises(AssertionError):
        _room(owner, made)


@pytest.mark.parametrize("name", MARKED)
def test_marks_of_every_kind_are_drawn_as_their_rater_made_them(
    label_studio: LabelStudioServer,
    owner: Api,
    project: Callable[..., SmallProject],
    raters: tuple[Rater, ...],
    name: str,
) -> None:
    """Also those that the server holds to be invalid as predictions, such as boxes of a video."""
    case = MARKED[name]
    answers = list(case.answers.values())[:2]
    annotations = [
        {"completed_by": who.id, "ground_truth": False, "result": result}
        for who, result in zip(raters, answers, strict=False)
    ]
    made = project(tasks=[{"data": dict(case.data), "annotations": annotations}], label_config=case.config)
    accounts = {f"Rater {letter}": (str(who.id),) for letter, who in zip("AB", raters, strict=False)}
    items = (ReviewItem(str(made.task_ids[0]), dict.fromkeys(accounts, "words"), accounts),)
    tool = LabelStudio(label_studio.url, label_studio.token, str(made.id))
    receipt = tool.apply(PutReviewTasks(items))
    assert tool.apply(DrawMarks(items)).written == (items[0].unit,)
    predictions = owner.call("GET", f"/api/tasks/{receipt.remote[items[0].unit]}/")["predictions"]
    assert [(one["model_version"], one["result"]) for one in predictions] == [
        ("iaa Rater B", answers[1]), ("iaa Rater A", answers[0]), ("iaa nothing", []),
    ]  # fmt: skip
    tool.apply(RemoveReview(receipt.remote["review_project"]))
    tool.close()


def _room(owner: Api, made: SmallProject) -> int:
    """The review project."""
    rows = owner.call("GET", "/api/projects/", page_size=1000)["results"]
    found = [row["id"] for row in rows if f"review of project {made.id}," in (row["description"] or "")]
    assert len(found) == 1
    return int(found[0])
