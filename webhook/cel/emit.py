"""A checked tree to Python source that runs the ordinary case straight: the fast form of a program.

The fast form may give up at any point (by any exception); the exact form of `plan.py` then evaluates from the start,
which is safe since nothing in the language has effects. So the source needs no error handling of its own, and where
it does give a value, that is the exact form's. It carries no text of the policy: names are generated, literals are in
a table. Why two forms: docs/decisions/0031-two-forms.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType
from typing import Any

from webhook.cel import emit_calls, emit_costs, emit_folds, emit_steps, host, syntax
from webhook.cel.attributes import COST
from webhook.cel.checker import Checked
from webhook.cel.dispatch import size
from webhook.cel.emit_known import Known, often_asked
from webhook.cel.env import VARIABLES, Env
from webhook.cel.errors import CelError
from webhook.cel.messages import MESSAGES
from webhook.cel.plan import Planner
from webhook.cel.runtime import HELPERS, LIMIT
from webhook.cel.source import MAX_DEPTH, MAX_HEIGHT, MAX_NODES, Code, Unsupported
from webhook.cel.syntax import Call, CreateList, CreateMap, CreateStruct, Field, Fold, Ident, Literal, Node, Select
from webhook.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT, Kind, Type
from webhook.cel.values import ABSENT, TypeValue, Uint

TRUSTED = frozenset({BOOL, DOUBLE, INT, STRING})
"""Types of variables that a trusted environment gives as declared."""
_CONTAINERS = (list, dict)
_LITERALS = {bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL}


@dataclass(slots=True)
class Emitter:
    """Writes the source of one program."""

    checked: Checked
    env: Env
    constants: list[object] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    scopes: list[dict[str, Code]] = field(default_factory=list)
    depth: int = 2
    blocks: int = 0
    count: int = 0
    metered: bool = False
    spent: int = 0
    written: set[int] = field(default_factory=set)
    known: Known = field(default_factory=Known)
    often: frozenset[str] = frozenset()
    kept: dict[str, str] = field(default_factory=dict)
    either: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _named: dict[tuple[type, object], str] = field(default_factory=dict)

    # Output

    def line(self, text: str) -> None:
        """One statement."""
        self.lines.append("    " * self.depth + text)

    def fresh(self) -> str:
        """A local name."""
        self.count += 1
        return f"t{self.count}"

    def constant(self, value: object) -> str:
        """The name of a constant."""
        # 0.0 and -0.0 are equal, and two constants.
        same = repr(value) if isinstance(value, (float, *_CONTAINERS)) and not value else value
        key = (type(value), same if isinstance(same, (str, int, float, bytes)) else id(value))
        if key not in self._named:
            self._named[key] = f"k{len(self.constants)}"
            self.constants.append(value)
        return self._named[key]

    def held(self, code: Code) -> Code:
        """The value in a local name, so that it can be used twice."""
        if code.name:
            return code
        name = emit_steps.held_variable(self, code.text)
        if name is None:
            name = self.fresh()
            self.line(f"{name} = {code.text}")
        return replace(code, text=name, name=True)

    def block(self, write: Callable[[], None]) -> None:
        """What `write` writes, one level in."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unsupported("too deep")
        self.known.blocks.append({})
        write()
        self.known.blocks.pop()
        self.depth -= 1

    def later(self, write: Callable[[], str]) -> tuple[list[str], str]:
        """The statements, one level in, and the expression that `write` gives, without putting them down."""
        kept, self.lines = self.lines, []
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unsupported("too deep")
        self.known.blocks.append({})
        text = write()
        self.known.blocks.pop()
        self.depth -= 1
        written, self.lines = self.lines, kept
        return written, text

    def spend(self, units: int) -> None:
        """Count cost units that are never exceeded each time the code at hand runs."""
        self.spent += units

    def charge(self, units: str) -> None:
        """Add cost units that only values tell to those counted, and leave when there are too many."""
        self.metered = True
        self.line(f"m += {units}")
        self.line("if m > LIMIT: bail()")

    # Nodes

    def folded(self, node: Node) -> object:
        """The value of a node that needs no variables and cannot fail, else ABSENT. Its cost is counted."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, (Ident, Fold)) or not _closed(node):
            return ABSENT
        try:
            planner = Planner(self.checked, self.env)
            evaluate = planner.function(node)
            frame: list[Any] = [0, 100_000, *([None] * planner.size)]
            value = evaluate(frame)
        except CelError:
            return ABSENT
        self.spend(frame[COST])
        return value

    def value(self, node: Node) -> Code:
        """A node as a value; optionals are real ones."""
        code = self.code(node)
        return Code(f"wrapped({code.text})") if code.optional else code

    def optional(self, node: Node) -> Code:
        """A node as what an optional holds, ABSENT for none."""
        code = self.code(node)
        if code.optional:
            return code
        reader = (
            "held" if isinstance(node, Call) and node.function not in (syntax.INDEX, syntax.CONDITIONAL) else "read"
        )
        return Code(f"{reader}({code.text})", None, False, True)

    def code(self, node: Node) -> Code:
        """A node; optionals may come as what they hold."""
        self.written.add(id(node))
        if isinstance(node, Literal):
            return self.fixed(node.value, _LITERALS[type(node.value)])
        constant = self.folded(node)
        if constant is not ABSENT:
            return self.fixed(constant, _LITERALS.get(type(constant)) or self.checked.types.get(node.id))
        match node:
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return emit_calls.call(self, node)
            case CreateList():
                return self.list(node)
            case CreateMap():
                return self.map(node)
            case CreateStruct():
                return self.struct(node)
            case Fold():
                return emit_folds.fold(self, node)
        raise Unsupported(type(node).__name__)

    def fixed(self, value: object, known: Type | None) -> Code:
        """A value that is known now."""
        return Code(self.constant(value), known, True, size=size(value), const=value)

    def condition(self, node: Node) -> str:
        """A node as a Python bool; anything but a bool leaves the fast form."""
        code = self.value(node)
        if code.type is BOOL:
            return code.text
        if code.name:
            return f"({code.text} is True or ({code.text} is not False and bail()))"
        name = self.fresh()
        return f"(({name} := {code.text}) is True or ({name} is not False and bail()))"

    def ident(self, node: Node) -> Code:
        """A variable."""
        self.spend(1)
        name = self.checked.idents.get(node.id)
        for scope in reversed(self.scopes):
            if name in scope:
                found = self.checked.types[node.id]
                if found.kind is Kind.OPAQUE and found.name == "optional_type":
                    return Code(f"read({scope[name].text})", None, False, True)
                return scope[name]
        if name is not None and name in self.env.variables:
            declared = self.env.variables[name]
            sure = self.env.trusted and declared in TRUSTED
            kept = declared if sure or (declared.kind is Kind.OBJECT and host.known(declared.name)) else None
            return Code(f"v{list(self.env.variables).index(name)}", kept, True)
        named = self.env.type_value(name) if name is not None else None
        if named is None:
            raise Unsupported("name")
        return Code(self.constant(TypeValue(named.name)), None, True)

    def select(self, node: Select) -> Code:
        """`a.b` and `has(a.b)`."""
        if node.id in self.checked.idents:
            return self.ident(node)
        self.spend(emit_costs.step(node.operand))
        over = self.checked.types.get(node.operand.id)
        if over is not None and over.kind is Kind.OBJECT:
            if host.known(over.name):
                return self.attribute(node, over)
            if over.name == VARIABLES:
                return emit_steps.variable(self, node)
            if self.env.mutation and over.name.startswith(("Object", "JSONPatch")):
                raise Unsupported("field of an object of a mutation")
        operand = self.code(node.operand)
        key = self.constant(node.field)
        if operand.optional and not node.test:
            return emit_steps.maybe(self, operand, key)
        if not node.test:
            return Code(f"{operand.text}[{key}]")
        held = operand.text if operand.name else self.fresh()
        bound = held if operand.name else f"({held} := {operand.text})"
        test = f"{key} in {held} if type({bound}) is dict else bail()"
        if operand.optional:
            return Code(f"(False if {bound} is ABSENT else {test})".replace(f"type({bound})", f"type({held})"), BOOL)
        return Code(f"({test})", BOOL)

    def attribute(self, node: Select, over: Type) -> Code:
        """A field of a host object: the attribute itself."""
        if node.test or not node.field.isidentifier():
            raise Unsupported("has of a host object")
        operand = self.value(node.operand)
        if operand.type != over:
            raise Unsupported("host object behind dyn")
        found = host.fields(over.name)[node.field]
        text = f"{operand.text}.{node.field}"
        if found.kind is Kind.DYN or found.params or host.converts(over.name, node.field):
            return Code(f"plain_host({text})", None if found.kind is Kind.DYN else found)
        return Code(text, found)

    # Literals

    def list(self, node: CreateList) -> Code:
        """A list; with optional elements it is built by statements."""
        self.spend(emit_costs.LIST)
        found, count = self.checked.types.get(node.id), len(node.elements)
        if not node.optional:
            return Code(f"[{', '.join(self.value(e).text for e in node.elements)}]", found, size=count)
        name = self.fresh()
        self.line(f"{name} = []")
        for at, element in enumerate(node.elements):
            if at not in node.optional:
                self.line(f"{name}.append({self.value(element).text})")
                continue
            held = self.held(self.optional(element))
            self.line(f"if {held.text} is not ABSENT: {name}.append({held.text})")
        return Code(name, found, True, size=count)

    def map(self, node: CreateMap) -> Code:
        """A map: written out where its keys are constant texts and there are no optional ones, else by statements."""
        self.spend(emit_costs.MAP)
        fixed = [
            (entry.key.value, entry.value)
            for entry in node.entries
            if isinstance(entry.key, Literal) and isinstance(entry.key.value, str) and not entry.optional
        ]
        if len({key for key, _ in fixed}) == len(node.entries):
            return Code(self.entries(fixed), self.checked.types.get(node.id))
        name = self.fresh()
        self.line(f"{name} = {{}}")
        for entry in node.entries:
            key = self.value(entry.key)
            self.entry(name, key, entry.value, optional=entry.optional)
        return Code(name, self.checked.types.get(node.id), True)

    def entry(self, name: str, key: Code, value: Node, *, optional: bool) -> None:
        """One entry of a map or field of an object."""
        if optional:
            held = self.held(self.optional(value))
            self.line(f"if {held.text} is ABSENT: {name}.pop({key.text}, None)")
            self.line(f"else: put({name}, {key.text}, {held.text})")
        else:
            self.line(f"put({name}, {key.text}, {self.value(value).text})")

    def entries(self, items: Iterable[tuple[str, Node]]) -> str:
        """A map of values under constant texts, none of them twice."""
        return f"{{{', '.join(f'{self.constant(key)}: {self.value(value).text}' for key, value in items)}}}"

    def struct(self, node: CreateStruct) -> Code:
        """An object of a mutation."""
        self.spend(emit_costs.STRUCT)
        named = self.checked.structs.get(node.id, node.type_name)
        names = [item.name for item in node.fields if not item.optional]
        if named != "JSONPatch" and named not in MESSAGES and len(set(names)) == len(node.fields):
            fields = self.entries((item.name, item.value) for item in node.fields)
            return Code(f"ObjectValue({self.constant(named)}, {fields})", self.checked.types.get(node.id))
        if named == "JSONPatch" and len(set(names)) == len(node.fields) and all(map(_ordinary, node.fields)):
            given = {item.name: self.value(item.value).text for item in node.fields}
            parts = ", ".join(f"{'from_' if key == 'from' else key}={text}" for key, text in given.items())
            return Code(f"JSONPatchValue({parts})", self.checked.types.get(node.id))
        name = self.fresh()
        self.line(f"{name} = {{}}")
        for item in node.fields:
            self.entry(name, Code(self.constant(item.name), STRING, True), item.value, optional=item.optional)
        return Code(f"new_object({self.constant(named)}, {name})", self.checked.types.get(node.id))


def _ordinary(item: Field) -> bool:
    """Whether a field of a JSONPatch is sure to be taken: a literal text, or the value."""
    literal = isinstance(item.value, Literal) and isinstance(item.value.value, str)
    return item.name == "value" or (item.name in ("op", "path", "from") and literal)


def _closed(node: Node) -> bool:
    """Whether a node needs no variables and asks nothing of the host."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, (Ident, Fold)) or (isinstance(at, Call) and at.function in emit_calls.HOST_FUNCTIONS):
            return False
        stack.extend(syntax.children(at))
    return True


@dataclass(frozen=True, slots=True)
class Fast:
    """The source of the fast form, its constants, and what it costs at most apart from what it charges itself."""

    source: str
    constants: list[object]
    cost: int


def emit(checked: Checked, env: Env) -> Fast:
    """Write the fast form of a program. Raises Unsupported where there is none.

    The source defines `make(k, exact, spent)`, which gives the function of the program's variables in order; a call
    that succeeds leaves what it cost at most in `spent[0]`, unless that is always the same.
    """
    _small(checked.root)
    writer = Emitter(checked, env, often=often_asked(checked.root))
    result = writer.value(checked.root).text
    if writer.spent > LIMIT:
        raise Unsupported("too expensive")
    names = [f"k{i}" for i in range(len(writer.constants))]
    args = ", ".join(f"v{i}" for i in range(len(env.variables)))
    kept = [f"        {' = '.join(writer.kept.values())} = MISSING"] if writer.kept else []
    inner = "".join(f"            {line[8:]}\n" for line in (*kept, *writer.known.in_place(writer.lines)))
    unpack = f"    {', '.join(names)}, = k\n" if names else ""
    begin, end = f"            m = {writer.spent}\n", "            spent[0] = m\n"
    before, after = (begin, end) if writer.metered else ("", "")
    helpers = ", ".join(sorted(HELPERS))
    source = (
        f"def make(k, exact, spent, {helpers}):\n{unpack}"
        f"    def fast({args}):\n"
        f"        try:\n{before}{inner}{after}            return {result}\n"
        f"        except Exception:\n            return exact(({args}{',' if args else ''}))\n"
        "    return fast\n"
    )
    return Fast(source, writer.constants, writer.spent)


def _small(root: Node) -> None:
    """Refuse trees too large or too deep for Python's own compiler."""
    level, seen = [root], 0
    for _ in range(MAX_HEIGHT):
        seen += len(level)
        level = [c for n in level for c in syntax.children(n)]
        if not level:
            return
        if seen > MAX_NODES:
            break
    raise Unsupported("too large")


_BUILTINS = {b.__name__: b for b in (type, len, dict, list, str, int, float, bool, bytes, Exception)}


@lru_cache(1)
def _code(source: str) -> CodeType:
    """Compile a source; the two functions that a program makes of one are made one after the other."""
    return compile(source, "<cel>", "exec")


def load(fast: Fast, exact: Callable[[tuple[object, ...]], object], spent: list[int]) -> Callable[..., object]:
    """The function of a source that `emit` wrote."""
    space: dict[str, object] = {"__builtins__": _BUILTINS}
    exec(_code(fast.source), space)  # noqa: S102 - the source is ours: generated names, operators
    make = space["make"]
    assert callable(make)
    function: Callable[..., object] = make(tuple(fast.constants), exact, spent, **HELPERS)
    return function
