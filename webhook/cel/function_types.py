"""The types of the rows that describe functions: `Function`, its overloads, and their costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webhook.cel.ranges import Bound
from webhook.cel.types import Type

Cost = Callable[[Sequence[object], object], int]
"""Run-time cost of one call: the arguments (receiver first) and the result give cost units."""


@dataclass(frozen=True, slots=True)
class Price:
    """One formula in three forms: what a call spends, what it may spend before it is run, and both in words."""

    spend: Cost
    bound: Bound
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function.

    `args` are the types of all arguments, the receiver of a member function first. `call` gets values whose run-time
    types agree with `args` (of a list or map only the first element was looked at, as cel-go does; `dyn` and
    parameters accept anything) and raises `CelError` with cel-go's wording. `cost` None means 1, `estimate` None 1 and
    a result of unknown size; `words` say the cost to a reader. `template` is a
    Python expression over `{0}`, `{1}` … for the same result, used where the types are known or were tested; it may
    use only operators and methods of the arguments. `check` looks at constant arguments (`ABSENT` where not constant)
    at compile time and gives an error text or None. `guarded` false: run-time types are not tested before `call`.
    `memo`: what it gives is immutable and depends on the one text alone, so the fast form remembers the last answers.
    `variadic`: called with any number of arguments, the first that fails is the end of it.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    call: Callable[..., object]
    member: bool = False
    cost: Cost | None = None
    template: str | None = None
    check: Callable[..., str | None] | None = None
    guarded: bool = True
    memo: bool = False
    variadic: bool = False
    estimate: Bound | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its name as written, and its overloads in the order the checker tries them.

    `examples` are pairs of an expression and its value (a CEL literal, or `error: …`); a test runs each. `host`: asks
    the host, or costs as if it did, so only the exact form calls it. `pattern`: the second argument is a regular
    expression; one that is constant is compiled with the program. `conversion`: of a constant it makes a constant.
    `one_body`: the overload that the checker settled on does not bind the values, all have one body. `together`: both
    arguments are evaluated whatever the overload. `unit_cost`: a call costs 1 whatever its values, and the fast form
    writes it itself. `fallback`: the second argument counts only where the first, an optional, holds nothing.
    `unwraps`: gives what an optional holds. `matcher` gives, of a constant pattern, what a text is asked.
    """

    name: str
    overloads: tuple[Overload, ...]
    doc: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    library: str = ""
    mutation_only: bool = False
    host: bool = False
    pattern: bool = False
    conversion: bool = False
    one_body: bool = False
    together: bool = False
    unit_cost: bool = False
    fallback: bool = False
    unwraps: bool = False
    matcher: Callable[[str], Callable[[str], object]] | None = None
