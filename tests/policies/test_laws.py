"""Laws of the shipped policies, and of those that the benchmark runs natively, on random jobs in random clusters."""

import base64
import json
from pathlib import Path

import jsonpatch
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.policies.random_jobs import clusters, jobs
from tests.shared import ROOT, shared
from webhook.admission.pipeline import mutate, review, validate
from webhook.admission.wire import answer, parse
from webhook.documents import Document
from webhook.kube.absent import ABSENT
from webhook.kube.equality import same
from webhook.kube.json_patch import Operation, apply
from webhook.offline.dryrun.evaluate import Input, dry_run
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.outcome import ObjectRef
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.suite.run_case import run_case
from webhook.offline.suite.suite_file import Case
from webhook.policy.loading.load_bundle import load_bundle
from webhook.record.recorder import record_of
from webhook.record.replay import read_recording, replay

FILES = sorted(ROOT.glob("policies/*/policy.yaml"))
SENDER = Sender(namespace="team-a", user="alice")
USER = {"name": "alice", "groups": ["system:authenticated"]}
RANDOM = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module", params=["shipped", "with the benchmark's"])
def files(request):
    """The shipped policies, alone and with five more that do much of the same in other words."""
    return [*FILES, shared("bench/native.yaml")] if request.param != "shipped" else FILES


@pytest.fixture(scope="module")
def bundle(files):
    return load_bundle(files)


def asked(obj, facts=None):
    """The request about an object, as the API server sends it: its plugins look at the facts, if there are any."""
    resources = ResourceScopes.of((), facts)
    return request_for(received(obj, resources, SENDER), resources, SENDER)


def test_the_worlds_are_worth_it(bundle):
    """Among random jobs many are refused, many are let in, and of those most are changed: no law holds for nothing."""
    found = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(obj=jobs(), cluster=clusters())
    def look(obj, cluster):
        found.append(review(asked(obj), bundle, FileFacts((*bundle.objects, *cluster), {})))

    look()
    allowed = [v for v in found if v.allowed]
    assert 15 <= len(allowed) <= 85
    assert sum(bool(v.patch) for v in allowed) * 2 > len(allowed)
    assert len({v.message for v in found}) > 10


@RANDOM
@given(obj=jobs(), cluster=clusters())
def test_mutation_is_idempotent(bundle, obj, cluster):
    """What the policies made of an object they leave as it is, whatever it asks for and whatever the cluster holds."""
    facts = FileFacts((*bundle.objects, *cluster), {})
    first = mutate(asked(obj), bundle, facts)
    assert first.oscillating == ()
    if first.allowed:
        assert mutate(asked(first.object), bundle, facts).patch == ()


def test_what_a_limit_range_adds_is_completed(bundle):
    """A request that a LimitRange adds behind the GPU defaults gets its limit in the same call."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    limits = {"limits": [{"type": "Container", "min": {"nvidia.com/gpu": "1"}}]}
    cluster = [
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "team-a"}, "spec": limits}
    ]
    found = mutate(asked(pod), bundle, FileFacts((*bundle.objects, *cluster), {}))
    assert found.object["spec"]["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu": "1"},
        "requests": {"nvidia.com/gpu": "1"},
    }


@RANDOM
@given(obj=jobs(), cluster=clusters())
def test_the_patch_gives_exactly_the_object(bundle, obj, cluster):
    """The patch, applied by the jsonpatch library to what was sent, is the object that is judged."""
    request = asked(obj)
    verdict = mutate(request, bundle, FileFacts((*bundle.objects, *cluster), {}))
    steps = [step.wire() for step in verdict.patch]
    made = request.object if verdict.object is None else verdict.object
    assert same(jsonpatch.apply_patch(json.loads(json.dumps(request.object)), steps), made)


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_the_order_of_files_does_not_matter(files, bundle, data):
    """In any order the files are the same bundle, and give the same verdict and patch."""
    other = load_bundle(data.draw(st.permutations(files)))
    assert bundle.digest == other.digest
    for _ in range(5):
        request, facts = asked(data.draw(jobs())), FileFacts((*bundle.objects, *data.draw(clusters())), {})
        assert review(request, bundle, facts) == review(request, other, facts)


def wire(request, obj):
    """The review of an object as it comes over the wire."""
    body = {**request.attributes, "object": obj, "oldObject": request.old_object}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body})


def served(request, bundle, cluster):
    """What a server says: two calls over the wire, the patch of the first applied before the second."""
    facts = FileFacts((*bundle.objects, *cluster), {})
    shaped = answer("u", mutate(parse(orjson.loads(wire(request, request.object))), bundle, facts))["response"]
    steps = json.loads(base64.b64decode(shaped.get("patch", "W10=")))
    operations = [Operation(s["op"], s["path"], s.get("value", ABSENT), s.get("from", "")) for s in steps]
    obj = apply(request.object, operations)
    if not shaped["allowed"]:
        return False, shaped["status"]["message"], None
    judged = answer("u", validate(parse(orjson.loads(wire(request, obj))), bundle, facts))["response"]
    return judged["allowed"], judged.get("status", {}).get("message", ""), obj if judged["allowed"] else None


def suite_case(obj, cluster):
    """The same as the case of a suite."""
    spec = {"object": obj, "namespace": "team-a", "user": USER, "cluster": cluster}
    return Case("s", "c", spec, ("cases", 0), Document({}, "suite.yaml"), Path())


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l", "namespace": "team-a"},
    "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
}


@RANDOM
@example(obj=POD, cluster=[LIMITS])
@given(obj=jobs(), cluster=clusters())
def test_server_dry_run_suite_and_replay_agree(bundle, obj, cluster):
    """Whichever way an object comes to the policies, it is let in or refused alike, in the same words and form."""
    request = asked(obj, FileFacts((*bundle.objects, *cluster), {}))
    whole = review(request, bundle, FileFacts((*bundle.objects, *cluster), {}))
    made = (whole.allowed, whole.message, whole.object if whole.allowed else None)

    tried = dry_run(
        [Input(ObjectRef("x", "", "x"), obj)], bundle, FileFacts((*bundle.objects, *cluster), {}), SENDER
    ).outcomes[0]
    assert tried.allowed == whole.allowed
    assert ("; ".join(tried.denials) if not tried.allowed else "") == whole.message
    assert not whole.allowed or same(tried.after, request.object if whole.object is None else whole.object)

    allowed, message, after = served(request, bundle, cluster)
    assert (allowed, message) == made[:2]
    assert after is None or same(after, request.object if whole.object is None else whole.object)

    case = run_case(suite_case(obj, cluster), bundle).verdict
    assert (case.allowed, case.message, case.patch, case.warnings) == (*made[:2], whole.patch, whole.warnings)

    line = orjson.dumps(record_of(request, whole, 0.001, "review", 1.0))
    again = replay(
        read_recording([line], "f"), bundle, FileFacts((*bundle.objects, *cluster), {}), lambda: 0.0, lambda: 0.0
    )
    assert (again.total, again.changed) == (1, [])
