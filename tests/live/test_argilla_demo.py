"""The live demo on Argilla: seeded and synced once, found again at the same address with nothing left to write."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from connector.config import load
from connector.demo.argilla_seed import ArgillaApi
from connector.demo.live import Kept, _kept
from connector.demo.process import is_free
from connector.demo.server import kept_login

PROGRAM = """
import sys
from pathlib import Path
from connector.cli import _demo_sync
from connector.demo.live import ArgillaDemo, run_live
run_live(ArgillaDemo(), _demo_sync("argilla"), folder=Path(sys.argv[1]))
"""


@dataclass
class Visit:
    """What a run printed until it waits for Ctrl-C, what it kept, and the owner's API while it runs."""

    printed: str
    kept: Kept
    api: ArgillaApi
    password: str


@contextmanager
def visiting(folder: Path) -> Iterator[Visit]:
    """A run of the demo; ended by Ctrl-C, which is its normal end."""
    caller = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert caller.stdout is not None
    lines: list[str] = []
    while "Ctrl-C ends it" not in "".join(lines[-1:]):
        lines.append(caller.stdout.readline())
        assert lines[-1], caller.communicate()[1][-3000:]
    kept = _kept(folder)
    assert kept is not None
    login = kept_login(folder / "server", dict)
    api = ArgillaApi(f"http://127.0.0.1:{kept.port}", login["api_key"])
    yield Visit("".join(lines), kept, api, login["password"])
    api.close()
    caller.send_signal(signal.SIGINT)
    rest, progress = caller.communicate(timeout=60)
    assert (caller.returncode, rest, "Traceback" in progress) == (0, "", False)
    assert is_free(kept.port)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "argilla"


def test_the_first_run_seeds_syncs_and_says_where_to_look_and_how_to_log_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visiting(folder) as visit:
        page = re.search(r"Argilla is running: (\S+)", visit.printed)
        assert page is not None
        assert page[1] == f"http://127.0.0.1:{visit.kept.port}{visit.kept.page}"
        assert re.search(rf"log in as +owner +with the password +{re.escape(visit.password)}\n", visit.printed)
        assert "ada, ben, cleo, dan" in visit.printed

        records = visit.api.call("GET", f"{visit.kept.api}/records", limit=1000)["items"]
        assert len(records) == 500
        assert all({"product", "iaa_status", "iaa_agreement_sentiment"} <= set(r["metadata"]) for r in records)
        reviews = f"/api/v1/datasets/{_review_dataset(visit)}/records"
        conflicts = sum(record["metadata"]["iaa_status"] == "conflict" for record in records)
        assert visit.api.call("GET", reviews, limit=1)["total"] == conflicts > 0

        monkeypatch.setenv("ARGILLA_API_KEY", "any")
        assert load(folder / "connector" / "config.yaml").review is not None


def test_the_next_run_finds_the_same_dataset_at_the_same_address_and_writes_nothing(folder: Path) -> None:
    before = _kept(folder)
    with visiting(folder) as visit:
        assert visit.kept == before
        assert "Nothing to write" in visit.printed


def _review_dataset(visit: Visit) -> str:
    """The id of the one other dataset there is."""
    datasets = {dataset["id"] for dataset in visit.api.call("GET", "/api/v1/me/datasets")["items"]}
    (other,) = datasets - {visit.kept.api.rpartition("/")[2]}
    return str(other)
