"""Descriptions of file fields for editors, one sentence each. `docs/reference/suites.md` has the long form."""

from __future__ import annotations

from typing import Final

_SUITE: Final = {
    "policies": "Paths of the policies to test, relative to this file.  Default: this folder.",
    "cluster": "Objects that exist in every case, inline or as files: namespaces, queues, running jobs.",
    "user": "User that sends the object.",
    "namespace": "A name, or {name, labels, annotations} if rules read the Namespace.",
    "now": "The time, such as 2026-11-21T08:00:00Z.",
    "cases": "The cases: a request and its expected result.",
    "cases.name": "Name of the case; --run 'SUITE//NAME' selects it.",
    "cases.skip": "Skip the case, for this reason.",
    "cases.object": "The object, inline, a file beside the suite, or a whole AdmissionReview.",
    "cases.oldObject": "The old object: the request is an UPDATE, or a DELETE if there is no object.",
    "cases.operation": "Operation, if object and oldObject do not imply it.",
    "cases.subresource": "Subresource, such as scale.",
    "cases.fieldManager": "The field manager of the write, as in request.options.",
    "cases.params": "Parameter objects of the policies.",
    "cases.authorizer": "Answers of authorizer checks; the first row that matches counts.",
    "cases.invalid": "Instead of an object: a policy file that must be rejected, with expect.message.",
    "cases.expect": "Expected result.  Default: allowed.",
    "cases.expect.allowed": "Whether the object is allowed.",
    "cases.expect.message": "Regular expression that the denial must contain.",
    "cases.expect.reason": "Reason of the denial: Invalid, Forbidden, ...",
    "cases.expect.code": "HTTP status of the denial.",
    "cases.expect.matched": "Set to false if no policy matches this object.",
    "cases.expect.patched": "The whole object after all mutations.",
    "cases.expect.contains": "Fields of the object after all mutations; null means the field is absent.",
    "cases.expect.patch": "The exact list of JSON Patch operations; [] means unchanged.",
    "cases.expect.warnings": "Regular expressions, exactly one per warning.",
    "cases.expect.auditAnnotations": "Key -> regular expression that its value must contain.",
    "cases.expect.queue": "Expected decision of the queue.",
    "cases.expect.queue.decision": "admitted, pending, or none if it is in no queue.",
    "cases.expect.queue.position": "Position in the queue, from 1.",
    "cases.expect.queue.victims": "Preempted jobs, as KIND NAMESPACE/NAME.",
}
_EXCEPTION: Final = {
    "spec.policyNames": "Policies that do not apply.",
    "spec.reason": "Reason of the exception.",
    "spec.expires": "2026-12-31 (the end of that day, UTC) or an RFC 3339 time. After it, lint reports an error.",
    "spec.namespaces": "Shell patterns of namespaces. Default: every namespace.",
    "spec.objectSelector": "Only objects with these labels.",
    "spec.resourceRules": "Only these resources.",
}
WORDS: Final = {"Suite": _SUITE, "PolicyException": _EXCEPTION}
"""kind -> field, by its path without lists -> what it is."""
