"""Text to nodes: a recursive-descent parser of cel-go's grammar with its limits. Macros expand as they are met.

Errors that leave the tree intact (a reserved word, an int of 80 bits, a bad macro argument) are collected; the first
misplaced token ends the parse. Why not cel-python's lark grammar: docs/decisions/0030-cel-parser.md.
"""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.errors import CompileError, Issue
from webhook.cel.syntax import literals, macros, nodes
from webhook.cel.syntax.lexer import LexError, Token, tokens
from webhook.cel.syntax.nodes import (
    Call,
    CreateList,
    CreateMap,
    CreateStruct,
    Field,
    Ident,
    Literal,
    MapEntry,
    Node,
    Select,
)
from webhook.cel.syntax.parser_base import NodeBuilder, ParseEnded

MAX_SIZE = 100_000
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_RELATIONS = {
    "<": nodes.LESS,
    "<=": nodes.LESS_EQUALS,
    ">": nodes.GREATER,
    ">=": nodes.GREATER_EQUALS,
    "==": nodes.EQUALS,
    "!=": nodes.NOT_EQUALS,
    "in": nodes.IN,
}
_SUMS = {"+": nodes.ADD, "-": nodes.SUBTRACT}
_PRODUCTS = {"*": nodes.MULTIPLY, "/": nodes.DIVIDE, "%": nodes.MODULO}
_ANY = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


class Parser(NodeBuilder):
    """One parse of one text: a method a rule of the grammar."""

    def __init__(self, text: str, *, with_macros: bool = True) -> None:
        super().__init__(text)
        self.with_macros = with_macros

    def parse(self) -> Node:
        """The tree of the whole text. Raises CompileError with every issue found."""
        if len(self.text) > MAX_SIZE:
            message = f"expression code point size exceeds limit: size: {len(self.text)}, limit {MAX_SIZE}"
            raise CompileError(self.text, (Issue(-1, message),))
        node: Node | None = None
        try:
            self.tokens = tokens(self.text)
            node = self.expression()
            if self.token.kind != "end":
                self.unexpected("<EOF>")
        except LexError as error:
            self.issues.append(Issue(error.pos, f"Syntax error: {error.message}"))
        except ParseEnded:
            pass
        if self.issues or node is None:
            raise CompileError(self.text, tuple(sorted(self.issues)))
        return node

    def expression(self) -> Node:
        """`or ? or : expression`."""
        self.enter()
        node = self.logical("||", nodes.OR, lambda: self.logical("&&", nodes.AND, self.relation))
        if op := self.accept("?"):
            op_id = self.new_id()
            yes = self.logical("||", nodes.OR, lambda: self.logical("&&", nodes.AND, self.relation))
            self.expect(":")
            no = self.expression()
            node = self.raised(Call(op_id, op.pos, nodes.CONDITIONAL, None, (node, yes, no)), node, yes, no)
        self.depth -= 1
        return node

    def logical(self, op: str, function: str, operand: Callable[[], Node]) -> Node:
        """Operands of `&&` or `||` as a balanced tree, as cel-go builds it."""
        terms = [operand()]
        ops: list[tuple[int, int]] = []
        while token := self.accept(op):
            terms.append(operand())
            ops.append((self.new_id(), token.pos))
        return terms[0] if not ops else self.balance(function, terms, ops, 0, len(ops) - 1)

    def balance(self, function: str, terms: list[Node], ops: list[tuple[int, int]], low: int, high: int) -> Node:
        """The tree over `ops[low..high]`."""
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self.balance(function, terms, ops, low, middle - 1)
        right = terms[middle + 1] if middle == high else self.balance(function, terms, ops, middle + 1, high)
        op_id, pos = ops[middle]
        return self.flat(Call(op_id, pos, function, None, (left, right)), left, right)

    def relation(self) -> Node:
        """Comparisons, left to right."""
        node = self.sum()
        while (function := _RELATIONS.get(self.token.kind)) is not None:
            node = self.binary(function, node, self.sum)
        return node

    def sum(self) -> Node:
        """`+` and `-`, left to right."""
        node = self.product()
        while (function := _SUMS.get(self.token.kind)) is not None:
            node = self.binary(function, node, self.product)
        return node

    def product(self) -> Node:
        """`*`, `/` and `%`, left to right."""
        node = self.unary()
        while (function := _PRODUCTS.get(self.token.kind)) is not None:
            node = self.binary(function, node, self.unary)
        return node

    def binary(self, function: str, left: Node, operand: Callable[[], Node]) -> Node:
        """The operator at hand applied to `left` and what follows."""
        op = self.token
        self.at += 1
        op_id = self.new_id()
        right = operand()
        return self.raised(Call(op_id, op.pos, function, None, (left, right)), left, right)

    def unary(self) -> Node:
        """`!!x`, `--x`; a minus directly before a number belongs to the number."""
        token = self.token
        if token.kind == "!" or (token.kind == "-" and not self.negative_number()):
            count = 0
            while self.accept(token.kind):
                count += 1
            member = self.member()
            if count % 2 == 0:
                return member
            function = nodes.NOT if token.kind == "!" else nodes.NEGATE
            return self.flat(self.node(Call, token.pos, function, None, (member,)), member)
        return self.member()

    def negative_number(self) -> bool:
        """Whether the minus at hand is the sign of a literal."""
        return self.tokens[self.at + 1].kind in ("int", "double")

    def member(self) -> Node:
        """A primary and the selections, calls and indices after it."""
        node = self.primary()
        while self.token.kind in (".", "["):
            node = self.index(node) if self.token.kind == "[" else self.dot(node)
        return node

    def index(self, operand: Node) -> Node:
        """`operand[i]` or `operand[?i]`."""
        op = self.expect("[")
        op_id = self.new_id()
        function = nodes.OPT_INDEX if self.accept("?") else nodes.INDEX
        index = self.expression()
        self.expect("]")
        return self.raised(Call(op_id, op.pos, function, None, (operand, index)), operand, index)

    def dot(self, operand: Node) -> Node:
        """`operand.field`, `operand.?field` or `operand.call(…)`."""
        op = self.expect(".")
        optional = self.accept("?")
        name = self.name()
        if optional:
            field = self.node(Literal, name.pos, name.text)
            return self.raised(self.node(Call, op.pos, nodes.OPT_SELECT, None, (operand, field)), operand)
        if name.kind == "ident" and (opened := self.accept("(")):
            args = self.arguments()
            return self.raised(self.call(opened.pos, name.text, operand, args), operand, *args)
        return self.raised(self.node(Select, op.pos, operand, name.text), operand)

    def name(self) -> Token:
        """A field name; backticks are refused as the API server 1.36 refuses them."""
        if token := self.accept("escaped"):
            self.report(token.pos, "unsupported syntax: '`'")
            return token
        return self.expect("ident", "IDENTIFIER")

    def arguments(self) -> tuple[Node, ...]:
        """What stands between the parentheses of a call; the opening one is taken already."""
        args: list[Node] = []
        if not self.accept(")"):
            args.append(self.expression())
            while self.accept(","):
                args.append(self.expression())
            self.expect(")")
        return tuple(args)

    def call(self, pos: int, function: str, target: Node | None, args: tuple[Node, ...]) -> Node:
        """A call, or what the macro of that name and shape expands to."""
        if self.with_macros and (expand := macros.find(function, len(args), target is not None)):
            try:
                expanded = expand(macros.Factory(self.new_id, pos, function), target, args)
            except macros.MacroError as error:
                return self.report(error.pos, error.message)
            if expanded is not None:
                return expanded
        below = (target, *args) if target is not None else args
        return self.flat(self.node(Call, pos, function, target, args), *below)

    def primary(self) -> Node:
        """A name, a call, a literal, a list, a map, an object or something in parentheses."""
        token = self.token
        match token.kind:
            case "(":
                self.at += 1
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return self.list_literal()
            case "{":
                return self.map_literal()
            case "." | "ident":
                return self.named()
            case _:
                return self.literal()

    def literal(self) -> Node:
        """A number, string, bytes, true, false or null."""
        token = self.token
        sign = ""
        if token.kind == "-" and self.negative_number():
            self.at += 1
            sign = "-"
        value = self.token
        self.at += 1
        try:
            match value.kind:
                case "int":
                    return self.node(Literal, token.pos, literals.integer(sign + value.text))
                case "uint":
                    return self.node(Literal, token.pos, literals.unsigned(value.text))
                case "double":
                    return self.node(Literal, token.pos, literals.double(sign + value.text))
                case "string":
                    return self.node(Literal, token.pos, literals.unquote(value.text))
                case "bytes":
                    return self.node(Literal, token.pos, literals.unquote_bytes(value.text))
                case "true" | "false":
                    return self.node(Literal, token.pos, value.kind == "true")
                case "null":
                    return self.node(Literal, token.pos, None)
        except literals.LiteralError as error:
            return self.report(token.pos, str(error))
        self.at -= 1
        return self.unexpected(_ANY)

    def named(self) -> Node:
        """What begins with a name: the name itself, a call or an object."""
        start = self.token
        dot = "." if self.accept(".") else ""
        name = self.expect("ident", "IDENTIFIER")
        if (end := self.object_name_end()) is not None:
            return self.object_literal(dot + name.text, end)
        if name.text in RESERVED:
            if self.accept("("):
                self.arguments()
            return self.report(start.pos, f"reserved identifier: {name.text}")
        if opened := self.accept("("):
            return self.call(opened.pos, dot + name.text, None, self.arguments())
        return self.node(Ident, name.pos, dot + name.text)

    def object_name_end(self) -> int | None:
        """Where the `{` of `a.b.c{` stands, counted in tokens, when the names at hand lead to one."""
        at = self.at
        while self.tokens[at].kind == "." and self.tokens[at + 1].kind == "ident":
            at += 2
        return at if self.tokens[at].kind == "{" else None

    def object_literal(self, name: str, end: int) -> Node:
        """`Type{field: value}`; the first word of the name is taken already."""
        name += "".join(t.text for t in self.tokens[self.at : end])
        self.at = end
        op = self.expect("{")
        op_id = self.new_id()
        fields: list[Field] = []
        while self.token.kind not in ("}", ","):
            optional = self.accept("?") is not None
            field = self.name()
            colon = self.expect(":")
            fields.append(Field(self.new_id(), colon.pos, field.text, self.expression(), optional))
            if not self.accept(",") or self.token.kind == "}":
                break
        self.close("}", bool(fields))
        node = CreateStruct(op_id, op.pos, name, tuple(fields))
        return self.flat(node, *(f.value for f in fields))

    def list_literal(self) -> Node:
        """`[a, ?b]`."""
        op = self.expect("[")
        op_id = self.new_id()
        elements: list[Node] = []
        optional: set[int] = set()
        while self.token.kind not in ("]", ","):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            if not self.accept(",") or self.token.kind == "]":
                break
        self.close("]", bool(elements))
        return self.flat(CreateList(op_id, op.pos, tuple(elements), frozenset(optional)), *elements)

    def map_literal(self) -> Node:
        """`{k: v, ?k: v}`."""
        op = self.expect("{")
        op_id = self.new_id()
        entries: list[MapEntry] = []
        while self.token.kind not in ("}", ","):
            optional = self.accept("?") is not None
            key = self.expression()
            colon = self.expect(":")
            entries.append(MapEntry(self.new_id(), colon.pos, key, self.expression(), optional))
            if not self.accept(",") or self.token.kind == "}":
                break
        self.close("}", bool(entries))
        return self.flat(CreateMap(op_id, op.pos, tuple(entries)), *(n for e in entries for n in (e.key, e.value)))

    def close(self, kind: str, filled: bool) -> None:
        """Take the closing bracket; an empty literal may hold one comma, as the grammar has it."""
        if not filled:
            self.accept(",")
        self.expect(kind)


def parse(text: str, *, with_macros: bool = True) -> Node:
    """Parse one expression of at most 100,000 characters, 250 levels deep. Raises CompileError with every issue."""
    return Parser(text, with_macros=with_macros).parse()
