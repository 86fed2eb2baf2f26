"""What `sluice generate native` writes: the API server takes it without a warning, and judges as the policies do."""

import copy
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from tests.controlplane.cluster import ControlPlane
from tests.e2e.hooks import Hooks
from tests.e2e.native import Comparison
from tests.e2e.test_native import difference
from tests.native.cases import JSON, ROOT, Policy, objects, shipped
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.policies.generate import generate_command
from webhook.jobs.kinds import KINDS
from webhook.kube.gvk import gvk_of
from webhook.offline.native_policies.generate import LABEL
from webhook.yaml_library import LOADER

pytestmark = pytest.mark.cluster

WHOLE = ("gpu-defaults", "gpu-integer", "gpu-tolerations", "limit-range", "frozen-while-admitted")
"""Shipped ones of which nothing is left out but mutations of several templates, and gpu-count (it asks for owners)."""
LIMITS = yaml.safe_load(Path(ROOT, "policies/limit-range/cases/article-002.yaml").read_text(encoding="utf-8"))
MANY = "kubeflow.org/v1"


@dataclass(frozen=True, slots=True)
class Generated(Policy):
    """A policy as it is for Sluice, and as it is generated for the API server."""

    native: tuple[JSON, ...] = ()

    def on(self, side: str) -> list[JSON]:
        """Give what was generated to the native side."""
        mine = [d for d in self.documents if d["apiVersion"] in ("v1",)]
        made = replace(self, documents=(*self.native, *mine)) if side == "native" else self
        return Policy.on(made, side)


@functools.cache
def generated(path: Path) -> list[JSON]:
    """What the command writes for a policy."""
    done = invoke(generate_command, "native", str(path))
    assert done.exit_code == exits.PASSED
    return list(yaml.load_all(done.stdout, LOADER))


def with_native(policy: Policy, *params: JSON, name: str = "") -> Generated:
    """A shipped policy with its native form; one that is there with several parameters gets another name."""
    native = generated(ROOT / "policies" / policy.name)
    documents = [*copy.deepcopy(policy.documents), *params]
    if name:
        text = json.dumps([native, documents]).replace(f'"{policy.name}', f'"{name}')
        native, documents = json.loads(text)
    return Generated(name or policy.name, tuple(documents), tuple(native))


def of_kinds_asked(policy: Generated) -> Generated:
    """The same, natively for the kinds of the requests alone: a large policy that is there for all kinds already, under
    its own name, takes the API server as long again."""
    asked = {(gvk_of(obj).group, obj["kind"]) for obj in REQUESTS}
    others = {(kind.group, kind.resource) for kind in KINDS if (kind.group, kind.kind) not in asked}
    left_out = {d["metadata"]["name"] for d in policy.native if _resources(d) and _resources(d) <= others}
    kept = (d for d in policy.native if not left_out & {d["metadata"]["name"], d.get("spec", {}).get("policyName", "")})
    return replace(policy, native=tuple(kept))


def _resources(document: JSON) -> set[tuple[str, str]]:
    rules = document.get("spec", {}).get("matchConstraints", {}).get("resourceRules", ())
    return {(group, resource) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"]}


NAMES = (*WHOLE, "limited")


@pytest.fixture(scope="module")
def policies() -> dict[str, Generated]:
    """The policies that are compared, by name. Not made at import: generating takes half a minute, and each process of
    the tests imports this file."""
    mine = {p.name: p for p in shipped() if p.name in WHOLE}
    made = [
        *(with_native(mine[name]) for name in WHOLE),
        of_kinds_asked(with_native(mine["limit-range"], LIMITS, name="limited")),
    ]
    return {p.name: p for p in made}


def pod_specs() -> Iterator[JSON]:
    """Pods that ask for GPUs in every way: not at all, by limit, by request, by halves, in an init container."""
    plain = {"name": "main", "image": "registry.example/train:1"}
    gpu = "nvidia.com/gpu"
    for limits, requests in (
        ({}, {}),
        ({gpu: "1"}, {}),
        ({}, {gpu: "2"}),
        ({gpu: "1", "cpu": "1"}, {gpu: "1"}),
        ({gpu: "500m"}, {}),
        ({"cpu": "2"}, {"cpu": "1", "memory": "1Gi"}),
    ):
        asks = {**plain, "resources": {"limits": limits, "requests": requests}}
        yield {"containers": [asks]}
        yield {
            "containers": [plain, {**asks, "name": "second"}],
            "initContainers": [{**asks, "name": "first"}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        }


def requests_for() -> Iterator[JSON]:
    """Those pods as a Pod and in the template of every kind with one, and of one with several."""
    for i, spec in enumerate(pod_specs()):
        labels = {"labels": {"app": "x"}}
        template = {"metadata": labels, "spec": {**spec, "restartPolicy": "Never"}}
        always = {"metadata": labels, "spec": spec}
        serving = {"selector": {"matchLabels": {"app": "x"}}, "template": always}
        for version, kind, body in (
            ("v1", "Pod", template["spec"]),
            ("batch/v1", "Job", {"template": template}),
            ("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}),
            ("apps/v1", "Deployment", serving),
            ("apps/v1", "StatefulSet", {**serving, "serviceName": "x"}),
            (MANY, "Notebook", {"template": always}),
            (MANY, "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}}),
        ):
            metadata = {"name": f"{kind.lower()}-{i}", **labels}
            yield {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": body}


REQUESTS = [*requests_for(), *objects()]


@pytest.fixture(scope="module")
def comparison(
    control_plane: ControlPlane,
    foreign: None,
    watched_params: None,
    policies: dict[str, Generated],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Comparison]:
    """The policies on Sluice's side, what is generated of them on the native side."""
    folder = tmp_path_factory.mktemp("native")
    with Hooks(folder) as hooks:
        made = Comparison(control_plane, [*policies.values()], hooks, folder)
        try:
            made.start()
            yield made
        finally:
            made.remove()


@pytest.mark.parametrize("name", NAMES)
def test_native_policies_judge_as_the_policies_do(
    comparison: Comparison, policies: dict[str, Generated], name: str
) -> None:
    """Verdict, message and the object in the end are the same, in a Pod and in the template of a job.

    Of a kind with several templates the verdict is; what is left out for custom kinds is not compared.
    """
    policy = policies[name]
    comparison.assert_loaded(policy)
    differences = []
    for obj in REQUESTS:
        if comparable := parts(policy.name, obj):
            found = list(difference(*comparison.run(policy, obj)))
            differences += [f"{obj['metadata']['name']}: {line}" for line in found if line.startswith(comparable)]
    assert not differences, "\n".join(differences[:20])


def parts(policy: str, obj: JSON) -> tuple[str, ...]:
    """Which differences count for a policy and an object, by their first word."""
    everything = ("native", "status", "message", "warnings", "object")
    if obj["kind"] == "Pod":
        return () if policy == "limited" else everything  # the server's own LimitRanger leaves its name in Pods
    if obj["apiVersion"] != MANY or (policy, obj["kind"]) == ("gpu-tolerations", "Notebook"):
        return everything
    return ("native",) if policy == "gpu-integer" else ()


def test_the_api_server_finds_nothing_in_them(comparison: Comparison, control_plane: ControlPlane) -> None:
    """Its own type checker has looked at every validating one, and warns of none."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def mine() -> list[JSON]:
        return [p for p in control_plane.client.items(path) if LABEL in p["metadata"].get("labels", {})]

    control_plane.wait("they are type-checked", lambda: all("typeChecking" in p.get("status", {}) for p in mine()))
    assert len(mine()) > 30
    assert [p["status"]["typeChecking"] for p in mine() if p["status"]["typeChecking"]] == []
