"""What runs inside the environment of the Argilla server: `python argilla_program.py serve PORT` or `... reindex`.

Argilla knows two search engines, both large Java programs. The one that a pip package can bring, osmem, speaks
OpenSearch's language but runs no scripts, and three of Argilla's updates are scripts: `Osmem` does these three by
reading, changing and writing the document.

`serve` brings the database to its newest form, makes the owner, fills the index (which lives in memory) and serves the
API and the page; a second process does the jobs that the server puts into Redis (webhooks, recounting). One program
instead of Argilla's five commands, because each of them would spend five seconds on importing the same libraries.

It is started as a file and needs Argilla's packages only, not the package around it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import alembic.config
import uvicorn
from argilla_server.cli.search_engine.reindex import Reindexer
from argilla_server.contexts import accounts
from argilla_server.database import ALEMBIC_CONFIG_FILE, AsyncSessionLocal, async_engine
from argilla_server.enums import UserRole
from argilla_server.jobs.queues import DEFAULT_QUEUE, HIGH_QUEUE, REDIS_CONNECTION
from argilla_server.models import Response, Suggestion, User
from argilla_server.search_engine import OpenSearchEngine, SearchEngine, get_search_engine
from argilla_server.search_engine.commons import es_index_name_for_dataset
from argilla_server.settings import settings
from opensearchpy.exceptions import ConflictError
from rq import SimpleWorker
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

CONFLICTS = 50
"""How often an update is tried again because another one changed the document in between."""

Document = dict[str, Any]


@SearchEngine.register("osmem")
class Osmem(OpenSearchEngine):  # type: ignore[misc]
    """Argilla's OpenSearch engine, with no script in it."""

    async def update_record_response(self, response: Response) -> None:
        """Put one rater's response in place of the one that the record has of them."""
        mapped = self._map_record_response_to_es(response)

        def put(document: Document) -> None:
            document["responses"] = [*_without(document, response), mapped]

        await self._change(response.record, put)

    async def delete_record_response(self, response: Response) -> None:
        """Take one rater's response out of the record."""

        def take(document: Document) -> None:
            document["responses"] = _without(document, response)

        await self._change(response.record, take)

    async def delete_record_suggestion(self, suggestion: Suggestion) -> None:
        """Take the suggestion for one question out of the record."""

        def take(document: Document) -> None:
            (document.get("suggestions") or {}).pop(suggestion.question.name, None)

        await self._change(suggestion.record, take)

    async def _change(self, record: Any, change: Callable[[Document], None]) -> None:
        """Write the record's document back changed, unless somebody else wrote it since it was read: then anew."""
        place = {"index": es_index_name_for_dataset(record.dataset), "id": str(record.id)}
        for _ in range(CONFLICTS):
            found = await self.client.get(**place)
            change(found["_source"])
            seen = {"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]}
            try:
                await self.client.index(**place, body=found["_source"], refresh=True, **seen)
            except ConflictError:
                continue
            return
        raise RuntimeError(f"record {record.id} changes too fast for the index")


def _without(document: Document, response: Response) -> list[Document]:
    return [one for one in document.get("responses") or [] if one["id"] != str(response.id)]


def serve(port: int) -> None:
    """Serve on this port of the loopback address until the process is ended."""
    _fork_worker()
    alembic.config.main(argv=["-c", ALEMBIC_CONFIG_FILE, "upgrade", "head"])
    asyncio.run(_prepare())
    uvicorn.run("argilla_server:app", host="127.0.0.1", port=port, access_log=False)


def _fork_worker() -> None:
    """A second process that has everything imported already; before there are connections or threads of our own."""
    with warnings.catch_warnings():
        # What runs beside us at this point are idle threads of libraries for numbers, which know about forks.
        warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
        if os.fork() == 0:
            work()
            os._exit(0)


async def _prepare() -> None:
    async with AsyncSessionLocal() as db:
        name = os.environ["OWNER_NAME"]
        if await accounts.get_user_by_username(db, name) is None:
            await User.create(
                db,
                first_name=name.capitalize(),
                username=name,
                role=UserRole.owner,
                password_hash=accounts.hash_password(os.environ["OWNER_PASSWORD"]),
                api_key=os.environ["OWNER_API_KEY"],
            )
    await _reindex()


async def _reindex() -> None:
    """Fill the index from the database."""
    async with AsyncSessionLocal() as db:
        async for engine in get_search_engine():
            async for dataset in Reindexer.reindex_datasets(db, engine):
                async for _ in Reindexer.reindex_dataset_records(db, engine, dataset):
                    pass
    await async_engine.dispose()  # its connections belong to this event loop, the server has another one


def work() -> None:
    """Do the jobs in Redis, one after the other, in this very process: a child of its own would outlive its end."""
    # Every job runs in an event loop of its own, which a connection cannot leave: none is kept.
    engine = create_async_engine(settings.database_url, poolclass=NullPool, **settings.database_engine_args)
    AsyncSessionLocal.configure(bind=engine)
    SimpleWorker([HIGH_QUEUE, DEFAULT_QUEUE], connection=REDIS_CONNECTION).work(logging_level="WARNING")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", number]:
            serve(int(number))
        case ["reindex"]:
            asyncio.run(_reindex())
        case _:
            sys.exit(__doc__)
