"""Keeps the API server's watches on parameters of native policies.

It watches a built-in kind while a bound policy has it as `paramKind`; when the last one is removed the watch ends,
and being a shared one it is never begun again: later policies see the parameters of that moment, for as long as the
server runs. One policy of each sort that is never removed keeps it.
"""

from tests.controlplane.client import Client
from tests.native.cases import GROUP

KINDS = ("ConfigMap", "LimitRange")
_NOTHING = [{"apiGroups": ["tests"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"]}]
_RULES = {
    "Validating": {"validations": [{"expression": "true"}]},
    "Mutating": {
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
    },
}
_ACTIONS = {"Validating": {"validationActions": ["Deny"]}, "Mutating": {}}


def keep_watches(client: Client) -> None:
    """Create policies that are for nothing and have these kinds as their parameters."""
    for kind in KINDS:
        for sort, rules in _RULES.items():
            name = f"keeps-{kind.lower()}-watched"
            policy = {
                "paramKind": {"apiVersion": "v1", "kind": kind},
                "matchConstraints": {"resourceRules": _NOTHING},
                **rules,
            }
            params = {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"}
            binding = {"policyName": name, "paramRef": params, **_ACTIONS[sort]}
            for suffix, spec in (("", policy), ("Binding", binding)):
                kept = f"{sort}AdmissionPolicy{suffix}"
                client.apply({"apiVersion": GROUP, "kind": kept, "metadata": {"name": name}, "spec": spec})
