"""The expressions of one QueuePolicy document, compiled over the core's own types, each with its place in the file.

No file is found or read here, and what several documents come to together is `load.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from webhook import cel
from webhook.cel.types import DYN, TIMESTAMP, Type, object_type
from webhook.cel.values import Timestamp
from webhook.diagnostics import Diagnostic
from webhook.documents import Document, Path
from webhook.policy.queue_rules.mistakes import mistakes
from webhook.policy.queue_rules.nullable import unknown_fields
from webhook.policy.queue_rules.parameters import type_of
from webhook.policy.queue_rules.possible import possible
from webhook.policy.queue_rules.reads import PARAMETERS as _READ
from webhook.policy.queue_rules.reads import reads_of, step_of
from webhook.policy.queue_rules.values import BadValue, Fix, key_fix, result_fix

Call = Callable[..., Any]
PARAMETERS: Final = "sluice.dev.Parameters"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a program was written: a path in a document, or for sort keys the paths, by where each begins in it."""

    document: Document
    paths: tuple[tuple[int, Path], ...]

    def name(self, offset: int) -> str:
        """Return the place and the name of the rule at an offset of the program's text."""
        start, path = self._at(offset)
        rule = ".".join(str(part) for part in path[1:])
        return f"{self.document.text_place(path, max(0, offset - start))}: rule {rule}"

    def path_at(self, offset: int) -> Path:
        """Return the path of what is written at an offset of the program's text."""
        return self._at(offset)[1]

    def _at(self, offset: int) -> tuple[int, Path]:
        return max((p for p in self.paths if p[0] <= offset), default=self.paths[0], key=lambda p: p[0])


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule that can be asked: the function, its program, and where that was written.

    `constants` are what the program takes behind what the function is given: the parameters, where it reads any.
    """

    call: Call
    program: cel.Program
    origin: Origin
    constants: tuple[Any, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        """What it can read."""
        return reads_of(self.program)

    @property
    def step(self) -> int:
        """How often its answer may change as time passes, in milliseconds; 0 is never."""
        return step_of(self.program)


@dataclass(frozen=True, slots=True)
class Source:
    """One document with its parameters, which are constants of its expressions. Mistakes are added to `problems`."""

    document: Document
    parameters: Mapping[str, Any]
    problems: list[Diagnostic]

    def one(self, path: Path, sees: Mapping[str, Type], result: Type, method: str = "") -> Compiled | None:
        """Compile the expression at a path to a rule that gives `result`; None where it cannot be."""
        text = self._text(path)
        program = None if text is None else self._program(path, text, sees)
        if program is None:
            return None
        if program.type not in (result, DYN):
            message = f"this returns {program.type}, expected {result}"
            self.problems.append(self.document.diagnostic("RUL004", path, message))
            return None
        call = self._bound(program, sees)
        fix = result_fix(method, result, program.type, possible(program)) if method else None
        call = call if fix is None else _fixed(call, fix, program)
        return Compiled(call, program, Origin(self.document, ((0, path),)), self._constants(program))

    def keys(self, path: Path, count: int, sees: Mapping[str, Type]) -> Compiled | None:
        """Compile the sort keys at a path to one function: one call is cheaper than many. None where one cannot be."""
        texts: list[str] = []
        fixes: list[Fix | None] = []
        for at in range(count):
            if (key := self._key((*path, at), sees)) is not None:
                texts.append(key[0])
                fixes.append(key[1])
        if len(texts) < count:
            return None
        text, starts = _list_of(texts)
        program = self._program(path, text, sees)
        assert program is not None  # each key compiles, so the list of them does
        call = self._bound(program, sees)
        needed = [(at, starts[at], fix) for at, fix in enumerate(fixes) if fix is not None]
        call = _ordered(call, needed, program) if needed else _as_tuple(call)
        places = tuple((start, (*path, at)) for at, start in enumerate(starts))
        return Compiled(call, program, Origin(self.document, places), self._constants(program))

    def _key(self, path: Path, sees: Mapping[str, Type]) -> tuple[str, Fix | None] | None:
        text = self._text(path)
        program = None if text is None else self._program(path, text, sees)
        if text is None or program is None:
            return None
        try:
            return text, key_fix(program.type)
        except BadValue as error:
            self.problems.append(self.document.diagnostic("RUL004", path, str(error)))
            return None

    def _text(self, path: Path) -> str | None:
        """Return the expression at a path; what is no text was told when the fields were checked."""
        text = self.document.at(path)
        return text if isinstance(text, str) else None

    def _program(self, path: Path, text: str, sees: Mapping[str, Type]) -> cel.Program | None:
        types = tuple((name, type_of(value)) for name, value in self.parameters.items()) if _READ in text else None
        try:
            program = _compiled(text, tuple(sees.items()), types, (self.document.file, path))
            if unknown := unknown_fields(program):
                raise cel.CompileError(text, unknown)
            return program
        except cel.CompileError as error:
            self.problems.extend(mistakes(self.document, path, error, (*sees, _READ)))
            return None

    def _bound(self, program: cel.Program, sees: Mapping[str, Type]) -> Call:
        """Return the call with the parameters put in, and the core's times made timestamps where they are read."""
        call, read, constants = program.call, reads_of(program), self._constants(program)
        times = [at for at, (name, type_) in enumerate(sees.items()) if type_ == TIMESTAMP and name in read]
        if times:
            return _timed(call, times, constants)
        return (lambda *values: call(*values, *constants)) if constants else call

    def _constants(self, program: cel.Program) -> tuple[Any, ...]:
        return (dict(self.parameters),) if _READ in program.env.variables else ()


@lru_cache(maxsize=1024)
def _compiled(
    text: str,
    sees: tuple[tuple[str, Type], ...],
    parameters: tuple[tuple[str, Type], ...] | None,
    where: tuple[str, Path],
) -> cel.Program:
    """Compile an expression once for all rule sets that its file is a part of.

    `where` it stands tells equal texts apart: a program is what an error names its place by.
    """
    variables = dict(sees) if parameters is None else {**dict(sees), _READ: object_type(PARAMETERS)}
    return cel.compile(text, cel.Env(variables=variables, objects={PARAMETERS: dict(parameters or ())}, trusted=True))


def _list_of(texts: Sequence[str]) -> tuple[str, list[int]]:
    """Write expressions as one list of any types; gives where each begins in it."""
    text, starts = "[", []
    for index, key in enumerate(texts):
        text += ", dyn(" if index else "dyn("
        starts.append(len(text))
        text += f"{key})"
    return text + "]", starts


def timestamp(milliseconds: int) -> Timestamp:
    """Return a time of the core as a CEL timestamp."""
    return Timestamp(milliseconds // 1000, milliseconds % 1000 * 1_000_000)


def _timed(call: Call, times: Sequence[int], constants: tuple[Any, ...]) -> Call:
    def timed(*values: Any) -> Any:
        given = [*values, *constants]
        for at in times:
            given[at] = timestamp(given[at])
        return call(*given)

    return timed


def _as_tuple(call: Call) -> Call:
    return lambda *values: tuple(call(*values))


def _fixed(call: Call, fix: Fix, program: cel.Program) -> Call:
    """Return a call whose result is looked at."""

    def fixed(*values: Any) -> Any:
        try:
            return fix(call(*values))
        except BadValue as error:
            raise cel.EvalError(str(error), lambda: 0, program=program) from None

    return fixed


def _ordered(call: Call, fixes: Sequence[tuple[int, int, Fix]], program: cel.Program) -> Call:
    """Return a call for sort keys, some of which (index, offset of the text, how) must be made comparable."""

    def ordered(*values: Any) -> tuple[Any, ...]:
        keys = list(call(*values))
        for index, offset, fix in fixes:
            try:
                keys[index] = fix(keys[index])
            except BadValue as error:
                where = offset
                raise cel.EvalError(str(error), lambda: where, program=program) from None  # noqa: B023
        return tuple(keys)

    return ordered
