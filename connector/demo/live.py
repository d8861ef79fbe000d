"""`connector demo --live TOOL`: a real server, a labelled project, one sync, and time to look around."""

from __future__ import annotations

import abc
import contextlib
import json
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import platformdirs
from filelock import FileLock, Timeout

from connector.demo.api import JsonApi
from connector.demo.argilla_seed import ArgillaApi, seed_reviews
from connector.demo.argilla_server import ARGILLA, ArgillaServer, argilla_server
from connector.demo.environment import Package
from connector.demo.label_studio_seed import Api, seed_sentiment
from connector.demo.label_studio_server import LABEL_STUDIO, LabelStudioServer, label_studio_server
from connector.demo.process import Progress, ServerFailed, is_free, to_stderr
from connector.demo.server import Server
from connector.errors import AnotherRun, ToolTrouble

Sync = Callable[[str, str, str, Path], None]
"""What to do once the server stands: url, the owner's API key, the project as a configuration names it, a folder for
configuration and store."""

S = TypeVar("S", bound=Server)


class Kept(NamedTuple):
    """What a run leaves for the next.

    Attributes
    ----------
    project : as a configuration names it.
    port : at which it was seeded.
    page, api : below the server's address: where a person sees it, and what answers while it is there.
    raters : who may log in, beside the owner.
    """

    project: str
    port: int
    page: str
    api: str
    raters: tuple[str, ...]


class Demo(abc.ABC, Generic[S]):
    """What the live demo has to know of a tool."""

    package: Package

    @abc.abstractmethod
    def serve(self, folder: Path, port: int | None, progress: Progress) -> AbstractContextManager[S]:
        """The running server, with its data in `folder`."""

    @abc.abstractmethod
    def login(self, server: S) -> str:
        """The owner's name on the login page."""

    @abc.abstractmethod
    def key(self, server: S) -> str:
        """The owner's API key."""

    @abc.abstractmethod
    def api(self, server: S) -> JsonApi:
        """The interface as the owner."""

    @abc.abstractmethod
    def seed(self, server: S, progress: Progress) -> Kept:
        """Make the project, with raters whose password is the owner's."""


class LabelStudioDemo(Demo[LabelStudioServer]):
    """A project with one question."""

    package = LABEL_STUDIO

    def serve(self, folder: Path, port: int | None, progress: Progress) -> AbstractContextManager[LabelStudioServer]:
        """See `label_studio_server`."""
        return label_studio_server(folder, port, progress=progress)

    def login(self, server: LabelStudioServer) -> str:
        """An e-mail address."""
        return server.email

    def key(self, server: LabelStudioServer) -> str:
        """A legacy token."""
        return server.token

    def api(self, server: LabelStudioServer) -> JsonApi:
        """With the legacy token."""
        return Api(server.url, server.token)

    def seed(self, server: LabelStudioServer, progress: Progress) -> Kept:
        """See `seed_sentiment`."""
        made = seed_sentiment(server.url, server.token, server.password, progress=progress)
        page, api = f"/projects/{made.id}/data", f"/api/projects/{made.id}/"
        return Kept(str(made.id), server.port, page, api, tuple(rater.email for rater in made.raters))


class ArgillaDemo(Demo[ArgillaServer]):
    """A dataset with several questions."""

    package = ARGILLA

    def serve(self, folder: Path, port: int | None, progress: Progress) -> AbstractContextManager[ArgillaServer]:
        """See `argilla_server`."""
        return argilla_server(folder, port, progress=progress)

    def login(self, server: ArgillaServer) -> str:
        """A user name."""
        return server.username

    def key(self, server: ArgillaServer) -> str:
        """The key that Argilla gives every user."""
        return server.api_key

    def api(self, server: ArgillaServer) -> JsonApi:
        """With that key."""
        return ArgillaApi(server.url, server.api_key)

    def seed(self, server: ArgillaServer, progress: Progress) -> Kept:
        """See `seed_reviews`."""
        made = seed_reviews(server.url, server.api_key, server.password, progress=progress)
        page, api = f"/dataset/{made.id}/annotation-mode", f"/api/v1/datasets/{made.id}"
        names = tuple(annotator.username for annotator in made.annotators)
        return Kept(f"{made.workspace}/{made.name}", server.port, page, api, names)


def run_live(
    demo: Demo[S],
    sync: Sync,
    *,
    folder: Path | None = None,
    progress: Progress = to_stderr,
    say: Progress = print,
    wait: Callable[[S], None] | None = None,
) -> None:
    """Start the server, seed the project, call `sync`, say where to look, and keep the server until Ctrl-C.

    The server's data stay in `folder` (the user's cache folder unless given), so that a second run finds the same
    project at the same address in a few seconds; a seeding that was cut short is begun anew.

    Parameters
    ----------
    say : takes what a person should read, line by line.
    wait : returns when the server should end; until Ctrl-C unless given.

    Raises
    ------
    AnotherRun : the demo is already running from this folder.
    FixConfiguration, RetryLater, ServerFailed : see `Server` and `server_environment`. What `sync` raises comes
        through.
    """
    title = f"{demo.package.file}-{demo.package.version}"
    folder = folder or Path(platformdirs.user_cache_dir("agreement-connector")) / "demo" / title
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{folder}.lock", timeout=0):
            _run(demo, sync, folder, progress, say, wait or _until_interrupted)
    except Timeout:
        raise AnotherRun("The demo is already running.", "End that one first (Ctrl-C where it runs).") from None


def _run(demo: Demo[S], sync: Sync, folder: Path, progress: Progress, say: Progress, wait: Callable[[S], None]) -> None:
    kept = _kept(folder)
    if kept is None:
        shutil.rmtree(folder, ignore_errors=True)
    # The same port again where possible: a project is known by its address.
    port = kept.port if kept is not None and is_free(kept.port) else None
    with demo.serve(folder / "server", port, progress) as server:
        if kept is None or not _is_there(demo.api(server), kept.api):
            kept = demo.seed(server, progress)
            _keep(folder, kept)
        workdir = folder / "connector"
        workdir.mkdir(exist_ok=True)
        sync(server.url, demo.key(server), kept.project, workdir)
        with contextlib.suppress(KeyboardInterrupt):  # from the first of these lines on Ctrl-C is the normal end
            say("")
            say(f"{demo.package.name} is running: {server.url}{kept.page}")
            say(f"  log in as  {demo.login(server)}  with the password  {server.password}")
            say(f"  raters     {', '.join(kept.raters)}  (the same password)")
            say("It listens on this machine only. Ctrl-C ends it; its data stay for the next time.")
            wait(server)
        progress(f"Stopping {demo.package.name} ...")


def _kept(folder: Path) -> Kept | None:
    """What the last run left; None where there was none or its seeding was cut short."""
    try:
        left = json.loads((folder / "project.json").read_text(encoding="utf-8"))
        return Kept(left["project"], int(left["port"]), left["page"], left["api"], tuple(left["raters"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(folder: Path, kept: Kept) -> None:
    unfinished = folder / "project.json.new"
    unfinished.write_text(json.dumps(kept._asdict()), encoding="utf-8")
    unfinished.replace(folder / "project.json")


def _is_there(api: JsonApi, path: str) -> bool:
    """Whether the project was not deleted by hand since."""
    try:
        api.call("GET", path)
    except ToolTrouble:
        return False
    finally:
        api.close()
    return True


def _until_interrupted(server: Server) -> None:
    """Wait for Ctrl-C; a server that ends by itself is an error."""
    while server.is_running:
        time.sleep(0.5)
    raise ServerFailed(f"{server.name} ended by itself.", f"Its log: {server.log}")
