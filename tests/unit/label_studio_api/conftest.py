"""A recorded Label Studio with a small project, for tests of single calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connector.tools.label_studio.tool import LabelStudio
from tests.contract.label_studio_world import RecordedWorld
from tests.contract.recorded_label_studio import RecordedLabelStudio


@pytest.fixture
def server() -> Iterator[RecordedLabelStudio]:
    with RecordedLabelStudio() as server:
        yield server


@pytest.fixture
def world(server: RecordedLabelStudio) -> Iterator[RecordedWorld]:
    world = RecordedWorld(server, server.legacy_token)
    yield world
    world.close()


@pytest.fixture
def tool(world: RecordedWorld) -> LabelStudio:
    tool = world.tool()
    assert isinstance(tool, LabelStudio)
    return tool


@pytest.fixture
def ids(world: RecordedWorld) -> list[str]:
    return list(world.annotations())
