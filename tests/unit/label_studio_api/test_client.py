"""Tokens, addresses, patience, and failures that say what to do."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from connector.errors import FixAccess, FixConfiguration, NotThere, RetryLater, ToolTrouble, UnexpectedAnswer
from connector.tools import http as http_module
from connector.tools.http import Refused
from connector.tools.label_studio.client import Client, kind_of
from tests.contract.recorded_label_studio import HTML, Answer, Hangup, RecordedLabelStudio, Request


@pytest.fixture
def legacy(server: RecordedLabelStudio) -> Iterator[Client]:
    client = Client(server.url, server.legacy_token, patience=1.0)
    yield client
    client.close()


@pytest.fixture
def personal(server: RecordedLabelStudio) -> Iterator[Client]:
    client = Client(server.url, SecretStr(server.personal_token), patience=1.0)
    yield client
    client.close()


def refuse_all(status: int, body: Any = None, kind: str = "application/json") -> Any:
    return lambda request: Answer(status, body if body is not None else {"detail": "no"}, kind)


def base_url(url: str) -> str:
    return http_module.base_url(url, "Label Studio")


@contextmanager
def sending(*pieces: bytes, wait: float = 0.0) -> Iterator[Client]:
    """A client of a server that sends just these bytes to every call, with a pause after each piece."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                try:
                    for piece in pieces:
                        connection.sendall(piece)
                        if ended.wait(wait):
                            return
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", "token", patience=0.3)
    try:
        yield client
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        client.close()
        thread.join(2)


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers)
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


JSON = "Content-Type: application/json"


# Tokens


def test_a_personal_access_token_is_traded_and_used_as_bearer(server: RecordedLabelStudio, personal: Client) -> None:
    personal.get("api/projects/")
    personal.get("api/projects/")
    assert server.refreshes == 1
    assert [one.headers["Authorization"].split()[0] for one in server.log if "token" not in one.path] == ["Bearer"] * 2


def test_the_refresh_token_goes_only_into_the_refresh_call(server: RecordedLabelStudio, personal: Client) -> None:
    personal.get("api/projects/")
    sent = [request for request in server.log if server.personal_token in str(request.headers)]
    assert sent == []
    refresh = [request for request in server.log if request.path == "/api/token/refresh/"]
    assert [request.body for request in refresh] == [{"refresh": server.personal_token}]


def test_an_access_token_that_expires_in_mid_run_is_renewed() -> None:
    """LS-15: it expires after three requests, five are made: two trades."""
    with RecordedLabelStudio(access_lives=3) as server:
        client = Client(server.url, server.personal_token)
        for _ in range(5):
            client.get("api/projects/")
        assert server.refreshes == 2
        client.close()


def test_it_is_renewed_before_it_expires(
    server: RecordedLabelStudio, personal: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    personal.get("api/projects/")
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 239)
    personal.get("api/projects/")
    assert server.refreshes == 1
    monkeypatch.setattr("time.monotonic", lambda: now + 241)
    personal.get("api/projects/")
    assert server.refreshes == 2


def test_a_creating_call_that_meets_an_expired_token_creates_once() -> None:
    with RecordedLabelStudio(access_lives=1) as server:
        client = Client(server.url, server.personal_token)
        client.get("api/projects/")
        body = {"title": "Once", "label_config": "<View/>"}
        client.call("POST", "api/projects/", body=body, repeatable=False)
        assert len(server.projects) == 1
        client.close()


def test_a_server_that_refuses_every_access_token_is_asked_twice_not_forever(
    server: RecordedLabelStudio, personal: Client
) -> None:
    def refuse(request: Request) -> Answer | None:
        return None if "token" in request.path else Answer(401, {"detail": "no"})

    with server.failing(refuse), pytest.raises(FixAccess):
        personal.get("api/projects/")
    assert sum("token" not in request.path for request in server.log) == 2


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("0123456789abcdef0123456789abcdef01234567", "legacy token"),
        ("aaa.bbb.ccc", "personal access token"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjogInJlZnJlc2gifQ.xxx", "personal access token"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjogImFjY2VzcyJ9.xxx", "access token"),
        ("a.b", "legacy token"),
    ],
)
def test_kinds_of_token_are_told_apart(token: str, kind: str) -> None:
    assert kind_of(token) == kind


def test_a_refused_legacy_token_names_the_page_the_kind_and_the_switch(server: RecordedLabelStudio) -> None:
    server.legacy_enabled = False
    client = Client(server.url, server.legacy_token)
    with pytest.raises(FixAccess) as caught:
        client.get("api/projects/")
    text = str(caught.value)
    for part in ("Account & Settings", "Personal Access Token", "legacy token", "switched off", "401"):
        assert part in text
    assert caught.value.exit_code == 4
    client.close()


def test_a_refused_personal_token_says_so(server: RecordedLabelStudio) -> None:
    client = Client(server.url, "aaa.bbb.ccc")
    with pytest.raises(FixAccess, match=r"refused the personal access token.*Account & Settings"):
        client.get("api/projects/")
    client.close()


def test_an_access_token_given_as_key_works_and_its_refusal_says_what_it_is(server: RecordedLabelStudio) -> None:
    access = "eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjogImFjY2VzcyJ9.sig"
    server._access[access] = 1
    client = Client(server.url, access)
    assert client.get("api/projects/")["count"] == 0
    with pytest.raises(FixAccess, match="five minutes"):
        client.get("api/projects/")
    client.close()


def test_an_empty_token_is_refused_before_any_call() -> None:
    with pytest.raises(FixAccess, match="empty"):
        Client("http://127.0.0.1:1", "  ")


def test_blanks_around_a_token_do_no_harm(server: RecordedLabelStudio) -> None:
    client = Client(server.url, f" {server.legacy_token}\n")
    assert client.get("api/projects/")["count"] == 0
    client.close()


def test_no_secret_in_any_repr(legacy: Client, personal: Client, server: RecordedLabelStudio) -> None:
    personal.get("api/projects/")
    text = repr(legacy) + repr(personal) + repr(legacy.auth) + repr(personal.auth) + repr(vars(personal.auth))
    assert server.legacy_token not in text
    assert server.personal_token not in text
    assert not any(access in text for access in server._access)


def test_a_token_that_the_server_echoes_is_scrubbed(server: RecordedLabelStudio, personal: Client) -> None:
    def echo(request: Request) -> Answer | None:
        return (
            Answer(400, {"detail": f"bad {request.headers['Authorization']}"}) if "token" not in request.path else None
        )

    with server.failing(echo), pytest.raises(Refused) as caught:
        personal.get("api/projects/")
    assert "[token]" in str(caught.value)
    assert not any(access in str(caught.value) for access in server._access)


PIECES = [
    lambda token: token,
    lambda token: token.upper(),
    lambda token: token[:30],
    lambda token: token[-20:],
    lambda token: f"x{token[5:17]}y",
    lambda token: token[::1].swapcase(),
    lambda token: f"{token}{token}",
    lambda token: "a" * 295 + token,
    lambda token: f"İ{token}",
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("where", ["detail", "location"])
@pytest.mark.parametrize("kind", ["legacy_token", "personal_token"])
def test_no_piece_of_a_token_is_shown_in_any_case(
    server: RecordedLabelStudio, piece: Any, where: str, kind: str
) -> None:
    client = Client(server.url, getattr(server, kind), patience=0.5)
    shown: list[str] = []

    def echo(request: Request) -> Answer | None:
        if "token" in request.path:
            return None
        shown.append(request.headers["Authorization"].split()[1])
        said = piece(shown[-1])
        if where == "detail":
            return Answer(400, {"detail": f"bad {said} end"})
        return Answer(
            302, "", "text/html", {"Location": f"http://127.0.0.1/{said.encode('ascii', 'ignore').decode()}/api/"}
        )

    with server.failing(echo), pytest.raises(ToolTrouble) as caught:
        client.get("api/projects/")
    for secret in (shown[-1], getattr(server, kind)):
        pieces = {secret[at : at + 12].lower() for at in range(len(secret) - 11)}
        assert not [one for one in pieces if one in str(caught.value).lower()]
    if "İ" not in piece("t") and "a" * 100 not in piece("t"):
        assert "[token]" in str(caught.value)
    client.close()


def test_what_is_no_secret_is_shown_as_it_is(server: RecordedLabelStudio, legacy: Client) -> None:
    said = "Ärger mit legacy01234 und " + server.legacy_token[20:31]
    with server.failing(refuse_all(400, {"detail": said})), pytest.raises(Refused) as caught:
        legacy.get("api/projects/")
    assert said in str(caught.value)


@pytest.mark.parametrize("token", ["tökén0123456789", "ab cd", "a\nb", "\ud83dabcdef", "a\x00b"])
def test_what_no_header_can_carry_is_refused_before_any_call(token: str) -> None:
    with pytest.raises(FixAccess) as caught:
        Client("http://127.0.0.1:1", token)
    assert token not in str(caught.value)


# Addresses


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("path", ["/api/projects/", "api/projects/"])
def test_a_sub_path_is_kept(slash: str, path: str) -> None:
    """LS-16"""
    assert base_url(f"https://h.example/ls{slash}") == "https://h.example/ls/"
    with RecordedLabelStudio(sub_path="/ls") as server:
        for token in (server.legacy_token, server.personal_token):
            client = Client(server.url + slash, token)
            assert client.get(path)["count"] == 0
            client.close()


@pytest.mark.parametrize(
    "url",
    [
        *("", "host:8080", "ftp://host/", "http://", "/label-studio"),
        *(
            "http://a..b/",
            "http://.a/",
            f"http://{'a' * 64}.org/",
            f"http://b.{'ä' * 60}.org/",
            "http://[",
            "http://[::1",
        ),
        *("http://a b/", "http://h:99999/", "http://h:x/", "http://h:0/", "http://[zz]/", "http://\ud83d/"),
    ],
)
def test_what_is_no_web_address_is_a_configuration_error(url: str) -> None:
    with pytest.raises(FixConfiguration, match="http"):
        base_url(url)


@pytest.mark.parametrize("url", ["http://a.b./", "http://[::1]:8080/", "http://münchen.example/", "http://a_b:80/"])
def test_odd_names_that_a_host_can_have_pass(url: str) -> None:
    assert base_url(url) == url


def test_an_address_that_only_the_call_finds_wrong_is_no_bug(legacy: Client) -> None:
    legacy.url = f"http://{'a' * 64}.example/"
    with pytest.raises(ToolTrouble, match="web address"):
        legacy.get("api/version")


@pytest.mark.parametrize(
    "location",
    [*("http://[", "http://[::1", "http://a:99999999/x", "http://\xff\xfe/\xe4", "//[", "?\xff", "", "http:// /"), "%"],
)
def test_a_redirect_to_nowhere_is_told(location: str) -> None:
    with (
        sending(http(b"", f"Location: {location}", status="302 Found")) as client,
        pytest.raises(UnexpectedAnswer) as caught,
    ):
        client.get("api/projects/")
    assert "redirects" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_password_in_the_url_is_refused_without_being_shown() -> None:
    with pytest.raises(FixConfiguration) as caught:
        base_url("https://me:hunter2@h.example/")
    assert "hunter2" not in str(caught.value)


def test_a_query_in_the_url_is_dropped() -> None:
    assert base_url("https://h.example/ls/?token=abc#x") == "https://h.example/ls/"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("kind", ["legacy_token", "personal_token"])
def test_no_redirect_takes_a_token_to_another_host(status: int, kind: str) -> None:
    with RecordedLabelStudio() as server, RecordedLabelStudio() as elsewhere:
        client = Client(server.url, getattr(server, kind))

        def redirect(request: Request) -> Answer | None:
            return Answer(status, "", "text/html", {"Location": elsewhere.url + request.path})

        with server.failing(redirect), pytest.raises(UnexpectedAnswer) as caught:
            client.get("api/projects/")
        assert elsewhere.log == []
        assert elsewhere.url in str(caught.value)
        client.close()


def test_a_login_page_is_named(server: RecordedLabelStudio, legacy: Client) -> None:
    redirect = Answer(302, "", "text/html", {"Location": "/user/login/?next=/api/projects/"})
    with server.failing(lambda request: redirect), pytest.raises(UnexpectedAnswer, match="login page"):
        legacy.get("api/projects/")


@pytest.mark.parametrize("status", [200, 404])
def test_html_instead_of_json_says_what_the_url_must_be(
    server: RecordedLabelStudio, legacy: Client, status: int
) -> None:
    with server.failing(refuse_all(status, HTML, "text/html")), pytest.raises(UnexpectedAnswer, match="start page"):
        legacy.get("api/projects/")


# Patience


def test_a_dead_server_is_reported_within_seconds() -> None:
    client = Client("http://127.0.0.1:9", "token")
    started = time.monotonic()
    with pytest.raises(RetryLater, match=r"cannot be reached \(connection refused\)"):
        client.get("api/version")
    assert time.monotonic() - started < 6
    client.close()


def test_an_unknown_host_is_named_as_such() -> None:
    client = Client("http://no-such-host.invalid", "token", patience=0.1)
    with pytest.raises(RetryLater, match="not known"):
        client.get("api/version")
    client.close()


def test_overload_is_waited_out(server: RecordedLabelStudio, legacy: Client) -> None:
    times = []

    def twice(request: Request) -> Answer | None:
        times.append(request)
        return Answer(503, HTML, "text/html") if len(times) < 3 else None

    with server.failing(twice):
        assert legacy.get("api/projects/")["count"] == 0
    assert len(times) == 3


@pytest.mark.parametrize("status", [429, 502, 503, 504, 500])
def test_a_creating_call_is_sent_once(server: RecordedLabelStudio, legacy: Client, status: int) -> None:
    with server.failing(refuse_all(status)), pytest.raises(ToolTrouble):
        legacy.call("POST", "api/projects/", body={}, repeatable=False)
    assert len(server.log) == 1


def test_a_creating_call_whose_answer_is_lost_is_sent_once(server: RecordedLabelStudio, legacy: Client) -> None:
    def lost(request: Request) -> Answer | None:
        server.real(request)
        raise Hangup

    body = {"title": "Once", "label_config": "<View/>"}
    with server.failing(lost), pytest.raises(RetryLater):
        legacy.call("POST", "api/projects/", body=body, repeatable=False)
    assert len(server.projects) == 1


def test_a_500_is_asked_twice_and_no_more(server: RecordedLabelStudio, legacy: Client) -> None:
    """A client's mistake is a 500 here as well: waiting seldom helps."""
    with server.failing(refuse_all(500, {"detail": "time data does not match"})), pytest.raises(Refused) as caught:
        legacy.get("api/projects/")
    assert len(server.log) == 2
    assert "time data does not match" in str(caught.value)


def test_a_locked_database_is_tried_once_more(server: RecordedLabelStudio, legacy: Client) -> None:
    with server.failing(refuse_all(500, {"detail": "database is locked"})), pytest.raises(Refused, match="locked"):
        legacy.call("PATCH", "api/projects/1/", body={})
    assert len(server.log) == 2


def test_a_500_on_a_write_is_not_repeated(server: RecordedLabelStudio, legacy: Client) -> None:
    with server.failing(refuse_all(500)), pytest.raises(Refused):
        legacy.call("PATCH", "api/projects/1/", body={})
    assert len(server.log) == 1


@pytest.mark.parametrize("how", ["cut", "broken"])
def test_an_answer_that_breaks_off_once_is_asked_again(server: RecordedLabelStudio, legacy: Client, how: str) -> None:
    seen = []

    def once(request: Request) -> Answer | None:
        seen.append(request)
        if len(seen) > 1:
            return None
        answer = server.real(request)
        if how == "cut":
            answer.cut = 20
            return answer
        return Answer(200, '{"count": 0, "res', "application/json")

    with server.failing(once):
        assert legacy.get("api/projects/")["count"] == 0
    assert len(seen) == 2


def test_a_slow_server_is_reported_as_slow(server: RecordedLabelStudio, legacy: Client) -> None:
    def sleep(request: Request) -> Answer | None:
        time.sleep(0.3)
        return None

    with server.failing(sleep), pytest.raises(RetryLater, match="did not answer in time"):
        legacy.call("POST", "api/projects/", body={}, repeatable=False, seconds=0.1)


# Time and size


def test_a_body_that_drips_is_given_up() -> None:
    """Each byte starts the connection's own time-out anew."""
    head = http(b" " * 9999, JSON)[:-9999]
    with sending(head, *[b" "] * 9999, wait=0.05) as client:
        started = time.monotonic()
        with pytest.raises(RetryLater, match="in time"):
            client.call("GET", "api/projects/", seconds=0.6)
        assert time.monotonic() - started < 3


def test_headers_that_drip_are_given_up() -> None:
    with sending(b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 9999, wait=0.05) as client:
        started = time.monotonic()
        with pytest.raises(RetryLater, match="in time"):
            client.call("GET", "api/projects/", seconds=0.6)
        assert time.monotonic() - started < 4


def test_a_slow_but_steady_answer_is_read_to_its_end() -> None:
    answer = http(b'{"a": "' + b"x" * 100 + b'"}', JSON)
    with sending(*(answer[at : at + 20] for at in range(0, len(answer), 20)), wait=0.02) as client:
        assert client.call("GET", "api/projects/", seconds=2.0) == {"a": "x" * 100}


@pytest.mark.parametrize("encoding", ["gzip", None])
def test_an_answer_of_any_size_is_not_read_on(encoding: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of compressed ones what counts is what they unpack to."""
    monkeypatch.setattr(http_module, "MOST_BYTES", 1 << 20)
    content = b"[" * (3 << 20)
    headers = [JSON, *(["Content-Encoding: gzip"] if encoding else [])]
    body = gzip.compress(content) if encoding else content
    with sending(http(body, *headers)) as client, pytest.raises(UnexpectedAnswer, match="more than 1 MB"):
        client.get("api/projects/")


def test_a_compressed_answer_is_unpacked() -> None:
    with sending(http(gzip.compress(b'{"a": 1}'), JSON, "Content-Encoding: gzip")) as client:
        assert client.get("api/projects/") == {"a": 1}


def test_what_cannot_be_unpacked_is_told() -> None:
    with sending(http(b"no gzip", JSON, "Content-Encoding: gzip")) as client, pytest.raises(RetryLater):
        client.get("api/projects/")


def waited(legacy: Client, server: RecordedLabelStudio, answers: Iterable[Answer | None]) -> tuple[float, Any]:
    left = iter(answers)
    started = time.monotonic()
    outcome: Any
    with server.failing(lambda request: next(left)):
        try:
            outcome = legacy.get("api/projects/")
        except ToolTrouble as trouble:
            outcome = trouble
    return time.monotonic() - started, outcome


def overloaded(after: str) -> Iterator[Answer]:
    while True:
        yield Answer(429, {"detail": "slow down"}, headers={"Retry-After": after})


@pytest.mark.parametrize("after", ["999999999", "junk", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_server_that_was_never_met_is_not_waited_for_as_long_as_it_asks(
    server: RecordedLabelStudio, after: str
) -> None:
    client = Client(server.url, server.legacy_token, patience=75.0)
    seconds, outcome = waited(client, server, overloaded(after))
    assert isinstance(outcome, RetryLater)
    assert seconds < 6
    client.close()


@pytest.mark.parametrize("after", ["999999999", "junk"])
def test_what_it_asks_for_is_waited_no_longer_than_the_patience(
    server: RecordedLabelStudio, legacy: Client, after: str
) -> None:
    legacy.get("api/projects/")
    seconds, outcome = waited(legacy, server, overloaded(after))
    assert isinstance(outcome, RetryLater)
    assert 0.9 < seconds < 3


def test_what_it_asks_for_is_waited(server: RecordedLabelStudio) -> None:
    client = Client(server.url, server.legacy_token, patience=20.0)
    client.get("api/projects/")
    seconds, outcome = waited(client, server, [Answer(429, {}, headers={"Retry-After": "1"})] * 2 + [None])
    assert outcome["count"] == 0
    assert 2 <= seconds < 5
    client.close()


@pytest.mark.parametrize(
    ("date", "at"),
    [
        ("Sun, 29 Nov 2026 22:00:00 GMT", datetime(2026, 11, 29, 22, tzinfo=UTC)),
        ("Sun, 29 Nov 2026 22:00:00 -0000", datetime(2026, 11, 29, 22, tzinfo=UTC)),
        ("Sun, 29 Nov 2026 22:00:00", datetime(2026, 11, 29, 22, tzinfo=UTC)),
        ("Sun, 29 Nov 2026 22:00:00 +9999", None),
        ("junk", None),
        ("", None),
    ],
)
def test_the_servers_clock(date: str, at: datetime | None) -> None:
    with sending(http(b"{}", JSON, f"Date: {date}")) as client:
        client.get("api/projects/")
    assert (client.asked_at is None) is (at is None)
    if at is not None and client.asked_at is not None:
        assert client.asked_at.tzinfo is not None
        assert abs((client.asked_at - at).total_seconds()) < 5


# Failures


def test_403_says_which_call_lacks_which_right(server: RecordedLabelStudio, legacy: Client) -> None:
    detail = {"detail": "You do not have permission to perform this action."}
    with server.failing(refuse_all(403, detail)), pytest.raises(FixAccess, match=r"PATCH /api/projects/1/.*permission"):
        legacy.call("PATCH", "api/projects/1/", body={})


def test_404_in_json_is_a_thing_that_is_not_there(legacy: Client) -> None:
    with pytest.raises(NotThere, match="No Project matches"):
        legacy.get("api/projects/99/")


def test_what_the_server_refuses_is_told_in_its_words(legacy: Client) -> None:
    body = {"title": "x" * 51, "label_config": "<View/>"}
    with pytest.raises(Refused, match="no more than 50 characters"):
        legacy.call("POST", "api/projects/", body=body, repeatable=False)


def test_control_characters_of_the_server_do_not_reach_the_terminal(
    server: RecordedLabelStudio, legacy: Client
) -> None:
    with server.failing(refuse_all(400, {"detail": "a\x1b[31mred\x07\nline"})), pytest.raises(Refused) as caught:
        legacy.get("api/projects/")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [200, 400, 403, 500])
@pytest.mark.parametrize(
    "content", ["[" * 200_000, '{"a":' * 200_000, '{"detail":' + "[" * 100_000 + "]" * 100_000 + "}"]
)
def test_json_of_any_depth_is_no_bug(server: RecordedLabelStudio, legacy: Client, status: int, content: str) -> None:
    with server.failing(refuse_all(status, content)), pytest.raises(ToolTrouble) as caught:
        legacy.get("api/projects/")
    assert caught.value.__context__ is None


def test_a_number_of_any_length_is_no_bug(server: RecordedLabelStudio, legacy: Client) -> None:
    with (
        server.failing(refuse_all(200, '{"n": ' + "9" * 5000 + "}")),
        pytest.raises(UnexpectedAnswer, match="too many digits"),
    ):
        legacy.get("api/projects/")


@pytest.mark.parametrize("content", [[float("nan")], [float("inf")], "deep"])
def test_what_json_cannot_carry_is_refused_here(legacy: Client, content: Any) -> None:
    if content == "deep":
        for _ in range(100_000):
            content = [content]
    with pytest.raises(Refused):
        legacy.call("PATCH", "api/projects/1/", body=content)


@pytest.mark.parametrize("status", [400, 405, 500])
def test_a_refusal_says_what_to_do(server: RecordedLabelStudio, legacy: Client, status: int) -> None:
    with server.failing(refuse_all(status, {"detail": "boom"})), pytest.raises(Refused) as caught:
        legacy.get("api/tasks")
    assert f"refused GET /api/tasks ({status}: boom)" in str(caught.value)
    for part in ("again", "log", "filter or a field", "version"):
        assert part in (caught.value.hint or "")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 418, 422, 429, 500, 501, 502, 503, 504, 520])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_every_bad_status_becomes_a_trouble_of_the_tool(
    server: RecordedLabelStudio, legacy: Client, status: int, kind: str
) -> None:
    body = {"detail": "no"} if kind == "application/json" else HTML
    with server.failing(refuse_all(status, body, kind)), pytest.raises(ToolTrouble) as caught:
        legacy.call("POST", "api/projects/", body={}, repeatable=False)
    assert caught.value.exit_code == 4
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
