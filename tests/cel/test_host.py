"""Data classes of the host: fields are attributes, and nothing else of Python shows."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from webhook import cel


class Phase(StrEnum):
    """A stage of a thing."""

    NEW = "new"
    OLD = "old"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a thing."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Thing:
    """Something a rule looks at."""

    priority: int
    weight: float
    phase: Phase
    parts: tuple[Part, ...]
    queued_at: int = 7
    last_phase: Phase = Phase.OLD
    best_part: Part | None = None
    most: int | None = None
    _hidden: int = 0

    @property
    def total(self) -> int:
        """How many parts."""
        return sum(p.count for p in self.parts)


ENV = cel.Env({"a": cel.host_type(Thing), "b": cel.host_type(Thing)})
A = Thing(1, 0.5, Phase.NEW, (Part("x", 2), Part("y", 3)), best_part=Part("z", 9))
B = Thing(2, 1.5, Phase.OLD, ())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a.priority < b.priority", True),
        ("a.priority + 1 == b.priority", True),
        ("a.weight + b.weight", 2.0),
        ("a.phase == 'new'", True),
        ("a.parts.map(p, p.name)", ["x", "y"]),
        ("a.parts.exists(p, p.count > 2)", True),
        ("a.total", 5),
        ("a.queuedAt", 7),
        ("a.bestPart.count", 9),
        ("a.bestPart == null", False),
        ("b.bestPart == null ? 'none' : b.bestPart.name", "none"),
        ("b.bestPart.?name.orValue('none')", "none"),
        ("b.most == null || b.most > 3", True),
        ("a.lastPhase == b.phase", True),
        ("b.parts.size()", 0),
    ],
)
def test_fields_in_both_forms(text, wanted):
    """A rule over host objects gives the same in the fast and in the exact form."""
    program = cel.compile(text, ENV)
    assert program.source
    assert program.call(A, B) == wanted
    assert program.evaluate({"a": A, "b": B}) == wanted


def test_comparison_is_plain_python():
    """Two declared ints compare without any helper."""
    assert "v0.priority < v1.priority" in cel.compile("a.priority < b.priority", ENV).source


def test_sums_are_checked_for_overflow():
    """Arithmetic on declared ints stays within 64 bits."""
    big = Thing(2**63 - 1, 0.0, Phase.NEW, ())
    with pytest.raises(cel.EvalError, match="integer overflow"):
        cel.compile("a.priority + b.priority", ENV).call(big, B)


@pytest.mark.parametrize("name", ["_hidden", "__class__", "missing", "queued_at"])
def test_only_declared_fields_exist(name):
    """Private and undeclared attributes are undefined fields, as are Python's own spellings."""
    with pytest.raises(cel.CompileError, match="undefined field"):
        cel.compile(f"a.{name}", ENV)
