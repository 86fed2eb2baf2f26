"""The server's path, dry-run, suites' review and replay give the same verdict for the same object."""

import base64
import json

import orjson
import pytest

from tests.shared import ROOT
from webhook.admission.pipeline import mutate, review, validate
from webhook.admission.wire import answer, parse
from webhook.kube.absent import ABSENT
from webhook.kube.json_patch import Operation, apply
from webhook.offline.dryrun.evaluate import Input, dry_run
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.offline.dryrun.outcome import ObjectRef
from webhook.offline.dryrun.requests import ResourceScopes, Sender, received, request_for
from webhook.offline.lint.trial.samples import samples
from webhook.policy.loading.load_bundle import load_bundle
from webhook.record.recorder import record_of
from webhook.record.replay import read_recording, replay

LABELS = {"sluice.dev/managed": "true"}
SENDER = Sender(namespace="team-a")


@pytest.fixture(scope="module")
def bundle():
    return load_bundle([ROOT / "policies"])


def wire(request) -> bytes:
    """The review as it comes over the wire."""
    body = {**request.attributes, "object": request.object, "oldObject": request.old_object}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body})


def served(request, bundle):
    """What a server does: two calls over the wire, the patch of the first applied before the second."""
    shaped = mutate(parse(orjson.loads(wire(request))), bundle, FileFacts(bundle.objects, LABELS))
    response = answer("u", shaped)["response"]
    steps = json.loads(base64.b64decode(response.get("patch", "W10=")))
    obj = apply(
        request.object, [Operation(s["op"], s["path"], s.get("value", ABSENT), s.get("from", "")) for s in steps]
    )
    if not response["allowed"]:
        return False, response["status"]["message"], obj
    after = parse(orjson.loads(wire(type(request)(**{**fields(request), "object": obj}))))
    judged = answer("u", validate(after, bundle, FileFacts(bundle.objects, LABELS)))["response"]
    return judged["allowed"], judged.get("status", {}).get("message", ""), obj


def fields(request):
    return {name: getattr(request, name) for name in type(request).__dataclass_fields__}


@pytest.mark.parametrize("sample", samples(), ids=lambda s: s.title)
@pytest.mark.parametrize("gpus", ["1", "0.5"])
def test_all_paths_agree(bundle, sample, gpus):
    """Verdict, message and stored object are the same, however the object comes to the policies."""
    obj = json.loads(json.dumps(sample.obj).replace('"nvidia.com/gpu": "1"', f'"nvidia.com/gpu": "{gpus}"'))
    obj = received(obj, ResourceScopes(), SENDER)
    request = request_for(obj, ResourceScopes(), SENDER)
    whole = review(request, bundle, FileFacts(bundle.objects, LABELS))
    tried = dry_run([Input(ObjectRef("x", "", "x"), obj)], bundle, FileFacts(bundle.objects, LABELS), SENDER).outcomes[
        0
    ]
    assert (tried.allowed, "; ".join(tried.denials) if not tried.allowed else "") == (whole.allowed, whole.message)
    assert served(request, bundle)[:2] == (whole.allowed, whole.message)
    if whole.allowed:
        assert served(request, bundle)[2] == tried.after == whole.object
    line = orjson.dumps(record_of(request, whole, 0.001, "review", 1.0))
    again = replay(read_recording([line], "f"), bundle, FileFacts(bundle.objects, LABELS), lambda: 0.0, lambda: 0.0)
    assert (again.total, again.changed) == (1, [])
