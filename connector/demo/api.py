"""A tool's interface with one person's key, for what the demo and its tests do in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from connector.errors import ToolTrouble


def loopback_session() -> requests.Session:
    """A session for this machine: no proxy, no .netrc."""
    session = requests.Session()
    session.trust_env = False
    return session


class JsonApi:
    """JSON there and back.

    Raises
    ------
    ToolTrouble : the server refuses; with what was asked and the start of its answer.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url
        self._session = loopback_session()
        self._session.headers.update(headers)

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """One request: `body` is sent as JSON, `query` as the query string. Gives parsed JSON (None: no content)."""
        answer = self._session.request(method, self.url + path, json=body, params=query, timeout=300)
        if not answer.ok:
            raise ToolTrouble(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
        return answer.json() if answer.content else None

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()
