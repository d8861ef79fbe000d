"""One SQLite file beside the configuration: ratings, cursor, ledger of writes, runs; an OS file lock."""

from connector.store.database import Store, StoredSource

__all__ = ["Store", "StoredSource"]
