"""How much the connector adds to what an Argilla server takes by itself, printed as ratios.

    python -m tests.bench.bench_argilla URL OWNERS_KEY [--records 10000] [--pushed 1000] [--keep]

Seeds a dataset (records x 3 raters) in a workspace of its own unless it is there from `--keep`. Each pair of things is
measured in turns on the same server:
- a pull against a bare `requests` loop over the same pages (at most 1.1),
- a second sync's questions with nothing changed (two),
- 100 changed responses: everything is read again, since nothing cheaper tells which they are (at most 1.1 of a pull),
- scores for 1,000 records against bare bulk writes of the same metadata (at most 1.1).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import Any

import requests

from connector.tools.argilla.read import PAGE
from connector.tools.argilla.tool import Argilla
from connector.tools.base import ClearFields, Cursor, PutFields, ResetColumns
from tests.bench.ratio import ratio

CHANGES = 100
WORKSPACE = "connector-bench"
RATERS = 3
LABELS = ("positive", "negative")
BULK = 100
"""Records that one call makes: the server takes 500, but its time grows with their square."""


class Bench:
    def __init__(self, url: str, key: str, records: int) -> None:
        self.url, self.key = url.rstrip("/"), key
        self.session = requests.Session()
        self.session.headers["X-Argilla-Api-Key"] = key
        self.workspace = self._workspace()
        self.name = f"bench {records}"
        listed = self.api("GET", f"me/datasets?workspace_id={self.workspace}")["items"]
        there = next((one["id"] for one in listed if one["name"] == self.name), None)
        self.dataset = there or self._seed(records)

    def api(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        headers = {"X-Argilla-Api-Key": key} if key else {}
        response = self.session.request(method, f"{self.url}/api/v1/{path}", json=body, headers=headers, timeout=600)
        response.raise_for_status()
        return response.json() if response.content else None

    def _workspace(self) -> str:
        for one in self.api("GET", "me/workspaces")["items"]:
            if one["name"] == WORKSPACE:
                return str(one["id"])
        return str(self.api("POST", "workspaces", {"name": WORKSPACE})["id"])

    def raters(self) -> list[dict[str, Any]]:
        """The annotators, made where they are not there."""
        there = {one["username"]: one for one in self.api("GET", "users")["items"]}
        found = []
        for number in range(RATERS):
            name = f"bench{number}"
            if name not in there:
                new = {"username": name, "first_name": name, "password": "bench-password", "role": "annotator"}
                there[name] = self.api("POST", "users", new)
                self.api("POST", f"workspaces/{self.workspace}/users", {"user_id": there[name]["id"]})
            found.append(there[name])
        return found

    def _seed(self, count: int) -> str:
        new = {
            "name": self.name,
            "workspace_id": self.workspace,
            "distribution": {"strategy": "overlap", "min_submitted": RATERS},
        }
        dataset = str(self.api("POST", "datasets", new)["id"])
        field = {"name": "text", "title": "text", "required": True, "settings": {"type": "text"}}
        self.api("POST", f"datasets/{dataset}/fields", field)
        options = [{"value": one, "text": one} for one in LABELS]
        question = {"name": "sentiment", "title": "Sentiment", "required": True}
        question["settings"] = {"type": "label_selection", "options": options}
        self.api("POST", f"datasets/{dataset}/questions", question)
        self.api("PUT", f"datasets/{dataset}/publish")
        users = [one["id"] for one in self.raters()]
        rng = random.Random(1)
        started = time.perf_counter()
        for start in range(0, count, BULK):
            items = [
                {
                    "fields": {"text": f"text {number} " + "lorem ipsum " * 10},
                    "external_id": f"bench-{number}",
                    "responses": [
                        {"user_id": user, "status": "submitted", "values": {"sentiment": {"value": rng.choice(LABELS)}}}
                        for user in users
                    ],
                }
                for number in range(start, min(count, start + BULK))
            ]
            self.api("POST", f"datasets/{dataset}/records/bulk", {"items": items})
        print(f"seeded {count} records in {time.perf_counter() - started:.0f} s", flush=True)
        return dataset

    def tool(self) -> Argilla:
        return Argilla(self.url, self.key, f"{WORKSPACE}/{self.name}")

    def bare_pull(self) -> float:
        """A loop over the same pages that keeps the parsed records and does nothing with them."""
        started = time.perf_counter()
        records: list[Any] = []
        while True:
            address = f"{self.url}/api/v1/datasets/{self.dataset}/records"
            params: dict[str, str | int] = {"include": "responses", "limit": PAGE, "offset": len(records)}
            page = self.session.get(address, params=params, timeout=600).json()
            records += page["items"]
            if len(records) == page["total"]:
                return time.perf_counter() - started

    def pull(self) -> tuple[float, Cursor, dict[str, str | None]]:
        tool = self.tool()
        tool.open()
        started = time.perf_counter()
        known: dict[str, str | None] = {}
        cursor = Cursor()
        for page in tool.pull():
            known.update({unit.id: unit.updated_at for unit in page.units})
            cursor = page.cursor
        seconds = time.perf_counter() - started
        tool.close()
        return seconds, cursor, known

    def changed(self, settings: str, cursor: Cursor, known: dict[str, str | None]) -> tuple[float, int, int]:
        """Seconds, questions and units of opening and reading what changed."""
        tool = self.tool()
        started = time.perf_counter()
        tool.open(settings)
        units = sum(len(page.units) for page in tool.pull_changed(cursor, known))
        seconds = time.perf_counter() - started
        tool.close()
        return seconds, tool.client.requests, units

    def change(self, ids: list[str]) -> None:
        """One rater's answers, as the page changes them."""
        rater = self.raters()[0]
        for number in ids:
            there = self.api("GET", f"records/{number}")["responses"]
            response = next(one for one in there if one["user_id"] == rater["id"])
            other = next(one for one in LABELS if one != response["values"]["sentiment"]["value"])
            body = {"status": "submitted", "values": {"sentiment": {"value": other}}}
            self.api("PUT", f"responses/{response['id']}", body, rater["api_key"])

    def push(self, ids: list[str]) -> tuple[float, float]:
        """Seconds of ours and of bare bulk writes of three fields, in turns batch by batch: a server's pace drifts."""
        tool = self.tool()
        for _ in tool.pull():  # as before every push
            pass
        tool.apply(PutFields({ids[0]: _scores(0)}))  # makes the properties
        ours = bare = 0.0
        for turn, start in enumerate(range(0, len(ids), BULK)):
            part = ids[start : start + BULK]
            for mine in (turn % 2, 1 - turn % 2):
                scores = _scores(2 * turn + mine)
                started = time.perf_counter()
                if mine:
                    receipt = tool.apply(PutFields(dict.fromkeys(part, scores)))
                    assert len(receipt.written) == len(part), receipt.failed
                    ours += time.perf_counter() - started
                else:
                    items = [{"id": unit, "metadata": scores} for unit in part]
                    self.api("PUT", f"datasets/{self.dataset}/records/bulk", {"items": items})
                    bare += time.perf_counter() - started
        return ours, bare

    def take_away(self, ids: list[str]) -> None:
        """The dataset as it was before the push."""
        tool = self.tool()
        tool.apply(ClearFields(tuple(_scores(0)), tuple(ids)))
        tool.apply(ResetColumns())
        tool.close()


def _scores(number: int) -> dict[str, float | str]:
    return {"iaa_agreement": 1 / (number + 2), "iaa_status": "conflict", "iaa_raters": RATERS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("key")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--pushed", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the seeded dataset")
    chosen = parser.parse_args()
    bench = Bench(chosen.url, chosen.key, chosen.records)
    settings = bench.tool().open().settings
    good = True
    bare = bench.bare_pull()
    ours, cursor, known = bench.pull()
    for _ in range(chosen.rounds - 1):
        bare += bench.bare_pull()
        seconds, cursor, known = bench.pull()
        ours += seconds
    good &= ratio("pull", ours, bare, 1.1)

    seconds, questions, units = bench.changed(settings, cursor, known)
    good &= questions == 2 and units == 0
    print(f"nothing changed: {questions} questions, {units} units, {seconds:.2f} s", flush=True)

    bench.change(random.Random(2).sample(sorted(known), min(CHANGES, len(known))))
    seconds, questions, units = bench.changed(settings, cursor, known)
    good &= units == min(CHANGES, len(known))
    good &= ratio(f"{units} changed, {questions} questions", seconds, ours / chosen.rounds, 1.1)

    ids = list(bench.tool().unit_ids())[: chosen.pushed]
    good &= ratio(f"scores for {len(ids)} records", *bench.push(ids), 1.1)
    if chosen.keep:
        bench.take_away(ids)
    else:
        bench.api("DELETE", f"datasets/{bench.dataset}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
