"""Argilla's key, both forms of its refusals, and servers that are something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from connector.errors import FixAccess, NotThere, RetryLater, ToolTrouble, UnexpectedAnswer
from connector.tools.argilla.client import Client
from connector.tools.http import Refused
from tests.contract.recorded_argilla import PAGE, RECORDED, RecordedArgilla
from tests.contract.recorded_label_studio import HTML, RecordedLabelStudio
from tests.contract.served import Answer, Hangup, Request


@pytest.fixture
def client(server: RecordedArgilla) -> Iterator[Client]:
    client = Client(server.url, SecretStr(server.owner_key), patience=0.5)
    yield client
    client.close()


def always(status: int, body: Any, kind: str = "application/json") -> Any:
    return lambda request: Answer(status, body, kind)


def trouble(client: Client, path: str = "api/v1/me") -> ToolTrouble:
    with pytest.raises(ToolTrouble) as caught:
        client.get(path)
    assert caught.value.exit_code == 4
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


def test_the_key_goes_into_its_header_and_nowhere_else(server: RecordedArgilla, client: Client) -> None:
    client.get("api/v1/me/workspaces")
    (request,) = server.log
    assert request.headers["X-Argilla-Api-Key"] == server.owner_key
    assert server.owner_key not in repr(client) + repr(vars(client)) + repr(client.auth) + repr(vars(client.auth))


@pytest.mark.parametrize("key", ["", "  ", "ab cd", "schlüssel-des-hauses", "a\nb"])
def test_what_no_header_can_carry_is_refused_before_any_call(key: str) -> None:
    with pytest.raises(FixAccess) as caught:
        Client("http://127.0.0.1:1", key)
    assert not key.strip() or key not in str(caught.value)
    assert "My settings" in str(caught.value)


def test_a_wrong_key_says_where_keys_are(server: RecordedArgilla) -> None:
    client = Client(server.url, "a-key-of-nobody")
    said = str(trouble(client))
    assert "401: Could not validate credentials" in said
    assert "My settings" in said
    assert "ARGILLA_API_KEY" in said
    assert "Label Studio" not in said
    client.close()


@pytest.mark.parametrize("key", ["0123456789abcdef0123456789abcdef01234567", "eyJhbGciOiJI.eyJ0b2tlbl90.c2ln"])
def test_label_studios_token_is_told_for_what_it_is(server: RecordedArgilla, key: str) -> None:
    client = Client(server.url, key)
    error = trouble(client)
    assert isinstance(error, FixAccess)
    assert "form of a Label Studio token" in error.message
    assert key not in str(error)
    client.close()


def test_label_studios_address_is_told_for_what_it_is() -> None:
    with RecordedLabelStudio() as other:
        client = Client(other.url, "owner.apikey")
        with other.failing(always(404, HTML, "text/html")):
            error = trouble(client)
        assert isinstance(error, UnexpectedAnswer)
        assert error.message == f"The server at {other.url}/ is Label Studio, not Argilla."
        client.close()


def test_argillas_address_is_told_to_label_studio_for_what_it_is(server: RecordedArgilla) -> None:
    from connector.tools.label_studio.client import Client as Other

    other = Other(server.url, "0123456789abcdef0123456789abcdef01234567")
    with pytest.raises(UnexpectedAnswer, match="is Argilla, not Label Studio"):
        other.get("api/projects/")
    other.close()


@pytest.mark.parametrize("status", [200, 404])
def test_any_other_page_says_what_the_url_must_be(server: RecordedArgilla, client: Client, status: int) -> None:
    page = "<html><head><title>Welcome</title></head></html>"
    with server.failing(always(status, page, "text/html")):
        error = trouble(client)
    assert isinstance(error, UnexpectedAnswer)
    assert "start page" in str(error)


def test_the_page_of_its_own_interface_says_so_too(server: RecordedArgilla) -> None:
    client = Client(f"{server.url}/dataset", server.owner_key)
    error = trouble(client)
    assert isinstance(error, UnexpectedAnswer)
    assert "without /dataset/" in str(error)
    client.close()


def test_a_sub_path_is_kept() -> None:
    with RecordedArgilla(sub_path="/tools/argilla") as server:
        client = Client(f"{server.url}/", server.owner_key)
        assert client.get("api/v1/me")["role"] == "owner"
        client.close()


# Refusals


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("wrong key", FixAccess, "Could not validate credentials"),
        ("records, an annotator", FixAccess, "Operation not allowed"),
        ("no such dataset", NotThere, "not found"),
        ("no such place", UnexpectedAnswer, "Argilla 2 is needed"),
        ("too many records", Refused, "query.limit: Input should be less than or equal to 1000"),
        (
            "answer without values",
            Refused,
            "(500: builtins.AttributeError: 'NoneType' object has no attribute 'items')",
        ),
    ],
)
def test_what_a_real_server_refused_is_told_in_its_words(
    server: RecordedArgilla, client: Client, name: str, kind: type[ToolTrouble], said: str
) -> None:
    answer = RECORDED[name]
    with server.failing(always(answer["status"], answer["answer"])):
        error = trouble(client)
    assert type(error) is kind
    assert said in str(error)
    assert str(error).isprintable()


DOWN = {
    "search index": (
        "opensearchpy.exceptions.ConnectionError",
        "ConnectionError(Cannot connect to host 127.0.0.1:9200)",
    ),
    "Redis": ("redis.exceptions.ConnectionError", "Error 111 connecting to 127.0.0.1:6379. Connection refused."),
}
"""What a real 2.8.0 said while they were stopped."""


@pytest.mark.parametrize("part", DOWN)
def test_a_part_of_the_server_that_is_down_is_named(server: RecordedArgilla, client: Client, part: str) -> None:
    kind, message = DOWN[part]
    body = {"detail": {"code": "argilla.api.errors::GenericServerError", "params": {"type": kind, "message": message}}}
    with server.failing(always(500, body)):
        error = trouble(client)
    assert isinstance(error, Refused)
    assert f"does not reach its {part} (GET /api/v1/me: 500)" in error.message
    assert f"Start the {part}" in (error.hint or "")


@pytest.mark.parametrize(
    "body",
    [
        *({"detail": None}, {"detail": {}}, {"detail": {"code": "c"}}, {"detail": {"code": "c", "params": None}}),
        *({"detail": {"params": {"errors": []}}}, {"detail": {"params": {"errors": ["x", {"msg": "y"}, None]}}}),
        *({"detail": []}, [], "text", 7, None, {"error": "of another server"}),
    ],
)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500])
def test_a_refusal_of_any_form_is_no_bug(server: RecordedArgilla, client: Client, body: Any, status: int) -> None:
    with server.failing(always(status, body)):
        assert str(status) in str(trouble(client))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_overload_is_for_later(server: RecordedArgilla, client: Client, status: int) -> None:
    with server.failing(always(status, PAGE, "text/html")):
        assert type(trouble(client)) is RetryLater


def test_a_key_that_the_server_echoes_is_scrubbed(server: RecordedArgilla, client: Client) -> None:
    def echo(request: Request) -> Answer:
        return Answer(422, {"detail": f"bad \x1b[31m{request.headers['X-Argilla-Api-Key'].upper()} end"})

    with server.failing(echo):
        said = str(trouble(client))
    assert server.owner_key.upper() not in said
    assert "[token]" in said
    assert "\x1b" not in said


def test_a_reading_that_fails_once_is_asked_again(server: RecordedArgilla, client: Client) -> None:
    seen: list[Request] = []

    def once(request: Request) -> Answer | None:
        seen.append(request)
        return Answer(500, RECORDED["answer without values"]["answer"]) if len(seen) == 1 else None

    with server.failing(once):
        assert client.get("api/v1/version") == {"version": "2.8.0"}
    assert len(seen) == 2


def test_the_connection_that_a_500_resets_is_made_anew(server: RecordedArgilla, client: Client) -> None:
    """The server closes it without a word, and the next call would find it gone."""
    seen: list[Request] = []

    def reset(request: Request) -> Answer | None:
        seen.append(request)
        if len(seen) == 1:
            return Answer(500, {"detail": "no"})
        if len(seen) == 2:
            raise Hangup
        return None

    with server.failing(reset):
        with pytest.raises(Refused):
            client.call("PUT", "api/v1/me", body={})
        assert client.get("api/v1/version") == {"version": "2.8.0"}
    assert len(seen) == 3


def test_a_creating_call_is_sent_once(server: RecordedArgilla, client: Client) -> None:
    with server.failing(always(500, {"detail": "no"})), pytest.raises(Refused) as caught:
        client.call("POST", "api/v1/workspaces", body={}, repeatable=False)
    assert len(server.log) == 1
    assert (caught.value.status, caught.value.detail) == (500, "no")
