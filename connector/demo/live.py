"""`connector demo --live label-studio`: a real server, a labelled project, one sync, and time to look around."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import platformdirs
from filelock import FileLock, Timeout

from connector.demo.seed import Api, SeededProject, seed_sentiment
from connector.demo.servers import (
    VERSION,
    LabelStudioServer,
    Progress,
    ServerFailed,
    is_free,
    label_studio_server,
    to_stderr,
)
from connector.errors import AnotherRun, ToolTrouble

Sync = Callable[[str, str, str, Path], None]
"""What to do once the server stands: url, API key (legacy token), project id, a folder for configuration and store."""


def run_live(
    sync: Sync,
    *,
    folder: Path | None = None,
    progress: Progress = to_stderr,
    say: Progress = print,
    wait: Callable[[LabelStudioServer], None] | None = None,
) -> None:
    """Start Label Studio, seed the project, call `sync`, say where to look, and keep the server until Ctrl-C.

    The server's data stay in `folder` (the user's cache folder unless given), so that a second run finds the same
    project at the same address in a few seconds; a seeding that was cut short is begun anew.

    Parameters
    ----------
    say : takes what a person should read, line by line.
    wait : returns when the server should end; until Ctrl-C unless given.

    Raises
    ------
    AnotherRun : the demo is already running from this folder.
    FixConfiguration, RetryLater, ServerFailed : see `label_studio_server`. What `sync` raises comes through.
    """
    folder = folder or Path(platformdirs.user_cache_dir("agreement-connector")) / "demo" / f"label-studio-{VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{folder}.lock", timeout=0):
            _run(sync, folder, progress, say, wait or _until_interrupted)
    except Timeout:
        raise AnotherRun("The demo is already running.", "End that one first (Ctrl-C where it runs).") from None


class _Kept(NamedTuple):
    """What a run leaves for the next: the project, the address it was seeded at, and who may log in."""

    project: int
    port: int
    emails: tuple[str, ...]


def _run(
    sync: Sync, folder: Path, progress: Progress, say: Progress, wait: Callable[[LabelStudioServer], None]
) -> None:
    kept = _kept(folder)
    if kept is None:
        shutil.rmtree(folder, ignore_errors=True)
    # The same port again where possible: a project is known by its address.
    port = kept.port if kept is not None and is_free(kept.port) else None
    with label_studio_server(folder / "server", port, progress=progress) as server:
        if kept is None or not _still_there(server, kept.project):
            seeded = seed_sentiment(server.url, server.token, server.password, progress=progress)
            kept = _keep(folder, server, seeded)
        workdir = folder / "connector"
        workdir.mkdir(exist_ok=True)
        sync(server.url, server.token, str(kept.project), workdir)
        with contextlib.suppress(KeyboardInterrupt):  # from the first of these lines on Ctrl-C is the normal end
            _tell(server, kept, say)
            wait(server)
        progress("Stopping Label Studio ...")


def _kept(folder: Path) -> _Kept | None:
    """What the last run left; None where there was none or its seeding was cut short."""
    try:
        left = json.loads((folder / "project.json").read_text(encoding="utf-8"))
        return _Kept(int(left["project"]), int(left["port"]), tuple(left["emails"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(folder: Path, server: LabelStudioServer, seeded: SeededProject) -> _Kept:
    kept = _Kept(seeded.id, server.port, tuple(rater.email for rater in seeded.raters))
    unfinished = folder / "project.json.new"
    unfinished.write_text(json.dumps(kept._asdict()), encoding="utf-8")
    unfinished.replace(folder / "project.json")
    return kept


def _still_there(server: LabelStudioServer, project: int) -> bool:
    """Whether the project was not deleted by hand since."""
    api = Api(server.url, server.token)
    try:
        return bool(api.call("GET", f"/api/projects/{project}/")["title"])
    except ToolTrouble:
        return False
    finally:
        api.close()


def _tell(server: LabelStudioServer, kept: _Kept, say: Progress) -> None:
    say("")
    say(f"Label Studio is running: {server.url}/projects/{kept.project}/data")
    say(f"  log in as  {server.email}  with the password  {server.password}")
    say(f"  raters     {', '.join(kept.emails)}  (the same password)")
    say("It listens on this machine only. Ctrl-C ends it; its data stay for the next time.")


def _until_interrupted(server: LabelStudioServer) -> None:
    """Wait for Ctrl-C; a server that ends by itself is an error."""
    while server.is_running:
        time.sleep(0.5)
    raise ServerFailed("Label Studio ended by itself.", f"Its log: {server.log}")
