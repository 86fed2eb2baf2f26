"""QueuePolicy files become the rules of the queue core: CEL, compiled over the core's own types.

Several files combine: a later one replaces the points it names, and the conditions of `admit` add up. What no file
names is Kueue's (`queue.defaults`). All mistakes of all files are told at once, at their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook import cel
from webhook.cel.types import BOOL, DOUBLE, DYN, INT, STRING, Type, list_of, map_of, object_type
from webhook.cel.values import Timestamp
from webhook.diagnostics import Diagnostic, SourceError, did_you_mean
from webhook.documents import Document, Path, read
from webhook.policy.queue_rules.mistakes import mistakes
from webhook.policy.queue_rules.points import ADMIT, ALLOWED, POINTS, Point
from webhook.policy.queue_rules.settings import SETTINGS, Settings, settings_of
from webhook.policy.queue_rules.values import BadValue, Fix, key_fix, result_fix
from webhook.queue.defaults import KueueRules
from webhook.queue.model import ClusterQueue, Workload
from webhook.queue.rules import Denial, Facts, Rules

Call = Callable[..., Any]
PARAMETERS: Final = "sluice.dev.Parameters"
KNOWN: Final = (*dict.fromkeys(p.path[0] for p in POINTS), "admit", "extends", *SETTINGS)
NESTED: Final = {
    section: tuple(p.path[1] for p in POINTS if p.path[0] == section)
    for section in ("capacity", "flavor", "preempt", "reserve", "share")
}


def load_rules(
    source: str | Document | Iterable[Document],
    parameters: Mapping[str, object] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Rules:
    """Compile QueuePolicy documents, or the text of a file of them, to rules.

    A file's parameters replace those of a file that it `extends`, `parameters` those of all, by name; `settings` what
    stands beside the rules (`headsPerCycle` ...). Raises SourceError with every mistake found.
    """
    documents = read(source) if isinstance(source, str) else [source] if isinstance(source, Document) else list(source)
    loader = _Loader({})
    for index, document in enumerate(documents):
        loader.overrides = {**_parameters_over(document, documents[index + 1 :]), **(parameters or {})}
        loader.take(document)
    if loader.problems:
        raise SourceError(loader.problems)
    merged = {**loader.settings, **(settings or {})}
    return _assemble(loader, settings_of(merged))


def _parameters_over(document: Document, later: Iterable[Document]) -> dict[str, object]:
    """Give the parameters by which later documents that extend this one, by its name, replace its own."""
    name = document.at(("metadata", "name"))
    given: dict[str, object] = {}
    for other in later:
        if name in (other.at(("spec", "extends")) or ()):
            given.update(other.at(("spec", "parameters")) or {})
    return given


@dataclass(slots=True)
class Condition:
    """One condition of `admit`."""

    expression: Call
    reason: str
    message: str
    text: Call | None


@dataclass(slots=True, eq=False)
class _Loader:
    """Collects compiled points, conditions, settings and mistakes over documents."""

    overrides: dict[str, object]
    points: dict[str, Call] = field(default_factory=dict)
    admit: list[Condition] = field(default_factory=list)
    allowed: dict[str, Call] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    origins: dict[object, Origin] = field(default_factory=dict)

    def take(self, document: Document) -> None:
        spec = document.at(("spec",))
        if not isinstance(spec, dict):
            self.problems.append(document.diagnostic("RUL002", (), "a QueuePolicy needs a spec"))
            return
        given = {**(spec.get("parameters") or {}), **self.overrides}
        self._check_names(document, spec)
        self.settings.update({k: v for k, v in spec.items() if k in SETTINGS and k != "parameters"})
        source = _Source(document, given, self.problems, self.origins)
        for point in POINTS:
            value = document.at(("spec", *point.path))
            if value is not None:
                self._point(source, point, value)
        for index, condition in enumerate(spec.get("admit") or ()):
            self._condition(source, condition, ("spec", "admit", index))
        for index, _ in enumerate(document.at(("spec", "preempt", "allowed")) or ()):
            path: Path = ("spec", "preempt", "allowed", index)
            call = source.compile((*path, "expression"), ALLOWED, BOOL)
            if call is not None:
                self.allowed[str(document.at((*path, "name")))] = call

    def _check_names(self, document: Document, spec: Mapping[str, Any]) -> None:
        for key in spec:
            if key not in KNOWN:
                hint = did_you_mean(key, KNOWN)
                self.problems.append(
                    document.diagnostic("RUL001", ("spec", key), f"there is no rule point {key}", key=True, hint=hint)
                )
        for section, names in NESTED.items():
            known = (*names, "allowed") if section == "preempt" else (*names, "for") if section == "reserve" else names
            for key in spec.get(section) or ():
                if key not in known:
                    hint = did_you_mean(key, known)
                    message = f"there is no rule point {section}.{key}"
                    self.problems.append(
                        document.diagnostic("RUL001", ("spec", section, key), message, key=True, hint=hint)
                    )

    def _point(self, source: _Source, point: Point, value: Any) -> None:
        path: Path = ("spec", *point.path)
        if point.keys:
            calls = [source.compile((*path, i), point.sees, None) for i in range(len(value))]
            self.texts[point.method] = " ".join(map(str, value))
            if None not in calls:
                keys = source.tuple_of(path, [str(v) for v in value], point.sees)
                if keys is not None:
                    self.points[point.method] = keys
        elif (call := source.compile(path, point.sees, point.result, point.method)) is not None:
            self.texts[point.method] = str(value)
            self.points[point.method] = call

    def _condition(self, source: _Source, condition: Mapping[str, Any], path: Path) -> None:
        expression = source.compile((*path, "expression"), ADMIT, BOOL)
        text = source.compile((*path, "messageExpression"), ADMIT, STRING) if "messageExpression" in condition else None
        if expression is not None:
            reason = str(condition.get("reason") or "DeniedByRule")
            self.admit.append(Condition(expression, reason, str(condition.get("message") or ""), text))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a program was written: a path in a document, or for sort keys the paths, by where each begins in it."""

    document: Document
    paths: tuple[tuple[int, Path], ...]

    def name(self, offset: int) -> str:
        """Give the place and the name of the rule at an offset of the program's text."""
        start, path = max((p for p in self.paths if p[0] <= offset), default=self.paths[0], key=lambda p: p[0])
        rule = ".".join(str(part) for part in path[1:])
        return f"{self.document.text_place(path, max(0, offset - start))}: rule {rule}"


@dataclass(slots=True, eq=False)
class _Source:
    """One document, with its parameters as typed constants."""

    document: Document
    parameters: Mapping[str, Any]
    problems: list[Diagnostic]
    origins: dict[object, Origin]
    types: dict[Path, Type] = field(default_factory=dict)

    def compile(self, path: Path, sees: Mapping[str, Type], result: Type | None, method: str = "") -> Call | None:
        """Compile the expression at a path; a mistake is noted, and None given."""
        text = self.document.at(path)
        if not isinstance(text, str):
            message = "a rule is an expression: write it as a string"
            self.problems.append(self.document.diagnostic("RUL002", path, message))
            return None
        try:
            program = cel.compile(text, self._environment(text, sees))
        except cel.CompileError as error:
            self.problems += mistakes(self.document, path, error, (*sees, "parameters"))
            return None
        if result is not None and program.type not in (result, DYN) and program.type != DYN:
            message = f"this gives {program.type}, it must give {result}"
            self.problems.append(self.document.diagnostic("RUL004", path, message))
            return None
        self.origins[program] = Origin(self.document, ((0, path),))
        self.types[path] = program.type
        call = self._bound(text, program)
        fix = result_fix(method, result, program.type) if method and result is not None else None
        return call if fix is None else _fixed(call, fix, program)

    def tuple_of(self, path: Path, texts: list[str], sees: Mapping[str, Type]) -> Call | None:
        """Compile keys, each compiled alone before, to one function: one call is cheaper than many.

        A key of a type without an order is noted, and None given.
        """
        text, paths = "[", []
        fixes: list[tuple[int, int, Fix]] = []
        for index, key in enumerate(texts):
            text += ", dyn(" if index else "dyn("
            paths.append((len(text), (*path, index)))
            try:
                if (fix := key_fix(self.types[*path, index])) is not None:
                    fixes.append((index, len(text), fix))
            except BadValue as error:
                self.problems.append(self.document.diagnostic("RUL004", (*path, index), str(error)))
                return None
            text += f"{key})"
        text += "]"
        program = cel.compile(text, self._environment(text, sees))
        self.origins[program] = Origin(self.document, tuple(paths))
        call = self._bound(text, program)
        return _ordered(call, tuple(fixes), program) if fixes else lambda *values: tuple(call(*values))

    def _environment(self, text: str, sees: Mapping[str, Type]) -> cel.Env:
        fields = {name: _type_of(value) for name, value in self.parameters.items()}
        variables = {**sees, "parameters": object_type(PARAMETERS)} if "parameters." in text else dict(sees)
        return cel.Env(variables=variables, objects={PARAMETERS: fields}, trusted=True)

    def _bound(self, text: str, program: cel.Program) -> Call:
        call = program.call
        if "parameters." not in text:
            return call
        given = dict(self.parameters)
        return lambda *values: call(*values, given)


def _fixed(call: Call, fix: Fix, program: cel.Program) -> Call:
    """Give a call whose result is looked at."""

    def fixed(*values: Any) -> Any:
        try:
            return fix(call(*values))
        except BadValue as error:
            raise cel.EvalError(str(error), lambda: 0, program=program) from None

    return fixed


def _ordered(call: Call, fixes: tuple[tuple[int, int, Fix], ...], program: cel.Program) -> Call:
    """Give a call for sort keys, some of which (index, offset of the text, how) must be made comparable."""

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


def _type_of(value: Any) -> Type:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, list):
        return list_of(_type_of(value[0]) if value else DYN)
    if isinstance(value, dict):
        return map_of(STRING, _type_of(next(iter(value.values()), None)))
    return {int: INT, float: DOUBLE, str: STRING}.get(type(value), DYN)


class FileRules(KueueRules):
    """Kueue's rules, with the points that files name put in their place."""

    __slots__ = ("__dict__",)

    origins: Mapping[object, Origin]

    def failed(self, error: Exception) -> str:
        """Say which rule failed, as `file:line:column: rule path: why`."""
        if not isinstance(error, cel.EvalError) or error.program not in self.origins:
            return str(error)
        return f"{self.origins[error.program].name(error.offset)}: {error.message}"


def _assemble(loader: _Loader, settings: Settings) -> Rules:
    texts = loader.texts
    by_usage = any("usage" in texts.get(name, "") for name in ("order", "victim_order"))
    rules = FileRules(
        fair=settings.fair,
        strategies=settings.strategies or tuple(loader.allowed) or KueueRules().strategies,
        heads=settings.heads,
        partial=settings.partial,
        recompute=settings.recompute,
        ordered_by_usage=by_usage,
        half_life=settings.half_life,
        sampling=settings.sampling,
        resource_weights=settings.resource_weights,
        conditional=bool(loader.admit),
        failures=(cel.EvalError,),
        hold=settings.hold or loader.settings.get("reserve", {}).get("for") == "Call",
    )
    object.__setattr__(rules, "origins", loader.origins)
    for method, call in loader.points.items():
        object.__setattr__(rules, method, _with_time(method, call, texts[method]))
    if loader.allowed:
        allowed = loader.allowed
        object.__setattr__(rules, "allowed", lambda strategy, shares: allowed[strategy](shares))
    if loader.admit:
        object.__setattr__(rules, "admit", _admit(tuple(loader.admit)))
    return rules


def _with_time(method: str, call: Call, text: str) -> Call:
    if method != "order" or "now" not in text:
        return call
    return lambda workload, queue, now, usage: call(workload, queue, timestamp(now), usage)


def _admit(conditions: tuple[Condition, ...]) -> Call:
    def admit(workload: Workload, queue: ClusterQueue, facts: Facts, now: int) -> Denial | None:
        values = (workload, queue, facts, timestamp(now))
        for condition in conditions:
            if condition.expression(*values) is not True:
                message = condition.text(*values) if condition.text else condition.message
                return Denial(condition.reason, str(message))
        return None

    return admit


def timestamp(milliseconds: int) -> Timestamp:
    """Give a time of the core as a CEL timestamp."""
    return Timestamp(milliseconds // 1000, milliseconds % 1000 * 1_000_000)
