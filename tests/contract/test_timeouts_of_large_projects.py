"""LS-14: fetching a large project runs into the time limits of clients, snapshots and proxies.

Tasks are fetched by pages, never as one export; a page that timed out is asked for again, and where that does not help
no part of it is measured, kept or pushed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connector.errors import RetryLater
from tests.contract.label_studio_world import PAGE, TASKS
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request
from tests.contract.synced_project import SyncedProject, writes

REPORT = json.loads((Path(__file__).parents[1] / "cases" / "reports.json").read_text("utf-8"))["reports"]["LS-14"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[SyncedProject]:
    with RecordedLabelStudio() as server:
        project = SyncedProject(server, tmp_path)
        yield project
        project.close()


def gateway_timeouts(times: int, page: int = 1) -> Callable[[Request], Answer | None]:
    """A proxy that gives up on the page of this number, counted from 1, so many times."""
    seen: list[Request] = []

    def fault(request: Request) -> Answer | None:
        if not request.is_page:
            return None
        seen.append(request)
        return Answer(504, "<html>504</html>", "text/html") if page <= len(seen) < page + times else None

    return fault


def test_a_page_that_timed_out_twice_is_asked_for_again(project: SyncedProject) -> None:
    times = REPORT["input"]["server"].count("timeout")
    with project.server.failing(gateway_timeouts(times)):
        pages = list(project.world.tool().pull())
    assert len(pages[0].units) == REPORT["expected"]["tasks"] == PAGE
    assert sum(len(page.units) for page in pages) == TASKS


def test_no_export_and_no_snapshot_is_asked_for(project: SyncedProject) -> None:
    with project.counting() as calls:
        project.sync()
    assert calls
    assert not [one for one in calls if "export" in str(one)]


@pytest.mark.parametrize("synced_before", [False, True])
def test_a_page_that_never_comes_leaves_no_part_of_the_pull_and_pushes_nothing(
    project: SyncedProject, synced_before: bool
) -> None:
    if synced_before:
        project.sync()
        project.answer(102, "Positive", "Positive")
    before = project.world.state()
    with project.store() as store:
        held = list(store.units(project.source))
    gone = pytest.raises(RetryLater, match="overloaded or restarting")
    with project.server.failing(gateway_timeouts(999, page=2)), project.counting() as calls, gone:
        project.sync(full=True)
    with project.store() as store:
        assert list(store.units(project.source)) == held
    assert writes(calls) == []
    assert project.world.state() == before
    assert project.sync().pulled.fetched >= 1, "the next run does all of it"
