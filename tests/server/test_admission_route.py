"""The admission routes over real TLS: verdicts out, and every kind of bad input answered, never a traceback."""

import asyncio
import base64
import io
import json
import logging

from tests.server.serving import ScriptedEngine, review, serve
from webhook.admission.gate import Check
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.kube.json_patch import diff


def test_a_verdict_becomes_an_admission_review(tmp_path):
    """Patch, warnings and audit annotations of a verdict arrive as admission.k8s.io/v1 says."""

    def shape(request):
        after = {**request.object, "spec": {"suspend": True}}
        return Verdict(
            allowed=True,
            patch=tuple(diff(request.object, after)),
            warnings=("mind the gap",),
            audit_annotations={"sluice.dev/policy": "suspend-jobs"},
        )

    async def go():
        async with serve(tmp_path, ScriptedEngine(on_mutate=shape)) as served:
            return await served.post("/mutate?timeout=10s", json=review())

    status, body = asyncio.run(go())
    assert status == 200
    assert (body["kind"], body["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    response = body["response"]
    assert response["uid"] == "u-1"
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [{"op": "add", "path": "/spec/suspend", "value": True}]
    assert response["warnings"] == ["mind the gap"]
    assert response["auditAnnotations"] == {"sluice.dev.policy": "suspend-jobs"}


def test_a_denial_is_an_answer_with_its_status(tmp_path):
    """A refused object is HTTP 200 with allowed false, code, reason and message."""
    no = Verdict(allowed=False, code=422, reason="Invalid", message="ask for a whole GPU")

    async def go():
        async with serve(tmp_path, ScriptedEngine(on_validate=lambda _: no)) as served:
            return await served.post("/validate", json=review())

    status, body = asyncio.run(go())
    assert status == 200
    assert body["response"]["allowed"] is False
    assert body["response"]["status"]["code"] == 422
    assert body["response"]["status"]["message"] == "ask for a whole GPU"


def test_an_authorizer_is_asked_and_the_review_repeated(tmp_path):
    """What a policy needs to know about the user's rights is fetched, then the same request is reviewed again.

    It waits as text, and is read again: parsed it would take many times that.
    """
    check = Check(user="ann", verb="use")
    calls = []

    def judge(request):
        calls.append(request)
        return NeedsFacts((check,)) if len(calls) == 1 else Verdict(allowed=True)

    engine = ScriptedEngine(on_validate=judge)

    async def go():
        async with serve(tmp_path, engine) as served:
            return await served.post("/validate", json=review())

    status, body = asyncio.run(go())
    assert (status, body["response"]["allowed"]) == (200, True)
    assert engine.asked == [check]
    assert calls[0] == calls[1]
    assert calls[0] is not calls[1]


def test_a_policy_that_never_stops_asking_is_ended(tmp_path):
    """A review that always wants another check ends with a 500 after a fixed number of rounds."""
    engine = ScriptedEngine(on_validate=lambda _: NeedsFacts((Check(user="ann", verb="use"),)))

    async def go():
        async with serve(tmp_path, engine) as served:
            return await served.post("/validate", json=review())

    status, body = asyncio.run(go())
    assert status == 500
    assert "need too many lookups" in body["message"]


def test_the_answers_of_an_authorizer_have_a_time_limit(tmp_path):
    """When the API server does not answer in time, the call ends with 504, within the time it was given."""

    class Slow(ScriptedEngine):
        async def ask(self, questions):
            await asyncio.Event().wait()

    engine = Slow(on_validate=lambda _: NeedsFacts((Check(user="ann", verb="use"),)))

    async def go():
        async with serve(tmp_path, engine) as served:
            answer = await served.post("/validate?timeout=1s", json=review())
            return answer, served.metrics.failures["timeout"]

    (status, body), counted = asyncio.run(go())
    assert status == 504
    assert "within the API server's timeout" in body["message"]
    assert counted == 1


def test_a_request_waits_for_the_facts_of_the_cluster(tmp_path):
    """Right after the start a request is held until the view is there; if that takes too long it is a 503."""

    async def go():
        engine = ScriptedEngine(cold=True)
        async with serve(tmp_path, engine) as served:
            late = await served.post("/validate?timeout=1s", json=review())
            asyncio.get_running_loop().call_later(0.05, engine.warm.set)
            return late, await served.post("/validate", json=review())

    (status, problem), (good, _) = asyncio.run(go())
    assert status == 503
    assert "not listed yet" in problem["message"]
    assert good == 200


def test_each_failure_policy_has_a_path_of_its_own(tmp_path):
    """`/validate/fail` and `/mutate/ignore` ask for the policies of that failurePolicy only."""
    engine = ScriptedEngine()

    async def go():
        async with serve(tmp_path, engine) as served:
            for path in ("/validate/fail", "/mutate/ignore", "/validate"):
                assert (await served.post(path, json=review()))[0] == 200

    asyncio.run(go())
    assert engine.parts == ["fail", "ignore", ""]


def bad_input(tmp_path, path="/validate", **options):
    """Send one bad request; give status, message, and how often the server counted it."""
    limits = options.pop("limits", {})

    async def go():
        async with serve(tmp_path, **limits) as served:
            status, body = await served.post(path, **options)
            return status, body["message"], sum(served.metrics.failures.values())

    return asyncio.run(go())


JSON = {"Content-Type": "application/json"}


def test_not_json(tmp_path):
    """A body that is not JSON is a 400 that says so."""
    status, message, counted = bad_input(tmp_path, data=b"{nope", headers=JSON)
    assert status == 400
    assert "not JSON" in message
    assert counted == 1


def test_an_empty_body(tmp_path):
    """No body at all is a 400 that says so."""
    status, message, _ = bad_input(tmp_path, data=b"", headers=JSON)
    assert (status, message) == (400, "the body is empty")


def test_a_wrong_content_type(tmp_path):
    """Only JSON is read; the answer names what came."""
    status, message, _ = bad_input(tmp_path, data=b"a: 1", headers={"Content-Type": "application/yaml"})
    assert status == 415
    assert "application/yaml" in message


def test_a_wrong_api_version(tmp_path):
    """A v1beta1 review is refused with the version that is spoken."""
    status, message, _ = bad_input(tmp_path, json={**review(), "apiVersion": "admission.k8s.io/v1beta1"})
    assert status == 400
    assert "admission.k8s.io/v1beta1" in message
    assert '"admission.k8s.io/v1"' in message


def test_json_that_is_no_review(tmp_path):
    """JSON of another kind, a list, or a review without a request are 400s."""
    for body in ({"kind": "Pod"}, [1], 7, None, {**review(), "request": None}):
        status, message, _ = bad_input(tmp_path, data=json.dumps(body), headers=JSON)
        assert status == 400, body
        assert message


def test_a_body_of_ten_megabytes(tmp_path):
    """A body over the limit is a 413 that names the limit, announced or chunked."""

    async def chunks():
        for _ in range(10):
            yield b" " * 1024 * 1024

    for data in (io.BytesIO(b" " * 10 * 1024 * 1024), chunks()):
        status, message, counted = bad_input(tmp_path, data=data, headers=JSON)
        assert status == 413
        assert "8388608" in message
        assert counted == 1


def test_deep_nesting(tmp_path):
    """Objects nested without end are a 400, whether the JSON reader or we notice it."""
    for depth in (300, 100_000):
        deep = b'{"a":' * depth + b"1" + b"}" * depth
        status, message, _ = bad_input(tmp_path, data=deep, headers=JSON)
        assert status == 400, depth
        assert "nested" in message or "not JSON" in message


def test_a_body_that_does_not_arrive(tmp_path):
    """A client that stops in the middle of its body is sent away instead of being waited for."""

    async def half():
        yield b'{"kind":'
        await asyncio.sleep(2)
        yield b"1}"

    status, message, _ = bad_input(tmp_path, data=half(), headers=JSON, limits={"body_seconds": 0.2})
    assert status == 408
    assert "0.2 s" in message


def test_an_unknown_kind_is_let_through(tmp_path):
    """A kind nobody has heard of is a request like any other: no policy matches, so it is allowed."""

    async def go():
        async with serve(tmp_path) as served:
            kind = {"group": "example.org", "version": "v7", "kind": "Gizmo"}
            return await served.post("/validate", json=review(kind=kind, object={"kind": "Gizmo", "x": 1}))

    status, body = asyncio.run(go())
    assert (status, body["response"]["allowed"]) == (200, True)


def test_an_unknown_path_and_a_wrong_method(tmp_path):
    """Neither is a traceback: 404 and 405, as a Status object."""

    async def go():
        async with serve(tmp_path) as served, served.session.get(served.url + "/mutate") as get:
            return await served.post("/nowhere", json={}), (get.status, await get.json())

    (status, body), (method_status, method_body) = asyncio.run(go())
    assert (status, body["kind"]) == (404, "Status")
    assert (method_status, method_body["code"]) == (405, 405)


def test_a_bug_of_ours_is_a_500_that_is_logged_and_counted(tmp_path, caplog):
    """An exception in a review becomes 500, so that failurePolicy decides; its text stays in the log."""

    def broken(_):
        raise ZeroDivisionError("secret detail")

    async def go():
        async with serve(tmp_path, ScriptedEngine(on_validate=broken)) as served:
            return *await served.post("/validate", json=review()), served.metrics.failures["internal"]

    with caplog.at_level(logging.ERROR):
        status, body, counted = asyncio.run(go())
    assert status == 500
    assert "secret detail" not in json.dumps(body)
    assert "secret detail" in caplog.text
    assert counted == 1


def test_conversion_passes_reviews_through(tmp_path):
    """`/convert` hands a ConversionReview to the converter and refuses anything else."""
    sent = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": {"uid": "c"}}

    async def go():
        def convert(document):
            return {**document, "response": {"uid": document["request"]["uid"]}}

        async with serve(tmp_path, convert=convert) as served:
            return await served.post("/convert", json=sent), await served.post("/convert", json=review())

    (status, body), (bad, problem) = asyncio.run(go())
    assert (status, body["response"]["uid"]) == (200, "c")
    assert bad == 400
    assert "ConversionReview" in problem["message"]
