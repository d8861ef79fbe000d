"""Files keep the part of the contract that is about reading: exports of Label Studio and Argilla, and long tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from connector.errors import SkippedTask
from connector.testing import Reading, ReadingContract
from connector.tools.files import open_files
from tests.contract.conversation import LABEL_CONFIG, choice

ROWS: tuple[tuple[str, str, str, int], ...] = (
    ("9", "ann", "Positive", 1),
    ("9", "bob", "Negative", 1),
    ("10", "ann", "Negative", 1),
    ("10", "bob", "Negative", 1),
    ("10", "ann", "Positive", 2),
    ("08", "cid", "Positive", 1),
    ("x y", "ann", "Positive", 1),
    ("x y", "bob", "Positive", 3),
    ("x y", "bob", "Negative", 2),
    ("x y", "cid", "Negative", 1),
)
"""(unit, rater, label, hour). Ann has changed her mind about 10 and Bob about "x y", whose newer rating comes first."""


class FileWorld:
    """A file that is written anew whenever what it holds changes. `entries` are what stands in it, in its order."""

    faults: Collection[str] = ("malformed", "reordered")

    def __init__(self, path: Path, entries: list[Any]) -> None:
        self.path = path
        self.entries = entries
        self.write()

    def write(self) -> None:
        raise NotImplementedError

    def annotations(self) -> Mapping[str, int]:
        units: dict[str, int] = {}
        for unit, *_ in ROWS:
            units[unit] = units.get(unit, 0) + 1
        return units

    @contextmanager
    def holding(self, entries: list[Any]) -> Iterator[None]:
        before, self.entries = self.entries, entries
        self.write()
        yield
        self.entries = before
        self.write()

    @contextmanager
    def reordered(self) -> Iterator[None]:
        with self.holding(self.entries[::-1]):
            yield


class ExportWorld(FileWorld):
    """A Label Studio JSON export."""

    def __init__(self, path: Path) -> None:
        tasks: dict[str, dict[str, Any]] = {}
        for number, (unit, rater, label, hour) in enumerate(ROWS):
            at = f"2026-01-01T{hour:02}:00:00.000001Z"
            task = tasks.setdefault(unit, {"id": unit, "data": {"text": f"text {unit}"}, "annotations": []})
            task["annotations"].append(
                {"id": number, "completed_by": rater, "result": choice(label), "created_at": at, "updated_at": at}
            )
        super().__init__(path, list(tasks.values()))

    def write(self) -> None:
        self.path.write_text(json.dumps(self.entries), encoding="utf-8")

    def add_unrated(self) -> str:
        self.entries = [*self.entries, {"id": 77, "data": {"text": "new"}, "annotations": []}]
        self.write()
        return "77"

    @contextmanager
    def malformed(self) -> Iterator[str]:
        broken = {**self.entries[1], "annotations": "two of them"}
        with self.holding([self.entries[0], broken, *self.entries[2:]]):
            yield str(broken["id"])

    @contextmanager
    def reordered(self) -> Iterator[None]:
        """The tasks, and the annotations of each."""
        turned = [{**task, "annotations": task["annotations"][::-1]} for task in self.entries[::-1]]
        with self.holding(turned):
            yield


class RecordsWorld(FileWorld):
    """Records of Argilla's API, as an array, as lines or as a page."""

    def __init__(self, path: Path) -> None:
        records: dict[str, dict[str, Any]] = {}
        for number, (unit, rater, label, hour) in enumerate(ROWS):
            at = f"2026-01-01T{hour:02}:00:00.000001"
            record = records.setdefault(unit, {"id": unit, "fields": {"text": f"text {unit}"}, "responses": []})
            record["responses"].append(
                {
                    "id": f"{number:02}",
                    "user_id": rater,
                    "status": "submitted",
                    "values": {"sentiment": {"value": label}},
                    "inserted_at": at,
                    "updated_at": at,
                }
            )
        super().__init__(path, list(records.values()))

    def write(self) -> None:
        if self.path.suffix == ".jsonl":
            text = "".join(json.dumps(entry) + "\n" for entry in self.entries)
        elif self.path.stem == "page":
            text = json.dumps({"items": self.entries, "total": len(self.entries)})
        else:
            text = json.dumps(self.entries)
        self.path.write_text(text, encoding="utf-8")

    def add_unrated(self) -> str:
        self.entries = [*self.entries, {"id": "77", "fields": {"text": "new"}, "responses": []}]
        self.write()
        return "77"

    @contextmanager
    def malformed(self) -> Iterator[str]:
        broken = {**self.entries[1], "responses": ["two of them"]}
        with self.holding([self.entries[0], broken, *self.entries[2:]]):
            yield str(broken["id"])

    @contextmanager
    def reordered(self) -> Iterator[None]:
        """The records, and the responses of each."""
        turned = [{**record, "responses": record["responses"][::-1]} for record in self.entries[::-1]]
        with self.holding(turned):
            yield


class FlatWorld(RecordsWorld):
    """Records as Argilla's SDK flattens them. They carry no times, and each rater has answered a record once."""

    newest: Mapping[tuple[str, str], str]

    def __init__(self, path: Path) -> None:
        by_time = sorted(ROWS, key=lambda row: row[3])
        self.newest = {(unit, rater): label for unit, rater, label, _ in by_time}
        rows: dict[str, dict[str, Any]] = {}
        for (unit, rater), label in self.newest.items():
            row = rows.setdefault(unit, self._row(unit))
            for part, cell in (("", label), (".users", rater), (".status", "submitted")):
                row[f"sentiment.responses{part}"] = [*(row[f"sentiment.responses{part}"] or []), cell]
        FileWorld.__init__(self, path, list(rows.values()))

    @staticmethod
    def _row(unit: str) -> dict[str, Any]:
        columns = (f"sentiment.responses{part}" for part in ("", ".users", ".status"))
        return {"id": f"external {unit}", "_server_id": unit, "text": "some", **dict.fromkeys(columns)}

    def annotations(self) -> Mapping[str, int]:
        units = [unit for unit, _ in self.newest]
        return {unit: units.count(unit) for unit in units}

    def add_unrated(self) -> str:
        self.entries = [*self.entries, self._row("77")]
        self.write()
        return "77"

    @contextmanager
    def malformed(self) -> Iterator[str]:
        broken = {**self.entries[1], "sentiment.responses.users": ["one too many", "x", "y", "z"]}
        with self.holding([self.entries[0], broken, *self.entries[2:]]):
            yield str(broken["_server_id"])

    @contextmanager
    def reordered(self) -> Iterator[None]:
        """The records, and the responses of each."""
        turned = [
            {key: cell[::-1] if isinstance(cell, list) else cell for key, cell in row.items()}
            for row in self.entries[::-1]
        ]
        with self.holding(turned):
            yield


class TableWorld(FileWorld):
    """A long table with columns of questions and times. What is newest for the tone is oldest for the sentiment."""

    def __init__(self, path: Path, questions: Collection[str]) -> None:
        rows: list[dict[str, Any]] = [
            {"unit": unit, "rater": rater, "value": label, "question": question, "updated_at": f"2026-01-01T0{at}:00Z"}
            for unit, rater, label, hour in ROWS
            for question in questions
            for at in [f"{hour if question == 'sentiment' else 5 - hour}:00"]
        ]
        super().__init__(path, rows)

    def write(self) -> None:
        if self.path.suffix == ".jsonl":
            text = "".join(json.dumps(row) + "\n" for row in self.entries)
        else:
            buffer = io.StringIO()
            rows = csv.writer(buffer)
            rows.writerow(["unit", "rater", "value", "question", "updated_at"])
            rows.writerows(list(row.values()) for row in self.entries)
            text = buffer.getvalue()
        self.path.write_text(text, encoding="utf-8")

    def add_unrated(self) -> str:
        self.entries = [*self.entries, {**self.entries[0], "unit": "77", "rater": "", "value": ""}]
        self.write()
        return "77"

    @contextmanager
    def malformed(self) -> Iterator[str]:
        """A row whose unit is missing: nothing but its place tells it apart."""
        broken = {**self.entries[0], "unit": ""}
        with self.holding([*self.entries, broken]):
            yield f"at line {len(self.entries) + (1 if self.path.suffix == '.csv' else 0)}"


class FilesContract(ReadingContract):
    label_config: str | None = None

    @pytest.fixture
    def read(self, world: FileWorld) -> Callable[[], Reading]:
        def read() -> Reading:
            source = open_files([world.path], label_config=self.label_config)
            units, skipped = [], []
            for one in source.units:
                if isinstance(one, SkippedTask):
                    skipped.append(one)
                else:
                    units.append(one)
            return Reading(units, skipped, source.schema)

        return read


class NewestContract(FilesContract):
    """Files that say when an answer was given."""

    def test_the_newest_of_a_raters_answers_counts(self, read: Callable[[], Reading]) -> None:
        newest = {"sentiment": ("Positive", "Positive"), "tone": ("Negative", "Negative")}
        for name, one in read().table().questions.items():
            ratings = one.ratings
            rows = zip(ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True)
            values = {
                (ratings.unit_ids[unit], ratings.rater_ids[rater]): ratings.codebook.categories[value]
                for unit, rater, value in rows
            }
            assert len(values) == 8
            assert (values["10", "ann"], values["x y", "bob"]) == newest[name]


class TestLabelStudioExport(NewestContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> FileWorld:
        return ExportWorld(tmp_path / "export.json")


class TestLabelStudioExportWithItsLabelConfig(TestLabelStudioExport):
    label_config = LABEL_CONFIG


class TestArgillaRecords(NewestContract):
    @pytest.fixture(params=["records.json", "records.jsonl", "page.json"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
        return RecordsWorld(tmp_path / request.param)


class TestArgillaFlatRecords(FilesContract):
    @pytest.fixture(params=["records.json", "records.jsonl"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
        return FlatWorld(tmp_path / request.param)


class TestLongTable(NewestContract):
    @pytest.fixture(params=["table.csv", "table.jsonl"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
        return TableWorld(tmp_path / request.param, ["sentiment"])


class TestLongTableOfTwoQuestions(NewestContract):
    @pytest.fixture(params=["table.csv", "table.jsonl"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
        return TableWorld(tmp_path / request.param, ["sentiment", "tone"])
