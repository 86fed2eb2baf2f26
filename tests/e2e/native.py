"""Sends the same objects through native policies and through our engine, in the same API server, and compares.

Side `native` has the policies installed as they are; side `sluice` has two webhooks that call `webhook.admission`
with the same files. An observing webhook on both sides sees the object after mutation, defaults included.
"""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.controlplane.client import ApiError, Client, Response
from tests.controlplane.cluster import ControlPlane
from tests.e2e.compare import normalised
from tests.e2e.hooks import Hooks, configuration
from tests.native.cases import GROUP, Policy
from webhook.admission.pipeline import mutate, validate
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import answer, parse
from webhook.diagnostics import SourceError
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope
from webhook.policy.bundle import Bundle
from webhook.policy.facts import Check, Decision, Selector
from webhook.policy.loading.load_bundle import load_bundle

JSON = dict[str, Any]
SIDES = ("native", "sluice")
_ANY = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"],
         "resources": ["*", "*/scale"], "scope": "Namespaced"}]  # fmt: skip
_TOKEN = re.compile(r"(?<=kube-api-access-)[a-z0-9]{5}\b")
_PREFIXES = (
    re.compile(r"^.*? is forbidden: (?=ValidatingAdmissionPolicy|MutatingAdmissionPolicy|policy)"),
    re.compile(r"^admission webhook \"[^\"]*\" denied the request: "),
    re.compile(
        r"^(ValidatingAdmissionPolicy|MutatingAdmissionPolicy|policy) '[^']*'( with binding '[^']*')? denied request: "
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one object on one side."""

    allowed: bool
    code: int
    message: str
    warnings: frozenset[str]
    object: JSON | None


@dataclass(slots=True)
class ClusterFacts:
    """Facts from the API server itself, and parameters from the policy's own documents."""

    client: Client
    documents: Sequence[JSON]
    namespaces: dict[str, JSON] = field(default_factory=dict)

    def namespace(self, name: str) -> JSON | None:
        """The Namespace object."""
        if name not in self.namespaces:
            self.namespaces[name] = self.client.get(f"/api/v1/namespaces/{name}")
        return self.namespaces[name]

    def params(
        self, gvk: GroupVersionKind, namespace: str | None, name: str | None, selector: Selector | None
    ) -> Sequence[JSON]:
        """The parameters among the documents."""
        found = [d for d in self.documents if d["kind"] == gvk.kind and d["metadata"].get("namespace") == namespace]
        if selector is None:
            return [d for d in found if d["metadata"]["name"] == name]
        return [d for d in found if selector(d["metadata"].get("labels", {}))]

    def scope(self, gvk: GroupVersionKind) -> Scope | None:
        """The scope, as discovery tells it."""
        root = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
        rows = self.client.request("GET", root).body.get("resources") or ()
        namespaced = next((row["namespaced"] for row in rows if row["kind"] == gvk.kind), None)
        return None if namespaced is None else Scope.NAMESPACED if namespaced else Scope.CLUSTER

    def authorize(self, check: Check) -> Decision:
        """Ask the API server."""
        attributes = {
            "verb": check.verb, "group": check.group, "resource": check.resource, "subresource": check.subresource,
            "namespace": check.namespace, "name": check.name, "version": check.version,
        }  # fmt: skip
        spec = {"user": check.user, "groups": list(check.groups), "resourceAttributes": attributes}
        kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        body = self.client.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", kind)
        return Decision.ALLOWED if body["status"]["allowed"] else Decision.DENIED

    def holds(self, obj: JSON, namespace: str) -> bool:
        """No settings leave anything out."""
        return True

    external = ()
    switches = MappingProxyType[str, bool]({})

    def owner(self, reference: JSON, namespace: str) -> JSON | None:
        """No object of the comparison has an owner."""
        return None

    def admitted(self, job: JSON) -> bool:
        """No queue is there."""
        return False


class Comparison:
    """Both sides, ready: a context for `run`."""

    def __init__(self, plane: ControlPlane, policies: Sequence[Policy], hooks: Hooks, folder: Path) -> None:
        """Load every policy; `start` installs them."""
        self.client = plane.client
        self._plane = plane
        self._policies = policies
        self._added: list[str] = []
        self._broken: dict[str, str] = {}
        self._seen: dict[str, JSON] = {}
        self._bundles: dict[str, tuple[Bundle, ClusterFacts]] = {}
        for policy in policies:
            self._load(policy, folder)
        hooks.routes.update({"/observe": self._observe, "/mutate": self._mutate, "/validate": self._validate})
        self._hooks = hooks

    def start(self) -> None:
        """Install everything and wait until the native policies are in force."""
        self._install(self._hooks)

    def assert_loaded(self, policy: Policy) -> None:
        """Both sides took the policy's files."""
        assert policy.name not in self._broken, self._broken[policy.name]

    def run(self, policy: Policy, obj: JSON) -> tuple[Outcome, Outcome]:
        """What happens to the object under the policy, natively and with Sluice."""
        native, ours = (self._send(policy.namespace(side), obj) for side in SIDES)
        return native, ours

    def exists(self, policy: Policy, obj: JSON) -> None:
        """Create an object for real on both sides, for `change` to change."""
        for side in SIDES:
            self.client.create({**obj, "metadata": {**obj["metadata"], "namespace": policy.namespace(side)}})

    def change(self, policy: Policy, existing: JSON, request: JSON) -> tuple[Outcome, Outcome]:
        """What happens to a request on the existing object: a dry-run PUT or DELETE of it, or of a subresource."""
        native, ours = (self._change(policy.namespace(side), existing, request) for side in SIDES)
        return native, ours

    def _change(self, namespace: str, existing: JSON, request: JSON) -> Outcome:
        kind, name = existing["kind"], existing["metadata"]["name"]
        path = self.client.path(existing["apiVersion"], kind, namespace, name)
        suffix = f"/{request['subresource']}" if "subresource" in request else ""
        body = copy.deepcopy(request.get("body", {**existing, **request.get("set", {})}))
        body["metadata"]["namespace"] = namespace
        self._seen.pop(namespace, None)
        deleting = request["method"] == "DELETE"
        response = self.client.request(request["method"], f"{path}{suffix}?dryRun=All", None if deleting else body)
        return _outcome(response, None if deleting else self._seen.get(namespace), namespace)

    def _send(self, namespace: str, obj: JSON) -> Outcome:
        sent = {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
        self._seen.pop(namespace, None)
        response = self.client.request("POST", self.client.path_of(sent, collection=True) + "?dryRun=All", sent)
        return _outcome(response, self._seen.get(namespace), namespace)

    def _load(self, policy: Policy, folder: Path) -> None:
        documents = policy.on("sluice")
        file = folder / f"{policy.name}.yaml"
        file.write_text("---\n".join(json.dumps(d) + "\n" for d in documents))
        params = [d for d in documents if d["apiVersion"] != GROUP]
        try:
            bundle = load_bundle([file])
        except SourceError as error:
            self._broken[policy.name] = error.render()
        else:
            self._bundles[policy.namespace("sluice")] = bundle, ClusterFacts(self.client, params)

    def _install(self, hooks: Hooks) -> None:
        for policy in self._policies:
            for side in SIDES:
                self.client.apply(_namespace(policy, side))
        for kind, name, side in (
            ("ValidatingWebhookConfiguration", "observe", list(SIDES)),
            ("MutatingWebhookConfiguration", "mutate", ["sluice"]),
            ("ValidatingWebhookConfiguration", "validate", ["sluice"]),
        ):
            selector = {"matchExpressions": [{"key": "tests/side", "operator": "In", "values": side}]}
            self._add(configuration(kind, name, hooks.client_config(f"/{name}"), _ANY, selector))
        for policy in (*self._policies, *_canaries()):
            try:
                for document in policy.on("native"):
                    self._add(document)
            except ApiError as error:
                self._broken[policy.name] = f"the API server refuses the file: {error.message}"
        self._plane.wait("native policies are in force", self._in_force)

    def _add(self, document: JSON) -> None:
        self.client.create(document)
        self._added.append(self.client.path_of(document))

    def remove(self) -> None:
        """Take policies and webhooks away again; the namespaces stay, empty."""
        for path in reversed(self._added):
            self.client.delete(path)

    def _in_force(self) -> bool:
        canary = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "canary", "namespace": "default"}}
        accounts = all(
            self.client.request("GET", f"/api/v1/namespaces/{p.namespace(s)}/serviceaccounts/default").status == 200
            for p in self._policies[-3:]
            for s in SIDES
        )
        response = self.client.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", canary)
        return accounts and "canary-validates" in response.body.get("message", "") and "mutated" in str(response.body)

    def _observe(self, request: JSON) -> JSON:
        if not request.get("subResource"):
            self._seen[request["namespace"]] = request["object"]
        return {"allowed": True}

    def _mutate(self, request: JSON) -> JSON:
        return self._judge(mutate, request)

    def _validate(self, request: JSON) -> JSON:
        return self._judge(validate, request)

    def _judge(self, engine: Any, request: JSON) -> JSON:
        if request["namespace"] not in self._bundles:
            return {"allowed": True}
        bundle, facts = self._bundles[request["namespace"]]
        parsed = parse({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        verdict: Verdict | NeedsFacts = engine(parsed, bundle, facts)
        if isinstance(verdict, NeedsFacts):
            raise AssertionError("the facts answer every check")
        return dict(answer(request["uid"], verdict)["response"])


def _namespace(policy: Policy, side: str) -> JSON:
    labels = {"tests/policy": policy.name, "tests/side": side, "tests/tier": "gold"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": policy.namespace(side), "labels": labels}}


def _outcome(response: Response, seen: JSON | None, namespace: str) -> Outcome:
    allowed = response.status < 300
    message = "" if allowed else _stripped(str(response.body.get("message", "")), namespace)
    warnings = frozenset(_stripped(w, namespace) for w in response.warnings)
    return Outcome(allowed, response.status, message, warnings, normalised(seen) if allowed and seen else None)


def _stripped(text: str, namespace: str) -> str:
    for prefix in _PREFIXES:
        text = prefix.sub("", text)
    return _TOKEN.sub("RANDOM", text).replace(namespace, "NAMESPACE")


def _canaries() -> Iterator[Policy]:
    """One policy of each kind that is created last: when they work, all do."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
              "resourceNames": ["canary"]}]  # fmt: skip
    for kind, rest in (
        ("Mutating", {"reinvocationPolicy": "Never", "mutations": [_CANARY]}),
        ("Validating", {"validations": [{"expression": "false",
                        "messageExpression": "'canary-validates ' + object.metadata.?labels[?'c'].orValue('no')"}]}),
    ):  # fmt: skip
        name = f"canary-{kind.lower()}"
        spec = {"matchConstraints": {"resourceRules": rules}, **rest}
        policy = {"apiVersion": GROUP, "kind": f"{kind}AdmissionPolicy", "metadata": {"name": name}, "spec": spec}
        binding = {
            "apiVersion": GROUP,
            "kind": f"{kind}AdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, **({"validationActions": ["Deny"]} if kind == "Validating" else {})},
        }
        yield _Everywhere(name, (policy, binding))


_CANARY = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'c': 'mutated'}}}"},
}


class _Everywhere(Policy):
    def on(self, side: str) -> list[JSON]:
        return list(self.documents)
