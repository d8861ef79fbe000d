"""The store: one SQLite file beside the configuration, with what was pulled, what was written, and the runs.

Everything in it can be made again from the tool, except the history of runs and, of users who were deleted since, that
annotations were theirs and what the tool deleted with them. Tokens never reach it. A crash leaves the last whole
transaction.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from connector.annotations.model import Annotation, Unit
from connector.errors import AnotherRun, ConnectorError, DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.base import Cursor

SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE source (
    source TEXT PRIMARY KEY, tool TEXT NOT NULL, title TEXT NOT NULL, link TEXT NOT NULL, settings TEXT NOT NULL,
    newest_update TEXT, last_id TEXT, full_pull_at REAL, required_ratings INTEGER
) STRICT;
CREATE TABLE unit (
    source TEXT NOT NULL, unit TEXT NOT NULL, created_at TEXT, updated_at TEXT, declared INTEGER,
    declared_cancelled INTEGER, data TEXT NOT NULL, predictions TEXT NOT NULL, PRIMARY KEY (source, unit)
) STRICT, WITHOUT ROWID;
CREATE TABLE annotation (
    source TEXT NOT NULL, unit TEXT NOT NULL, id TEXT NOT NULL, rater TEXT, status TEXT NOT NULL, created_at TEXT,
    updated_at TEXT, updated_by TEXT, ground_truth INTEGER NOT NULL, lead_time REAL, parent_annotation TEXT,
    parent_prediction TEXT, result TEXT NOT NULL, PRIMARY KEY (source, unit, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE skipped (
    source TEXT NOT NULL, unit TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (source, unit)
) STRICT;
CREATE TABLE ledger (
    source TEXT NOT NULL, item TEXT NOT NULL, unit TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (source, unit, item)
) STRICT, WITHOUT ROWID;
CREATE TABLE run (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, verb TEXT NOT NULL, started_at REAL NOT NULL, finished_at REAL,
    outcome TEXT, counts TEXT, gate TEXT
) STRICT;
"""

_ANNOTATION = (
    "id, rater, status, created_at, updated_at, updated_by, ground_truth, lead_time, parent_annotation,"
    " parent_prediction, result"
)
_OF_FIELDS = "(item GLOB 'field:*' OR item GLOB 'foreign:*' OR item GLOB 'intent:*')"


class StoredSource(NamedTuple):
    """What is remembered of one source: its settings text, how far the pulls came, and when the last full one
    started."""

    source: str
    tool: str
    title: str
    link: str
    settings: str
    cursor: Cursor
    full_pull_at: float | None
    required_ratings: int | None


class Store:
    """The open store. Use as a context manager; only one process writes at a time (`lock`).

    Parameters
    ----------
    path : the SQLite file; made when missing, together with its lock file `<path>.lock`.
    keep : False rolls everything back on leaving (a dry run): nothing is written, and a missing file stays missing.
    alone : False reads beside a run that is at work, as the store stood when it was opened; goes with `keep=False`.

    Raises
    ------
    AnotherRun : another process holds the lock.
    FixConfiguration : the folder does not exist or cannot be written, or a newer version made the file.
    DataNotTrusted : the file is not a store or is damaged.
    """

    def __init__(self, path: Path, *, keep: bool = True, alone: bool = True) -> None:
        from filelock import FileLock, Timeout

        self.path = path
        self._keep = keep
        if not path.parent.is_dir():
            raise FixConfiguration(
                f"The folder of the store does not exist: {path.parent}.", "Make it, or set `store:`."
            )
        self._lock = FileLock(f"{path}.lock") if alone and (keep or path.exists()) else None
        try:
            if self._lock is not None:
                self._lock.acquire(timeout=0)
        except Timeout:
            raise AnotherRun(
                f"Another run holds the lock {path}.lock.", "Wait for it to end, then run again."
            ) from None
        except OSError as error:
            raise FixConfiguration(
                f"The lock file beside the store cannot be written: {error.strerror}.", f"Path: {path}.lock"
            ) from None
        try:
            self._db = self._open()
        except BaseException:
            self._release()
            raise

    def _open(self) -> sqlite3.Connection:
        target = str(self.path) if self._keep or self.path.exists() else ":memory:"
        if self._keep:
            with contextlib.suppress(OSError):  # everybody's ratings: for the owner of the file alone
                self.path.touch(mode=0o600)
        try:
            db = sqlite3.connect(target, isolation_level=None, timeout=30)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
            elif version != SCHEMA_VERSION:
                db.close()
                raise _other_version(self.path, version)
        except sqlite3.DatabaseError as error:
            raise _store_error(self.path, error) from None
        if not self._keep:
            db.execute("BEGIN")
        return db

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise _store_error(self.path, error) from None

    def close(self) -> None:
        """Give file and lock back; a dry run is rolled back."""
        self._roll_back()
        with contextlib.suppress(sqlite3.DatabaseError):
            self._db.close()
        self._release()

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.DatabaseError):
            if self._db.in_transaction:  # a full disk has rolled back by itself
                self._db.execute("ROLLBACK")

    def _release(self) -> None:
        if self._lock is not None and self._lock.is_locked:
            self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it."""
        if self._db.in_transaction:  # a dry run is one transaction, rolled back at its end
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        self._db.execute("COMMIT")

    # sources

    def source(self, source: str) -> StoredSource | None:
        """What is remembered of `source`, or None when nothing was pulled yet."""
        row = self._db.execute(
            "SELECT source, tool, title, link, settings, newest_update, last_id, full_pull_at, required_ratings"
            " FROM source WHERE source = ?",
            (source,),
        ).fetchone()
        if row is None:
            return None
        name, tool, title, link, settings, newest_update, last_id, full_pull_at, required_ratings = row
        return StoredSource(
            source=name,
            tool=tool,
            title=title,
            link=link,
            settings=settings,
            cursor=Cursor(newest_update, last_id),
            full_pull_at=full_pull_at,
            required_ratings=required_ratings,
        )

    def sources(self) -> list[StoredSource]:
        """Every source that was pulled."""
        names = [row[0] for row in self._db.execute("SELECT source FROM source ORDER BY source")]
        return [stored for name in names if (stored := self.source(name)) is not None]

    def put_source(self, stored: StoredSource) -> None:
        """Remember settings and cursor."""
        self._db.execute(
            "INSERT INTO source"
            " (source, tool, title, link, settings, newest_update, last_id, full_pull_at, required_ratings)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source) DO UPDATE SET tool = excluded.tool,"
            " title = excluded.title, link = excluded.link, settings = excluded.settings,"
            " newest_update = excluded.newest_update, last_id = excluded.last_id,"
            " full_pull_at = excluded.full_pull_at, required_ratings = excluded.required_ratings",
            (
                *stored[:5],
                stored.cursor.newest_update,
                stored.cursor.last_id,
                stored.full_pull_at,
                stored.required_ratings,
            ),
        )

    def rename_source(self, old: str, new: str) -> None:
        """Let everything that is remembered of `old`, runs included, be that of `new`, of which nothing is yet."""
        for table in ("source", "unit", "annotation", "skipped", "ledger", "run"):
            self._db.execute(f"UPDATE {table} SET source = ? WHERE source = ?", (new, old))  # noqa: S608 - fixed names
        # Runs on several sources together bear all their names.
        for (together,) in self._db.execute("SELECT DISTINCT source FROM run WHERE source GLOB '[[]*'").fetchall():
            names = json.loads(together)
            if old in names:
                renamed = json.dumps(sorted(new if name == old else name for name in names))
                self._db.execute("UPDATE run SET source = ? WHERE source = ?", (renamed, together))

    # units and annotations

    def known(self, source: str) -> dict[str, str | None]:
        """`updated_at` of every stored unit."""
        return dict(self._db.execute("SELECT unit, updated_at FROM unit WHERE source = ?", (source,)))

    def created(self, source: str) -> dict[str, str | None]:
        """`created_at` of every stored unit."""
        return dict(self._db.execute("SELECT unit, created_at FROM unit WHERE source = ?", (source,)))

    def put_unit(self, source: str, unit: Unit) -> None:
        """Store a unit with exactly these annotations.

        A unit under a reused id (another `created_at`) is another unit: what was written to the old one is forgotten.
        A rater that the tool forgot because the user was deleted stays.
        """
        old = self._db.execute(
            "SELECT created_at FROM unit WHERE source = ? AND unit = ?", (source, unit.id)
        ).fetchone()
        raters: dict[tuple[str, str | None], str] = {}
        if old is not None and old[0] == unit.created_at:
            raters = {
                (id_, created): rater
                for id_, created, rater in self._db.execute(
                    "SELECT id, created_at, rater FROM annotation WHERE source = ? AND unit = ? AND rater IS NOT NULL",
                    (source, unit.id),
                )
            }
        elif old is not None:
            self.forget_units(source, [unit.id])
        self._db.execute(
            "INSERT OR REPLACE INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                source,
                unit.id,
                unit.created_at,
                unit.updated_at,
                unit.declared,
                unit.declared_cancelled,
                _dump(dict(unit.data)),
                _dump(dict(unit.predictions)),
            ),
        )
        self._db.execute("DELETE FROM annotation WHERE source = ? AND unit = ?", (source, unit.id))
        self._db.execute("DELETE FROM skipped WHERE source = ? AND unit = ?", (source, unit.id))
        self._db.executemany(
            "INSERT OR REPLACE INTO annotation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    source,
                    unit.id,
                    a.id,
                    a.rater if a.rater is not None else raters.get((a.id, a.created_at)),
                    a.status,
                    a.created_at,
                    a.updated_at,
                    a.updated_by,
                    int(a.ground_truth),
                    a.lead_time,
                    a.parent_annotation,
                    a.parent_prediction,
                    _dump(a.result),
                )
                for a in unit.annotations
            ],
        )

    def missing_from(self, source: str, unit: Unit) -> list[Annotation]:
        """The stored annotations of this unit that it lacks as it is now; none of another unit under a reused id."""
        here = {one.id for one in unit.annotations}
        stored = self._db.execute(
            "SELECT id FROM annotation WHERE source = ? AND unit = ? AND EXISTS (SELECT 1 FROM unit WHERE"
            " unit.source = annotation.source AND unit.unit = annotation.unit AND unit.created_at IS ?)",
            (source, unit.id, unit.created_at),
        ).fetchall()
        return [
            _annotation(row)
            for (id_,) in stored
            if id_ not in here
            for row in self._db.execute(
                f"SELECT {_ANNOTATION} FROM annotation WHERE source = ? AND unit = ? AND id = ?",  # noqa: S608 - fixed names
                (source, unit.id, id_),
            )
        ]

    def put_skipped(self, source: str, unit: str, reason: str) -> None:
        """Remember a malformed task; what was stored of it before stays out of the numbers. What was written to it
        stands there still."""
        for table in ("annotation", "unit"):
            self._db.execute(f"DELETE FROM {table} WHERE source = ? AND unit = ?", (source, unit))  # noqa: S608 - fixed names
        self._db.execute("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", (source, unit, reason))

    def skipped(self, source: str) -> dict[str, str]:
        """Malformed tasks and why."""
        return dict(self._db.execute("SELECT unit, reason FROM skipped WHERE source = ? ORDER BY unit", (source,)))

    def entries(self, source: str) -> Iterator[Unit | SkippedTask]:
        """Every stored unit, and the malformed tasks after them."""
        yield from self.units(source)
        for unit, reason in self.skipped(source).items():
            yield SkippedTask(unit, reason)

    def forget_units(self, source: str, units: Iterable[str]) -> None:
        """Drop units that are gone from the tool, with their annotations and what was written to them."""
        rows = [(source, unit) for unit in units]
        for table in ("annotation", "unit", "skipped", "ledger"):
            self._db.executemany(f"DELETE FROM {table} WHERE source = ? AND unit = ?", rows)  # noqa: S608 - fixed names

    def units(self, source: str) -> Iterator[Unit]:
        """Every stored unit with its annotations, all-digit ids in numeric order before the rest."""
        rows = self._db.execute(
            f"SELECT unit, {_ANNOTATION} FROM annotation WHERE source = ? ORDER BY unit, id",  # noqa: S608 - fixed names
            (source,),
        )
        annotations: dict[str, list[Annotation]] = {}
        for unit, *row in rows:
            annotations.setdefault(unit, []).append(_annotation(row))
        for unit, created, updated, declared, cancelled, data, predictions in self._db.execute(
            "SELECT unit, created_at, updated_at, declared, declared_cancelled, data, predictions FROM unit"
            " WHERE source = ? ORDER BY unit GLOB '*[^0-9]*', length(ltrim(unit, '0')), unit",
            (source,),
        ).fetchall():
            yield Unit(
                unit,
                annotations.get(unit, []),
                json.loads(data),
                created,
                updated,
                declared,
                cancelled,
                json.loads(predictions),
            )

    # the ledger of what we wrote

    def ledger(self, source: str, prefix: str = "") -> dict[str, dict[str, Any]]:
        """What we wrote: item -> unit ("" for items of the project) -> value. `prefix` restricts the items."""
        found: dict[str, dict[str, Any]] = {}
        for item, unit, value in self._db.execute(
            "SELECT item, unit, value FROM ledger WHERE source = ? AND substr(item, 1, ?) = ?",
            (source, len(prefix), prefix),
        ):
            found.setdefault(item, {})[unit] = json.loads(value)
        return found

    def item(self, source: str, item: str) -> Any:
        """The value of an item of the project, None where there is none."""
        row = self._db.execute(
            "SELECT value FROM ledger WHERE source = ? AND unit = '' AND item = ?", (source, item)
        ).fetchone()
        return None if row is None else json.loads(row[0])

    def wrote_fields(self, source: str) -> bool:
        """Whether the ledger holds any field that we wrote or were about to write."""
        row = self._db.execute(
            "SELECT 1 FROM ledger WHERE source = ? AND (item GLOB 'field:*' OR item GLOB 'intent:*') LIMIT 1", (source,)
        ).fetchone()
        return row is not None

    def record(self, source: str, item: str, values: Mapping[str, Any]) -> None:
        """Enter what was confirmed as written: unit -> value."""
        self._db.executemany(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)",
            [(source, item, unit, _dump(value)) for unit, value in values.items()],
        )

    def put_fields(self, source: str, unit: str, values: Mapping[str, Any]) -> None:
        """Let the ledger hold exactly these items of fields for `unit`, as read back from the tool."""
        self._db.execute(f"DELETE FROM ledger WHERE source = ? AND unit = ? AND {_OF_FIELDS}", (source, unit))  # noqa: S608
        self._db.executemany(
            "INSERT INTO ledger VALUES (?, ?, ?, ?)",
            [(source, item, unit, _dump(value)) for item, value in values.items()],
        )

    def items_of(self, source: str, unit: str) -> dict[str, Any]:
        """The ledger's items of one unit, with their values."""
        rows = self._db.execute("SELECT item, value FROM ledger WHERE source = ? AND unit = ?", (source, unit))
        return {item: json.loads(value) for item, value in rows}

    def data_of(self, source: str, unit: str) -> dict[str, Any]:
        """A stored unit's own content, empty where it is not stored."""
        row = self._db.execute("SELECT data FROM unit WHERE source = ? AND unit = ?", (source, unit)).fetchone()
        return {} if row is None else dict(json.loads(row[0]))

    def put_data(self, source: str, unit: str, data: Mapping[str, Any]) -> None:
        """Replace a stored unit's own content."""
        self._db.execute("UPDATE unit SET data = ? WHERE source = ? AND unit = ?", (_dump(dict(data)), source, unit))

    def strike(self, source: str, item: str, units: Iterable[str]) -> None:
        """Take out of the ledger what is confirmed as gone."""
        self._db.executemany(
            "DELETE FROM ledger WHERE source = ? AND item = ? AND unit = ?", [(source, item, unit) for unit in units]
        )

    def forget_writes(self, source: str, *, keep_review: bool, left: Collection[str] = ()) -> None:
        """Empty the ledger after everything was taken away; review tasks that stay in the tool stay in it, and all of
        the units that were `left` alone. Which units have no place for fields, not even an empty one, is so still."""
        kept = ("review_project", "review_task", "review_letter") if keep_review else ("", "", "")
        self._db.execute(
            "DELETE FROM ledger WHERE source = ? AND item NOT IN ('bare', ?, ?, ?)"
            " AND unit NOT IN (SELECT value FROM json_each(?))",
            (source, *kept, _dump(list(left))),
        )

    # runs

    def start_run(self, source: str, verb: str, at: float) -> int:
        """Open a run; a run without an end in the history was killed."""
        cursor = self._db.execute("INSERT INTO run (source, verb, started_at) VALUES (?, ?, ?)", (source, verb, at))
        return int(cursor.lastrowid or 0)

    def end_run(
        self, run: int, at: float, outcome: str, counts: Mapping[str, int], gate: Mapping[str, Any] | None = None
    ) -> None:
        """Close a run with its outcome, its counts and the gate's JSON."""
        self._db.execute(
            "UPDATE run SET finished_at = ?, outcome = ?, counts = ?, gate = ? WHERE id = ?",
            (at, outcome, _dump(dict(counts)), None if gate is None else _dump(dict(gate)), run),
        )

    def looks(self, source: str) -> list[tuple[str, Any]]:
        """(outcome, gate JSON) of the ended gate runs, oldest first."""
        rows = self._db.execute(
            "SELECT outcome, gate FROM run WHERE source = ? AND gate IS NOT NULL ORDER BY id", (source,)
        )
        return [(outcome, json.loads(gate)) for outcome, gate in rows]


def _annotation(row: Sequence[Any]) -> Annotation:
    id_, rater, status, created, updated, by, gold, lead, parent, prediction, result = row
    return Annotation(
        id_, rater, json.loads(result), status, created, updated, by, bool(gold), lead, parent, prediction
    )


def _dump(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # half a surrogate pair has no encoding; as an escape it keeps
    return text if _encodes(text) else json.dumps(value, separators=(",", ":"))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _store_error(path: Path, error: sqlite3.DatabaseError) -> ConnectorError:
    if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
        return FixConfiguration(
            f"The store {path} cannot be read or written: {error}.",
            "Nothing of this step was kept. Make room, or set `store:` to a file you may write.",
        )
    return DataNotTrusted(
        f"The store {path} is damaged or not a store: {error}.",
        "Move it away: the next sync builds a new one from the tool.",
    )


def _other_version(path: Path, version: int) -> FixConfiguration:
    if version > SCHEMA_VERSION:
        return FixConfiguration(
            f"The store {path} was made by a newer version (schema {version}).", "Upgrade agreement-connector."
        )
    return FixConfiguration(
        f"{path} is not a store of this program (schema {version}).", "Set `store:` to another file."
    )
