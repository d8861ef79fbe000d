"""The live demo: seeded once, found again at the same address, ended by Ctrl-C, begun anew when it was cut short."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from connector.demo.live import run_live
from connector.demo.seed import Api
from connector.demo.servers import LabelStudioServer, is_free
from connector.errors import AnotherRun, ToolTrouble

PROGRAM = """
import sys
from pathlib import Path
from connector.demo.live import run_live
run_live(lambda url, key, project, workdir: print("SYNC", url, project), folder=Path(sys.argv[1]))
"""


class Visit:
    """Takes part in a run: remembers what `sync` was given and what a person was told."""

    def __init__(self) -> None:
        self.synced: list[tuple[str, str, Path]] = []
        self.told: list[str] = []
        self.titles: list[str] = []

    def sync(self, url: str, api_key: str, project: str, workdir: Path) -> None:
        assert workdir.is_dir()
        self.titles = [row["title"] for row in Api(url, api_key).call("GET", "/api/projects")["results"]]
        self.synced.append((url, project, workdir))

    def go(self, folder: Path) -> LabelStudioServer:
        seen: list[LabelStudioServer] = []
        run_live(self.sync, folder=folder, progress=lambda line: None, say=self.told.append, wait=seen.append)
        return seen[0]


def test_the_live_demo_from_first_start_to_a_seeding_cut_short(tmp_path: Path) -> None:
    folder = tmp_path / "demo"

    first = Visit()
    server = first.go(folder)
    assert first.titles == ["Demo: sentiment of reviews"]
    assert any(f"{server.url}/projects/{first.synced[0][1]}/data" in line for line in first.told)
    assert any(server.email in line and server.password in line for line in first.told)
    assert not server.is_running

    # the second run finds the same project at the same address, and Ctrl-C is its normal end
    caller = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert caller.stdout is not None
    lines = [caller.stdout.readline() for _ in range(6)]
    assert lines[0].split() == ["SYNC", first.synced[0][0], first.synced[0][1]]
    caller.send_signal(signal.SIGINT)
    rest, progress = caller.communicate(timeout=60)
    assert (caller.returncode, rest, "Traceback" in progress) == (0, "", False)
    assert is_free(server.port)

    # a run that was killed while it seeded left no mark of completion: begun anew, nothing doubled
    kept = json.loads((folder / "project.json").read_text())
    (folder / "project.json").unlink()
    again = Visit()
    again.go(folder)
    assert again.titles == ["Demo: sentiment of reviews"]
    assert json.loads((folder / "project.json").read_text())["emails"] == kept["emails"]


def test_what_sync_raises_comes_through_and_the_server_ends(tmp_path: Path) -> None:
    ports: list[int] = []

    def failing(url: str, api_key: str, project: str, workdir: Path) -> None:
        ports.append(int(url.rpartition(":")[2]))
        raise ToolTrouble("the sync failed")

    with pytest.raises(ToolTrouble, match="the sync failed"):
        run_live(failing, folder=tmp_path / "demo", progress=lambda line: None)
    assert is_free(ports[0])


def test_two_demos_at_once_are_refused(tmp_path: Path) -> None:
    with FileLock(tmp_path / "demo.lock"), pytest.raises(AnotherRun):
        run_live(lambda *given: None, folder=tmp_path / "demo", progress=lambda line: None)
    assert [file.name for file in tmp_path.iterdir()] == ["demo.lock"]
