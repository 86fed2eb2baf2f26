"""Kubernetes' jsonpatch library. It exists in mutations only."""

from __future__ import annotations

from typing import Final

from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.rows import library, plain
from webhook.cel.types import STRING


def escape_key(key: str) -> str:
    """The key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Final = library(
    "kubernetes.jsonpatch",
    Function(
        "jsonpatch.escapeKey",
        (plain("string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key, costs.KEPT),),
        "A key with ~ and / escaped, for the path of a JSONPatch.",
        (("jsonpatch.escapeKey('k8s.io/my~label')", "'k8s.io~1my~0label'"),),
        mutation_only=True,
    ),
)
