"""Rankings, free text, items of a Repeater and choices that each task brings along, on the real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from connector.demo.label_studio_seed import Api, Rater
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import Run, fields
from tests.live.support import SmallProject

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIST = '<View><List name="list" value="$items" title="Results"/><Ranker name="rank" toName="list"/></View>'
BUCKETS = """<View><List name="list" value="$items" title="Results"/>
    <Ranker name="rank" toName="list"><Bucket name="good" title="Good"/><Bucket name="bad" title="Bad"/></Ranker>
    </View>"""


def items(*ids: str) -> list[dict[str, str]]:
    return [{"id": one, "title": f"Title {one}", "body": "text"} for one in ids]


def result(name: str, kind: str, value: dict[str, Any], to: str = "text") -> dict[str, Any]:
    return {"from_name": name, "to_name": to, "type": kind, "value": value}


def tasks_of(
    raters: Sequence[Rater], rows: Sequence[tuple[dict[str, Any], Sequence[list[dict[str, Any]]]]]
) -> list[dict[str, Any]]:
    """The import form of rows of (data, results of each rater)."""
    return [
        {
            "data": data,
            "annotations": [
                {"completed_by": rater.id, "ground_truth": False, "result": given}
                for rater, given in zip(raters, answers, strict=False)
            ],
        }
        for data, answers in rows
    ]


def measured(connector: Run) -> Any:
    return json.loads(connector("report", "--format", "json"))["questions"]


@pytest.fixture
def run(label_studio: LabelStudioServer, tmp_path: Path) -> Callable[..., Run]:
    def make(made: SmallProject, **sections: Any) -> Run:
        return Run(label_studio.url, label_studio.token, made.id, tmp_path, **sections)

    return make


def test_rankings_of_shared_items(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], run: Callable[..., Run]
) -> None:
    def order(*ids: str) -> list[dict[str, Any]]:
        return [result("rank", "ranker", {"ranker": {"rank": list(ids)}}, "list")]

    data = {"items": items("a", "b", "c")}
    votes = [
        [order("a", "b", "c"), order("a", "b", "c")],
        [order("a", "b", "c"), order("c", "b", "a")],
        [order("b", "a", "c"), order("a", "b", "c")],
    ]
    made = project(tasks=tasks_of(raters, [(data, one) for one in votes]), label_config=LIST)
    connector = run(made)
    connector("sync")
    found = measured(connector)["rank"]
    assert (found["kind"], found["distance"], found["majority_by"]) == ("ranking", "kendall", "borda")
    assert found["coefficients"]["kendall_tau_b"]["value"] == pytest.approx((1 - 1 + 1 / 3) / 3)
    first, second, third = fields(owner, made)
    assert (first["agreement"], second["agreement"], third["agreement"]) == (1, 0, pytest.approx(0.67))
    assert (first["status"], second["status"], third["status"]) == ("agreed", "conflict", "majority")
    assert first["majority"] == "a > b > c"
    assert "majority" not in second, "the two are opposed"
    assert third["majority"] == "a = b > c"


def test_buckets_of_items_that_differ_by_task_are_not_gated(
    project: Callable[..., SmallProject], raters: tuple[Rater, ...], run: Callable[..., Run]
) -> None:
    def sorted_into(**buckets: list[str]) -> list[dict[str, Any]]:
        return [result("rank", "ranker", {"ranker": {"_": buckets.pop("left", []), **buckets}}, "list")]

    rows = [
        ({"items": items("a", "b")}, [sorted_into(good=["a"], bad=["b"]), sorted_into(good=["a"], left=["b"])]),
        ({"items": items("c", "d")}, [sorted_into(good=["c", "d"]), sorted_into(good=["d", "c"])]),
    ]
    made = project(tasks=tasks_of(raters, rows), label_config=BUCKETS)
    connector = run(made)
    connector("sync")
    found = measured(connector)["rank"]
    assert found["distance"] == "kendall_by_task"
    assert found["coefficients"]["krippendorff_alpha"]["reason"] == "not_comparable"
    assert found["coefficients"]["kendall_tau_b"]["value"] == pytest.approx(1.0)
    assert "no_question" in connector("gate", "-c", "config.yaml", "--format", "json", code=3)


def test_texts_items_and_choices_of_the_task(
    owner: Api, project: Callable[..., SmallProject], raters: tuple[Rater, ...], run: Callable[..., Run]
) -> None:
    config = """<View><Text name="text" value="$text"/><TextArea name="note" toName="text"/>
        <Choices name="own" toName="text" value="$options"/>
        <Repeater on="$parts" indexFlag="{{idx}}"><Text name="t_{{idx}}" value="$parts[{{idx}}].text"/>
        <Choices name="q_{{idx}}" toName="t_{{idx}}"><Choice value="yes"/><Choice value="no"/></Choices></Repeater>
        </View>"""

    def answer(note: list[str], own: str, *parts: str) -> list[dict[str, Any]]:
        repeated = [result(f"q_{k}", "choices", {"choices": [one]}, f"t_{k}") for k, one in enumerate(parts)]
        return [
            result("note", "textarea", {"text": note}),
            result("own", "choices", {"choices": [own]}),
            *repeated,
        ]

    parts = [{"text": "first"}, {"text": "second"}]
    rows = [
        (
            {"text": "x", "options": [{"value": "p"}, {"value": "q"}], "parts": parts},
            [answer(["so  it is", "really"], "p", "yes", "no"), answer(["so it is", "really"], "p", "yes", "yes")],
        ),
        (
            {"text": "y", "options": [{"value": "r"}, {"value": "s"}], "parts": parts},
            [answer(["this"], "r", "no", "no"), answer(["that"], "s", "no", "no")],
        ),
    ]
    made = project(tasks=tasks_of(raters, rows), label_config=config)
    connector = run(made, questions={"own": {"by": "position"}})
    connector("sync")
    found = measured(connector)
    assert {name: (one["kind"], one["n_units"]) for name, one in found.items()} == {
        "note": ("text", 2),
        "own": ("choice", 2),
        "q_{{idx}}": ("choice", 4),
    }
    assert list(found["own"]["categories"]) == ["1", "2"]
    first, second = fields(owner, made)
    assert (first["status_note"], first["agreement_note"], first["majority_note"]) == ("agreed", 1, "so it is\nreally")
    assert (second["status_note"], second["agreement_note"]) == ("conflict", 0.5)
    assert (first["status_own"], second["status_own"]) == ("agreed", "conflict")
    assert (first["status_q_idx"], first["agreement_q_idx"]) == ("conflict", 0.5)
    assert (second["status_q_idx"], second["agreement_q_idx"]) == ("agreed", 1)


def test_an_order_that_a_rater_makes_on_the_page(
    label_studio: LabelStudioServer,
    owner: Api,
    project: Callable[..., SmallProject],
    raters: tuple[Rater, ...],
    run: Callable[..., Run],
    page: Page,
    login: Callable[..., None],
    screenshot: Callable[..., Path],
) -> None:
    made = project(tasks=[{"data": {"items": items("a", "b", "c")}}], label_config=LIST)
    (task,) = made.task_ids
    login(page, raters[0])
    page.goto(f"{label_studio.url}/projects/{made.id}/data?task={task}")
    first = page.locator("[data-rbd-drag-handle-draggable-id]").first
    first.wait_for(timeout=60_000)
    first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(500)
    page.keyboard.press("Space")
    page.wait_for_timeout(500)
    screenshot(page)
    with page.expect_response(lambda answer: answer.request.method == "POST" and "/annotations" in answer.url):
        page.get_by_role("button", name="Submit").first.click()
    (stored,) = owner.call("GET", f"/api/tasks/{task}/")["annotations"]
    assert stored["result"][0]["value"] == {"ranker": {"rank": ["b", "a", "c"]}}
    other = [result("rank", "ranker", {"ranker": {"rank": ["b", "c", "a"]}}, "list")]
    owner.call("POST", f"/api/tasks/{task}/annotations/", {"completed_by": raters[1].id, "result": other})

    connector = run(made)
    connector("sync")
    assert measured(connector)["rank"]["coefficients"]["kendall_tau_b"]["value"] == pytest.approx(1 / 3)
    (row,) = fields(owner, made)
    assert (row["status"], row["agreement"], row["majority"]) == ("majority", pytest.approx(0.67), "b > a = c")
