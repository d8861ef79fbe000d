"""How much the connector adds to what a Label Studio server takes by itself, printed as ratios.

    python -m tests.bench.bench_label_studio URL LEGACY_TOKEN [--tasks 10000] [--project ID] [--keep]

Seeds a project (tasks x 3 raters) unless one is named. Each pair of things is measured in turns on the same server:
- a pull against a bare `requests` loop over the same pages (at most 1.1),
- a second sync's questions with nothing changed (at most 1 for the read),
- 100 changed annotations against the full pull (at most .05),
- scores for every task against the bare grouped calls (at most 2).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from typing import Any

import requests

from connector.demo.label_studio_seed import sign_up
from connector.tools.base import Cursor, SetField
from connector.tools.label_studio.read import FIELDS, PAGE
from connector.tools.label_studio.tool import LabelStudio
from tests.bench.ratio import ratio
from tests.contract.conversation import LABEL_CONFIG, choice

CHANGES = 100


class Bench:
    def __init__(self, url: str, token: str, tasks: int, project: int | None) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Token {token}"
        self.made = project is None
        self.project = project if project is not None else self._seed(tasks)

    def api(self, method: str, path: str, body: Any = None) -> Any:
        response = self.session.request(method, self.url + path, json=body, timeout=600)
        response.raise_for_status()
        return response.json() if response.content else None

    def _seed(self, count: int) -> int:
        raters = [sign_up(self.url, self.token, f"bench{n}@example.org", f"bench-{n}-password").id for n in range(3)]
        settings = {"title": "Benchmark", "label_config": LABEL_CONFIG, "maximum_annotations": 3}
        project = int(self.api("POST", "/api/projects/", settings)["id"])
        rng = random.Random(1)
        for start in range(0, count, 500):
            tasks = [
                {
                    "data": {"text": f"text {number} " + "lorem ipsum " * 10},
                    "annotations": [
                        {
                            "completed_by": rater,
                            "ground_truth": False,
                            "result": choice(rng.choice(["Positive", "Negative"])),
                            "lead_time": 3.5,
                        }
                        for rater in raters
                    ],
                }
                for number in range(start, min(count, start + 500))
            ]
            self.api("POST", f"/api/projects/{project}/import", tasks)
        return project

    def tool(self) -> LabelStudio:
        return LabelStudio(self.url, self.token, str(self.project))

    def bare_pull(self) -> float:
        """A loop over the same pages that keeps the parsed rows and does nothing with them."""
        started = time.perf_counter()
        last, rows = 0, []
        while True:
            above = {"filter": "filter:tasks:id", "operator": "greater", "type": "Number", "value": last}
            query = {"filters": {"conjunction": "and", "items": [above]}, "ordering": ["tasks:id"]}
            params: dict[str, str | int] = {
                "project": self.project,
                "fields": "all",
                "page_size": PAGE,
                "resolve_uri": "false",
                "include": FIELDS,
                "query": json.dumps(query),
            }
            page = self.session.get(f"{self.url}/api/tasks", params=params, timeout=600).json()
            rows += page["tasks"]
            if len(page["tasks"]) == page["total"]:
                return time.perf_counter() - started
            last = rows[-1]["id"]

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

    def changed(self, cursor: Cursor, known: dict[str, str | None]) -> tuple[float, int, int]:
        """Seconds, questions and units of reading what changed."""
        tool = self.tool()
        started = time.perf_counter()
        units = sum(len(page.units) for page in tool.pull_changed(cursor, known))
        seconds = time.perf_counter() - started
        tool.close()
        return seconds, tool.client.requests, units

    def change(self, ids: list[str]) -> None:
        for number in ids:
            annotation = self.api("GET", f"/api/tasks/{number}/")["annotations"][0]["id"]
            self.api("PATCH", f"/api/annotations/{annotation}/", {"lead_time": random.random()})

    def bare_scores(self, groups: dict[float, list[int]], field: str) -> float:
        started = time.perf_counter()
        for value, ids in groups.items():
            chosen = {"all": False, "included": ids}
            body = {"value_name": field, "value_type": "Number", "value": value, "selectedItems": chosen}
            self.api("POST", f"/api/dm/actions?id=add_data_field&project={self.project}", body)
        return time.perf_counter() - started

    def scores(self, groups: dict[float, list[int]], field: str) -> float:
        tool = self.tool()
        started = time.perf_counter()
        for value, ids in groups.items():
            receipt = tool.apply(SetField(field, value, tuple(map(str, ids))))
            assert receipt.failed is None
            assert len(receipt.written) == len(ids)
        seconds = time.perf_counter() - started
        tool.close()
        return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--project", type=int)
    parser.add_argument("--keep", action="store_true", help="leave the seeded project")
    chosen = parser.parse_args()
    bench = Bench(chosen.url, chosen.token, chosen.tasks, chosen.project)
    good = True
    bare = bench.bare_pull()
    ours, cursor, known = bench.pull()
    for _ in range(chosen.rounds - 1):
        bare += bench.bare_pull()
        seconds, cursor, known = bench.pull()
        ours += seconds
    good &= ratio("pull", ours, bare, 1.1)

    seconds, questions, units = bench.changed(cursor, known)
    good &= questions == 1 and units == 0
    print(f"nothing changed: {questions} question(s), {units} units, {seconds:.2f} s", flush=True)

    ids = random.Random(2).sample(sorted(known), CHANGES)
    bench.change(ids)
    seconds, questions, units = bench.changed(cursor, known)
    good &= units == CHANGES and ratio(f"{units} changed, {questions} questions", seconds, ours / chosen.rounds, 0.05)

    groups: dict[float, list[int]] = defaultdict(list)
    for number in map(int, known):
        groups[(number * 7919 % 11) / 10].append(number)
    bare = ours = 0.0
    for turn in range(chosen.rounds):
        bare += bench.bare_scores(groups, f"bench_bare_{turn}")
        ours += bench.scores(groups, f"bench_ours_{turn}")
    good &= ratio("scores", ours, bare, 2.0)
    if bench.made and not chosen.keep:
        bench.api("DELETE", f"/api/projects/{bench.project}/")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
