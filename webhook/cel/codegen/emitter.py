"""Generates Python source from a checked tree: the fast form of a program.

The fast form may leave at any point (by any exception); the exact form of `planner.py` then evaluates from the start,
which is safe because CEL has no side effects. So the source needs no error handling, and any value it returns equals
that of the exact form. It contains no text of the policy: names are generated, literals are in a table. Why there are
two forms: docs/decisions/0031-two-forms.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from webhook.cel import host
from webhook.cel.check.checker import Checked
from webhook.cel.codegen import calls, charges, displays, folds, selects
from webhook.cel.codegen.functions import Fast
from webhook.cel.codegen.known import KnownFacts, asked
from webhook.cel.codegen.runtime import boxes_plain
from webhook.cel.codegen.source_writer import MAX_DEPTH, MAX_HEIGHT, MAX_NODES, Code, Unsupported
from webhook.cel.env import VARIABLES, Env
from webhook.cel.errors import CelError
from webhook.cel.interpreter.attributes import COST
from webhook.cel.interpreter.planner import Planner
from webhook.cel.lib.costs import compared_size
from webhook.cel.limits import CALL_LIMIT
from webhook.cel.syntax import nodes
from webhook.cel.syntax.nodes import Call, CreateList, CreateMap, CreateStruct, Fold, Ident, Literal, Node, Select
from webhook.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT, Type, TypeKind
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
    known: KnownFacts = field(default_factory=KnownFacts)
    often: frozenset[str] = frozenset()
    shared: frozenset[tuple[str, ...]] = frozenset()
    kept: dict[str, str] = field(default_factory=dict)
    asking: dict[str, tuple[str, str]] = field(default_factory=dict)
    either: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remembered: dict[str, tuple[Callable[..., object], str]] = field(default_factory=dict)
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
        name = selects.held_variable(self, code.text)
        if name is None:
            name = self.fresh()
            self.line(f"{name} = {code.text}")
        selects.same_kind(self, code.text, name)
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
        if isinstance(node, (Ident, Fold)) or not self._closed(node):
            return ABSENT
        try:
            planner = Planner(self.checked, self.env)
            evaluate = planner.function(node)
            frame: list[Any] = [0, 100_000, *([None] * planner.size)]
            value = evaluate(frame)
        except CelError:
            return ABSENT
        if not boxes_plain(value):
            return ABSENT
        self.spend(frame[COST])
        return value

    def value(self, node: Node) -> Code:
        """A node as a value; optionals are real ones."""
        code = self.code(node)
        return Code(f"boxed({code.text})") if code.optional else code

    def optional(self, node: Node) -> Code:
        """A node as what an optional holds, ABSENT for none."""
        code = self.code(node)
        if code.optional:
            return code
        reader = "held" if isinstance(node, Call) and node.function not in (nodes.INDEX, nodes.CONDITIONAL) else "read"
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
                return calls.call(self, node)
            case CreateList():
                return displays.list_of(self, node)
            case CreateMap():
                return displays.map_of(self, node)
            case CreateStruct():
                return displays.struct(self, node)
            case Fold():
                return folds.fold(self, node)
        raise Unsupported(type(node).__name__)

    def fixed(self, value: object, known: Type | None) -> Code:
        """A value that is known now."""
        return Code(self.constant(value), known, True, size=compared_size(value), const=value)

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
                if found.is_optional:
                    return Code(f"read({scope[name].text})", None, False, True)
                return scope[name]
        if name is not None and name in self.env.variables:
            declared = self.env.variables[name]
            sure = self.env.trusted and declared in TRUSTED
            kept = declared if sure or (declared.kind is TypeKind.OBJECT and host.known(declared.name)) else None
            return Code(f"v{list(self.env.variables).index(name)}", kept, True)
        named = self.env.type_value(name) if name is not None else None
        if named is None:
            raise Unsupported("name")
        return Code(self.constant(TypeValue(named.name)), None, True)

    def select(self, node: Select) -> Code:
        """`a.b` and `has(a.b)`."""
        if node.id in self.checked.idents:
            return self.ident(node)
        self.spend(charges.step(node.operand))
        over = self.checked.types.get(node.operand.id)
        if over is not None and over.kind is TypeKind.OBJECT:
            if host.known(over.name):
                return self.attribute(node, over)
            if over.name == VARIABLES:
                return selects.variable(self, node)
            if self.env.mutation and over.name.startswith(("Object", "JSONPatch")):
                raise Unsupported("field of an object of a mutation")
        operand = self.code(node.operand)
        key = self.constant(node.field)
        if operand.optional and not node.test:
            return selects.maybe(self, operand, key)
        if not node.test:
            return selects.field(self, node, operand, key)
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
        text = f"{operand.text}.{host.attribute_of(node.field)}"
        if found.kind is TypeKind.DYN:
            return Code(f"loose_host({text})", None)
        if found.params or host.converts(over.name, node.field):
            return Code(f"plain_host({text})", found)
        return Code(text, found)

    def _closed(self, node: Node) -> bool:
        """Whether a node needs no variables and asks nothing of the host."""
        stack = [node]
        while stack:
            at = stack.pop()
            if isinstance(at, (Ident, Fold)):
                return False
            if isinstance(at, Call) and self.env.functions[self.checked.calls[at.id].function].host:
                return False
            stack.extend(nodes.children(at))
        return True


def emit(checked: Checked, env: Env) -> Fast:
    """Write the fast form of a program. Raises Unsupported where there is none."""
    _small(checked.root)
    found = asked(checked.root)
    writer = Emitter(checked, env, often=found.often, shared=found.shared)
    code = writer.code(checked.root)
    result = f"wrapped({code.text})" if code.optional else code.text
    if writer.spent > CALL_LIMIT:
        raise Unsupported("too expensive")
    kept = [f"        {' = '.join(writer.kept.values())} = MISSING"] if writer.kept else []
    lines = [line[8:] for line in (*kept, *writer.known.in_place(writer.lines))]
    return Fast(tuple(lines), result, tuple(writer.constants), len(env.variables), writer.spent, writer.metered)


def _small(root: Node) -> None:
    """Refuse trees too large or too deep for Python's own compiler."""
    level, seen = [root], 0
    for _ in range(MAX_HEIGHT):
        seen += len(level)
        level = [c for n in level for c in nodes.children(n)]
        if not level:
            return
        if seen > MAX_NODES:
            break
    raise Unsupported("too large")
