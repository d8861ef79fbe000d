"""A recorded Argilla with seven records of two raters each, read three a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from connector.tools.argilla.tool import Argilla
from tests.contract.recorded_argilla import RecordedArgilla

PAGE = 3
RECORDS = 7


@pytest.fixture
def server() -> Iterator[RecordedArgilla]:
    with RecordedArgilla() as server:
        for number in range(RECORDS):
            record = server.add(f"Text {number}", external_id=f"rec-{number}")
            server.respond(record, 0, {"label": "pos"})
            server.respond(record, 1, {"label": "neg" if number % 2 else "pos"})
        yield server


Make = Callable[..., Argilla]


@pytest.fixture
def make(server: RecordedArgilla) -> Iterator[Make]:
    """Makes tools on the dataset, for the owner unless another key is given."""
    made: list[Argilla] = []

    def tool(key: str | None = None, project: str | None = None, url: str | None = None) -> Argilla:
        made.append(Argilla(url or server.url, key or server.owner_key, project or server.project, patience=0.5))
        made[-1].reader.page_size = PAGE
        return made[-1]

    yield tool
    for one in made:
        one.close()


@pytest.fixture
def tool(make: Make) -> Argilla:
    return make()


@pytest.fixture
def ids(server: RecordedArgilla) -> list[str]:
    return [record["id"] for record in server.records]
