"""A compiler for CEL as the Kubernetes API server speaks it: text -> checked tree -> Python function.

Knows no policy and no Kubernetes object; `Env` says what the variables are.
"""

from webhook.cel.budget import Budget
from webhook.cel.check.known_fields import check_types
from webhook.cel.env import Env, mutation_env, validation_env
from webhook.cel.errors import CelError, CompileError, EvalError, Issue
from webhook.cel.host import host_type
from webhook.cel.limits import CALL_LIMIT, CONDITIONS_LIMIT, POLICY_LIMIT
from webhook.cel.program import Program, compile

__all__ = [
    "CALL_LIMIT",
    "CONDITIONS_LIMIT",
    "POLICY_LIMIT",
    "Budget",
    "CelError",
    "CompileError",
    "Env",
    "EvalError",
    "Issue",
    "Program",
    "check_types",
    "compile",
    "host_type",
    "mutation_env",
    "validation_env",
]
