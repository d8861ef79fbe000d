"""JSON over HTTP against one server of an annotation tool: patience, limits, and failures turned into
`connector.errors`.

`RestClient` is what the tools' clients share; each says how it signs in and what its product's refusals mean.
"""

from __future__ import annotations

import json
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Self
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, InvalidHeader, LocationValueError, MaxRetryError, ReadTimeoutError
from urllib3.util import Retry, parse_url

from connector.errors import FixAccess, FixConfiguration, RetryLater, ToolTrouble, UnexpectedAnswer

Params = Mapping[str, str | int]

CONNECT_SECONDS = 10.0
READ_SECONDS = 300.0
"""An import of some thousand tasks was measured at 95 s on a busy server; a page of 1,000 tasks takes 1-3 s."""

MOST_BYTES = 512 << 20
"""An answer's body, unpacked. A page of 1,000 tasks has 1-30 MB; a compressed answer may unpack to any size."""
_PIECE = 1 << 16
_SHORTEST_SECRET = 12
"""Characters of a token that are kept out of sight also where they stand alone."""

AGAIN = "Run the command again later."
_AWAY = (429, 502, 503, 504)
_PRODUCTS = ("Label Studio", "Argilla")
"""Names that a product's own pages bear in their titles."""
_HEAD = 1 << 14
_LINE = 300
"""Characters of the server's own words that are shown."""


class Refused(ToolTrouble):
    """The server understood who asks and refused what was asked: 400, 405, 409, 413, 422, 500.

    Status 0: it was refused here, before it was sent. `detail` is the server's own reason, on one line.
    """

    def __init__(self, status: int, message: str, hint: str | None = None, detail: str = "") -> None:
        super().__init__(message, hint)
        self.status = status
        self.detail = detail


class CutOff(RetryLater, UnexpectedAnswer):
    """The answer broke off in the middle."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What of an HTTP answer is looked at, its body whole; a server may echo a token in any of it but the status."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    url: str = field(repr=False)
    body: bytes = field(repr=False)
    sent_at: datetime | None

    @property
    def is_json(self) -> bool:
        """Whether the server says so."""
        return "json" in self.headers.get("Content-Type", "")


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002 - the library's form
        """No redirect is followed, so none is prepared either: the library fails on an address it cannot read."""
        return


class RestClient(ABC):
    """JSON over HTTP against one server.

    Parameters
    ----------
    url : where its start page opens; a sub-path is kept, with or without a final slash.
    auth : signs each request.
    patience : seconds of waiting, in all, for a server that answered before and went away (a restart takes 25-30),
        whether its host refuses connections, a proxy closes them at once, or it says so itself (503).

    Until the server has answered once, a refused connection is reported after about 3 seconds. No call lasts longer
    than its `seconds` and the patience together, however slowly the answer drips.
    """

    product: ClassVar[str]
    """What people call it."""
    wrong_place: ClassVar[str]
    """What the url has to be, for people whose url is something else."""

    def __init__(self, url: str, auth: AuthBase, patience: float) -> None:
        self.url = base_url(url, self.product)
        self.requests = 0
        self.asked_at: datetime | None = None
        """When the latest answered call was sent, by the server's clock, rounded down (None: it does not say)."""
        self._auth = auth
        self._patience = patience
        self._met = False
        self._waits = min(3.0, patience)
        # Creating calls go through a session that never sends one twice; every other call may be repeated.
        self._repeatable = self._session()
        self._once = self._session()
        self._be_patient(self._waits)

    @abstractmethod
    def scrub(self, text: str) -> str:
        """`text` without any secret, longer pieces of one included."""

    @abstractmethod
    def _refused(self, method: str, path: str, answer: Answer) -> ToolTrouble:
        """What a status of 400 and above means."""

    def _detail(self, answer: Answer) -> str:
        """What the server says is wrong, as one short line without control characters or secrets."""
        try:
            text = self._reason(json.loads(answer.body))
            return self.line(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))
        except (ValueError, RecursionError):
            return "no reason given"

    @abstractmethod
    def _reason(self, body: Any) -> Any:
        """The part of a refusal's body that says why."""

    def _signed_in_again(self) -> bool:
        """Whether there is a new token to try after the server refused the old one."""
        return False

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
            refused = isinstance(outcome, Answer) and outcome.status == 401
            if refused and not renewed and self._signed_in_again():
                # A refusal comes before the call has any effect, so that a creating call may be sent again as well.
                renewed, attempts = True, attempts + 1
                continue
            answer = outcome if isinstance(outcome, Exception) else self._read(method, path, outcome)
            if not isinstance(answer, Exception):
                return answer
            if attempts <= 0 or not _worth_repeating(answer, method):
                # Raised outside any `except`: the library's own exception carries the request and its token.
                raise answer
            time.sleep(0.5)

    def line(self, text: str) -> str:
        """The server's own words as one short line without control characters or secrets."""
        # Scrubbed before it is cut: a piece of a token at the end would be too short to be known.
        clean = self.scrub(text[: 20 * _LINE])
        return "".join(sign if sign.isprintable() else " " for sign in clean)[:_LINE]

    def _send(
        self, method: str, path: str, params: Params | None, body: Any, *, repeatable: bool, seconds: float
    ) -> Answer | ToolTrouble:
        self.requests += 1
        session = self._repeatable if repeatable else self._once
        outcome = self._within(
            seconds, lambda until: self._exchange(session, method, path, seconds, until, params=params, json=body)
        )
        if isinstance(outcome, Answer):
            if not self._met and outcome.status < 500 and outcome.status != 429:
                self._met = True
                self._waits = self._patience
                self._be_patient(self._patience)
            self.asked_at = outcome.sent_at
        return outcome

    def _post(self, path: str, seconds: float, **content: Any) -> Answer | ToolTrouble:
        """One repeatable POST outside the count of requests, for signing in."""
        return self._within(
            seconds, lambda until: self._exchange(self._repeatable, "POST", path, seconds, until, **content)
        )

    def _within(self, seconds: float, ask: Callable[[float], Answer | ToolTrouble]) -> Answer | ToolTrouble:
        """The outcome of `ask`, given up after `seconds` and the patience.

        A time-out of the connection starts anew with each byte; so a thread of its own is left behind where a server
        drips. It never keeps the program from ending.
        """
        limit = seconds + self._waits
        until = time.monotonic() + limit
        outcome: list[Answer | ToolTrouble | BaseException] = []

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
        if isinstance(outcome[0], Answer | ToolTrouble):
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
    ) -> Answer | ToolTrouble:
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
        except ToolTrouble as trouble:  # signing in inside the call
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
            failure = CutOff(f"The connection to {self.url} broke in mid-answer.", AGAIN)
        return failure

    def _received(self, response: requests.Response, path: str, until: float) -> Answer | ToolTrouble:
        body = bytearray()
        while piece := response.raw.read1(_PIECE, decode_content=True):
            body += piece
            if len(body) > MOST_BYTES:
                return UnexpectedAnswer(
                    f"{self.product}'s answer to /{path} has more than {MOST_BYTES >> 20} MB.",
                    "It was not read further. The tasks may hold whole documents or images: keep them in files.",
                )
            if time.monotonic() > until:
                return self._too_slow()
        return Answer(response.status_code, response.headers, response.url, bytes(body), _sent_at(response))

    def _too_slow(self) -> RetryLater:
        return RetryLater(f"{self.product} at {self.url} did not answer in time.", AGAIN)

    def _overloaded(self, answer: Answer) -> RetryLater | None:
        """The trouble of a server that is away for a while; None where the status says something else."""
        if answer.status not in _AWAY:
            return None
        return RetryLater(f"{self.product} at {self.url} is overloaded or restarting ({answer.status}).", AGAIN)

    def _read(self, method: str, path: str, answer: Answer) -> Any:
        """The parsed body, or the exception to raise (returned, so that it is raised with no foreign one attached)."""
        if 300 <= answer.status < 400:
            return self._redirected(answer)
        if answer.status >= 400:
            return self._refused(method, path, answer)
        if not answer.body:
            return None
        if not answer.is_json:
            return self._no_api(path, answer)
        try:
            return json.loads(answer.body)
        except RecursionError:
            return UnexpectedAnswer(f"{self.product}'s answer to /{path} is nested too deeply to be read.")
        except (json.JSONDecodeError, UnicodeDecodeError):
            pass
        except ValueError:
            return UnexpectedAnswer(f"{self.product}'s answer to /{path} holds a number of too many digits to be read.")
        size = len(answer.body)
        return CutOff(f"{self.product}'s answer to /{path} is cut short or not JSON ({size} bytes).", AGAIN)

    def _no_api(self, path: str, answer: Answer) -> UnexpectedAnswer:
        """The trouble of a page where JSON was expected: another product's, where its title says so."""
        title = re.search(rb"<title>([^<]{0,200})</title>", answer.body[:_HEAD], re.IGNORECASE)
        other = next((name for name in _PRODUCTS if name != self.product and title and name.encode() in title[1]), None)
        if other is not None:
            return UnexpectedAnswer(f"The server at {self.url} is {other}, not {self.product}.", "Correct url or tool.")
        if answer.status >= 400:
            return UnexpectedAnswer(f"{self.url} has no /{path} ({answer.status}, no JSON).", self.wrong_place)
        return UnexpectedAnswer(f"{self.url} answered /{path} with a page that is not JSON.", self.wrong_place)

    def _redirected(self, answer: Answer) -> ToolTrouble:
        redirects = f"{self.url} redirects to another address; the token is not taken there."
        try:
            parts = urlsplit(urljoin(answer.url, answer.headers.get("Location", "")))
            host = str(parts.hostname)
        except ValueError:
            return UnexpectedAnswer(redirects, f"Its address cannot be read. {self.wrong_place}")
        if "login" in parts.path or "signin" in parts.path or "auth" in parts.path:
            return UnexpectedAnswer(
                f"{self.url} sends us to a login page (on {self.line(host)}) instead of its API.", self.wrong_place
            )
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{_sub_path(self.url, parts.path)}"
        return UnexpectedAnswer(redirects, f"If it is the right place, set url to {self.line(place)}")

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
            return CutOff(f"The connection to {self.url} broke in mid-answer.", AGAIN)
        if isinstance(error, requests.exceptions.RetryError):
            return RetryLater(f"{self.product} at {self.url} is overloaded or restarting.", AGAIN)
        away = f"{self.product} at {self.url} cannot be reached ({_cause(error)})."
        if not self._met:
            return RetryLater(away, f"{AGAIN} Is the url right?")
        waited = error.args and isinstance(error.args[0], MaxRetryError)
        return RetryLater(f"{away} It was not back after {self._waits:g} seconds." if waited else away, AGAIN)

    def _session(self) -> requests.Session:
        session = _Session()
        session.auth = self._auth
        session.headers["Accept"] = "application/json"
        session.headers["User-Agent"] = "agreement-connector"
        return session

    def _be_patient(self, seconds: float) -> None:
        for session, methods in ((self._repeatable, None), (self._once, frozenset({"HEAD"}))):
            adapter = HTTPAdapter(max_retries=retries(seconds, methods))
            session.mount("http://", adapter)
            session.mount("https://", adapter)


def checked_key(api_key: SecretStr | str, product: str, where: str, variable: str) -> SecretStr:
    """A token without blanks around it.

    Raises FixAccess where it is empty or no header can carry it; `where` says where tokens are made.
    """
    key = api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)
    text = key.get_secret_value().strip()
    if not text:
        raise FixAccess(f"The {product} token is empty.", f"{where}, and set {variable}.")
    if re.search(r"[^!-~]", text):
        raise FixAccess(f"The {product} token holds a blank or a letter that no token has.", where)
    return SecretStr(text)


def base_url(url: str, product: str) -> str:
    """`url` as scheme, host and sub-path with one final slash.

    Raises FixConfiguration where it is no web address or holds a user's name and password.
    """
    parts = _parts(url.strip())
    if parts is None:
        raise FixConfiguration(f"The url of {product} must start with http:// or https:// and name a host.")
    if parts.username or parts.password:
        raise FixConfiguration(f"The url of {product} must not hold a name or password.", "Give the token as api_key.")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}/"


def without_secret(text: str, secret: str) -> str:
    """`text` with the secret, and every longer piece of it, in any case, replaced."""
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
    """Repeats for no longer than `seconds` from the first failure on, whatever the failures are: refused, reset, closed
    without an answer, 503 or a wait that the server asks for."""

    seconds = 0.0
    until: float | None = None
    """The end of it by the clock; None before the first failure."""

    @property
    def left(self) -> float:
        """Seconds."""
        return self.seconds if self.until is None else max(0.0, self.until - time.monotonic())

    def new(self, **changes: Any) -> Self:
        """As the library's (after a failure), with the same end."""
        other = super().new(**changes)
        other.seconds = self.seconds
        other.until = time.monotonic() + self.seconds if self.until is None else self.until
        return other

    def is_exhausted(self) -> bool:
        """As the library's, or out of time."""
        return super().is_exhausted() or (self.until is not None and self.until < time.monotonic())

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """What the server asks for, as far as there is time; None where it cannot be read."""
        try:
            asked = super().get_retry_after(response)
        except InvalidHeader:
            return None
        return None if asked is None else min(asked, self.left)

    def get_backoff_time(self) -> float:
        """As the library's, as far as there is time."""
        return min(super().get_backoff_time(), self.left)


def retries(seconds: float, methods: frozenset[str] | None) -> Retry:
    """Repeats at once, then after 1, 2, 4, 8, 10, 10 ... seconds, until `seconds` are over; `methods` None: any method
    may repeat.

    A refused connection is repeated for every method, since nothing was sent. One that was closed or reset is not: what
    a creating call has made is not known then.
    """
    retry = _Waiting(
        total=None,
        redirect=0,
        allowed_methods=methods,
        status_forcelist=_AWAY,
        backoff_factor=0.5,
        backoff_max=10,
        raise_on_status=False,
    )
    retry.seconds = seconds
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


def no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Sends a request unsigned."""
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
