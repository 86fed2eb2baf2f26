"""The wire: what is a review, what is not, and how answers are written."""

import base64
import json

import orjson
import pytest

from webhook.admission.verdict import Verdict
from webhook.admission.wire import BadReview, answer, parse
from webhook.kube.json_patch import Operation


def review(**changes):
    request = {
        "uid": "u",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "name": "j",
        "namespace": "ns",
        "operation": "CREATE",
        "userInfo": {"username": "alice"},
        "object": {"kind": "Job"},
        "oldObject": None,
        "dryRun": True,
        **changes,
    }
    request = {k: v for k, v in request.items() if v != "gone"}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_request_is_read():
    """All parts of a request are there, and `request` in CEL has no objects."""
    request = parse(review(subResource="scale"))
    assert (request.uid, request.kind.kind, request.resource.resource) == ("u", "Job", "jobs")
    assert (request.namespace, request.name, request.sub_resource, request.dry_run) == ("ns", "j", "scale", True)
    assert "object" not in request.attributes
    assert request.attributes["userInfo"] == {"username": "alice"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", 'kind is null; expected "AdmissionReview"'),
        (b'{"kind":"AdmissionReview"}', "apiVersion is null"),
        (b'{"kind":"AdmissionReview","apiVersion":true}', "apiVersion is true; expected"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}',
            'v1beta1"; expected "admission.k8s.io/v1"',
        ),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "no request"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":7}', "no request"),
    ],
)
def test_no_review(body, message):
    """What is no AdmissionReview v1 is a bad request that says why."""
    with pytest.raises(BadReview, match=message):
        parse(orjson.loads(body))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uid": "gone"}, "request.uid"),
        ({"uid": ""}, "request.uid"),
        ({"operation": ["CREATE"]}, "request.operation is an array; expected CREATE, UPDATE, DELETE or CONNECT"),
        ({"operation": None}, "request.operation is null; expected CREATE, UPDATE, DELETE or CONNECT"),
        ({"operation": "PATCH"}, 'request.operation is "PATCH"'),
        ({"kind": "gone"}, "request.kind is missing"),
        ({"kind": {"group": "", "version": "v1"}}, "needs group, version and kind"),
        ({"resource": {"version": "v1", "resource": 3}}, "needs group, version and resource"),
        ({"object": None}, "request.object is required for CREATE"),
        ({"object": "text"}, 'request.object is "text"; expected an object'),
        ({"operation": "UPDATE"}, "request.oldObject is required for UPDATE"),
        ({"operation": "DELETE", "object": None}, "request.oldObject is required for DELETE"),
        ({"namespace": 3}, "request.namespace is 3; expected a string"),
        ({"namespace": {"a": None}}, "request.namespace is an object; expected a string"),
        ({"uid": [1]}, "request.uid is an array; expected a string"),
    ],
)
def test_bad_request(changes, message):
    """A request without what its operation needs is refused, with the field's name."""
    with pytest.raises(BadReview) as caught:
        parse(review(**changes))
    assert message in str(caught.value)


def test_unknown_kinds_are_read():
    """A kind nobody knows is an ordinary request."""
    kind = {"group": "example.com", "version": "v9", "kind": "Odd"}
    assert parse(review(kind=kind, object={"kind": "Odd", "spec": []})).kind.kind == "Odd"


def test_answer_with_patch():
    """An allowed answer carries the patch as base64 of JSON, warnings and annotations; a key has no slash."""
    verdict = Verdict(True, patch=(Operation("add", "/a", 1),), warnings=("w",), audit_annotations={"p/k": "v"})
    response = answer("u", verdict)["response"]
    assert json.loads(base64.b64decode(response["patch"])) == [{"op": "add", "path": "/a", "value": 1}]
    assert (response["uid"], response["patchType"], response["warnings"]) == ("u", "JSONPatch", ["w"])
    assert response["auditAnnotations"] == {"p.k": "v"}


def test_answer_of_a_denial():
    """A denial has its status and never a patch."""
    verdict = Verdict(False, 403, "Forbidden", "no", patch=(Operation("remove", "/a"),))
    response = answer("u", verdict)["response"]
    assert response["status"] == {"code": 403, "reason": "Forbidden", "message": "no", "status": "Failure"}
    assert "patch" not in response
