"""The contract of a tool, against the real server with both kinds of token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from connector.demo.label_studio_seed import Rater
from connector.demo.label_studio_server import LabelStudioServer
from connector.testing import ToolContract
from tests.contract.label_studio_world import LabelStudioWorld


class RealWorld(LabelStudioWorld):
    """A project on the real server, which can be taken away and comes back."""

    faults = ("restart",)

    def __init__(self, server: LabelStudioServer, token: str) -> None:
        super().__init__(server.url, token, server.token)
        self.server = server

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        if name != "restart":
            raise ValueError(name)
        self.server.stop()
        back = threading.Timer(2.0, self.server.start)
        back.start()
        try:
            yield
        finally:
            back.join()


class TestWithALegacyToken(ToolContract):
    @pytest.fixture
    def world(self, label_studio: LabelStudioServer, raters: tuple[Rater, ...]) -> Iterator[RealWorld]:
        assert raters
        world = RealWorld(label_studio, label_studio.token)
        yield world
        world.close()


class TestWithAPersonalAccessToken(ToolContract):
    @pytest.fixture
    def world(
        self, label_studio: LabelStudioServer, personal_token: str, raters: tuple[Rater, ...]
    ) -> Iterator[RealWorld]:
        assert raters
        world = RealWorld(label_studio, personal_token)
        yield world
        world.close()
