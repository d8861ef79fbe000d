"""What every test gets: no settings of the person who runs it, and the marker of its folder."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest

HERE = Path(__file__).parent

# A shared two-core machine makes single examples slow now and then; that is no fault of the code under test.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure() -> None:
    """A shell's background job ignores Ctrl-C, and so would every process that a test starts and interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE / "live"):
            item.add_marker(pytest.mark.live)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2` the live tests run in one process, since they share the servers, and all others in the other."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class LiveTogether(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "live" if nodeid.startswith("tests/live/") else nodeid

    return LiveTogether(config, log)


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and tokens of the person's own servers never reach a test, nor does a proxy."""
    for name in list(os.environ):
        if name.upper().startswith(("LABEL_STUDIO_", "ARGILLA_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
