"""Fields, the tab and the summary line: everything of ours that stands inside the source project.

Each operation looks at what is there first, so that applying it twice writes once, and checks what the server says it
did: a bulk write on a task that does not exist answers 200 "Updated 0 tasks".
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from connector.annotations.choices import clean
from connector.errors import FixAccess, NotThere, UnexpectedAnswer
from connector.tools.base import ClearFields, PutSummary, PutView, Receipt, RemoveView, SetField
from connector.tools.http import Refused
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import Reader

BULK = 1000
"""Tasks per bulk call: SQLite servers read and rewrite each task's data."""
PATCHES = 100
"""Tasks whose data are read together before they are patched."""
WORKERS = 4
Change = Callable[[dict[str, Any]], dict[str, Any]]

START, END = "[agreement-connector] ", " [/agreement-connector]"
_BLANK = r"[ \t\xa0]*"
_START, _END = re.escape(START.strip()), re.escape(END.strip())
_LINE = re.compile(
    # The empty line that we put before ours, or the beginning of a line: within an owner's sentence nothing is ours.
    rf"(?P<lead>\n\n|\r\n\r\n|(?<=\n)|\A)(?P<line>{_BLANK}(?:"
    rf"{_START}[^\r\n]*?{_END}"
    # Damage that people and editors do: a break within our line, or one of its two marks broken or gone.
    rf"|{_START}{_BLANK}(?:\r?\n)?Agreement:[^\r\n]*(?:\r?\n(?!{_START}|\r?\n)[^\r\n]*){{0,3}}?{_END}"
    rf"|{_START}{_BLANK}Agreement:(?:(?!{_END})[^\r\n])*"
    rf"|\[?(?:agreement.connector[^\w\r\n]{{0,3}})?Agreement:[^\r\n]*{_END}"
    rf"){_BLANK})(?=\r?\n|\r?\Z)"
)
MARK = "agreement_connector"
"""The key of a tab's own data that says it is ours; the interface drops it when a person changes the tab."""

TITLE, SHOWN_STATUS = "Conflicts", "conflict"
"""What our tab is called, and the status whose units it shows."""
NUMBERS = ("agreement", "consensus", "raters")
"""The fields (after the prefix) that hold numbers; the others hold text."""


class Writer:
    """Writes into one project. `prefix` begins the name of every field of ours."""

    def __init__(self, client: Client, reader: Reader, prefix: str) -> None:
        self.client = client
        self.reader = reader
        self.project = reader.project
        self.prefix = prefix
        self._bulk = True
        self._read_back: set[str] = set()

    # Fields

    def set_field(self, op: SetField) -> Receipt:
        """Write one value on all tasks of `op.units`, in bulk, or one by one where the server has no bulk action."""
        if isinstance(op.value, float) and not math.isfinite(op.value):
            return Receipt(failed=f"{op.field} would be {op.value}, which no server stores")
        ids, missing = _numbers(op.units)
        written: list[int] = []
        failed = None
        for start in range(0, len(ids), BULK):
            part = ids[start : start + BULK]
            try:
                done, gone = self._set(op.field, op.value, part)
            except Refused as refused:
                failed = refused.message
                break
            missing += gone
            if done and (start or op.field not in self._read_back):
                failed = self._not_stored(op, done[-1])
                if failed:
                    break
                self._read_back.add(op.field)
            written += done
        return Receipt(_texts(written), _texts(missing), failed=failed)

    def clear_fields(self, op: ClearFields) -> Receipt:
        """Take keys out of the tasks' data; the bulk action can only set, so each task is patched."""
        ids, missing = _numbers(op.units)

        def without(data: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in data.items() if key not in op.fields}

        return self._patch(ids, missing, without)

    def _set(self, field: str, value: str | float, ids: list[int]) -> tuple[list[int], list[int]]:
        """The ids that were written and those that no longer exist."""
        if self._bulk:
            try:
                count = self._bulk_set(field, value, ids)
            except (NotThere, UnexpectedAnswer, FixAccess, Refused) as refused:
                if not _unknown_action(refused):
                    raise
                self._bulk = False
            else:
                if count == len(ids):
                    return ids, []
                return self._who_got_it(field, value, ids)
        receipt = self._patch(ids, [], lambda data: {**data, field: value})
        if receipt.failed:
            raise Refused(0, receipt.failed)
        return [int(one) for one in receipt.written], [int(one) for one in receipt.missing]

    def _bulk_set(self, field: str, value: str | float, ids: list[int]) -> int:
        assert ids, "an empty list means every task of the project to the server"
        answer = self.client.call(
            "POST",
            "api/dm/actions",
            params={"id": "add_data_field", "project": self.project},
            body={
                "value_name": field,
                "value_type": "String" if isinstance(value, str) else "Number",
                "value": value,
                "selectedItems": {"all": False, "included": ids},
            },
        )
        said = re.search(r"Updated (\d+) tasks", str(answer.get("detail")) if isinstance(answer, dict) else "")
        if said is None:
            raise UnexpectedAnswer("Label Studio did not say how many tasks it updated.")
        count = int(said[1])
        if count > len(ids):
            raise UnexpectedAnswer(f"Label Studio says it updated {count} tasks where {len(ids)} were named.")
        return count

    def _who_got_it(self, field: str, value: str | float, ids: list[int]) -> tuple[list[int], list[int]]:
        found = self.reader.by_id(ids, "id,data")
        there = {row["id"] for row in found}
        lacking = [row["id"] for row in found if not _same(_data(row).get(field), value)]
        if lacking:
            raise Refused(
                0, f"Label Studio did not store {field} on {len(lacking)} tasks that exist, such as {lacking[0]}."
            )
        return [one for one in ids if one in there], [one for one in ids if one not in there]

    def _not_stored(self, op: SetField, task: int) -> str | None:
        rows = self.reader.by_id([task], "id,data")
        if not rows or _same(_data(rows[0]).get(op.field), op.value):
            return None
        return f"Label Studio said it wrote {op.field}, but task {task} does not hold it when read back"

    def _patch(self, ids: Sequence[int], missing: list[int], change: Change) -> Receipt:
        """Read, change and patch the whole `data` of each task; a task whose data would not change is left alone."""
        missing, written = list(missing), []
        failed = None
        for start in range(0, len(ids), PATCHES):
            part = ids[start : start + PATCHES]
            rows = {row["id"]: row for row in self.reader.by_id(part, "id,data")}
            missing += [one for one in part if one not in rows]
            for one, outcome in self._patch_together(rows, change):
                if outcome is None:
                    written.append(one)
                elif outcome == _GONE:
                    missing.append(one)
                else:
                    failed = failed or outcome
        return Receipt(_texts(written), _texts(missing), failed=failed)

    def _patch_together(
        self, rows: Mapping[int, Mapping[str, Any]], change: Change
    ) -> Iterator[tuple[int, str | None]]:
        """Patch some tasks at once: four take about half the time of one after the other."""
        pool = ThreadPoolExecutor(WORKERS)
        try:
            yield from zip(
                rows, pool.map(lambda one: self._patch_one(one, rows[one].get("data"), change), rows), strict=True
            )
        finally:
            # A server that went away is waited for once, not once for each task that is left.
            pool.shutdown(cancel_futures=True)

    def _patch_one(self, task: int, data: Any, change: Change) -> str | None:
        if not isinstance(data, dict):
            # A PATCH whose data is no object is saved and breaks the project's listing for good.
            return f"task {task} holds {type(data).__name__} instead of named fields as its data; left alone"
        new = change(data)
        if new == data and list(new) == list(data):
            return None
        try:
            answer = self.client.call("PATCH", f"api/tasks/{task}/", body={"data": new})
        except NotThere:
            return _GONE
        except Refused as refused:
            return refused.message
        kept = answer.get("data") if isinstance(answer, dict) else None
        if isinstance(kept, dict) and set(kept) != set(new):
            return f"task {task} holds other fields after the write than were written"
        return None

    # The tab

    def put_view(self, op: PutView) -> Receipt:
        """Our tab, made where it is not there, and brought up to date where no person has changed it."""
        views = self.views()
        wanted = self._view(op)
        mine = _own_view(views, wanted)
        if mine is not None:
            self._update_view(mine, wanted)
            return Receipt(remote={"view": str(mine["id"]), "view_link": self._tab(mine["id"])})
        remote = {}
        if not views:
            # The first tab of a project is the one that everybody opens: it must not be ours.
            remote["default_view"] = self._make_view(
                {"title": "Default", "type": "list", "target": "tasks", MARK: "default"}
            )
        remote["view"] = self._make_view(wanted)
        remote["view_link"] = self._tab(remote["view"])
        return Receipt(remote=remote)

    def remove_view(self, op: RemoveView) -> Receipt:
        """Take our tab away, and the "Default" one that we had to make, where nobody has set it up since."""
        views = self.views()
        mine = [view for view in views if _is_marked(view) or _is_alike(view, self._usual_view())]
        left = [view for view in views if view not in mine]
        for view in left:
            ours = _mark(view) == "default" or str(view["id"]) == op.default_view
            if ours and len(left) == 1 and _untouched_default(view):
                self._delete_view(view)
        # Last, since a removal that was cut short is known by the tab that still stands.
        for view in mine:
            self._delete_view(view)
        return Receipt()

    def views(self) -> list[dict[str, Any]]:
        """The project's tabs."""
        answer = self.client.get("api/dm/views/", {"project": self.project})
        views = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(views, list) or not all(isinstance(view, dict) and _has_id(view) for view in views):
            raise UnexpectedAnswer("Label Studio's list of tabs has another form than expected.")
        return views

    def own_view(self, views: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The tab that is ours: by its mark, else (the interface has saved it anew) because it is what we write.

        A tab that a person has renamed or filtered anew, or made for an end of their own, is theirs. Such an edit of
        our tab loses the mark, and the next sync makes a second tab: better than to change or delete a person's.
        """
        return _own_view(views, self._usual_view())

    def _usual_view(self) -> dict[str, Any]:
        status, order = f"{self.prefix}status", f"{self.prefix}agreement"
        return self._view(PutView(TITLE, status, SHOWN_STATUS, order, ()))

    def _view(self, op: PutView) -> dict[str, Any]:
        data = {
            "title": op.title,
            "type": "list",
            "target": "tasks",
            "filters": {
                "conjunction": "and",
                "items": [
                    {
                        "filter": f"filter:tasks:data.{op.status_field}",
                        "operator": "equal",
                        "type": "String",
                        "value": op.status_value,
                    }
                ],
            },
            "ordering": [f"tasks:data.{op.order_field}"],
            "columnsDisplayType": {f"tasks:data.{name}": "Number" for name in op.columns if self._is_number(name)},
            "hiddenColumns": {"explore": list(_HIDDEN), "labeling": [*_HIDDEN, *_HIDDEN_LABELING]},
        }
        return {**data, MARK: _digest(data)}

    def _tab(self, view: object) -> str:
        return f"{self.client.url}projects/{self.project}/data?tab={view}"

    def _is_number(self, field: str) -> bool:
        return field.removeprefix(self.prefix).startswith(NUMBERS)

    def _update_view(self, view: Mapping[str, Any], wanted: dict[str, Any]) -> None:
        now = _core(view)
        edited = _mark(view) != _digest(now)
        if not edited and _digest(now) != wanted[MARK]:
            self.client.call(
                "PATCH", f"api/dm/views/{view['id']}/", body={"project": int(self.project), "data": wanted}
            )

    def _make_view(self, data: dict[str, Any]) -> str:
        body = {"project": int(self.project), "data": data}
        answer = self.client.call("POST", "api/dm/views/", body=body, repeatable=False)
        if not isinstance(answer, dict) or not _has_id(answer):
            raise UnexpectedAnswer("Label Studio made a tab but did not say its id.")
        return str(answer["id"])

    def _delete_view(self, view: Mapping[str, Any]) -> None:
        try:
            self.client.call("DELETE", f"api/dm/views/{view['id']}/")
        except NotThere:
            return

    # The summary

    def put_summary(self, op: PutSummary) -> Receipt:
        """Our line in the description; the owner's words around it stay byte for byte."""
        before = self.description()
        line = START + _one_line(op.text) + END
        found = _LINE.search(before)
        if found is None:
            after = f"{before}\n\n{line}" if before else line
        else:
            rest = without_summary(before[found.end() :])
            after = before[: found.start()] + found["lead"] + line + rest
        self._describe(before, after)
        return Receipt()

    def remove_summary(self) -> Receipt:
        """The description as its owner wrote it."""
        before = self.description()
        self._describe(before, without_summary(before))
        return Receipt()

    def description(self) -> str:
        """The project's description as it stands."""
        answer = self.client.get(f"api/projects/{self.project}/")
        if not isinstance(answer, dict) or not isinstance(answer.get("description"), str | None):
            raise UnexpectedAnswer("Label Studio's project has another form than expected (no description).")
        return answer.get("description") or ""

    def _describe(self, before: str, after: str) -> None:
        if after != before:
            self.client.call("PATCH", f"api/projects/{self.project}/", body={"description": after})

    def reset_columns(self) -> Receipt:
        """Let the server count its columns anew: a key that was used once keeps its column otherwise."""
        self.client.call("POST", f"api/projects/{self.project}/summary/reset/", body={})
        return Receipt()


_GONE = "gone"
_HIDDEN = (
    "tasks:inner_id",
    "tasks:cancelled_annotations",
    "tasks:total_predictions",
    "tasks:annotations_results",
    "tasks:annotations_ids",
    "tasks:predictions_score",
    "tasks:predictions_model_versions",
    "tasks:predictions_results",
    "tasks:file_upload",
    "tasks:storage_filename",
    "tasks:created_at",
    "tasks:updated_at",
    "tasks:updated_by",
    "tasks:avg_lead_time",
    "tasks:draft_exists",
)
_HIDDEN_LABELING = ("tasks:id", "tasks:completed_at", "tasks:annotators")


def summary_of(description: str) -> str | None:
    """The text of our line, None where there is none; of one that is damaged or there twice all of it, marks included,
    so that it is never taken for the text that was written.
    """
    found = [one["line"] for one in _LINE.finditer(description)]
    if not found:
        return None
    whole = clean(" ".join(found))
    if len(found) == 1 and whole.startswith(START) and whole.endswith(END) and "\n" not in whole:
        return whole[len(START) : -len(END)]
    return whole


def without_summary(description: str) -> str:
    """The owner's part of a description."""
    return _LINE.sub("", description)


def _one_line(text: str) -> str:
    """`text` on one line, unable to end the markers early.

    The description is shown as text, but other pages may show it as HTML: what could open a tag becomes a quotation
    mark that every font has.
    """
    flat = " ".join(text.split()).replace("agreement-connector", "agreement connector")
    return flat.translate({ord("<"): "‹", ord(">"): "›"})


def _numbers(units: Iterable[str]) -> tuple[list[int], list[Any]]:
    """Label Studio's ids are whole numbers; anything else cannot be there. Each once."""
    ids, missing = [], []
    for unit in dict.fromkeys(units):
        (ids.append(int(unit)) if unit.isascii() and unit.isdigit() else missing.append(unit))
    return ids, missing


def _texts(ids: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in ids)


def _data(row: Mapping[str, Any]) -> Mapping[str, Any]:
    data = row.get("data")
    return data if isinstance(data, dict) else {}


def _same(stored: Any, value: str | float) -> bool:
    """Whether the server holds this value; it turns every number into a float."""
    if isinstance(value, str):
        return bool(stored == value)
    if not isinstance(stored, int | float) or isinstance(stored, bool):
        return False
    try:
        return math.isclose(stored, value, rel_tol=1e-12)
    except OverflowError:  # a whole number of any length, which no float is
        return False


def _unknown_action(refused: Exception) -> bool:
    """Whether the server lacks the bulk action or does not let us use it (its 500 names the action; others do not)."""
    if isinstance(refused, Refused):
        return refused.status == 405 or "registered actions" in refused.message
    return isinstance(refused, NotThere | FixAccess) or "no /api/dm/actions" in str(refused)


def _view_data(view: Mapping[str, Any]) -> Mapping[str, Any]:
    data = view.get("data")
    return data if isinstance(data, dict) else {}


def _mark(view: Mapping[str, Any]) -> str | None:
    mark = _view_data(view).get(MARK)
    return mark if isinstance(mark, str) else None


def _is_marked(view: Mapping[str, Any]) -> bool:
    return _mark(view) not in (None, "default")


def _own_view(views: list[dict[str, Any]], wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    marked = next((view for view in views if _is_marked(view)), None)
    return marked or next((view for view in views if _is_alike(view, wanted)), None)


def _is_alike(view: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a tab has the title, the filters and the ordering of `wanted`, each of them just so."""
    data = _view_data(view)
    same = data.get("title") == wanted["title"] and data.get("ordering") == wanted["ordering"]
    return same and _conditions(view) == _conditions({"data": wanted})


def _conditions(view: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(item.get(key) for key in ("filter", "operator", "value")) for item in _filters(view)]


def _has_id(made: Mapping[str, Any]) -> bool:
    return type(made.get("id")) is int


def _filters(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    filters = _view_data(view).get("filters")
    items = filters.get("items") if isinstance(filters, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _core(view: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _view_data(view).items() if key != MARK}


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _untouched_default(view: Mapping[str, Any]) -> bool:
    data = _view_data(view)
    return data.get("title") == "Default" and not _filters(view) and not data.get("ordering")
