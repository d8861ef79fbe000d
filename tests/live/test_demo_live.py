"""The live demo: seeded once, found again at the same address, ended by Ctrl-C, begun anew when it was cut short."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

from connector.demo.label_studio_seed import Api
from connector.demo.label_studio_server import LabelStudioServer
from connector.demo.live import LabelStudioDemo, run_live
from connector.demo.process import is_free
from connector.errors import AnotherRun, ToolTrouble

PROGRAM = """
import sys
from dataclasses import dataclass, field
from pathlib import Path
from connector.demo.live import LabelStudioDemo, run_live
run_live(LabelStudioDemo(), lambda url, key, project, workdir: print("SYNC", url, project), folder=Path(sys.argv[1]))
"""


@dataclass
class Visit:
    """One run of the demo: what `sync` was given, what a person was told, which projects there were."""

    folder: Path
    told: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    url: str = ""
    project: str = ""
    server: LabelStudioServer | None = None

    def go(self) -> Visit:
        run_live(
            LabelStudioDemo(),
            self._sync,
            folder=self.folder,
            progress=lambda line: None,
            say=self.told.append,
            wait=self._wait,
        )
        return self

    def _sync(self, url: str, api_key: str, project: str, workdir: Path) -> None:
        assert workdir.is_dir()
        self.titles = [row["title"] for row in Api(url, api_key).call("GET", "/api/projects")["results"]]
        self.url, self.project = url, project

    def _wait(self, server: LabelStudioServer) -> None:
        assert server.is_running
        self.server = server


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """The first run in an empty folder."""
    return Visit(tmp_path_factory.mktemp("demo") / "label-studio").go()


def test_the_first_run_seeds_and_says_where_to_look_and_how_to_log_in(first: Visit) -> None:
    assert first.server is not None
    assert first.titles == ["Demo: sentiment of reviews"]
    assert any(f"{first.url}/projects/{first.project}/data" in line for line in first.told)
    assert any(first.server.email in line and first.server.password in line for line in first.told)
    assert not first.server.is_running


def test_the_next_run_finds_the_same_project_at_the_same_address_and_ctrl_c_is_its_normal_end(first: Visit) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, str(first.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert caller.stdout is not None
    lines = [caller.stdout.readline() for _ in range(6)]
    assert lines[0].split() == ["SYNC", first.url, first.project]
    caller.send_signal(signal.SIGINT)
    rest, progress = caller.communicate(timeout=60)
    assert (caller.returncode, rest, "Traceback" in progress) == (0, "", False)
    assert is_free(_port(first.url))


def test_what_sync_raises_comes_through_and_the_server_ends(first: Visit) -> None:
    def failing(url: str, api_key: str, project: str, workdir: Path) -> None:
        raise ToolTrouble(f"the sync of {url} failed")

    with pytest.raises(ToolTrouble, match=f"the sync of {first.url} failed"):
        run_live(LabelStudioDemo(), failing, folder=first.folder, progress=lambda line: None)
    assert is_free(_port(first.url))


def test_a_project_that_was_deleted_by_hand_is_seeded_again(first: Visit) -> None:
    def delete(url: str, api_key: str, project: str, workdir: Path) -> None:
        Api(url, api_key).call("DELETE", f"/api/projects/{project}/")

    run_live(
        LabelStudioDemo(),
        delete,
        folder=first.folder,
        progress=lambda line: None,
        say=lambda line: None,
        wait=lambda server: None,
    )
    assert Visit(first.folder).go().titles == ["Demo: sentiment of reviews"]


def test_a_seeding_that_was_cut_short_is_begun_anew(first: Visit) -> None:
    """A run that was killed while it seeded leaves a half-filled server and no mark of completion."""
    (first.folder / "project.json").unlink()
    assert Visit(first.folder).go().titles == ["Demo: sentiment of reviews"]
    assert (first.folder / "project.json").exists()


def test_two_demos_at_once_are_refused(tmp_path: Path) -> None:
    with FileLock(tmp_path / "demo.lock"), pytest.raises(AnotherRun):
        run_live(LabelStudioDemo(), lambda *given: None, folder=tmp_path / "demo", progress=lambda line: None)
    assert [file.name for file in tmp_path.iterdir()] == ["demo.lock"]


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
