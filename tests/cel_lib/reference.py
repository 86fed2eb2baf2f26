"""`python -m tests.cel_lib.reference`: write `docs/reference/cel.md` from the rows of the functions."""

from collections.abc import Iterable

from tests.shared import ROOT
from webhook.cel.function_types import Function, Overload
from webhook.cel.functions import rows

TARGET = ROOT / "docs" / "reference" / "cel.md"
HEAD = """\
# CEL functions

Everything a policy can call: the libraries of the Kubernetes API server at 1.36. This page is generated from the rows
in `webhook/cel` by `python -m tests.cel_lib.reference`; a test runs each example, another says when the page is old.
Operators, macros (`has all exists exists_one map filter`, `transformList transformMap …`, `optMap optFlatMap`,
`sortBy`) and the optional syntax `a.?b`, `m[?k]`, `[?x]`, `{?k: v}` are part of the language. `math`, `base64`,
`cel.bind` and `reverse` of strings do not exist at 1.36.

Costs are in the API server's units, each rounded up: a call may spend 1,000,000 of them, a policy 10,000,000. The cost
of operands comes on top: 1 for a variable and for each field, 10 for a list literal, 30 for a map, 40 for an object,
and for a macro that of its body for each element. `sluice eval` shows the cost of an expression, and the least and
most that its text and types let one expect, as the API server estimates it for the rules of custom kinds.
"""


def signature(function: Function, overload: Overload) -> str:
    """An overload as one would write the call."""
    types = [str(arg) for arg in overload.args]
    if overload.member:
        return f"{types[0]}.{function.name}({', '.join(types[1:])}) → {overload.result}"
    return f"{function.name}({', '.join(types)}) → {overload.result}"


def entry(name: str, functions: list[Function]) -> Iterable[str]:
    """The section of one name in one library."""
    doc = next((f.doc for f in functions if f.doc), "") or next((f.doc for f in rows() if f.name == name and f.doc), "")
    yield f"### {name}\n"
    if doc:
        yield f"{doc}{' Only in mutations.' if functions[0].mutation_only else ''}\n"
    yield f"Cost: {'; or '.join(costs(functions))}.\n"
    yield "```text"
    for function in functions:
        for overload in function.overloads:
            yield signature(function, overload)
    yield "```\n"
    examples = [example for function in functions for example in function.examples]
    if examples:
        yield "| expression | value |\n|---|---|"
        for text, value in examples:
            yield f"| `{escaped(text)}` | `{escaped(value)}` |"
        yield ""


def costs(functions: list[Function]) -> list[str]:
    """What a call costs, in words: each wording of the overloads once."""
    return list(dict.fromkeys(overload.words or "1" for function in functions for overload in function.overloads))


def escaped(text: str) -> str:
    """A text that can stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def page() -> str:
    """The whole page."""
    libraries: dict[str, dict[str, list[Function]]] = {}
    for function in rows():
        if function.library != "operators" and not function.name.startswith("@"):
            libraries.setdefault(function.library, {}).setdefault(function.name, []).append(function)
    lines = [HEAD]
    for library in sorted(libraries):
        lines.append(f"## {library}\n")
        for name in sorted(libraries[library]):
            lines.extend(entry(name, libraries[library][name]))
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(page())


if __name__ == "__main__":
    main()
