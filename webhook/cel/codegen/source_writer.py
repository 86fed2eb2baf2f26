"""Types shared by the modules that emit source: a piece of code, and the interface of the emitter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from webhook.cel.check.checker import Checked
from webhook.cel.codegen.known import KnownFacts
from webhook.cel.env import Env
from webhook.cel.syntax.nodes import Node
from webhook.cel.types import Type
from webhook.cel.values import ABSENT

MAX_NODES = 2_000
MAX_HEIGHT = 60
MAX_BLOCKS = 15
MAX_DEPTH = 40


class Unsupported(Exception):
    """The tree has something the fast form does not do; there is only the exact form then."""


@dataclass(frozen=True, slots=True)
class Code:
    """An expression of Python.

    `type` is what its value certainly is at run time, None where only values tell. `name` says that it is a local
    name or constant, which may be written twice. `optional`: the value is what an optional holds, ABSENT for none.
    `size` is an upper bound of what its value counts for the cost, None where only values tell; `const` the value
    where it is constant.
    """

    text: str
    type: Type | None = None
    name: bool = False
    optional: bool = False
    size: int | None = None
    const: object = ABSENT


class SourceWriter(Protocol):
    """The emitter, as those see it who write a part of the source."""

    checked: Checked
    env: Env
    constants: list[object]
    scopes: list[dict[str, Code]]
    lines: list[str]
    depth: int
    blocks: int
    spent: int
    written: set[int]
    known: KnownFacts
    often: frozenset[str]
    shared: frozenset[tuple[str, ...]]
    kept: dict[str, str]
    asking: dict[str, tuple[str, str]]
    either: dict[str, tuple[str, ...]]
    remembered: dict[str, tuple[Callable[..., object], str]]

    def line(self, text: str) -> None:
        """One statement."""

    def fresh(self) -> str:
        """A local name."""

    def constant(self, value: object) -> str:
        """The name of a constant."""

    def held(self, code: Code) -> Code:
        """The value in a local name, so that it can be used twice."""

    def block(self, write: Callable[[], None]) -> None:
        """What `write` writes, one level in."""

    def later(self, write: Callable[[], str]) -> tuple[list[str], str]:
        """The statements, one level in, and the expression that `write` gives, without putting them down."""

    def spend(self, units: int) -> None:
        """Count cost units that are never exceeded each time the code at hand runs."""

    def charge(self, units: str) -> None:
        """Add cost units that only values tell to those counted, and leave when there are too many."""

    def folded(self, node: Node) -> object:
        """The value of a node that needs no variables and cannot fail, else ABSENT. Its cost is counted."""

    def value(self, node: Node) -> Code:
        """A node as a value; optionals are real ones."""

    def optional(self, node: Node) -> Code:
        """A node as what an optional holds, ABSENT for none."""

    def code(self, node: Node) -> Code:
        """A node; optionals may come as what they hold."""

    def condition(self, node: Node) -> str:
        """A node as a Python bool; anything but a bool leaves the fast form."""
