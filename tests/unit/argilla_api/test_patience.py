"""A server that goes away in the middle is waited for, equally long however its absence shows."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from urllib3 import HTTPResponse
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError, ProtocolError

from connector.errors import RetryLater
from connector.tools import http
from connector.tools.argilla.client import Client

PATIENCE = 0.4
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
ABSENT = ["refused", "closed", "reset", "gateway", "in turn"]


class Proxy:
    """What stands at the server's address: `state` says what it does with every connection."""

    def __init__(self) -> None:
        self.state = self._seen = "there"
        self.calls = 0
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]
        self._over = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._over = True
        self._thread.join()
        self._listener.close()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        listener.settimeout(0.02)
        return listener

    def become(self, state: str) -> None:
        """From here on; what waits for an answer still has the old one."""
        self.state = state
        while self._seen != state:
            time.sleep(0.001)

    def _serve(self) -> None:
        while not self._over:
            if self.state == "refused":
                self._listener.close()
                self._seen = "refused"
                while self.state == "refused" and not self._over:
                    time.sleep(0.001)
                self._listener = self._listen(self.port)
            self._seen = state = self.state
            with suppress(TimeoutError):
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection, state)

    def _answer(self, connection: socket.socket, state: str) -> None:
        self.calls += 1
        if state == "in turn":
            state = ("closed", "reset", "gateway")[self.calls % 3]
        if state == "closed":
            return
        connection.settimeout(2)
        with suppress(OSError):
            connection.recv(65536)
        if state == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        with suppress(OSError):
            connection.sendall(BUSY if state == "gateway" else OK)


@contextmanager
def served() -> Iterator[tuple[Proxy, Client]]:
    """A proxy, and a client that has met the server behind it."""
    proxy = Proxy()
    client = Client(f"http://127.0.0.1:{proxy.port}", "key", patience=PATIENCE)
    try:
        client.get("api/v1/me")
        yield proxy, client
    finally:
        client.close()
        proxy.close()


@pytest.mark.parametrize("state", ABSENT)
def test_it_is_waited_for_and_then_reported_with_what_to_do(state: str) -> None:
    with served() as (proxy, client):
        proxy.become(state)
        started = time.monotonic()
        with pytest.raises(RetryLater) as caught:
            client.get("api/v1/me")
        assert PATIENCE - 0.05 <= time.monotonic() - started < 3 * PATIENCE
    error = caught.value
    assert error.exit_code == 4
    assert error.hint == "Run the command again later."
    assert "overloaded or restarting (503)" in error.message or f"not back after {PATIENCE:g} seconds" in error.message


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("state", ABSENT)
def test_it_is_found_again_once_it_is_back(state: str, method: str) -> None:
    with served() as (proxy, client):
        proxy.become(state)
        back = threading.Timer(PATIENCE / 4, proxy.become, ["there"])
        back.start()
        assert client.call(method, "api/v1/me", body={}) == {}
        back.join()


@pytest.mark.parametrize("state", ["closed", "reset", "gateway"])
def test_a_creating_call_that_may_have_arrived_is_not_repeated(state: str) -> None:
    with served() as (proxy, client):
        proxy.become(state)
        proxy.calls = 0
        with pytest.raises(RetryLater) as caught:
            client.call("POST", "api/v1/me", body={}, repeatable=False)
        assert proxy.calls == 1
    assert "seconds" not in caught.value.message, "it was not waited for"


ERRORS: dict[str, Callable[[], dict[str, Any]]] = {
    "refused": lambda: {"error": NewConnectionError(None, "refused")},  # type: ignore[arg-type]
    "no way to it": lambda: {"error": ConnectTimeoutError()},
    "closed": lambda: {"error": ProtocolError("Connection aborted.", "Remote end closed connection")},
    "busy": lambda: {"response": HTTPResponse(status=503)},
}


def waited(kinds: list[str], methods: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds of waiting until the failures, of these kinds in turn, are no longer repeated."""
    now = [1000.0]
    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: now[0]))
    retry, step = http.retries(75.0, methods), 0
    try:
        while True:
            now[0] += 0.001  # the failure itself
            retry = retry.increment("POST", "/", **ERRORS[kinds[step % len(kinds)]]())
            now[0] += retry.get_backoff_time()
            step += 1
    except (MaxRetryError, ProtocolError):
        return now[0] - 1000.0


@pytest.mark.parametrize("kinds", [*([one] for one in ERRORS), ["closed", "refused", "busy"]])
def test_one_budget_covers_a_restart_of_any_kind(kinds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A real server was away for 25-30 seconds."""
    assert waited(kinds, None, monkeypatch) == pytest.approx(75.0, abs=0.1)


def test_a_creating_call_waits_only_where_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    once = frozenset({"HEAD"})
    assert waited(["refused"], once, monkeypatch) == pytest.approx(75.0, abs=0.1)
    assert waited(["closed"], once, monkeypatch) < 0.1


@pytest.mark.parametrize("asked", ["0", "1", "100000", "Fri, 31 Dec 2100 23:59:59 GMT", "soon"])
def test_what_the_server_asks_for_does_not_lengthen_it(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: now[0]))
    retry = http.retries(75.0, None)
    response = HTTPResponse(status=503, headers={"Retry-After": asked})
    try:
        while True:
            now[0] += 0.001
            retry = retry.increment("GET", "/", response=response)
            now[0] += retry.get_retry_after(response) or retry.get_backoff_time()
    except MaxRetryError:
        assert 1075.0 <= now[0] < 1075.1
