"""What only Label Studio can tell before a run, for `connector check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from connector.errors import ToolTrouble
from connector.tools.base import Finding
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import Reader

MOST_PEOPLE = 30
"""Members whose addresses are listed."""

LOOKED_AT = 200
"""Tasks whose annotations are counted against the server's own counters."""


def inspect(client: Client, reader: Reader, settings: Mapping[str, Any]) -> list[Finding]:
    """Server and edition, the token's kind, what the project collects, whether the token sees every annotation, and
    who the raters' ids are.
    """
    return [_server(client), _token(client), *_collection(client, settings), *_seen(reader), *_people(client)]


def _server(client: Client) -> Finding:
    try:
        version = client.get("api/version")
    except ToolTrouble as trouble:
        return Finding("note", f"The server does not say its version: {trouble.message}")
    if not isinstance(version, dict):
        return Finding("note", "The server does not say its version.")
    edition = version.get("edition") or "edition unknown"
    return Finding("ok", f"Label Studio {version.get('release', 'of unknown version')} ({edition}) at {client.url}")


def _token(client: Client) -> Finding:
    return Finding("ok", f"The server accepts the {client.auth.kind}.")


def _collection(client: Client, settings: Mapping[str, Any]) -> Iterator[Finding]:
    wanted = settings.get("maximum_annotations")
    if wanted != 1:
        yield Finding("ok", f"The project collects {wanted} annotations per task.")
        return
    yield Finding(
        "warning",
        "The project collects one annotation per task: there is nothing to agree on.",
        "To collect 3 (it overwrites the number of every task of the project, also where one was set by hand): "
        f"curl -X PATCH {client.url}api/projects/{settings['id']}/ -H 'Content-Type: application/json' "
        f"-H 'Authorization: {_header(client)}' -d '{{\"maximum_annotations\": 3}}'",
    )


def _header(client: Client) -> str:
    return "Token YOUR_TOKEN" if client.auth.kind == "legacy token" else "Bearer YOUR_ACCESS_TOKEN"


_SEEN_FIELDS = "id,total_annotations,cancelled_annotations,annotations,completed_by"


def _seen(reader: Reader) -> Iterator[Finding]:
    """On some editions an annotator's token sees only that person's annotations: a silent table of one rater."""
    rows = reader.page(0, _SEEN_FIELDS, LOOKED_AT, whole=True)
    short = [row["id"] for row in rows.tasks if _counted(row) > len(row.get("annotations") or [])]
    if short:
        yield Finding(
            "warning",
            f"{len(short)} of {len(rows.tasks)} tasks looked at hold fewer annotations than the server counts,"
            f" such as task {short[0]}.",
            "The token may see only part of the annotations: use the token of somebody who sees all."
            " (The server's counter also drifts when two people submit at once.)",
        )
    elif rows.tasks:
        yield Finding("ok", f"The token sees every annotation of the {len(rows.tasks)} tasks looked at.")


def _people(client: Client) -> Iterator[Finding]:
    """The members' addresses by id: reports and settings name raters by their ids alone."""
    try:
        users = client.get("api/users/")
    except ToolTrouble:
        return
    known = [user for user in users if isinstance(user, dict) and "id" in user] if isinstance(users, list) else []
    named = [f"{user['id']} {user.get('email') or user.get('username') or 'without a name'}" for user in known]
    if named:
        more = f" and {len(named) - MOST_PEOPLE} more" if len(named) > MOST_PEOPLE else ""
        yield Finding("ok", f"Members by id: {', '.join(named[:MOST_PEOPLE])}{more}.")


def _counted(row: Mapping[str, Any]) -> int:
    return sum(n for n in (row.get("total_annotations"), row.get("cancelled_annotations")) if isinstance(n, int))
