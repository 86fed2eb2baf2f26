"""Compiles the lines of `emitter.py` to Python functions.

One source has two functions: `call` takes the variables, `metered` a tuple of them and a budget, to which it adds its
upper bound of the cost. Each is compiled at its first use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from webhook.cel.codegen.runtime import HELPERS

_BUILTINS = {b.__name__: b for b in (type, len, dict, list, str, int, float, bool, bytes, Exception)}
_NAME = re.compile(r"\b[a-zA-Z_]\w*")
_VARIABLE = re.compile(r"\bv(\d+)\b")


@dataclass(frozen=True, slots=True)
class Fast:
    """A fast form: its lines, what they give, the constants, how many variables there are, and what it costs.

    `cost` is what all outside of loops costs at most; where the form is `metered` its lines add to that in `m`.
    """

    lines: tuple[str, ...]
    result: str
    constants: tuple[object, ...]
    variables: int
    cost: int
    metered: bool

    def call(self) -> str:
        """The source of `make(k, exact, owner, …)`, which gives a function of the variables."""
        names = "".join(f"v{i}, " for i in range(self.variables))
        head = f"    def fast({names.removesuffix(', ')}):\n        try:\n"
        end = f"            return {self.result}\n        except Exception:\n            return exact(({names}))\n"
        return self._made(head, end)

    def counted(self) -> str:
        """The source of `make(k, exact, owner, …)`, which gives a function of a tuple of the variables and a budget.

        A budget that is None makes it leave to `exact`, as does a cost above the limit of a call.
        """
        cost = "m" if self.metered else str(self.cost)
        text = "\n".join((*self.lines, self.result))
        used = sorted({int(found) for found in _VARIABLE.findall(text)})
        head = "    def fast(values, budget):\n        try:\n"
        head += "".join(f"            v{i} = values[{i}]\n" for i in used)
        end = (
            f"            result = {self.result}\n"
            f"            if {cost} > budget.call_limit: bail()\n"
            "        except Exception:\n            return exact(values, budget)\n"
            f"        budget.uncounted += {cost}\n"
            "        budget.noted.append((owner, values))\n"
            "        if budget.uncounted > budget.remaining: budget.settle()\n"
            "        return result\n"
        )
        return self._made(head, end)

    def _made(self, head: str, end: str) -> str:
        begin = [f"m = {self.cost}"] if self.metered else []
        inner = "".join(f"            {line}\n" for line in (*begin, *self.lines))
        body = f"{head}{inner}{end}    return fast\n"
        words = set(_NAME.findall(body))
        helpers = "".join(f", {name}" for name in sorted(words & HELPERS.keys()))
        constants = [f"k{i}" for i in range(len(self.constants))]
        unpack = f"    {', '.join(constants)}, = k\n" if constants else ""
        return f"def make(k, exact, owner{helpers}):\n{unpack}{body}"


def load(source: str, fast: Fast, exact: Callable[..., object], owner: object) -> Callable[..., object]:
    """The function of a source of `fast`; it calls `exact` with what it was called with where it cannot answer."""
    space: dict[str, object] = {"__builtins__": _BUILTINS}
    exec(compile(source, "<cel>", "exec"), space)  # noqa: S102 - the source is ours: generated names, operators
    make = space.pop("make")  # it would hold its own globals in a cycle
    assert callable(make)
    words = source[: source.index(")")].split(", ")[3:]
    function: Callable[..., object] = make(fast.constants, exact, owner, *(HELPERS[name] for name in words))
    return function
