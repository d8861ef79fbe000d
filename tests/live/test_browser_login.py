"""The pages of the real server open in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from connector.demo.label_studio_seed import Rater
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.support import SmallProject

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_owner_logs_in_and_the_data_manager_shows_the_tasks(
    label_studio: LabelStudioServer,
    project: Callable[..., SmallProject],
    page: Page,
    login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
) -> None:
    made = project([["Positive", "Positive"], ["Positive", "Negative", "Negative"]], title="Two reviews")
    login(page)
    page.goto(f"{label_studio.url}/projects/{made.id}/data")
    text = shown(page, "Two reviews", "text number 0", "text number 1", "Submitted annotations:")
    assert re.search(r"Submitted annotations:\s*5", text)
    assert screenshot(page).stat().st_size > 10_000


def test_a_rater_logs_in_with_the_password_of_the_sign_up(
    label_studio: LabelStudioServer, raters: tuple[Rater, ...], page: Page, login: Callable[..., None]
) -> None:
    login(page, raters[0])
    who = page.request.get(f"{label_studio.url}/api/current-user/whoami").json()
    assert (who["email"], who["id"]) == (raters[0].email, raters[0].id)


def test_nobody_gets_in_with_a_wrong_password(label_studio: LabelStudioServer, page: Page) -> None:
    page.goto(f"{label_studio.url}/user/login/")
    page.fill("input[name=email]", label_studio.email)
    page.fill("input[name=password]", "wrong")
    with page.expect_response(lambda answer: answer.request.method == "POST" and "/user/login" in answer.url):
        page.click("button[type=submit]")
    assert page.request.get(f"{label_studio.url}/api/current-user/whoami").status in (401, 403)
