"""HTTP to one Argilla: its key, and what its refusals mean.

Plain REST rather than the `argilla` client for records: that client loses ties in rankings, stops at a discarded
response without values, and wipes metadata when it writes records back.
"""

from __future__ import annotations

import re
from typing import Any

import requests
from pydantic import SecretStr
from requests.auth import AuthBase

from connector.errors import FixAccess, NotThere, ToolTrouble, UnexpectedAnswer
from connector.tools.http import Answer, Refused, RestClient, checked_key, without_secret

WHERE_KEYS_ARE = "Copy it in Argilla from My settings, API key"
_NO_ROUTE = "Not Found"
"""What the server's framework answers where the API has no such path."""


class KeyAuth(AuthBase):
    """Puts the API key on each request."""

    def __init__(self, api_key: SecretStr) -> None:
        self._key = api_key

    def __repr__(self) -> str:
        return "KeyAuth()"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign one request."""
        request.headers["X-Argilla-Api-Key"] = self._key.get_secret_value()
        return request

    def scrub(self, text: str) -> str:
        """`text` without the key and its longer pieces, in any case."""
        return without_secret(text, self._key.get_secret_value())

    @property
    def is_another_products(self) -> bool:
        """Whether the key has the form of a Label Studio token: a JWT, or 40 hexadecimal digits."""
        return re.fullmatch(r"eyJ[\w-]+\.[\w-]+\.[\w-]+|[0-9a-f]{40}", self._key.get_secret_value()) is not None


class Client(RestClient):
    """JSON over HTTP against one Argilla; paths begin with api/v1/."""

    product = "Argilla"
    wrong_place = (
        "The url must be the address where Argilla's start page opens, with its sub-path and without /dataset/..."
    )

    def __init__(self, url: str, api_key: SecretStr | str, patience: float = 75.0) -> None:
        self.auth = KeyAuth(checked_key(api_key, self.product, WHERE_KEYS_ARE, "ARGILLA_API_KEY"))
        super().__init__(url, self.auth, patience)

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def scrub(self, text: str) -> str:
        """`text` without the key."""
        return self.auth.scrub(text)

    def _refused(self, method: str, path: str, answer: Answer) -> ToolTrouble:
        status = answer.status
        detail = self._detail(answer) if answer.is_json else "no JSON"
        if status == 401:
            return self._unauthorised(detail)
        if status == 403:
            return FixAccess(
                f"Argilla accepts the API key but not {method} /{path} (403: {detail}).",
                "Use the key of an owner, or of an admin of the dataset's workspace.",
            )
        if status == 404 and not answer.is_json:
            return self._no_api(path, answer)
        if status == 404 and detail == _NO_ROUTE:
            return UnexpectedAnswer(
                f"{self.url} has no /{path} (404).", f"Argilla 2 is needed, from 2.0 on. {self.wrong_place}"
            )
        if status == 404:
            return NotThere(f"Argilla knows no such thing: {method} /{path} (404: {detail}).")
        overloaded = self._overloaded(answer)
        if overloaded is not None:
            return overloaded
        part = _part_that_is_down(detail)
        if status == 500 and part is not None:
            return Refused(
                status,
                f"Argilla at {self.url} does not reach its {part} ({method} /{path}: 500).",
                f"Start the {part} and run the command again. What was sent may have been kept all the same.",
                detail,
            )
        return Refused(status, f"Argilla refused {method} /{path} ({status}: {detail}).", _hint(status), detail)

    def _reason(self, body: Any) -> Any:
        """`detail` is text, or an object with a code and what the code is about."""
        detail = body.get("detail", body) if isinstance(body, dict) else body
        if not isinstance(detail, dict):
            return detail
        params = detail.get("params")
        if not isinstance(params, dict):
            return detail.get("code", detail)
        errors = params.get("errors")
        if isinstance(errors, list):
            return "; ".join(_field_error(one) for one in errors[:3]) or detail.get("code")
        if "message" in params:
            return f"{params.get('type')}: {params['message']}"
        return params.get("detail") or params or detail.get("code")

    def _unauthorised(self, detail: str) -> FixAccess:
        other = " It has the form of a Label Studio token." if self.auth.is_another_products else ""
        return FixAccess(
            f"Argilla at {self.url} refused the API key (401: {detail}).{other}",
            f"{WHERE_KEYS_ARE}, and set ARGILLA_API_KEY.",
        )


def items_of(answer: Any, what: str) -> list[dict[str, Any]]:
    """The `items` of an answer."""
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("id"), str) for item in items
    ):
        raise UnexpectedAnswer(f"Argilla's list of {what} has another form than expected.")
    return items


def _part_that_is_down(detail: str) -> str | None:
    """The part that the server names where it cannot reach one."""
    if not re.search("connect|timed? ?out", detail, re.IGNORECASE):
        return None
    if re.search("opensearch|elastic", detail, re.IGNORECASE):
        return "search index"
    return "Redis" if re.search("redis", detail, re.IGNORECASE) else None


def _hint(status: int) -> str:
    if status >= 500:
        return "The server failed; its log says more. Run the command again."
    return "Run the command again; if it stays so, the server's own log says more."


def _field_error(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    place = ".".join(str(step) for step in error.get("loc") or ())
    return f"{place}: {error.get('msg')}" if place else str(error.get("msg"))
