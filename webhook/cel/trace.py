"""The value of each part of an expression: the tree that `sluice eval --trace` prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.interpreter.attributes import COST, Failure, Frame
from webhook.cel.interpreter.planner import Planner
from webhook.cel.program import Program
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, Fold, Literal, Node

MANY = 5
"""Values of one part that are kept; a part inside a comprehension has one for each round."""


@dataclass(frozen=True, slots=True)
class TracedPart:
    """A part of an expression: where its text stands, its values in order (`Failure` for an error), its parts.

    `branch` is the one that a choice (`a ? b : c`) took last; None for any other part.
    """

    start: int
    end: int
    values: tuple[object, ...]
    parts: tuple[TracedPart, ...]
    clause: bool = False
    branch: TracedPart | None = None

    @property
    def decisive(self) -> bool:
        """Whether this clause made the whole false or failed it."""
        return bool(self.values) and (self.values[-1] is False or type(self.values[-1]) is Failure)


def trace(program: Program, values: tuple[object, ...]) -> TracedPart:
    """Evaluate and tell the value of every part that was evaluated. An error of the whole is the value of the root."""
    seen: dict[int, list[object]] = {}

    def observe(node: Node, _: Frame, value: object) -> None:
        held = seen.setdefault(node.id, [])
        if len(held) < MANY:
            held.append(value)

    planner = Planner(program.checked, program.env, observe)
    root = program.checked.root
    try:
        evaluate = planner.run()
        frame = program.frame(values, size=planner.size)
        evaluate(frame)
        program.cost = frame[COST]
    except CelError as error:
        seen.setdefault(root.id, [Failure(error.message)])
    return _step(program.text, root, seen, clause=True)


def clauses(step: TracedPart) -> list[TracedPart]:
    """The `&&` clauses of the whole, outermost first."""
    if not step.clause or not any(p.clause for p in step.parts):
        return [step]
    return [c for part in step.parts for c in clauses(part)]


def worked_out(text: str, part: TracedPart, say: Callable[[TracedPart], str]) -> str:
    """Write a part with values in place of names, of a choice only the branch that was taken: `24 - 20`.

    `say` gives the last value of a part as text, empty where it cannot be told.
    """
    if part.branch is not None:  # it gives what the choice gives
        return worked_out(text, replace(part.branch, values=part.branch.values or part.values), say)
    inner = [(below, worked_out(text, below, say)) for below in part.parts if _can_be_told(below, say)]
    if not inner:
        return say(part) or text[part.start : part.end]
    written, at = "", part.start
    for below, said in inner:
        written, at = written + text[at : below.start] + said, below.end
    return _ONE_VALUE.sub(r"\1\2", " ".join((written + text[at : part.end]).split()))


_ONE_VALUE: Final = re.compile(r"(^|[^\w.])\((\S+)\)")


def _can_be_told(part: TracedPart, say: Callable[[TracedPart], str]) -> bool:
    return bool(say(part)) or any(_can_be_told(below, say) for below in part.parts)


def _step(text: str, node: Node, seen: dict[int, list[object]], *, clause: bool = False) -> TracedPart:
    conjunction = clause and isinstance(node, Call) and node.function == nodes.AND
    parts = tuple(
        _step(text, part, seen, clause=conjunction) for part in _shown(node) if part.id in seen or _shown(part)
    )
    start, end = span(text, node)
    values, taken = tuple(seen.get(node.id, ())), _taken(node, seen)
    branch = None if taken is None else _step(text, taken, seen)
    return TracedPart(start, end, values, parts, clause, branch)


def _taken(node: Node, seen: dict[int, list[object]]) -> Node | None:
    """Return the branch that a choice took last."""
    if not isinstance(node, Call) or node.function != nodes.CONDITIONAL:
        return None
    decided = seen.get(node.args[0].id)
    return node.args[1 if decided[-1] is True else 2] if decided and isinstance(decided[-1], bool) else None


def _shown(node: Node) -> list[Node]:
    """The parts worth a line: no literals, and of a comprehension its range and its body."""
    if isinstance(node, Fold):
        body = node.step.args if isinstance(node.step, Call) else ()
        found = [node.range, *(b for b in body if not _internal(b))]
    else:
        found = list(nodes.children(node))
    return [n for n in found if not isinstance(n, Literal)]


def _internal(node: Node) -> bool:
    """Whether a node is the accumulator's, which nobody wrote."""
    if isinstance(node, nodes.Ident):
        return node.name == nodes.ACCUMULATOR
    return isinstance(node, Call) and any(_internal(a) for a in node.args)


def span(text: str, node: Node) -> tuple[int, int]:
    """Where the text of a node begins and ends, as nearly as its tokens tell."""
    low, high, stack = len(text), 0, [node]
    while stack:
        at = stack.pop()
        low, high = min(low, at.pos), max(high, _token_end(text, at))
        stack.extend(nodes.children(at))
    return _balanced(text, _word_start(text, min(low, high)), high)


def _token_end(text: str, node: Node) -> int:
    if isinstance(node, nodes.Ident):
        return node.pos + len(node.name)
    if isinstance(node, nodes.Select):
        return text.find(node.field, node.pos) + len(node.field)
    if isinstance(node, Literal):
        return (
            node.pos + len(repr(node.value)) if not isinstance(node.value, (str, bytes)) else _quote_end(text, node.pos)
        )
    return node.pos + 1


def _quote_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in "'\"":
        at += 1
    quote = text[at] if at < len(text) else ""
    end = at + 1
    while quote and end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" else 1
    return min(end + 1, len(text))


def _word_start(text: str, at: int) -> int:
    """The start of the name before an opening parenthesis."""
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_."):
        at -= 1
    return at


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """Stretch the end until every bracket that was opened is closed."""
    end = min(end, len(text))
    part = text[start:end]
    while end < len(text) and any(part.count(a) > part.count(b) for a, b in ("()", "[]", "{}")):
        end += 1
        part = text[start:end]
    return start, end
