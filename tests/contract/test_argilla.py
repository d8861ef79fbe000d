"""Argilla keeps the contract: with an owner's key, and with an admin's under a sub-path where the review workspace is
there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connector.testing import ToolContract
from tests.contract.argilla_world import RecordedArgillaWorld
from tests.contract.recorded_argilla import RecordedArgilla


class TestRecordedArgilla(ToolContract):
    @pytest.fixture
    def world(self) -> Iterator[RecordedArgillaWorld]:
        with RecordedArgilla() as server:
            world = RecordedArgillaWorld(server)
            yield world
            world.close()


class TestWithAnAdminsKeyUnderASubPath(ToolContract):
    @pytest.fixture
    def world(self) -> Iterator[RecordedArgillaWorld]:
        """Only an owner can make a workspace."""
        with RecordedArgilla(sub_path="/argilla") as server:
            server.workspaces.append({**server.workspaces[0], "id": server.new_id(), "name": "recorded-review"})
            world = RecordedArgillaWorld(server, server.admin_key)
            yield world
            world.close()
