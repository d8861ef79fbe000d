"""The store: whole transactions, one writer, reused ids, raters that the tool forgot."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from connector.annotations.model import Annotation, Unit
from connector.errors import DataNotTrusted, FixConfiguration
from connector.store import Store, StoredSource
from connector.tools.base import Cursor

SOURCE = "label_studio:http://127.0.0.1:1:1"


def unit(id_: str = "1", *annotations: Annotation, created: str = "2026-01-01T00:00:00Z") -> Unit:
    return Unit(id_, list(annotations), {"text": "x"}, created, "2026-01-02T00:00:00Z", len(annotations), 0)


def rating(id_: str, rater: str | None) -> Annotation:
    return Annotation(id_, rater, [{"type": "choices"}], created_at="2026-01-01T00:00:01Z")


def test_a_unit_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    stored = unit(
        "7", rating("70", "3"), Annotation("71", "4", [], "cancelled", lead_time=1.5, ground_truth=True, updated_by="9")
    )
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, stored)
    with Store(tmp_path / "s.db") as store:
        assert list(store.units(SOURCE)) == [stored]


def test_units_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        for id_ in ("10", "9", "b", "100", "a"):
            store.put_unit(SOURCE, unit(id_))
        assert [u.id for u in store.units(SOURCE)] == ["9", "10", "100", "a", "b"]


def test_storing_a_unit_again_replaces_its_annotations(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, unit("1", rating("70", "3"), rating("71", "4")))
        store.put_unit(SOURCE, unit("1", rating("71", "4")))
        assert [a.id for a in next(store.units(SOURCE)).annotations] == ["71"]


def test_a_rater_whose_user_was_deleted_stays(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, unit("1", rating("70", "3")))
        store.put_unit(SOURCE, unit("1", rating("70", None)))
        assert next(store.units(SOURCE)).annotations[0].rater == "3"


def test_what_a_unit_lacks_now_is_told_whole_but_not_of_another_unit_under_its_id(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, unit("1", rating("70", "3"), rating("71", "4")))
        assert store.missing_from(SOURCE, unit("1", rating("71", None), rating("72", "5"))) == [rating("70", "3")]
        assert store.missing_from(SOURCE, unit("1", created="2026-05-05T00:00:00Z")) == []
        assert store.missing_from(SOURCE, unit("2")) == []


def test_a_reused_id_is_another_unit(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, unit("1", rating("70", "3")))
        store.record(SOURCE, "field:iaa_status", {"1": "conflict"})
        store.put_unit(SOURCE, unit("1", rating("70", None), created="2026-05-05T00:00:00Z"))
        assert next(store.units(SOURCE)).annotations[0].rater is None
        assert store.ledger(SOURCE) == {}


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    def fail(store: Store) -> None:
        with store.transaction():
            store.put_unit(SOURCE, unit("1", rating("70", "3")))
            raise RuntimeError

    with Store(tmp_path / "s.db") as store:
        with pytest.raises(RuntimeError):
            fail(store)
        assert list(store.units(SOURCE)) == []


def test_a_killed_process_leaves_the_last_whole_transaction_and_no_lock(tmp_path: Path) -> None:
    script = f"""
import pathlib, sys, time
from connector.store import Store
from connector.annotations.model import Unit
store = Store(pathlib.Path({str(tmp_path / "s.db")!r}))
with store.transaction():
    store.put_unit({SOURCE!r}, Unit("1", []))
with store.transaction():
    store.put_unit({SOURCE!r}, Unit("2", []))
    print("inside", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        process.kill()
        process.wait()
    with Store(tmp_path / "s.db") as store:
        assert [u.id for u in store.units(SOURCE)] == ["1"]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    script = f"import pathlib; from connector.store import Store; Store(pathlib.Path({str(tmp_path / 's.db')!r}))"
    with Store(tmp_path / "s.db"):
        started = time.monotonic()
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert time.monotonic() - started < 20, "a second run must not wait for the first"
    assert "AnotherRun" in other.stderr


def test_a_report_reads_beside_a_run_that_is_at_work(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as writer:
        writer.put_unit(SOURCE, unit("1"))
        with writer.transaction():
            writer.put_unit(SOURCE, unit("2"))
            with Store(tmp_path / "s.db", keep=False, alone=False) as reader:
                assert [u.id for u in reader.units(SOURCE)] == ["1"]


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db", keep=False) as store, store.transaction():
        store.put_unit(SOURCE, unit("1"))
        assert len(list(store.units(SOURCE))) == 1
    assert list(tmp_path.iterdir()) == []
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, unit("1"))
    with Store(tmp_path / "s.db", keep=False) as store, store.transaction():
        store.forget_units(SOURCE, ["1"])
        store.record(SOURCE, "summary", {"": "text"})
    with Store(tmp_path / "s.db") as store:
        assert [u.id for u in store.units(SOURCE)] == ["1"]
        assert store.ledger(SOURCE) == {}


def test_the_ledger_keeps_numbers_and_text_apart(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.record(SOURCE, "field:iaa_agreement", {"1": 0.5, "2": 1.0})
        store.record(SOURCE, "field:iaa_majority", {"1": "1"})
        store.record(SOURCE, "summary", {"": "line"})
        store.strike(SOURCE, "field:iaa_agreement", ["2"])
        assert store.ledger(SOURCE, "field:") == {"field:iaa_agreement": {"1": 0.5}, "field:iaa_majority": {"1": "1"}}


def test_the_cursor_comes_back(tmp_path: Path) -> None:
    stored = StoredSource(
        SOURCE, "label_studio", "t", "http://x", "<View/>", Cursor("2026-01-02T00:00:00.5Z", "9"), 12.5, 2
    )
    with Store(tmp_path / "s.db") as store:
        assert store.source(SOURCE) is None
        store.put_source(stored._replace(title="old"))
        store.put_source(stored)
        assert store.source(SOURCE) == stored
        assert store.sources() == [stored]


def test_an_empty_file_becomes_a_store_and_a_foreign_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    Store(tmp_path / "empty.db").close()
    (tmp_path / "text.db").write_text("not a database at all, but long enough to have a header" * 10)
    with pytest.raises(DataNotTrusted, match="not a store"):
        Store(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    with pytest.raises(FixConfiguration, match="not a store"):
        Store(tmp_path / "other.db")
    with sqlite3.connect(tmp_path / "newer.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(FixConfiguration, match="newer version"):
        Store(tmp_path / "newer.db")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FixConfiguration, match="does not exist"):
        Store(tmp_path / "no" / "s.db")


def test_damage_in_the_middle_of_the_file_and_a_full_disk_are_said(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store, store.transaction():
        for number in range(400):
            store.put_unit(SOURCE, unit(str(number), rating(str(number), "3")))
    whole = (tmp_path / "s.db").read_bytes()
    (tmp_path / "s.db").write_bytes(whole[:8192] + b"\xff" * (len(whole) - 12288) + whole[-4096:])

    def read() -> None:
        with Store(tmp_path / "s.db") as store:
            list(store.units(SOURCE))

    with pytest.raises(DataNotTrusted, match="damaged"):
        read()
    script = f"""
import pathlib, resource
from connector.store import Store
from connector.annotations.model import Unit
from connector.errors import FixConfiguration
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with Store(pathlib.Path({str(tmp_path / "full.db")!r})) as store, store.transaction():
        for number in range(20_000):
            store.put_unit({SOURCE!r}, Unit(str(number), [], {{"text": "x" * 200}}))
except FixConfiguration as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "cannot be read or written" in done.stdout, done.stderr


def test_half_a_surrogate_pair_keeps(tmp_path: Path) -> None:
    odd = unit("1")._replace(data={"text": "half \ud800 a pair", "and": "漢字"})
    with Store(tmp_path / "s.db") as store:
        store.put_unit(SOURCE, odd)
        assert next(store.units(SOURCE)).data == odd.data


def test_everything_of_a_source_goes_with_its_new_name(tmp_path: Path) -> None:
    """The runs on it together with others too."""
    other = "label_studio:http://127.0.0.1:1:2"
    together = [json.dumps(sorted(names)) for names in ([SOURCE, other], [other, "file:x"])]
    with Store(tmp_path / "s.db") as store:
        for source in (SOURCE, other):
            store.put_source(StoredSource(source, "label_studio", "", "", "", Cursor("u", "1"), 1.0, 2))
            store.put_unit(source, unit("1", rating("70", "3")))
            store.put_skipped(source, "2", "why")
            store.record(source, "field:x", {"1": "agreed"})
        for source in (SOURCE, other, *together):
            store.end_run(store.start_run(source, "gate", 1.0), 2.0, "PASS", {}, {"of": source})
        store.rename_source(SOURCE, "new")
        assert [one.source for one in store.sources()] == [other, "new"]
        for source in ("new", other):
            assert [(one.id, len(one.annotations)) for one in store.units(source)] == [("1", 1)]
            assert store.skipped(source) == {"2": "why"}
            assert store.ledger(source) == {"field:x": {"1": "agreed"}}
            assert len(store.looks(source)) == 1
        assert not list(store.entries(SOURCE))
        assert (store.ledger(SOURCE), store.looks(SOURCE)) == ({}, [])
        assert store.looks(json.dumps(sorted(["new", other]))) == [("PASS", {"of": together[0]})]
        assert (store.looks(together[0]), len(store.looks(together[1]))) == ([], 1)
