"""Makes neighbours of rows: literals, calls, operators, arguments and variables of a row changed at random.

The rows come from a file of kept rows, or from the shared tables. The same seed gives the same neighbours.
"""

import copy
import json
import os
import random
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tests.cel_diff import pools
from tests.shared import ROOT
from webhook.cel.functions import rows as functions
from webhook.cel.syntax.lexer import LexError, Token, tokens

Row = dict[str, Any]

LEAK: Final = re.compile(r"[?:]\s*has\([^)]*[.\[]\s*\?")
"""A presence test of an optional field as a branch of a ternary."""
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_BINARY: Final = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
_MACROS: Final = (
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "map",
    "filter",
    "transformList",
    "transformMap",
    "sortBy",
)
_NAMES: Final = tuple(
    sorted({f.name for f in functions() if not f.name.startswith("@") and f.library != "operators"} | set(_MACROS))
)
_TEXTS: Final = tuple(
    "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    for text in (
        *pools.QUANTITY_TEXTS,
        *pools.IP_TEXTS,
        *pools.CIDR_TEXTS,
        *pools.URL_TEXTS,
        *pools.SEMVER_TEXTS,
        *pools.NAMES,
        *pools.FORMAT_TEXTS,
        *pools.FORMAT_STRINGS,
    )
)
_STRINGS: Final = (*pools.STRINGS, *pools.PATTERNS, *pools.ZONES)
_SCALARS: Final = (*pools.INTS, *pools.UINTS, *pools.DOUBLES, *pools.BOOLS, *pools.BYTES, "null")
_LITERALS: Final = frozenset({"int", "uint", "double", "string", "bytes", "true", "false", "null"})
_WRAPS: Final = (
    "dyn({})", "[{}]", "[{}][0]", "({})", "!({})", "-({})", "type({})", "string({})", "int({})", "size({})",
    "optional.of({})", "optional.of({}).value()", "optional.ofNonZeroValue({})", "true ? {} : dyn(null)",
    "{'a': {}}", "{'a': {}}.a", "{'a': {}}.?a", "[{}].map(x, x)", "[{}].exists(x, x == {})", "{} == {}",
    "[{}, {}].distinct()", "[{}, {}].sort()", "'%s'.format([{}])", "[?optional.of({})]", "optional.of({}).optMap(x, x)",
    "[dyn({})].all(x, x == {})", "({}) in [{}]", "{} == dyn(null)", "dyn(1) == {}", "[{}].flatten()", "{} || true",
    "false && {}", "[1, 2].map(i, {})", "sets.contains([{}], [{}])", "{}.size()", "bool({})", "double({})",
    "duration({})", "timestamp({})", "bytes({})", "uint({})", "quantity({})", "has({})", "{}.?a", "{}[0]", "{}.a",
    "{}.hasValue()", "{}.orValue({})", "{}.value()", "[{}].first()", "[{}].sum()", "{}.all(k, v, true)", "{}.map(x, x)",
)  # fmt: skip
_JSON: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 42, 2**63 - 1, -(2**63), 2**53 + 1, 1.5, 2.0, -0.0, 1e300, "", "x", "1Gi", "0.5",
    "72h", "2024-02-29T00:00:00Z", "10.0.0.1", "1.2.3", "héllo \U0001d4b3", "a/b~c", [], {}, [1], ["a", "b"], [None],
    {"a": 1}, {"": None}, [[1], [2]], [{"name": "a"}], {"x": {"y": [1, "z"]}},
)  # fmt: skip
_CHARACTERS: Final = (
    *"019azAZ.-+_/:%@#?&=[](){}*^$|,;~!eEmkKMGTPinushd", "é", "ß", "日", "\U0001d4b3", "\\n", "\\t", "\\\\", "\\u0000",
    "\\x7f", "\\u00a0", "\\u2028", "\\U0010ffff", "v", "x", "00", "::", "//", "..", "--", "%20", "%s", "%d", "\\\\d",
    "\\\\b", "\\\\.",
)  # fmt: skip
_HEAVY: Final = re.compile(r"[eE]\+?\d{5,}|%\.\d{5,}|\d{6,}(?=[^']*range)|range\(.*?\d{4,}.*?range")
"""Texts on which the API server takes all memory or minutes."""


def heavy(text: str) -> bool:
    """Whether the API server might take all its memory on an expression."""
    if "range" in text and re.search(r"\d{6,}|0x[0-9a-fA-F]{5,}|big|min\b", text):
        return True
    return len(text) > 20_000 or _HEAVY.search(text) is not None


class Neighbours:
    """Neighbours of some rows, from one seed."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self.random = random.Random(seed)
        self.rows = rows
        self.words: dict[str, list[str]] = {}
        for row in rows:
            known = self.words.setdefault(_family(row), [])
            known += [t.text for t in _tokens(row["expr"]) if t.kind in _LITERALS]
        self.edits: tuple[Callable[[list[str], Row], list[str] | None], ...] = (
            self.literal, self.literal, self.literal, self.literal, self.spelling, self.spelling, self.name,
            self.operator, self.argument, self.wrap, self.wrap, self.nest, self.select, self.token,
        )  # fmt: skip

    def row(self) -> Row:
        """One neighbour."""
        while True:
            seed = self.random.choice(self.rows)
            row = {k: v for k, v in seed.items() if k not in ("expect", "k8s", "k8s_agrees", "fn", "group", "kind")}
            text = self.changed(row["expr"], seed)
            if self.random.random() < 0.1 and row.get("variables"):
                row["variables"] = self.variables(row["variables"], seed)
            if self.random.random() < 0.25 and row.get("vars") and row.get("env"):
                row["vars"] = self.values(row["vars"])
            if text is None or heavy(text) or ("file" in row and "type_env" not in row and row.get("disable_check")):
                continue
            row["expr"] = text
            return row

    def changed(self, text: str, row: Row) -> str | None:
        """An expression after one to three edits."""
        words = [t.text for t in _tokens(text)]
        if not words:
            return None
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3))):
            edited = self.random.choice(self.edits)(words, row)
            if edited is not None:
                words = [t.text for t in _tokens(joined(edited))] or words
        if self.random.random() < 0.1:
            other = self.random.choice(self.rows)["expr"]
            return f"({joined(words)}) {self.random.choice(_BINARY)} ({other})"
        return joined(words)

    def literal(self, words: list[str], row: Row) -> list[str] | None:
        """Another literal in the place of one, mostly of the same kind."""
        at = self._pick(words, lambda t: t.kind in _LITERALS)
        if at is None:
            return None
        kind = _tokens(words[at])[0].kind
        return [*words[:at], self.like(kind, row), *words[at + 1 :]]

    def like(self, kind: str, row: Row) -> str:
        """A literal of a kind, mostly one that rows of the same function have."""
        pick = self.random.choice
        roll = self.random.random()
        family = [w for w in self.words[_family(row)] if _tokens(w)[0].kind == kind]
        if family and roll < 0.4:
            return pick(family)
        if roll > 0.95:
            return pick((*_STRINGS, *_SCALARS, *pools.TIMESTAMPS, *pools.DURATIONS))
        pool: dict[str, Sequence[str]] = {
            "int": pools.INTS, "uint": pools.UINTS, "double": pools.DOUBLES, "bytes": pools.BYTES,
        }  # fmt: skip
        if kind == "string":
            return pick(_TEXTS) if roll < 0.8 else pick(_STRINGS)
        return pick(pool.get(kind, ("true", "false", "null", "dyn(true)")))

    def some(self, row: Row) -> str:
        """A number or text."""
        return self.like(self.random.choice(("int", "string", "double")), row)

    def spelling(self, words: list[str], _: Row) -> list[str] | None:
        """A literal with a character put in, taken out, doubled or exchanged."""
        at = self._pick(words, lambda t: t.kind in ("string", "int", "double", "bytes", "uint"))
        if at is None:
            return None
        word = words[at]
        first = len(word) - len(word.lstrip("bBrR")) + 1 if word[-1] in "'\"" else 0
        last = len(word) - 1 if word[-1] in "'\"" else len(word)
        place = self.random.randint(first, max(first, last))
        new = self.random.choice(_CHARACTERS)
        kept = place + self.random.choice((0, 0, 1, 1, 2))
        return [
            *words[:at],
            word[:place] + new * (self.random.random() < 0.75) + word[min(kept, last) :],
            *words[at + 1 :],
        ]

    def name(self, words: list[str], row: Row) -> list[str] | None:
        """Another function or macro in the place of one."""
        names = [i for i, w in enumerate(words[:-1]) if words[i + 1] == "(" and w[0].isalpha()]
        if not names:
            return None
        at = self.random.choice(names)
        other = self.random.choice(self.rows)["expr"]
        called = re.findall(r"([A-Za-z_]+)\(", other)
        new = self.random.choice(called) if called and self.random.random() < 0.5 else self.random.choice(_NAMES)
        if self.random.random() < 0.3:  # a call as a member, a member as a call
            new = self.random.choice(called or [new])
            return (
                [*words[:at], "(", *words[at:], ")", ".", new, "(", ")"]
                if self.random.random() < 0.5
                else [new, "(", *words, ")"]
            )
        start = at - 2 if "." in new and at > 1 and words[at - 1] == "." else at
        return [*words[:start], new, *words[at + 1 :]]

    def operator(self, words: list[str], _: Row) -> list[str] | None:
        """Another operator in the place of one."""
        at = self._pick(words, lambda t: t.text in _BINARY)
        return None if at is None else [*words[:at], self.random.choice(_BINARY), *words[at + 1 :]]

    def argument(self, words: list[str], row: Row) -> list[str] | None:
        """An argument or element left out, doubled, or two of them exchanged."""
        groups = [g for g in _groups(words) if g[1]]
        if not groups:
            return None
        (first, arguments, last) = self.random.choice(groups)
        at = self.random.randrange(len(arguments))
        roll = self.random.random()
        new = list(arguments)
        if roll < 0.3:
            del new[at]
        elif roll < 0.5:
            new.insert(at, new[at])
        elif roll < 0.7:
            new.insert(
                self.random.randint(0, len(new)), [self.like(self.random.choice(("int", "string", "double")), row)]
            )
        elif roll < 0.85:
            self.random.shuffle(new)
        else:
            new[at] = ["dyn", "(", *new[at], ")"]
        inside: list[str] = []
        for argument in new:
            inside += [",", *argument]
        return [*words[: first + 1], *inside[1:], *words[last:]]

    def wrap(self, words: list[str], row: Row) -> list[str] | None:
        """Something around the whole or around an argument."""
        first, last = self.part(words)
        inner = joined(words[first:last])
        form = self.random.choice(_WRAPS)
        if self.random.random() < 0.2:
            form = (
                "{} "
                + f"{self.random.choice(_BINARY)} {self.like(self.random.choice(('int', 'string', 'double')), row)}"
            )
        return [*words[:first], form.replace("{}", inner), *words[last:]]

    def nest(self, words: list[str], _: Row) -> list[str] | None:
        """Another row in the place of an argument."""
        first, last = self.part(words)
        other = self.random.choice(self.rows)["expr"]
        if len(other) > 400:
            return None
        return [*words[:first], other, *words[last:]]

    def select(self, words: list[str], row: Row) -> list[str] | None:
        """Another field, or an optional one, in the place of a field or index."""
        places = [i for i, w in enumerate(words[:-1]) if w in (".", "[") and i > 0 and words[i - 1] not in ",([{:?"]
        if not places:
            return None
        at = self.random.choice(places)
        if self.random.random() < 0.5:
            gone = words[at + 1] == "?"
            return [*words[: at + 1], *([] if gone else ["?"]), *words[at + 2 - (not gone) :]]
        obj = (row.get("vars") or {}).get("object")
        names = list(obj) if isinstance(obj, dict) else list(pools.OBJECT)
        fields = [n for n in (*names, "missing", "x", "name") if n.isidentifier()]
        return [*words[: at + 1], self.random.choice(fields), *words[at + 2 :]] if words[at] == "." else None

    def token(self, words: list[str], _: Row) -> list[str] | None:
        """A token left out or doubled, or one from elsewhere in its place."""
        at = self.random.randrange(len(words))
        roll = self.random.random()
        if roll < 0.4:
            return [*words[:at], *words[at + 1 :]]
        other = _tokens(self.random.choice(self.rows)["expr"])
        new = self.random.choice(other).text if other else "?"
        return [*words[:at], new, *words[at + (roll < 0.7) :]]

    def part(self, words: list[str]) -> tuple[int, int]:
        """Where an expression begins and ends: the whole, an argument or a literal."""
        parts = [(0, len(words))]
        for first, arguments, _ in _groups(words):
            at = first + 1
            for argument in arguments:
                parts.append((at, at + len(argument)))
                at += len(argument) + 1
        parts += [(i, i + 1) for i, w in enumerate(words) if w and (_tokens(w) or [_END])[0].kind in _LITERALS]
        return self.random.choice(parts)

    def variables(self, variables: list[Row], row: Row) -> list[Row]:
        """The variables of a policy, one of them changed, left out or put elsewhere."""
        out = copy.deepcopy(variables)
        at = self.random.randrange(len(out))
        roll = self.random.random()
        if roll < 0.15:
            del out[at]
        elif roll < 0.3:
            self.random.shuffle(out)
        elif (text := self.changed(out[at]["expression"], row)) is not None and not heavy(text):
            out[at]["expression"] = text
        return out

    def values(self, given: Row) -> Row:
        """The variables of a row with a value somewhere in them changed or left out."""
        out = copy.deepcopy(given)
        here: Any = out
        while True:
            keys = (
                [k for k in here if k not in ("apiVersion", "kind")] if isinstance(here, dict) else [*range(len(here))]
            )
            if not keys:
                return out
            key = self.random.choice(keys)
            deeper = isinstance(here[key], (dict, list)) and here[key]
            if deeper and (here is out or self.random.random() < 0.85):
                here = here[key]
                continue
            if self.random.random() < 0.2 and here is not out:
                del here[key]
            else:
                here[key] = self.random.choice(_JSON)
            return out

    def _pick(self, words: list[str], wanted: Callable[[Token], bool]) -> int | None:
        places = [i for i, w in enumerate(words) if wanted((_tokens(w) or [_END])[0])]
        return self.random.choice(places) if places else None


_END: Final = Token("end", "", 0)


def _family(row: Row) -> str:
    return str(row.get("fn") or row.get("group") or row.get("section") or "")


def _tokens(text: str) -> list[Token]:
    try:
        return tokens(text)[:-1]
    except LexError:
        return []


def _groups(words: Sequence[str]) -> list[tuple[int, list[list[str]], int]]:
    """The brackets of an expression: where each opens, its arguments, where it closes."""
    out: list[tuple[int, list[list[str]], int]] = []
    waiting: list[tuple[int, list[list[str]]]] = []
    for at, word in enumerate(words):
        if word in _OPEN:
            for _, outer in waiting:
                outer[-1].append(word)
            waiting.append((at, [[]]))
            continue
        if word in ")]}" and waiting:
            first, arguments = waiting.pop()
            out.append((first, arguments if arguments != [[]] else [], at))
            for _, outer in waiting:
                outer[-1].append(word)
            continue
        for depth, (_, arguments) in enumerate(waiting):
            if word == "," and depth == len(waiting) - 1:
                arguments.append([])
            else:
                arguments[-1].append(word)
    return out


def joined(words: Sequence[str]) -> str:
    """The words as one text."""
    out = ""
    for word in words:
        tight = (
            not out
            or out[-1] in "([{.!"
            or word[:1] in ")]},.:"
            or (word[:1] in "([{" and (out[-1].isalnum() or out[-1] in ")]_"))
        )
        out += word if tight else f" {word}"
    return out


def seeds() -> list[Row]:
    """The rows to start from: the kept ones, and the shared tables where they are on this machine."""
    folder = Path(os.environ.get("SLUICE_SHARED", ROOT.parent / "shared")) / "cel"
    files = [Path(__file__).with_name("kept.jsonl"), folder / "k8s-lib-public.jsonl", folder / "policies-public.jsonl"]
    lines = [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").split("\n") if line]
    return [json.loads(line) for line in lines]


def batch(seed: int, count: int, known: Sequence[Row]) -> list[Row]:
    """`count` neighbours of the known rows, none of which leaks an optional out of `has`."""
    made = Neighbours(known, seed)
    rows = (row for row in iter(made.row, None) if not LEAK.search(row["expr"]))
    return [{**row, "id": f"n{seed}-{number}"} for number, row in enumerate(islice(rows, count))]
