"""What the benches against a real server print."""

from __future__ import annotations


def ratio(name: str, ours: float, bare: float, most: float) -> bool:
    value = ours / bare
    verdict = "ok" if value <= most else "TOO SLOW"
    print(f"{name}: {ours:.2f} s / {bare:.2f} s = {value:.3f} (at most {most}) {verdict}", flush=True)
    return value <= most
