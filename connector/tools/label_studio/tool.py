"""Label Studio as a `Tool`: one project of one server, over its API."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import SecretStr

from connector.annotations.choices import clean
from connector.annotations.model import Schema
from connector.errors import ConnectorError, NotThere, UnexpectedAnswer
from connector.tools import base
from connector.tools.label_studio import marks, review, write
from connector.tools.label_studio.check import inspect, names
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import Reader
from connector.tools.label_studio.shape import count


class LabelStudio:
    """One Label Studio project.

    Parameters
    ----------
    url : where the server's start page opens, sub-path included.
    api_key : a personal access token or a legacy token.
    project : the number in the address /projects/N/data.
    prefix : begins the name of every field that is written.
    patience : seconds of waiting, in all, for a server that goes away in the middle.
    """

    name = "label_studio"
    capabilities = base.Capabilities(draws=marks.KINDS)

    def __init__(
        self, url: str, api_key: SecretStr | str, project: str, prefix: str = "iaa_", patience: float = 75.0
    ) -> None:
        self.project = str(project).strip()
        if not (self.project.isascii() and self.project.isdigit()):
            raise NotThere(f"A Label Studio project is named by its number, not {self.project[:60]!r}.", _WHERE_IDS_ARE)
        self.client = Client(url, api_key, patience)
        self.prefix = prefix
        self.reader = Reader(self.client, self.project)
        self.writer = write.Writer(self.client, self.reader, prefix)
        self._settings: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"LabelStudio({self.source!r})"

    @property
    def source(self) -> str:
        """The project's stable identity."""
        return f"label_studio:{self.client.url.rstrip('/')}:{self.project}"

    def open(self, known: str = "") -> base.Project:  # noqa: ARG002 - one request reads everything
        """Reach the project (one request) and read its settings."""
        settings = self.settings(fresh=True)
        label_config = clean(str(settings["label_config"]))
        return base.Project(
            source=self.source,
            title=clean(str(settings.get("title") or "")),
            link=f"{self.client.url}projects/{self.project}/data",
            schema=self.read_schema(label_config),
            n_units=count(settings.get("task_number")),
            required_ratings=count(settings.get("maximum_annotations")),
            settings=label_config,
            warnings=tuple(_warnings(settings)),
        )

    def pull(self) -> Iterator[base.Page]:
        """Every task with every annotation, 1,000 a page."""
        return self.reader.pages()

    def pull_changed(self, cursor: base.Cursor, known: Mapping[str, str | None]) -> Iterator[base.Page]:
        """The tasks that are new or changed since `cursor`; no page at all where there are none (one request)."""
        return self.reader.changed(cursor, known)

    def unit_ids(self) -> Mapping[str, str | None]:
        """Every task's id and `created_at`."""
        return self.reader.created()

    def verify(self, op: base.WriteOp) -> None:
        """Raises FixConfiguration, or NotThere, for a review project that cannot be used or made."""
        if isinstance(op, base.PutReviewTasks):
            self._reviews().verify(op)

    def apply(self, op: base.WriteOp) -> base.Receipt:
        """Carry out one operation and check that it arrived."""
        match op:
            case base.SetField():
                return self.writer.set_field(op)
            case base.ClearFields():
                return self.writer.clear_fields(op)
            case base.PutView():
                return self.writer.put_view(op)
            case base.RemoveView():
                return self.writer.remove_view(op)
            case base.PutSummary():
                return self.writer.put_summary(op)
            case base.RemoveSummary():
                return self.writer.remove_summary()
            case base.ResetColumns():
                return self.writer.reset_columns()
            case base.PutReviewTasks():
                return self._reviews().put(op)
            case base.DrawMarks():
                return self._reviews().draw(op)
            case base.RemoveReview():
                return self._reviews().remove(op.remote)
            case base.PutFields():
                raise TypeError("Label Studio is written value by value")

    def find_ours(self) -> Mapping[str, str]:
        """Our tab, review project and summary line, where they are there."""
        found: dict[str, str] = {}
        view = self.writer.own_view(self.writer.views())
        if view is not None:
            found["view"] = str(view["id"])
        project = self._reviews().find(None)
        if project is not None:
            found["review_project"] = str(project["id"])
        summary = write.summary_of(self.writer.description())
        if summary is not None:
            found["summary"] = summary
        return found

    def review_tasks(self, remote: str) -> Mapping[str, str]:
        """The source tasks that have a review task there, with its id."""
        return self._reviews().tasks_in(remote)

    def undecided(self, remote: str) -> Collection[str]:
        """The source tasks whose review task there holds no annotation that was submitted."""
        return self._reviews().undecided(remote)

    def review_link(self, remote: str) -> str:
        """The list of a review project's tasks."""
        return f"{self.client.url}projects/{remote}/data"

    def rater_names(self) -> Mapping[str, str]:
        """Name, e-mail or user name of the organisation's members, by the id that a rater has."""
        return names(self.client)

    def inspect(self, review: str | None = None) -> list[base.Finding]:  # noqa: ARG002 - a project can always be made
        """Server, token, collection settings, and whether the token sees every annotation."""
        return inspect(self.client, self.reader, self.settings())

    def close(self) -> None:
        """Give connections back."""
        self.client.close()

    def settings(self, *, fresh: bool = False) -> dict[str, Any]:
        """The project's own settings, read once unless `fresh`."""
        if self._settings is None or fresh:
            self._settings = self._read_settings()
        return self._settings

    def _read_settings(self) -> dict[str, Any]:
        failure: ConnectorError
        try:
            answer = self.client.get(f"api/projects/{self.project}/")
        except NotThere:
            failure = NotThere(
                f"Label Studio at {self.client.url} has no project {self.project}, or not for this token.",
                _WHERE_IDS_ARE,
            )
        else:
            if isinstance(answer, dict) and isinstance(answer.get("label_config"), str):
                return answer
            failure = UnexpectedAnswer(f"{self.client.url} answers, but not with a Label Studio project.")
        raise failure

    def _reviews(self) -> review.Reviews:
        return review.Reviews(self.client, self.reader, self.settings(), self.prefix)

    @staticmethod
    def read_schema(settings: str) -> Schema:
        """The questions of a label config (XML text); needs the extra `label-studio`, no network."""
        from connector.tools.label_studio.config import schema_of

        return schema_of(settings)


_WHERE_IDS_ARE = (
    "Open the project in the browser: the address is .../projects/N/data, and N is its id. The projects this token"
    " sees are listed by GET /api/projects/."
)


def _warnings(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings.get("evaluate_predictions_automatically"):
        yield (
            "The project asks its model for predictions whenever tasks are listed ('retrieve predictions"
            " automatically'): a pull triggers that too."
        )
