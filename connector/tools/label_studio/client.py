"""HTTP to one Label Studio: its tokens, and what its refusals mean.

Authentication is done here rather than by label-studio-sdk's `TokensClientExt`. That client follows redirects, and a
307 takes the refresh token in its body along to whatever host the redirect names; it joins the refresh address so that
a base URL without a final slash loses its sub-path; it compares the server's expiry with this machine's clock; and a
refused connection while renewing ends the run. What is needed instead is short.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import requests
from pydantic import SecretStr
from requests.auth import AuthBase

from connector.errors import FixAccess, NotThere, ToolTrouble, UnexpectedAnswer
from connector.tools.http import Answer, Refused, RestClient, checked_key, no_auth, without_secret

TokenKind = Literal["legacy token", "personal access token", "access token"]

WHERE_TOKENS_ARE = "Make one in Label Studio under Account & Settings, Personal Access Token"
_RENEW_AT = 0.8
"""The share of an access token's life after which it is renewed before use."""


class TokenAuth(AuthBase):
    """Puts the token on each request, and keeps every secret it holds out of sight.

    A legacy token goes as `Token X`. A personal access token is a refresh token: `renew` trades it for an access token
    (300 s), which goes as `Bearer` and is renewed by a monotonic clock, so that a wrong wall clock does no harm.
    """

    def __init__(self, api_key: SecretStr) -> None:
        self._key = api_key
        self.kind: TokenKind = kind_of(api_key.get_secret_value())
        self._access = api_key if self.kind == "access token" else SecretStr("")
        self._renew_at = float("inf")
        self.renew: Callable[[SecretStr], str] | None = None
        self.renewals = 0
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"TokenAuth({self.kind})"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign one request, renewing first where the access token is about to expire."""
        if self.kind == "legacy token":
            request.headers["Authorization"] = f"Token {self._key.get_secret_value()}"
            return request
        with self._lock:
            if self.renewable and (not self._access.get_secret_value() or time.monotonic() >= self._renew_at):
                self.refresh()
        request.headers["Authorization"] = f"Bearer {self._access.get_secret_value()}"
        return request

    @property
    def renewable(self) -> bool:
        """Whether a new access token can be had when the server refuses this one."""
        return self.kind == "personal access token"

    def refresh(self) -> None:
        """Trade the refresh token for a new access token."""
        assert self.renew is not None
        started = time.monotonic()
        access = self.renew(self._key)
        self._access = SecretStr(access)
        self.renewals += 1
        claims = _claims(access)
        life = claims.get("exp", 0) - claims.get("iat", 0) if claims else 0
        # A token without readable times is used until the server refuses it.
        self._renew_at = started + life * _RENEW_AT if life > 0 else float("inf")

    def scrub(self, text: str) -> str:
        """`text` without any secret this object holds, its longer pieces, and either in another case."""
        text = re.sub(r"eyJ[\w-]+\.[\w-]+\.?[\w-]*", "[token]", text)
        for secret in (self._key, self._access):
            text = without_secret(text, secret.get_secret_value())
        return text


def kind_of(api_key: str) -> TokenKind:
    """Which of Label Studio's tokens this is: three parts between dots are a JWT, anything else a legacy token."""
    if api_key.count(".") != 2:
        return "legacy token"
    return "access token" if _claims(api_key).get("token_type") == "access" else "personal access token"


def _claims(jwt: str) -> dict[str, Any]:
    """The token's own statements, unverified (the server verifies); empty where they cannot be read."""
    try:
        body = jwt.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, ValueError, binascii.Error):
        return {}
    return claims if isinstance(claims, dict) else {}


class Client(RestClient):
    """JSON over HTTP against one Label Studio; `api_key` is a legacy token or a personal access token."""

    product = "Label Studio"
    wrong_place = (
        "The url must be the address where Label Studio's start page opens, with its sub-path and without /projects/..."
    )

    def __init__(self, url: str, api_key: SecretStr | str, patience: float = 75.0) -> None:
        self.auth = TokenAuth(checked_key(api_key, self.product, WHERE_TOKENS_ARE, "LABEL_STUDIO_API_KEY"))
        self.auth.renew = self._renew
        super().__init__(url, self.auth, patience)

    def __repr__(self) -> str:
        return f"Client({self.url!r}, {self.auth.kind})"

    def scrub(self, text: str) -> str:
        """`text` without the tokens."""
        return self.auth.scrub(text)

    def _signed_in_again(self) -> bool:
        if not self.auth.renewable:
            return False
        self.auth.refresh()
        return True

    def _renew(self, refresh_token: SecretStr) -> str:
        """One trade of the refresh token; nothing of it survives in the exception."""
        response = self._post(
            "api/token/refresh/", 60.0, json={"refresh": refresh_token.get_secret_value()}, auth=no_auth
        )
        if isinstance(response, ToolTrouble):
            raise response
        if response.status == 404:
            raise FixAccess(
                f"There is no Label Studio at {self.url} that knows personal access tokens (no api/token/refresh/).",
                "Check the url with its sub-path. A server older than 1.17 needs a legacy token.",
            )
        if response.status in (400, 401, 403):
            raise FixAccess(
                f"Label Studio refused the personal access token ({response.status}: {self._detail(response)}).",
                f"It may be revoked, expired or cut short. {WHERE_TOKENS_ARE}.",
            )
        answer = self._read("POST", "api/token/refresh/", response)
        if isinstance(answer, Exception):
            raise answer
        access = answer.get("access") if isinstance(answer, dict) else None
        if not isinstance(access, str) or not access.isascii() or not access.isprintable() or not access:
            raise UnexpectedAnswer("Label Studio's token refresh gave no access token.", self.wrong_place)
        return access

    def _refused(self, method: str, path: str, answer: Answer) -> ToolTrouble:
        status = answer.status
        detail = self._detail(answer) if answer.is_json else "no JSON"
        if status == 401:
            return self._unauthorised(detail)
        if status == 403:
            return FixAccess(
                f"Label Studio accepts the {self.auth.kind} but not {method} /{path} (403: {detail}).",
                "Its owner lacks the right: use the token of a member who may change this project.",
            )
        if status == 404 and not answer.is_json:
            return self._no_api(path, answer)
        if status == 404:
            return NotThere(f"Label Studio knows no such thing: {method} /{path} (404: {detail}).")
        # A client's mistake (a bad filter, a bad date, an unknown action) is a 500 here: waiting seldom helps.
        return self._overloaded(answer) or Refused(
            status,
            f"Label Studio refused {method} /{path} ({status}: {detail}).",
            _REFUSED_BY_SERVER,
            detail,
        )

    def _reason(self, body: Any) -> Any:
        if isinstance(body, dict):
            return body.get("validation_errors") or body.get("detail") or body
        return body

    def _unauthorised(self, detail: str) -> FixAccess:
        tried = {
            "legacy token": "as a legacy token ('Token ...')",
            "personal access token": "as a personal access token (traded for an access token)",
            "access token": "as an access token ('Bearer ...', good for five minutes; use the personal one)",
        }[self.auth.kind]
        legacy = (
            " Legacy tokens may be switched off for the organisation (they are by default); then only a personal access"
            " token works."
            if self.auth.kind == "legacy token"
            else ""
        )
        return FixAccess(
            f"Label Studio at {self.url} refused the token (401: {detail}). It was tried {tried}.{legacy}",
            f"{WHERE_TOKENS_ARE}, and set LABEL_STUDIO_API_KEY.",
        )


_REFUSED_BY_SERVER = (
    "Run the command again; if it stays so, the server's own log says more. It refuses a filter or a field that its"
    " version does not know as well."
)
