"""Starts a real Label Studio on this machine: from its PyPI package, in a virtual environment of its own, on loopback.

    with label_studio_server(folder) as server:
        requests.get(server.url + "/api/projects", headers={"Authorization": f"Token {server.token}"})

The environment (about 1 GB) is built once and kept under the user's cache folder. The server is ended, with its
children, however the caller ends.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import requests

from connector.demo.api import loopback_session
from connector.demo.environment import Package, server_environment
from connector.demo.process import Guarded, Progress, clean_environment, start_guarded, to_stderr
from connector.demo.server import Server, kept_login

VERSION = "1.23.2"
"""The Label Studio that is started unless another is asked for."""

LABEL_STUDIO = Package("Label Studio", "label-studio", VERSION, "label-studio", "1 GB", modules=("django",))

EMAIL = "admin@example.org"


class LabelStudioServer(Server):
    """A running Label Studio.

    Attributes
    ----------
    url : http://127.0.0.1:PORT
    email, password : the owner's login on the page.
    token : the owner's legacy API token (sent as `Authorization: Token ...`); legacy tokens are enabled at the start.
    data_dir, log : where it keeps its database and writes what it has to say.
    """

    _first_boot = "about 25 s"
    _ready_path = "/health"

    def __init__(self, environment: Path, data_dir: Path, port: int | None, version: str, progress: Progress) -> None:
        super().__init__(environment, data_dir, port, progress)
        self.name = f"Label Studio {version}"
        self.version = version
        self.email = EMAIL
        login = kept_login(self.data_dir, _login)
        self.password, self.token = login["password"], login["token"]

    def _launch(self, port: int) -> Guarded:
        python = self._environment / "bin" / "python"
        script = self._environment / "bin" / "label-studio"
        command = [
            str(python), str(script), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port),
        ]  # fmt: skip
        return start_guarded(command, self.log, self._variables(port), self.data_dir)

    def _variables(self, port: int) -> dict[str, str]:
        """The server's whole environment; of the person's own only what every program needs.

        Label Studio reads its settings with and without a prefix (PORT, DEBUG, USERNAME ...): nothing else may leak in.
        """
        return {
            **clean_environment(),
            "LABEL_STUDIO_BASE_DATA_DIR": str(self.data_dir),
            "LABEL_STUDIO_HOST": f"http://127.0.0.1:{port}",
            "LABEL_STUDIO_USERNAME": self.email,
            "LABEL_STUDIO_PASSWORD": self.password,
            "LABEL_STUDIO_USER_TOKEN": self.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
            # it serves one machine: webhooks and connected models live on loopback too
            "SSRF_PROTECTION_ENABLED": "false",
            "ML_BLOCK_LOCAL_IP": "false",
        }

    def _is_ours(self, port: int) -> bool:
        """Whether the one who answers knows our owner: our password opens it (a token may have been disabled since).

        On a taken port Label Studio silently takes the next one, so somebody else may answer for it.
        """
        page = f"http://127.0.0.1:{port}/user/login/"
        try:
            with loopback_session() as session:
                session.get(page, timeout=30)
                form = {
                    "csrfmiddlewaretoken": session.cookies.get("csrftoken", ""),
                    "email": self.email,
                    "password": self.password,
                }
                session.post(page, data=form, headers={"Referer": page}, timeout=30, allow_redirects=False)
                me = session.get(f"http://127.0.0.1:{port}/api/current-user/whoami", timeout=30)
                return me.ok and me.json()["email"] == self.email
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return False


@contextlib.contextmanager
def label_studio_server(
    data_dir: Path, port: int | None = None, *, version: str = VERSION, progress: Progress = to_stderr
) -> Iterator[LabelStudioServer]:
    """A real Label Studio for the time of the block; on a free port unless one is named.

    Parameters
    ----------
    data_dir : where it keeps its database; the same folder again is the same server with the same login.
    port : a free one when None.
    version : of the PyPI package `label-studio`.
    progress : takes one line of text at a time.

    Raises
    ------
    FixConfiguration : no suitable Python, or the port is taken.
    RetryLater : it could not be installed.
    ServerFailed : it did not come up.
    """
    environment = server_environment(replace(LABEL_STUDIO, version=version), progress=progress)
    with LabelStudioServer(environment, data_dir, port, version, progress) as server:
        yield server


def _login() -> dict[str, str]:
    return {"email": EMAIL, "password": secrets.token_urlsafe(9), "token": secrets.token_hex(20)}
