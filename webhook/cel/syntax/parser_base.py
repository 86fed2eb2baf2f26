"""The base of the parser: takes tokens, makes nodes with ids, collects issues, and enforces the depth limits.

An issue that leaves the tree intact is noted; a misplaced token, or a text nested too deeply, ends the parse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from webhook.cel.errors import Issue
from webhook.cel.syntax.lexer import Token
from webhook.cel.syntax.nodes import Literal, Node

MAX_DEPTH = 250
sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))  # the passes recurse; depth is bounded by MAX_DEPTH


class ParseEnded(Exception):
    """The parse cannot go on; why is the last issue."""


class NodeBuilder:
    """Tokens in, nodes out, of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.issues: list[Issue] = []
        self.tokens: list[Token] = []
        self.at = 0
        self.ids = 0
        self.depth = 0
        self.heights: dict[int, int] = {}

    # Tokens

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.at]

    def accept(self, kind: str) -> Token | None:
        """Take the token when it is of `kind`."""
        token = self.tokens[self.at]
        if token.kind != kind:
            return None
        self.at += 1
        return token

    def expect(self, kind: str, name: str = "") -> Token:
        """Take a token of `kind` or end the parse."""
        return self.accept(kind) or self.unexpected(name or f"'{kind}'")

    def unexpected(self, wanted: str) -> NoReturn:
        """End the parse at the token at hand."""
        token = self.token
        what = "extraneous input" if wanted == "<EOF>" else "mismatched input"
        self.issues.append(Issue(token.pos, f"Syntax error: {what} '{token.text}' expecting {wanted}", len(token.text)))
        raise ParseEnded

    def report(self, pos: int, message: str) -> Node:
        """Note an issue that does not end the parse; the node stands in for what was meant."""
        self.issues.append(Issue(pos, message))
        return self.node(Literal, pos, None)

    # Nodes

    def new_id(self) -> int:
        """A fresh node id."""
        self.ids += 1
        return self.ids

    def node(self, kind: Callable[..., Node], pos: int, *parts: object) -> Node:
        """A node with a fresh id."""
        return kind(self.new_id(), pos, *parts)

    def raised(self, node: Node, *below: Node) -> Node:
        """Note that `node` is one level above `below`, and stop at cel-go's limit of the visitor."""
        height = 1 + max((self.heights.get(n.id, 0) for n in below), default=0)
        if height > MAX_DEPTH:
            self.too_deep("max recursion depth exceeded")
        self.heights[node.id] = height
        return node

    def flat(self, node: Node, *below: Node) -> Node:
        """Note that `node` is as high as the highest of `below`."""
        height = max((self.heights.get(n.id, 0) for n in below), default=0)
        if height:
            self.heights[node.id] = height
        return node

    def too_deep(self, message: str) -> NoReturn:
        """End the parse: the text nests deeper than the API server allows."""
        self.issues.append(Issue(-1, message))
        raise ParseEnded

    def enter(self) -> None:
        """Count one more open expression."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep(f"expression recursion limit exceeded: {MAX_DEPTH}")
