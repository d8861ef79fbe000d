"""Label Studio keeps the contract, with either kind of token, at the root of its host and under a sub-path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connector.testing import ToolContract
from connector.tools.label_studio import write
from tests.contract.label_studio_world import RecordedWorld
from tests.contract.recorded_label_studio import RecordedLabelStudio


class TestRecordedLabelStudio(ToolContract):
    @pytest.fixture
    def world(self) -> Iterator[RecordedWorld]:
        with RecordedLabelStudio() as server:
            world = RecordedWorld(server, server.legacy_token)
            yield world
            world.close()


class TestWithPersonalAccessTokenUnderASubPath(ToolContract):
    @pytest.fixture
    def world(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedWorld]:
        """Access tokens here are good for two requests only, so that they are renewed all along.

        One call at a time: several would use up each other's new tokens, which no real server makes them do.
        """
        monkeypatch.setattr(write, "WORKERS", 1)
        with RecordedLabelStudio(sub_path="/label-studio", access_lives=2) as server:
            world = RecordedWorld(server, server.personal_token)
            yield world
            world.close()


class TestWithoutTheBulkAction(ToolContract):
    @pytest.fixture
    def world(self) -> Iterator[RecordedWorld]:
        """An older or other edition: fields go by reading, merging and patching."""
        with RecordedLabelStudio() as server:
            server.has_bulk_action = False
            world = RecordedWorld(server, server.legacy_token)
            yield world
            world.close()
