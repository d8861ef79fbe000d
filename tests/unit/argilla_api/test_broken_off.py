"""A reading that is broken off in the middle leaves no thread, no connection and no warning behind."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connector.tools.argilla import read
from tests.contract.recorded_argilla import RecordedArgilla
from tests.contract.served import Answer, Fault, Hangup, Request
from tests.unit.argilla_api.conftest import Make

PAGES = 3


class Broken(Exception):
    """What the caller of a reading fails of."""


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What nobody can catch: warnings and failures of objects that are thrown away."""
    found: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: found.append(repr(what)))
    monkeypatch.setattr(threading, "excepthook", lambda what: found.append(repr(what)))
    return found


def sockets() -> int:
    """How many this process has open."""
    here = Path("/proc/self/fd")
    if not here.exists():
        pytest.skip("no list of open files on this system")
    names = []
    for one in here.iterdir():
        try:
            names.append(str(one.readlink()))
        except OSError:
            continue
    return sum(name.startswith("socket:") for name in names)


def workers() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == "ahead" or one.name.endswith("(work)")]


def from_page_two(act: Callable[[], Answer | None]) -> Fault:
    """Every page but the first is answered so."""

    def fault(request: Request) -> Answer | None:
        return act() if request.is_page and request.params.get("offset") != "0" else None

    return fault


def quick() -> None:
    return None


def slow() -> None:
    time.sleep(0.3)


def failing() -> Answer:
    return Answer(422, {"detail": "no"})


def cut() -> Answer:
    answer = Answer(200, '{"items": [{"id": "1", "da' + "x" * 100, "application/json")
    answer.cut = 40
    return answer


def hung_up() -> None:
    raise Hangup


def closed(pages: Iterator[Any]) -> None:
    pages.close()  # type: ignore[attr-defined]


def thrown(pages: Iterator[Any]) -> None:
    with pytest.raises(Broken):
        pages.throw(Broken())  # type: ignore[attr-defined]


def dropped(pages: Iterator[Any]) -> None:
    del pages


@pytest.mark.parametrize("answer", [quick, slow, failing, cut, hung_up])
@pytest.mark.parametrize("breaking", [closed, thrown, dropped])
@pytest.mark.parametrize("page", range(PAGES + 1))
def test_it_is_broken_off_at_any_page(
    page: int,
    breaking: Callable[[Iterator[Any]], None],
    answer: Callable[[], Answer | None],
    server: RecordedArgilla,
    make: Make,
    complaints: list[str],
) -> None:
    if answer not in (quick, slow):
        page = min(page, 1)  # the second does not come
    before = sockets()
    tool = make()
    tool.open()
    with server.failing(from_page_two(answer)):
        pages = tool.pull()
        for _ in range(page):
            next(pages)
        breaking(pages)
        del pages
        assert workers() == []
        tool.close()
    gc.collect()
    assert complaints == []
    wait_until(lambda: sockets() == before)


def test_a_caller_that_fails_in_its_loop_leaves_nothing_either(
    server: RecordedArgilla, make: Make, complaints: list[str]
) -> None:
    before = sockets()
    tool = make()

    def looping() -> None:
        for _ in tool.pull():
            raise Broken

    with server.failing(from_page_two(slow)), pytest.raises(Broken):
        looping()
    assert workers() == []
    tool.close()
    gc.collect()
    assert complaints == []
    wait_until(lambda: sockets() == before)


def test_an_answer_that_does_not_come_soon_keeps_nobody_waiting(
    server: RecordedArgilla, make: Make, complaints: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "LEAVE", 0.1)
    late = threading.Event()
    before = sockets()
    tool = make()

    def hanging() -> None:
        late.wait(10)

    with server.failing(from_page_two(hanging)):
        pages = tool.pull()
        next(pages)
        started = time.monotonic()
        closed(pages)
        assert time.monotonic() - started < 2
        late.set()
        wait_until(lambda: workers() == [])
    tool.close()
    gc.collect()
    assert complaints == []
    wait_until(lambda: sockets() == before)


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """The server's own side of a connection is closed a moment later."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
