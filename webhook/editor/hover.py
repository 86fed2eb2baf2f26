"""What is said of the place under the pointer: type, fields, functions, what an expression costs. In Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cel.errors import CompileError
from webhook.cel.program import compile as compile_text
from webhook.documents import Document
from webhook.editor.cursor import Spot
from webhook.editor.environments import known_in
from webhook.editor.members import MACROS, fields_of, signature
from webhook.editor.scan import cursor, word_at
from webhook.editor.vocabulary import Vocabulary
from webhook.editor.yaml_fields import schema_at
from webhook.offline.lint.rules.costs import usual_cost
from webhook.policy.expression import Expression


def hover(spot: Spot, around: Sequence[Document]) -> str:
    """Return the hover text for a place; empty if there is none."""
    known = None if spot.offset is None else known_in(spot.subject, spot.path, around)
    if known is not None and spot.offset is not None:
        parts = [_of_name(known, spot.text, spot.offset), _of_expression(known, spot.text)]
    else:
        schema = schema_at(spot.subject, spot.path) or {}
        words = ", ".join(f"`{word}`" for word in schema.get("enum", ()))
        parts = [str(schema.get("description", "")), f"One of {words}." if words else ""]
    return "\n\n".join(part for part in parts if part)


def _of_name(known: Vocabulary, text: str, offset: int) -> str:
    token = word_at(text, offset)
    at = cursor(text, token.end) if token is not None else None
    if token is None or at is None:
        return ""
    known = known.within(at.bindings)
    if text[token.end :].lstrip().startswith("("):
        return _of_function(known, token.text, at.receiver)
    whole = token.text if at.receiver is None else f"{at.receiver}.{token.text}"
    field = fields_of(known, at.receiver).get(token.text) if at.receiver is not None else None
    kind = known.type(whole)
    detail = field.detail if field is not None and field.detail else "" if kind is None else str(kind)
    return "\n\n".join(
        part for part in (_code(f"{token.text}: {detail}" if detail else ""), field.about if field else "") if part
    )


def _of_function(known: Vocabulary, name: str, receiver: str | None) -> str:
    function = known.env.functions.get(name) or known.env.functions.get(f"{receiver}.{name}")
    if function is None:
        return MACROS.get(name, "has(a.b): whether the field is there" if name == "has" else "")
    member = receiver is not None and function.name == name
    taken = [o for o in function.overloads if o.member == member]
    lines = "\n".join(dict.fromkeys(signature(function.name, overload) for overload in taken))
    costs = ", ".join(dict.fromkeys(o.words for o in taken if o.words))
    example = f"`{function.examples[0][0]}` gives `{function.examples[0][1]}`" if function.examples else ""
    return "\n\n".join(p for p in (_code(lines), function.doc, f"Cost: {costs}." if costs else "", example) if p)


def _of_expression(known: Vocabulary, text: str) -> str:
    """Return the type of the whole expression, and its cost on objects of usual sizes."""
    try:
        program = compile_text(text, known.env)
    except CompileError:
        return ""
    return f"The expression gives `{program.type}` and costs up to {usual_cost(Expression(text, program)).most} units."


def _code(text: str) -> str:
    return f"```cel\n{text}\n```" if text else ""
