"""What only Label Studio can tell before a run, for `connector check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from connector.errors import ToolTrouble, UnexpectedAnswer
from connector.tools.base import Finding
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import Reader
from connector.tools.label_studio.shape import count, identifier

MOST_PEOPLE = 30
"""Members whose names are listed."""
MOST_LETTERS = 80
"""Of a name or version."""

LOOKED_AT = 200
"""Tasks whose annotations are counted against the server's own counters."""


def inspect(client: Client, reader: Reader, settings: Mapping[str, Any]) -> list[Finding]:
    """Server and edition, the token's kind, what the project collects, whether the token sees every annotation, and
    who the raters' ids are.
    """
    collection = _collection(client, reader.project, settings)
    return [_server(client), _token(client), *collection, *_seen(reader), *_people(client)]


def _server(client: Client) -> Finding:
    try:
        version = client.get("api/version")
    except ToolTrouble as trouble:
        return Finding("note", f"The server does not say its version: {trouble.message}")
    if not isinstance(version, dict):
        return Finding("note", "The server does not say its version.")
    release, edition = _line(version.get("release")), _line(version.get("edition"))
    said = f"{release or 'of unknown version'} ({edition or 'edition unknown'})"
    return Finding("ok", f"Label Studio {said} at {client.url}")


def _token(client: Client) -> Finding:
    return Finding("ok", f"The server accepts the {client.auth.kind}.")


def _collection(client: Client, project: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    wanted = count(settings.get("maximum_annotations"))
    if wanted is None:
        yield Finding("note", "The project does not say how many annotations it collects per task.")
        return
    if wanted != 1:
        yield Finding("ok", f"The project collects {wanted} annotations per task.")
        return
    yield Finding(
        "warning",
        "The project collects one annotation per task: there is nothing to agree on.",
        "To collect 3 (it overwrites the number of every task of the project, also where one was set by hand): "
        f"curl -X PATCH {client.url}api/projects/{project}/ -H 'Content-Type: application/json' "
        f"-H 'Authorization: {_header(client)}' -d '{{\"maximum_annotations\": 3}}'",
    )


def _header(client: Client) -> str:
    return "Token YOUR_TOKEN" if client.auth.kind == "legacy token" else "Bearer YOUR_ACCESS_TOKEN"


_SEEN_FIELDS = "id,total_annotations,cancelled_annotations,annotations,completed_by"


def _seen(reader: Reader) -> Iterator[Finding]:
    """On some editions an annotator's token sees only that person's annotations: a silent table of one rater."""
    rows = reader.page(0, _SEEN_FIELDS, LOOKED_AT, whole=True)
    short = [row["id"] for row in rows.tasks if _counted(row) > _held(row)]
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


def names(client: Client) -> dict[str, str]:
    """The members' names by id, e-mail or user name where there is none. Raises ToolTrouble."""
    users = client.get("api/users/")
    if isinstance(users, dict):
        users = users.get("results")
    if not isinstance(users, list):
        raise UnexpectedAnswer("Label Studio's list of members has another form than expected.")
    found = ((identifier(user.get("id")), _called(user)) for user in users if isinstance(user, dict))
    return {number: name for number, name in found if number and name}


def _called(user: Mapping[str, Any]) -> str:
    full = " ".join(_line(user.get(key)) for key in ("first_name", "last_name")).strip()
    return full or _line(user.get("email")) or _line(user.get("username"))


def _line(raw: Any) -> str:
    """Somebody else's text on one line, without control characters."""
    text = " ".join(str(raw).split()) if isinstance(raw, str | int | float) else ""
    return "".join(sign for sign in text if sign.isprintable())[:MOST_LETTERS]


def _people(client: Client) -> Iterator[Finding]:
    """The members' names by id: reports and settings name raters by their ids alone."""
    try:
        known = names(client)
    except ToolTrouble:
        return
    named = [f"{number} {name}" for number, name in known.items()]
    if named:
        more = f" and {len(named) - MOST_PEOPLE} more" if len(named) > MOST_PEOPLE else ""
        yield Finding("ok", f"Members by id: {', '.join(named[:MOST_PEOPLE])}{more}.")


def _counted(row: Mapping[str, Any]) -> int:
    return sum(count(row.get(key)) or 0 for key in ("total_annotations", "cancelled_annotations"))


def _held(row: Mapping[str, Any]) -> int:
    annotations = row.get("annotations")
    return len(annotations) if isinstance(annotations, list) else 0
