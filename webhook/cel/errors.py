"""Exceptions: `CelError` inside a function, `EvalError` of a program, `CompileError` of a text.

A function of the language raises `CelError` with cel-go's wording and knows nothing of places; the program adds the
place and raises `EvalError`. Both are values of the language before they are failures: `a || b` may absorb them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
"""What the API server says where one evaluation costs too much."""


class CelError(Exception):
    """An error value of the language, e.g. `division by zero`. The message is cel-go's."""

    @property
    def message(self) -> str:
        """The text, without a place."""
        return str(self.args[0]) if self.args else ""


class BudgetError(CelError):
    """The run-time cost limit or the size limit was passed. No operator absorbs it.

    `cost` is what cel-go has counted when it cancels, 0 where that is not known.
    """

    def __init__(self, message: str, cost: int = 0) -> None:
        super().__init__(message)
        self.cost = cost


class Interrupted(BaseException):
    """Raised by a signal in the thread that evaluates. No operator absorbs it, and no form tries again after it."""


class EvalError(CelError):
    """A program failed. `offset` counts characters of the text from 0, -1 where it is not known.

    The place is looked for when it is asked for, since most failures are only counted. `cost` is what was spent,
    `program` the program that failed, where it is known.
    """

    def __init__(
        self, message: str, locate: Callable[[], int] | None = None, cost: int = 0, program: object = None
    ) -> None:
        super().__init__(message)
        self.cost = cost
        self.program = program
        self._locate = locate
        self._offset: int | None = None

    @property
    def offset(self) -> int:
        """Where in the text the failing part stands."""
        if self._offset is None:
            self._offset = self._locate() if self._locate is not None else -1
        return self._offset


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One finding of the compiler: character offset from 0 and length in the text, and the sentence.

    `known` are the names that would do where a name is not known, as far as the compiler can list them.
    """

    offset: int
    message: str
    length: int = 0
    known: tuple[str, ...] = ()


class CompileError(Exception):
    """A text is not a program. Carries every issue; `str()` prints them with a caret each, in cel-go's form."""

    def __init__(self, text: str, issues: tuple[Issue, ...], *, prefix: str = "compilation failed: ") -> None:
        self.text = text
        self.issues = issues
        self.prefix = prefix
        super().__init__(self.render())

    def render(self) -> str:
        """All issues, each as `ERROR: <input>:line:column: message`, the line, and a caret under it."""
        if not self.prefix.startswith("compilation"):
            return self.prefix + "\n".join(issue.message for issue in self.issues)
        return self.prefix + "\n".join(render_issue(self.text, issue) for issue in self.issues)


def render_issue(text: str, issue: Issue) -> str:
    """One issue with its line and caret as cel-go prints it (wide characters get wide dots)."""
    if issue.offset < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    line_start = text.rfind("\n", 0, issue.offset) + 1
    line_end = text.find("\n", issue.offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    number = text.count("\n", 0, issue.offset) + 1
    column = issue.offset - line_start
    snippet = line.replace("\t", " ")
    lead = "".join("\uff0e" if len(c.encode("utf-8", "surrogatepass")) > 1 else "." for c in snippet[:column])
    at = snippet[column : column + 1]
    mark = "\uff3e" if at and len(at.encode("utf-8", "surrogatepass")) > 1 else "^"
    return f"ERROR: <input>:{number}:{column + 1}: {issue.message}\n | {snippet}\n | {lead}{mark}"
