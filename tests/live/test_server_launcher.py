"""The launcher's promises: a server on loopback that is gone afterwards."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from connector.demo import guard
from connector.demo import server as base
from connector.demo.label_studio_seed import Api, seed_sentiment
from connector.demo.label_studio_server import VERSION, LabelStudioServer, label_studio_server
from connector.demo.process import ServerFailed, free_port, is_free
from connector.demo.reviews import CATEGORIES
from connector.errors import FixConfiguration
from tests.live.support import alive, listening, until

HOLD = """
import sys, time
from pathlib import Path
from connector.demo.label_studio_server import label_studio_server
with label_studio_server(Path(sys.argv[1])) as server:
    print(server.pid, server.port, flush=True)
    time.sleep(600)
"""
"""A program that starts a server and would keep it for ten minutes."""


@pytest.fixture
def data_dir(label_studio: LabelStudioServer, tmp_path: Path) -> Path:
    """A data folder of its own with a database already made, which saves a boot 20 seconds."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in (".env", "login.json"):
        shutil.copy(label_studio.data_dir / name, folder)
    source = sqlite3.connect(label_studio.data_dir / "label_studio.sqlite3")
    target = sqlite3.connect(folder / "label_studio.sqlite3")
    source.backup(target)
    source.close()
    target.close()
    return folder


def test_it_answers_as_its_owner_on_loopback_only(label_studio: LabelStudioServer) -> None:
    me = Api(label_studio.url, label_studio.token).call("GET", "/api/current-user/whoami")
    assert me["email"] == label_studio.email
    assert listening(label_studio.pid) == {("127.0.0.1", label_studio.port)}


def test_it_sends_nothing_home(label_studio: LabelStudioServer) -> None:
    version = requests.get(f"{label_studio.url}/api/version", timeout=30).json()
    assert version["release"] == VERSION
    assert version["label-studio-os-package"]["latest_version_from_pypi"] is None


def test_it_stops_and_comes_back_with_its_data_and_leaves_nothing(data_dir: Path) -> None:
    with label_studio_server(data_dir) as server:
        first, port = server.pid, server.port
        project = Api(server.url, server.token).call("POST", "/api/projects/", {"title": "Kept"})["id"]
        server.restart()
        assert (server.pid != first, server.port) == (True, port)
        assert Api(server.url, server.token).call("GET", f"/api/projects/{project}/")["title"] == "Kept"
        second = server.pid
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < guard.PATIENCE / 2, "it had to be killed"
        server.stop()
    assert not alive(first)
    assert not alive(second)
    assert is_free(port)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda sign: sign.name)
def test_no_server_outlives_a_caller_that_is_ended(data_dir: Path, sign: signal.Signals) -> None:
    caller = subprocess.Popen([sys.executable, "-c", HOLD, str(data_dir)], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    pid, port = map(int, caller.stdout.readline().split())
    assert alive(pid)
    caller.send_signal(sign)
    caller.wait(timeout=30)
    caller.stdout.close()
    until(lambda: not alive(pid), seconds=20)
    assert is_free(port)


def test_a_taken_port_is_said_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(FixConfiguration, match=f"Port {port} "), label_studio_server(tmp_path, port):
            pass
    assert not (tmp_path / "server.log").exists()


def test_a_port_lost_in_the_race_is_tried_again_elsewhere(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look at a free port and the server's, another program takes it and even answers like a server."""
    impostor = subprocess.Popen([sys.executable, "-c", _IMPOSTOR], stdout=subprocess.PIPE, text=True)
    assert impostor.stdout is not None
    taken = int(impostor.stdout.readline())
    offered = iter([taken])
    monkeypatch.setattr(base, "free_port", lambda: next(offered, None) or free_port())
    monkeypatch.setattr(base, "is_free", lambda port: port == taken or is_free(port))
    try:
        with label_studio_server(data_dir) as server:
            assert server.port != taken
            assert Api(server.url, server.token).call("GET", "/api/current-user/whoami")["email"] == server.email
    finally:
        impostor.terminate()
        impostor.wait()
        impostor.stdout.close()


_IMPOSTOR = """
import http.server
class Up(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"status": "UP"}')
    def log_message(self, *a): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Up)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_a_boot_that_fails_shows_the_end_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "label_studio.sqlite3").write_text("this is no database")
    with (
        pytest.raises(ServerFailed, match=r"(?s)ended while it was starting.*not a database"),
        label_studio_server(tmp_path),
    ):
        pass


def test_the_login_stays_that_of_the_folder_and_is_for_its_owner_only(label_studio: LabelStudioServer) -> None:
    kept = label_studio.data_dir / "login.json"
    assert json.loads(kept.read_text())["password"] == label_studio.password
    assert kept.stat().st_mode & 0o077 == 0
    assert label_studio.password not in label_studio.log.read_text()
    assert label_studio.token not in label_studio.log.read_text()


def test_seeding_gives_what_it_says(label_studio: LabelStudioServer) -> None:
    seeded = seed_sentiment(label_studio.url, label_studio.token, "seed-password", n_tasks=40)
    owner = Api(label_studio.url, label_studio.token)
    tasks = owner.call("GET", f"/api/projects/{seeded.id}/export", exportType="JSON", download_all_tasks="true")
    submitted = [a for task in tasks for a in task["annotations"] if not a["was_cancelled"]]
    assert [task["id"] for task in sorted(tasks, key=lambda task: task["id"])] == list(seeded.task_ids)
    assert len(submitted) == seeded.n_annotations
    assert {a["completed_by"] for a in submitted} == {rater.id for rater in seeded.raters}
    assert {a["result"][0]["value"]["choices"][0] for a in submitted} == set(CATEGORIES)
    assert sum(len(task["drafts"]) for task in tasks) == 2
    assert any(a["was_cancelled"] for task in tasks for a in task["annotations"])
    owner.call("DELETE", f"/api/projects/{seeded.id}/")
