"""What people see and do on Argilla's own page: the conflicts in their order, and a span dragged over a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.demo.argilla_seed import question
from connector.demo.argilla_server import ArgillaServer
from tests.live.argilla_fixtures import SmallDataset
from tests.live.running import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_under_the_printed_link_the_page_shows_the_conflicts_lowest_agreement_first(
    dataset: Callable[..., SmallDataset],
    page: Page,
    argilla: ArgillaServer,
    argilla_login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
    tmp_path: Path,
) -> None:
    rows = [
        ["yes", "yes", "no", "maybe"],  # 1 of 6 pairs agrees
        ["yes", "no"],
        ["yes", "yes", "no", "no"],  # 2 of 6
        ["yes", "yes"],  # no conflict
        ["no", "yes", "maybe"],
    ]
    by_text = {"text number 0": 0.1667, "text number 1": 0.0, "text number 2": 0.3333, "text number 4": 0.0}
    made = dataset(rows)
    said = Run(argilla.url, argilla.api_key, made.path, tmp_path, tool="argilla")("sync")
    (link,) = [word for word in said.split() if word.startswith(argilla.url) and "?" in word]

    argilla_login(page)
    page.goto(link)
    seen: list[str] = []
    for _ in by_text:  # one record at a time
        text = shown(page, "of 4", "text number", without=seen)
        seen += [one for one in text.splitlines() if one.startswith("text number")]
        page.keyboard.press("ArrowRight")
    screenshot(page)
    assert sorted(seen) == sorted(by_text)
    assert [by_text[one] for one in seen] == [0.0, 0.0, 0.1667, 0.3333]


def test_a_span_dragged_behind_emoji_is_the_same_as_one_in_code_points(
    dataset: Callable[..., SmallDataset],
    page: Page,
    argilla: ArgillaServer,
    argilla_login: Callable[..., None],
    screenshot: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """The page counts an emoji as two units of UTF-16."""
    words, before = "lives in Rome", "Ana \N{ROCKET}\N{ROCKET} "
    start = len(before)
    text = f"{before}{words} \N{ROCKET} now"
    spans = question("names", "span", ["PER", "LOC"], field="text")
    made = dataset(records=[{"fields": {"text": text}}], questions=[spans])

    argilla_login(page, made.annotators[0])
    page.goto(f"{argilla.url}/dataset/{made.id}/annotation-mode?page=1&status=pending")
    marked = page.locator(".span-annotation__field")
    marked.filter(has_text=words).wait_for(timeout=60_000)
    page.locator(".label-text", has_text="LOC").click()
    page.locator(".label-active", has_text="LOC").wait_for()
    left, right, middle = marked.evaluate(
        """(field, words) => {
            const walker = document.createTreeWalker(field, NodeFilter.SHOW_TEXT)
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf(words)
                if (at < 0) continue
                const range = document.createRange()
                range.setStart(walker.currentNode, at)
                range.setEnd(walker.currentNode, at + words.length)
                const box = range.getBoundingClientRect()
                return [box.left, box.right, (box.top + box.bottom) / 2]
            }
        }""",
        words,
    )
    page.mouse.move(left + 1, middle)
    page.mouse.down()
    page.mouse.move((left + right) / 2, middle, steps=5)
    page.mouse.move(right - 1, middle, steps=5)
    page.mouse.up()
    page.locator(".span-entity__text", has_text="LOC").wait_for()
    screenshot(page)
    with page.expect_response(lambda answer: answer.request.method == "POST" and "/responses" in answer.url):
        page.get_by_role("button", name="Submit").first.click()
    ((dragged,),) = [one["responses"] for one in made.records()]
    in_units = {"label": "LOC", "start": start + 2, "end": start + 2 + len(words)}
    assert (dragged["user_id"], dragged["values"]) == (made.annotators[0].id, {"names": {"value": [in_units]}})

    made.respond(0, 1, {"names": [{"label": "LOC", "start": start, "end": start + len(words)}]})
    connector = Run(argilla.url, argilla.api_key, made.path, tmp_path, tool="argilla")
    connector("sync")
    (record,) = made.records()
    ours = {name: record["metadata"][f"iaa_{name}"] for name in ("agreement", "status", "majority")}
    assert ours == {"agreement": 1.0, "status": "agreed", "majority": f"{start}-{start + len(words)} LOC"}
    report = json.loads(connector("report", "--format", "json"))
    found = report["questions"]["names"]
    assert found["coefficients"]["krippendorff_alpha"]["value"] == pytest.approx(1.0)
    said = " ".join(connector("report").split())
    assert re.search(r"\b1 spans? counts? UTF-16 units, as a browser does behind emoji", said)
    assert "they were turned into code points." in said
