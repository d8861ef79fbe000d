"""A real Label Studio, a real Argilla and a real browser, started by the first test that asks for them."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from connector.demo.label_studio_seed import Api, Rater, choice, make_project, sign_up, task_ids
from connector.demo.label_studio_server import LabelStudioServer, label_studio_server
from tests.live.argilla_fixtures import (  # noqa: F401 - fixtures
    argilla,
    argilla_annotators,
    argilla_login,
    argilla_owner,
    dataset,
)
from tests.live.support import SmallProject

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # what the pages try to load from elsewhere is not even looked up
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


# Label Studio ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    """A running server with an empty database; legacy tokens and personal access tokens both work."""
    with label_studio_server(tmp_path_factory.mktemp("label-studio")) as server:
        yield server


@pytest.fixture(scope="session")
def owner(label_studio: LabelStudioServer) -> Iterator[Api]:
    """The API as the server's owner (legacy token)."""
    api = Api(label_studio.url, label_studio.token)
    yield api
    api.close()


@pytest.fixture(scope="session")
def personal_token(owner: Api) -> str:
    """The owner's personal access token (the server allows one a person, so it is made once)."""
    return str(owner.call("POST", "/api/token/")["token"])


@pytest.fixture
def legacy_tokens_off(owner: Api, personal_token: str) -> Iterator[None]:
    """The server as it comes: legacy tokens are refused, for everybody, while the test runs."""

    def switch(on: bool) -> None:
        access = owner.call("POST", "/api/token/refresh/", {"refresh": personal_token})["access"]
        settings = {"api_tokens_enabled": True, "legacy_api_tokens_enabled": on}
        bearer = Api(owner.url, access, scheme="Bearer")
        bearer.call("POST", "/api/jwt/settings", settings)
        bearer.close()

    switch(on=False)
    yield
    switch(on=True)


@pytest.fixture(scope="session")
def raters(label_studio: LabelStudioServer) -> tuple[Rater, ...]:
    """Four members who signed up through the invitation page, each with a token."""
    return tuple(
        sign_up(label_studio.url, label_studio.token, f"rater{n}@example.org", f"rater-{n}-password")
        for n in range(1, 5)
    )


@pytest.fixture
def project(owner: Api, raters: tuple[Rater, ...]) -> Iterator[Callable[..., SmallProject]]:
    """Makes small projects and deletes them after the test.

    `project(rows)`: one task a row, one rater a column (None: not rated), single choice "sentiment" unless another
    `label_config` is given; a cell may also be a whole result list. `project(tasks=[...])`: Label Studio's import form.
    """
    numbers = itertools.count(1)
    made: list[int] = []

    def make(
        rows: Sequence[Sequence[str | list[object] | None]] = (),
        *,
        tasks: Sequence[dict[str, object]] | None = None,
        label_config: str | None = None,
        title: str | None = None,
        **settings: object,
    ) -> SmallProject:
        labels = list(dict.fromkeys(cell for row in rows for cell in row if isinstance(cell, str))) or ["yes", "no"]
        config = label_config or _sentiment(labels)
        content = list(tasks) if tasks is not None else [_task(n, row, raters) for n, row in enumerate(rows)]
        title = title or f"Small project {next(numbers)}"
        id_ = make_project(owner, title, config, content, **settings)
        made.append(id_)
        return SmallProject(id_, title, tuple(task_ids(owner, id_)), raters)

    yield make
    for id_ in made:
        owner.call("DELETE", f"/api/projects/{id_}/")


def _sentiment(labels: Sequence[str]) -> str:
    choices = "".join(f'<Choice value="{label}"/>' for label in labels)
    return (
        '<View><Text name="text" value="$text"/>'
        f'<Choices name="sentiment" toName="text" choice="single">{choices}</Choices></View>'
    )


def _task(number: int, row: Sequence[str | list[object] | None], raters: Sequence[Rater]) -> dict[str, object]:
    annotations = [
        {
            "completed_by": rater.id,
            "ground_truth": False,
            "result": [choice(cell)] if isinstance(cell, str) else cell,
        }
        for rater, cell in zip(raters, row, strict=False)
        if cell is not None
    ]
    return {"data": {"text": f"text number {number}"}, "annotations": annotations}


# The browser ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium: an installed one, else Debian's as root, else skipped (where CI is set: failed)."""
    from playwright.sync_api import sync_playwright

    executable = _chromium()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page with nobody logged in."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def login(label_studio: LabelStudioServer) -> Callable[..., None]:
    """`login(page)` logs the owner in through the login page; `login(page, rater)` one of the raters."""

    def through_the_page(page: Page, who: Rater | None = None) -> None:
        person = who or label_studio
        page.goto(f"{label_studio.url}/user/login/")
        page.fill("input[name=email]", person.email)
        page.fill("input[name=password]", person.password)
        page.click("button[type=submit]")
        page.wait_for_url(re.compile(r"^(?!.*/user/login)"))

    return through_the_page


@pytest.fixture
def shown() -> Callable[..., str]:
    """`shown(page, *texts, without=())` waits until the page shows all of these texts and none of the others, and gives
    all that it shows then.

    The pages draw themselves in steps and may show an empty state in between; one that stays without is loaded anew.
    """
    settled = """([texts, without]) => {
        const all = document.body.innerText
        return texts.every(text => all.includes(text)) && !without.some(text => all.includes(text)) && all
    }"""

    def wait(page: Page, *texts: str, without: Sequence[str] = ()) -> str:
        for patience in (15_000, 15_000, 30_000):
            try:
                found = page.wait_for_function(settled, arg=[list(texts), list(without)], timeout=patience)
            except PlaywrightTimeout:
                page.reload()
            else:
                return str(found.json_value())
        raise AssertionError(f"not {texts} without {without}, but:\n{page.inner_text('body')}")

    return wait


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Callable[..., Path]:
    """`screenshot(page)` keeps a picture of the page under build/screenshots, named after the test; gives its path."""

    def keep(page: Page, name: str = "") -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        file = SCREENSHOTS / (re.sub(r"\W+", "_", f"{request.node.name} {name}").strip("_") + ".png")
        page.screenshot(path=file)
        return file

    return keep


def _chromium() -> str:
    """The path of a Chromium; installs Debian's when there is none and we may."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    for name in names:
        if found := shutil.which(name):
            return found
    why = "no Chromium or Chrome is installed"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in ("update", "install -y --no-install-recommends chromium"):
            done = subprocess.run(
                ["apt-get", "-q", *command.split()], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                why = f"`apt-get {command}` failed:\n{done.stdout[-800:]}{done.stderr[-800:]}"
        if found := shutil.which("chromium"):
            return found
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
