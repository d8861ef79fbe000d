"""What only Argilla can tell before a run, for `connector check`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from connector.errors import FixAccess, SkippedTask, ToolTrouble, UnexpectedAnswer
from connector.tools.argilla.client import Client, items_of
from connector.tools.argilla.forms import read_record
from connector.tools.argilla.kinds import read_answer
from connector.tools.argilla.read import Reader
from connector.tools.argilla.schema import Dataset, question_of
from connector.tools.base import Finding
from connector.tools.http import Refused

MOST_PEOPLE = 30
"""Users whose names are listed."""
MOST_LETTERS = 80
"""Of a name."""
LOOKED_AT = 200
"""Records whose suggestions are held against the responses."""
_NO_JOB = "agreement-connector"
LED = 0.8
"""Share of answers equal to the suggestion beside them from which it is worth a warning."""


def inspect(client: Client, reader: Reader, dataset: Dataset, review: str | None) -> list[Finding]:
    """Server, the key's rights, what the dataset collects, what the answers cannot say, who the raters' ids are.

    review : the configured review workspace, "" for one to be named by us, None where no reviews are asked for.
    """
    me = _me(client)
    return [
        *_server(client),
        *_parts(client),
        _key(me),
        *_collection(dataset),
        *_unanswered(dataset),
        *_suggestions(reader, dataset),
        Finding(
            "note",
            "Argilla lets every annotator of the workspace read all raters' responses, and metadata hidden from the"
            " page, through its API (GET /api/v1/records/{id}): the ratings are blind on the page only.",
        ),
        Finding(
            "note",
            "Responses that a script uploads in bulk, the deletion of a user, and one record deleted while another is"
            " added show to a full pull only.",
            "A sync makes one every 24 hours by itself; --full makes one now.",
        ),
        *_review(client, dataset, review, str(me.get("role"))),
        *_people(client, dataset),
    ]


def whose_key(client: Client) -> str:
    """A sentence that says whose key this is, empty where the server does not say."""
    try:
        me = _me(client)
    except ToolTrouble:
        return ""
    return f"The API key is that of '{_line(me.get('username'))}', {_a_role(me)}."


def is_owner(client: Client) -> bool:
    """Whether the key is an owner's. Raises ToolTrouble."""
    return _me(client).get("role") == "owner"


def names(client: Client, workspace: str) -> dict[str, str]:
    """Name or user name by id: of all users (an owner sees them), else of the workspace's (an admin sees those).

    Raises ToolTrouble.
    """
    try:
        return _names(client.get("api/v1/users"))
    except FixAccess:
        pass
    return _names(client.get(f"api/v1/workspaces/{workspace}/users"))


def _names(users: Any) -> dict[str, str]:
    # The server sends every user's API key along: nothing but id and name is kept.
    found = ((user["id"], _called(user)) for user in items_of(users, "users"))
    return {number: name for number, name in found if number and name}


def _called(user: Mapping[str, Any]) -> str:
    full = " ".join(_line(user.get(key)) for key in ("first_name", "last_name")).strip()
    return full or _line(user.get("username"))


def _me(client: Client) -> Mapping[str, Any]:
    me = client.get("api/v1/me")
    if not isinstance(me, dict):
        raise UnexpectedAnswer("Argilla does not say whose key this is.")
    return {key: me.get(key) for key in ("username", "role")}


def _a_role(me: Mapping[str, Any]) -> str:
    role = _line(me.get("role")) or "unknown role"
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def _server(client: Client) -> Iterator[Finding]:
    try:
        said = client.get("api/v1/version")
    except ToolTrouble as trouble:
        yield Finding("note", f"The server does not say its version: {trouble.message}")
        return
    version = _line(said.get("version")) if isinstance(said, dict) else ""
    yield Finding("ok", f"Argilla {version or 'of unknown version'} at {client.url}")


def _parts(client: Client) -> Iterator[Finding]:
    """Reading needs neither the search index nor Redis. Writing, and the raters themselves, need the index, and Redis
    where a webhook listens."""
    # The server asks its index for `status`, and Redis for a job; that there is no such job is the answer hoped for.
    parts = {
        "api/v1/status": "Reading works; scores cannot be written.",
        f"api/v1/jobs/{_NO_JOB}": "Reading works; writing fails where a webhook is set up.",
    }
    for path, effect in parts.items():
        try:
            client.get(path)
        except Refused as refused:
            if refused.status >= 500:
                yield Finding("warning", f"{refused.message} {effect}", refused.hint)
        except ToolTrouble:
            continue


def _key(me: Mapping[str, Any]) -> Finding:
    return Finding("ok", f"The server accepts the API key of '{_line(me.get('username'))}', {_a_role(me)}.")


def _collection(dataset: Dataset) -> Iterator[Finding]:
    wanted = dataset.min_submitted
    if wanted is None:
        yield Finding("note", "The dataset does not say after how many responses a record is complete.")
    elif wanted == 1:
        yield Finding(
            "warning",
            "A record is complete with one response and then hidden from everybody else: there is nothing to agree on.",
            "Raise 'Minimum submitted responses' in the dataset's settings. (The server then recounts every record.)",
        )
    else:
        yield Finding(
            "ok",
            f"A record is complete with {wanted} submitted responses, and then hidden from raters who have not answered"
            " it.",
        )


def _unanswered(dataset: Dataset) -> Iterator[Finding]:
    loose = [
        str(item.get("name"))
        for item in dataset.questions
        if (item.get("settings") or {}).get("type") == "multi_label_selection" and not item.get("required")
    ]
    if loose:
        yield Finding(
            "note",
            f"Argilla takes no empty answer to {_listed(loose)}: 'none of these' cannot be told from not answered, and"
            " counts as missing.",
            "Add a label 'none' to the question. Or, if raters leave it open only to say so, set questions:"
            " {NAME: {empty: none}}.",
        )


def _suggestions(reader: Reader, dataset: Dataset) -> Iterator[Finding]:
    """A suggestion is selected before the rater looks: what equals it may be no judgement of the rater's own."""
    total, equal = compare(reader.first(dataset.id, LOOKED_AT, "responses,suggestions"), dataset.questions)
    if not total:
        return
    said = f"{equal:,} of {total:,} answers beside a suggestion equal it, in the first {LOOKED_AT} records."
    if equal >= LED * total and total >= 20:
        yield Finding(
            "warning", said, "The page selects it beforehand: raters who agree with it may agree for that reason alone."
        )
    else:
        yield Finding("note", said, "Suggestions are never counted as ratings.")


def compare(records: Iterable[Any], questions: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Submitted answers beside a suggestion, and how many of them equal it; labels as sets."""
    kinds = {item.get("id"): question_of(item) for item in questions}
    of_kind = {question.name: question.kind for question in kinds.values()}
    total = equal = 0
    for row in records:
        suggested = {
            question.name: read_answer(question.kind, one.get("value"))
            for one in row.get("suggestions") or ()
            if isinstance(one, dict) and (question := kinds.get(one.get("question_id")))
        }
        if not suggested:
            continue
        try:
            responses = read_record(row, "").responses
        except SkippedTask:
            continue
        for name, value in (pair for one in responses if one.status == "submitted" for pair in one.answers):
            if name in suggested:
                total += 1
                equal += read_answer(of_kind[name], value) == suggested[name]
    return total, equal


def _review(client: Client, dataset: Dataset, review: str | None, role: str) -> Iterator[Finding]:
    if review is None:
        return
    there = [_line(one.get("name")) for one in items_of(client.get("api/v1/me/workspaces"), "workspaces")]
    name = review or dataset.review_workspace
    if name in there:
        yield Finding("ok", f"Review tasks go to the workspace '{_line(name)}', which is there.")
    elif role == "owner":
        yield Finding("ok", f"Review tasks go to the workspace '{_line(name)}', which will be made.")
    else:
        yield Finding(
            "error",
            f"Review tasks need the workspace '{_line(name)}', which is not there for this key, and only an owner can"
            " make one.",
            f"Let an owner make it and add you, or set review: {{workspace: NAME}}; there are: {_listed(there)}.",
        )


def _people(client: Client, dataset: Dataset) -> Iterator[Finding]:
    """The users' names by id: reports and settings name raters by their ids alone."""
    try:
        known = _names(client.get(f"api/v1/workspaces/{dataset.workspace_id}/users"))
    except ToolTrouble:
        return
    named = [f"{number} {name}" for number, name in known.items()]
    if named:
        more = f" and {len(named) - MOST_PEOPLE} more" if len(named) > MOST_PEOPLE else ""
        yield Finding("ok", f"Users of the workspace by id: {', '.join(named[:MOST_PEOPLE])}{more}.")


def _listed(found: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(f"'{_line(name)}'" for name in found[:most])
    return f"{shown} and {len(found) - most} more" if len(found) > most else shown or "none"


def _line(raw: Any) -> str:
    """Somebody else's text on one line, without control characters."""
    text = " ".join(str(raw).split()) if isinstance(raw, str | int | float) else ""
    return "".join(sign for sign in text if sign.isprintable())[:MOST_LETTERS]
