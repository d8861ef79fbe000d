"""HTTP to one Label Studio: authentication, patience, and failures turned into `connector.errors`.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Self
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, InvalidHeader, LocationValueError, ReadTimeoutError
from urllib3.util import Retry, parse_url

from connector.errors import FixAccess, FixConfiguration, NotThere, RetryLater, ToolTrouble, UnexpectedAnswer

TokenKind = Literal["legacy token", "personal access token", "access token"]
Params = Mapping[str, str | int]

CONNECT_SECONDS = 10.0
READ_SECONDS = 300.0
"""An import of some thousand tasks was measured at 95 s on a busy server; a page of 1,000 tasks takes 1-3 s."""

MOST_BYTES = 512 << 20
"""An answer's body, unpacked. A page of 1,000 tasks has 1-30 MB; a compressed answer may unpack to any size."""
_PIECE = 1 << 16
_SHORTEST_SECRET = 12
"""Characters of a token that are kept out of sight also where they stand alone."""

WHERE_TOKENS_ARE = "Make one in Label Studio under Account & Settings, Personal Access Token"
_AWAY = (429, 502, 503, 504)
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
            text = _without_pieces(text, secret.get_secret_value())
        return text


def _without_pieces(text: str, secret: str) -> str:
    size = min(_SHORTEST_SECRET, len(secret))
    if size < 4:
        return text
    plain, hidden = text.translate(_LOWER), secret.translate(_LOWER)
    pieces = {hidden[start : start + size] for start in range(len(hidden) - size + 1)}
    kept: list[str] = []
    end = 0  # of the piece that was last seen
    for at, sign in enumerate(text):
        if plain[at : at + size] in pieces:
            if at >= end:
                kept.append("[token]")
            end = at + size
        if at >= end:
            kept.append(sign)
    return "".join(kept)


_LOWER = {ord(sign): sign.lower() for sign in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
"""Unlike str.lower(), this keeps the length of any text."""


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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What of an HTTP answer is looked at, its body whole; a server may echo a token in any of it but the status."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    url: str = field(repr=False)
    body: bytes = field(repr=False)
    sent_at: datetime | None

    @property
    def is_json(self) -> bool:
        return "json" in self.headers.get("Content-Type", "")


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002 - the library's form
        """No redirect is followed, so none is prepared either: the library fails on an address it cannot read."""
        return


class Client:
    """JSON over HTTP against one Label Studio.

    Parameters
    ----------
    url : where its start page opens; a sub-path is kept, with or without a final slash.
    api_key : a legacy token or a personal access token.
    patience : seconds of waiting, in all, for a server that answered before and went away (a restart takes 25-30).

    Until the server has answered once, a refused connection is reported after about 3 seconds. No call lasts longer
    than its `seconds` and the patience together, however slowly the answer drips.
    """

    def __init__(self, url: str, api_key: SecretStr | str, patience: float = 75.0) -> None:
        self.url = base_url(url)
        key = api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)
        if not key.get_secret_value().strip():
            raise FixAccess("The Label Studio token is empty.", f"{WHERE_TOKENS_ARE}, and set LABEL_STUDIO_API_KEY.")
        if re.search(r"[^!-~]", key.get_secret_value().strip()):
            raise FixAccess("The Label Studio token holds a blank or a letter that no token has.", WHERE_TOKENS_ARE)
        self.auth = TokenAuth(SecretStr(key.get_secret_value().strip()))
        self.auth.renew = self._renew
        self.requests = 0
        self.asked_at: datetime | None = None
        """When the latest answered call was sent, by the server's clock, rounded down (None: it does not say)."""
        self._patience = patience
        self._met = False
        self._waits = min(3.0, patience)
        # Creating calls go through a session that never sends one twice; every other call may be repeated.
        self._repeatable = self._session()
        self._once = self._session()
        self._be_patient(self._waits)

    def __repr__(self) -> str:
        return f"Client({self.url!r}, {self.auth.kind})"

    def close(self) -> None:
        """Give connections back."""
        self._repeatable.close()
        self._once.close()

    def get(self, path: str, params: Params | None = None) -> Any:
        """The JSON answer of a GET."""
        return self.call("GET", path, params=params)

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        repeatable: bool = True,
        seconds: float = READ_SECONDS,
    ) -> Any:
        """The JSON answer (None where there is none) of one call.

        `repeatable=False` for a call that makes something: it is sent once, whatever happens to the answer.

        Raises RetryLater (unreachable, overloaded, cut off), FixAccess (401, 403), NotThere (404), UnexpectedAnswer (a
        redirect, HTML, broken JSON) and Refused (every other 4xx and 500).
        """
        attempts = 2 if repeatable else 1
        renewed = False
        while True:
            attempts -= 1
            outcome = self._send(method, path, params, body, repeatable=repeatable, seconds=seconds)
            refused = isinstance(outcome, _Answer) and outcome.status == 401
            if refused and self.auth.renewable and not renewed:
                # A refusal comes before the call has any effect, so that a creating call may be sent again as well.
                self.auth.refresh()
                renewed, attempts = True, attempts + 1
                continue
            answer = outcome if isinstance(outcome, Exception) else self._read(method, path, outcome)
            if not isinstance(answer, Exception):
                return answer
            if attempts <= 0 or not _worth_repeating(answer, method):
                # Raised outside any `except`: the library's own exception carries the request and its token.
                raise answer
            time.sleep(0.5)

    def _send(
        self, method: str, path: str, params: Params | None, body: Any, *, repeatable: bool, seconds: float
    ) -> _Answer | ToolTrouble:
        self.requests += 1
        session = self._repeatable if repeatable else self._once
        outcome = self._within(
            seconds, lambda until: self._exchange(session, method, path, seconds, until, params=params, json=body)
        )
        if isinstance(outcome, _Answer):
            if not self._met and outcome.status < 500 and outcome.status != 429:
                self._met = True
                self._waits = self._patience
                self._be_patient(self._patience)
            self.asked_at = outcome.sent_at
        return outcome

    def _within(self, seconds: float, ask: Callable[[float], _Answer | ToolTrouble]) -> _Answer | ToolTrouble:
        """The outcome of `ask`, given up after `seconds` and the patience.

        A time-out of the connection starts anew with each byte; so a thread of its own is left behind where a server
        drips. It never keeps the program from ending.
        """
        limit = seconds + self._waits
        until = time.monotonic() + limit
        outcome: list[_Answer | ToolTrouble | BaseException] = []

        def work() -> None:
            try:
                outcome.append(ask(until))
            except BaseException as fault:  # noqa: BLE001 - raised by the caller below
                outcome.append(fault)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        worker.join(limit + 1.0)
        if not outcome:
            return self._too_slow()
        if isinstance(outcome[0], _Answer | ToolTrouble):
            return outcome[0]
        raise outcome[0]

    def _exchange(
        self,
        session: requests.Session,
        method: str,
        path: str,
        seconds: float,
        until: float,
        **content: Any,
    ) -> _Answer | ToolTrouble:
        failure: ToolTrouble
        try:
            with session.request(
                method,
                self.url + path.lstrip("/"),
                # A redirect is reported, never followed: it could carry the token to another host.
                allow_redirects=False,
                timeout=(CONNECT_SECONDS, seconds),
                stream=True,
                **content,
            ) as response:
                return self._received(response, path, until)
        except ToolTrouble as trouble:  # renewing the access token inside the call
            failure = trouble
        except requests.RequestException as error:
            failure = self._unreachable(error)
        except ReadTimeoutError:
            failure = self._too_slow()
        except RecursionError:
            failure = Refused(0, "What is to be sent is nested too deeply.")
        except (LocationValueError, UnicodeError):
            failure = FixAccess(f"{self.url} is not a web address.", "Correct the url.")
        except (HTTPError, OSError):
            failure = CutOff(f"The connection to {self.url} broke in mid-answer.", _AGAIN)
        return failure

    def _received(self, response: requests.Response, path: str, until: float) -> _Answer | ToolTrouble:
        body = bytearray()
        while piece := response.raw.read1(_PIECE, decode_content=True):
            body += piece
            if len(body) > MOST_BYTES:
                return UnexpectedAnswer(
                    f"Label Studio's answer to /{path} has more than {MOST_BYTES >> 20} MB.",
                    "It was not read further. The tasks may hold whole documents or images: keep them in files.",
                )
            if time.monotonic() > until:
                return self._too_slow()
        return _Answer(response.status_code, response.headers, response.url, bytes(body), _sent_at(response))

    def _too_slow(self) -> RetryLater:
        return RetryLater(f"Label Studio at {self.url} did not answer in time.", _AGAIN)

    def _renew(self, refresh_token: SecretStr) -> str:
        """One trade of the refresh token; nothing of it survives in the exception."""
        response = self._post_refresh(refresh_token)
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
            raise UnexpectedAnswer("Label Studio's token refresh gave no access token.", _WRONG_PLACE)
        return access

    def _post_refresh(self, refresh_token: SecretStr) -> _Answer | ToolTrouble:
        content = {"json": {"refresh": refresh_token.get_secret_value()}, "auth": _no_auth}
        return self._within(
            60.0,
            lambda until: self._exchange(self._repeatable, "POST", "api/token/refresh/", 60.0, until, **content),
        )

    def _read(self, method: str, path: str, response: _Answer) -> Any:
        """The parsed body, or the exception to raise (returned, so that it is raised with no foreign one attached)."""
        if 300 <= response.status < 400:
            return self._redirected(response)
        if response.status >= 400:
            return self._refused(method, path, response)
        if not response.body:
            return None
        if not response.is_json:
            return UnexpectedAnswer(f"{self.url} answered /{path} with a page that is not JSON.", _WRONG_PLACE)
        try:
            return json.loads(response.body)
        except RecursionError:
            return UnexpectedAnswer(f"Label Studio's answer to /{path} is nested too deeply to be read.")
        except (json.JSONDecodeError, UnicodeDecodeError):
            pass
        except ValueError:
            return UnexpectedAnswer(f"Label Studio's answer to /{path} holds a number of too many digits to be read.")
        size = len(response.body)
        return CutOff(f"Label Studio's answer to /{path} is cut short or not JSON ({size} bytes).", _AGAIN)

    def _redirected(self, response: _Answer) -> ToolTrouble:
        redirects = f"{self.url} redirects to another address; the token is not taken there."
        try:
            parts = urlsplit(urljoin(response.url, response.headers.get("Location", "")))
            host = str(parts.hostname)
        except ValueError:
            return UnexpectedAnswer(redirects, f"Its address cannot be read. {_WRONG_PLACE}")
        if "login" in parts.path or "signin" in parts.path or "auth" in parts.path:
            return UnexpectedAnswer(
                f"{self.url} sends us to a login page (on {self._line(host)}) instead of its API.", _WRONG_PLACE
            )
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{_sub_path(self.url, parts.path)}"
        return UnexpectedAnswer(redirects, f"If it is the right place, set url to {self._line(place)}")

    def _refused(self, method: str, path: str, response: _Answer) -> ToolTrouble:
        status = response.status
        detail = self._detail(response) if response.is_json else "no JSON"
        if status == 401:
            return self._unauthorised(detail)
        if status == 403:
            return FixAccess(
                f"Label Studio accepts the {self.auth.kind} but not {method} /{path} (403: {detail}).",
                "Its owner lacks the right: use the token of a member who may change this project.",
            )
        if status == 404 and not response.is_json:
            return UnexpectedAnswer(f"{self.url} has no /{path} (404, no JSON).", _WRONG_PLACE)
        if status == 404:
            return NotThere(f"Label Studio knows no such thing: {method} /{path} (404: {detail}).")
        if status in _AWAY:
            return RetryLater(f"Label Studio at {self.url} is overloaded or restarting ({status}).", _AGAIN)
        return Refused(status, f"Label Studio refused {method} /{path} ({status}: {detail}).")

    def _detail(self, response: _Answer) -> str:
        """What the server says is wrong, as one short line without control characters or secrets."""
        try:
            body = json.loads(response.body)
            text = body
            if isinstance(body, dict):
                text = body.get("validation_errors") or body.get("detail") or body
            return self._line(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))
        except (ValueError, RecursionError):
            return "no reason given"

    def _line(self, text: str) -> str:
        # Scrubbed before it is cut: a piece of a token at the end would be too short to be known.
        line = self.auth.scrub(text[: 20 * _LINE])
        return "".join(sign if sign.isprintable() else " " for sign in line)[:_LINE]

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

    def _unreachable(self, error: requests.RequestException) -> ToolTrouble:
        if isinstance(error, requests.exceptions.SSLError) and "WRONG_VERSION_NUMBER" in str(error):
            return FixAccess(f"The server at {self.url} does not speak https.", "Write http:// in the url.")
        if isinstance(error, requests.exceptions.SSLError):
            return ToolTrouble(
                f"The certificate of {self.url} was not accepted.",
                "Set REQUESTS_CA_BUNDLE to your authority's certificate, or correct the url.",
            )
        if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
            return FixAccess(f"{self.url} is not a web address.", "Correct the url.")
        if isinstance(error, requests.exceptions.InvalidJSONError):
            return Refused(0, "What is to be sent holds a number that is not finite, which JSON cannot carry.")
        if isinstance(error, requests.exceptions.Timeout):
            return self._too_slow()
        if isinstance(error, requests.exceptions.ChunkedEncodingError | requests.exceptions.ContentDecodingError):
            return CutOff(f"The connection to {self.url} broke in mid-answer.", _AGAIN)
        if isinstance(error, requests.exceptions.RetryError):
            return RetryLater(f"Label Studio at {self.url} is overloaded or restarting.", _AGAIN)
        return RetryLater(
            f"Label Studio at {self.url} cannot be reached ({_cause(error)}).", f"{_AGAIN} Is the url right?"
        )

    def _session(self) -> requests.Session:
        session = _Session()
        session.auth = self.auth
        session.headers["Accept"] = "application/json"
        session.headers["User-Agent"] = "agreement-connector"
        return session

    def _be_patient(self, seconds: float) -> None:
        for session, methods in ((self._repeatable, None), (self._once, frozenset({"HEAD"}))):
            adapter = HTTPAdapter(max_retries=_retry(seconds, methods))
            session.mount("http://", adapter)
            session.mount("https://", adapter)


class Refused(ToolTrouble):
    """The server understood who asks and refused what was asked: 400, 405, 409, 413, 422, 500.

    A client's mistake (a bad filter, a bad date, an unknown action) is a 500 in Label Studio: waiting seldom helps.
    Status 0: it was refused here, before it was sent.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, _REFUSED_BY_SERVER if status >= 400 else None)
        self.status = status


class CutOff(RetryLater, UnexpectedAnswer):
    """The answer broke off in the middle."""


_AGAIN = "Run the command again later."
_REFUSED_BY_SERVER = (
    "Run the command again; if it stays so, the server's own log says more. It refuses a filter or a field that its"
    " version does not know as well."
)
_LINE = 300
"""Characters of the server's own words that are shown."""
_WRONG_PLACE = (
    "The url must be the address where Label Studio's start page opens, with its sub-path and without /projects/..."
)


def base_url(url: str) -> str:
    """`url` as scheme, host and sub-path with one final slash.

    Raises FixConfiguration where it is no web address or holds a user's name and password.
    """
    parts = _parts(url.strip())
    if parts is None:
        raise FixConfiguration("The url of Label Studio must start with http:// or https:// and name a host.")
    if parts.username or parts.password:
        raise FixConfiguration(
            "The url of Label Studio must not hold a name or password.", "Give the token as api_key."
        )
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}/"


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        # A part between dots that is empty or over 63 characters is an error here, and in the middle of a call there.
        host = (parts.hostname or "").encode("idna")
        parse_url(url)
        whole = parts.scheme in ("http", "https") and host and b" " not in host and parts.port != 0
    except ValueError:  # the library's LocationParseError is one
        return None
    return parts if whole else None


class _Waiting(Retry):
    """Waits that add up to no more than `left` seconds, those that the server asks for included."""

    left = 0.0

    def new(self, **changes: Any) -> Self:
        """As the library's, with what is left of the time."""
        other = super().new(**changes)
        other.left = self.left
        return other

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """What the server asks for, as far as there is time; None where it cannot be read."""
        try:
            asked = super().get_retry_after(response)
        except InvalidHeader:
            return None
        return None if asked is None else min(asked, self.left)

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """As the library's, while there is time."""
        return self.left > 0 and super().is_retry(method, status_code, has_retry_after)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """As the library's, counted."""
        started = time.monotonic()
        super().sleep(response)
        self.left -= time.monotonic() - started


def _retry(seconds: float, methods: frozenset[str] | None) -> Retry:
    """Waits of 0, 1, 2, 4, 8, 10, 10 ... seconds that add up to about `seconds`; `methods` None: any method may repeat.

    A refused connection is repeated for every method, since nothing was sent.
    """
    waits, count = 0.0, 1
    while waits < seconds:
        waits += min(10.0, 0.5 * 2**count)
        count += 1
    retry = _Waiting(
        total=count,
        connect=count,
        read=3,
        redirect=0,
        status=count,
        allowed_methods=methods,
        status_forcelist=_AWAY,
        backoff_factor=0.5,
        backoff_max=10,
        raise_on_status=False,
    )
    retry.left = seconds
    return retry


def _worth_repeating(error: Exception, method: str) -> bool:
    """Whether one more try may help, for a call that may be repeated at all."""
    if isinstance(error, Refused) and error.status == 500:
        return method == "GET" or "database is locked" in error.message
    return isinstance(error, CutOff)


def _sent_at(response: requests.Response) -> datetime | None:
    try:
        at = parsedate_to_datetime(response.headers.get("Date", "")) - response.elapsed
    except (ValueError, OverflowError):
        return None
    # "-0000" says that the zone is not known: HTTP's times are UTC
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _cause(error: Exception) -> str:
    """The innermost reason in plain words; the library's own text names addresses of objects and is not shown."""
    text = str(error)
    for sign, words in (
        ("refused", "connection refused"),
        ("NameResolution", "the host's name is not known"),
        ("getaddrinfo", "the host's name is not known"),
        ("Remote end closed", "the connection was closed without an answer"),
        ("reset by peer", "the connection was reset"),
        ("timed out", "no answer in time"),
        ("Proxy", "the proxy refused"),
    ):
        if sign in text:
            return words
    return type(error).__name__


def _sub_path(base: str, target: str) -> str:
    """The sub-path to advise after a redirect: what precedes the API's own path, else the one we had."""
    head, api, _ = target.partition("/api/")
    return f"{head}/" if api else urlsplit(base).path
