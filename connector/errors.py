"""Every exception of the package, named by what the reader does next, with its exit code.

    ConnectorError                    70  a bug unless a subclass says otherwise
      FixConfiguration                 2  change the configuration or the command line
        InstallExtra                   2  a heavy library is not installed: the message holds the pip line
      ToolTrouble                      4  the annotation tool cannot be reached or refuses us
        RetryLater                     4  nothing is wrong on this side: the same call may work later
        FixAccess                      4  the token or the rights must change first
        NotThere                       4  the project, dataset or file of the tool does not exist (for this token)
        UnexpectedAnswer               4  the tool answered something that is not its interface (HTML, another product)
      DataNotTrusted                   5  the data are truncated, unparsable or too often malformed to act on
      WritesFailed                     6  some writes did not arrive; what did is recorded
      AnotherRun                       7  another run holds the lock

`SkippedTask` is not an error of a run: readers raise it for one malformed task and go on.
"""

from __future__ import annotations

from collections.abc import Sequence


class ConnectorError(Exception):
    """A failure with a message for people and, where there is one, the next step.

    Parameters
    ----------
    message : what is wrong, in one or two sentences, without secrets.
    hint : what to do about it.
    """

    exit_code = 70

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class FixConfiguration(ConnectorError):
    """The configuration or the command line is wrong."""

    exit_code = 2


class InstallExtra(FixConfiguration):
    """A library of an optional extra is missing."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}', which is not installed.",
            f"Run: pip install 'agreement-connector[{extra}]'",
        )


class ToolTrouble(ConnectorError):
    """The annotation tool cannot be reached or refuses us."""

    exit_code = 4


class RetryLater(ToolTrouble):
    """The tool is down, restarting or overloaded; the same call may work later."""


class FixAccess(ToolTrouble):
    """The token is wrong, of the wrong kind, disabled or lacks a right."""


class NotThere(ToolTrouble):
    """The project, dataset or view does not exist, or not for this token."""


class UnexpectedAnswer(ToolTrouble):
    """The answer is not the interface we know: HTML, another product, another shape."""


class DataNotTrusted(ConnectorError):
    """The data are truncated, unparsable, or too often malformed to act on."""

    exit_code = 5


class WritesFailed(ConnectorError):
    """Some writes did not arrive.

    Parameters
    ----------
    message, hint : as of every failure.
    report : lines that say what was written and what was not, and why.
    """

    exit_code = 6

    def __init__(self, message: str, hint: str | None = None, report: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.report = tuple(report)


class AnotherRun(ConnectorError):
    """Another run holds the lock."""

    exit_code = 7


class SkippedTask(Exception):
    """One malformed task: left out, with its id and the reason, while the run goes on.

    Parameters
    ----------
    unit : the task's id, or a description of its place where it has none.
    reason : what is malformed.
    """

    def __init__(self, unit: str, reason: str) -> None:
        super().__init__(f"task {unit}: {reason}")
        self.unit = unit
        self.reason = reason
