"""A server on loopback that answers what a test tells it to, and can be told to fail: what the recorded tools share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

JSON = "application/json"


class Answer(Exception):
    """What to send back."""

    def __init__(
        self, status: int, body: Any = None, kind: str = JSON, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status)
        self.status, self.body, self.kind, self.headers = status, body, kind, dict(headers or {})
        self.cut: int | None = None
        """Bytes of the body after which the connection breaks."""


Fault = Callable[["Request"], "Answer | None"]
"""Looks at a request before it is handled: an Answer to give instead, or None to let it pass; may raise `Hangup`."""


class Hangup(Exception):
    """The connection is closed without an answer."""


class Request:
    def __init__(self, method: str, path: str, params: dict[str, str], body: Any, headers: Message) -> None:
        self.method, self.path, self.params, self.body, self.headers = method, path, params, body, headers

    @property
    def is_page(self) -> bool:
        """Whether it asks for a page of tasks or records."""
        return self.method == "GET" and self.path.rstrip("/").endswith(("/api/tasks", "/records"))


class Served:
    """The server; `with` runs it in a thread. `sub_path` puts it under a path of its host; `page` is what other paths
    get."""

    page = "<!doctype html><html><head><title>404</title></head><body></body></html>"

    def __init__(self, sub_path: str = "") -> None:
        self.sub_path = sub_path.rstrip("/")
        self.faults: list[Fault] = []
        self.log: list[Request] = []
        self._lock = threading.RLock()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.sub_path}"

    def start(self) -> None:
        """Listen; again on the same port after `stop`."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server.end_connections()
        self._thread.join()
        self._server = None

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        self.faults.append(fault)
        try:
            yield
        finally:
            self.faults.remove(fault)

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.log.append(request)
            for fault in list(self.faults):
                instead = fault(request)
                if instead is not None:
                    return instead
            return self.real(request)

    def real(self, request: Request) -> Answer:
        """What a server without faults answers."""
        try:
            self._route(request)
        except Answer as answer:
            return answer
        raise AssertionError("every route answers")

    def _route(self, request: Request) -> None:
        """Raise the answer."""
        raise NotImplementedError


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *args: Any) -> None:
        self.connections: set[Any] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """A server that goes down takes its open connections along."""
        for connection in list(self.connections):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are no news."""


def _handler(server: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            address = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            params = {key: values[-1] for key, values in parse_qs(address.query).items()}
            path = address.path
            if not path.startswith(server.sub_path + "/"):
                self._send(Answer(404, server.page, "text/html"))
                return
            body = json.loads(raw) if raw else None
            request = Request(self.command, path.removeprefix(server.sub_path), params, body, self.headers)
            try:
                self._send(server.answer(request))
            except Hangup:
                self.close_connection = True

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve

        def _send(self, answer: Answer) -> None:
            body = answer.body
            text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
            data = text.encode()
            self.send_response(answer.status)
            if answer.kind:
                self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        def log_message(self, *args: Any) -> None:
            """Nothing on standard error."""

    return Handler
