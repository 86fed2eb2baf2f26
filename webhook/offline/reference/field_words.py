"""What an editor says of the fields of files: one sentence each. `docs/reference/suites.md` has the same at length."""

from __future__ import annotations

from typing import Final

_SUITE: Final = {
    "policies": "Paths beside this file whose policies are tested; this folder where nothing is said.",
    "cluster": "Objects there are in every case, inline or as files: namespaces, queues, running jobs.",
    "user": "Who sends the object.",
    "namespace": "A name, or {name, labels, annotations} for rules that look at the Namespace.",
    "now": "The time, such as 2026-11-21T08:00:00Z.",
    "cases": "Each one a request, and what is to become of it.",
    "cases.name": "What the case shows; picked by --run 'SUITE//NAME'.",
    "cases.skip": "The reason why the case is not run.",
    "cases.object": "The object, inline, a file beside the suite, or a whole AdmissionReview.",
    "cases.oldObject": "The object as it was: the request is an UPDATE, or a DELETE where there is no object.",
    "cases.operation": "Where it is not plain from object and oldObject.",
    "cases.subresource": "Such as scale.",
    "cases.fieldManager": "The field manager of the write, as in request.options.",
    "cases.params": "Objects that policies take as parameters.",
    "cases.authorizer": "What an authorizer check answers: the first row that fits.",
    "cases.invalid": "Instead of an object: a policy file that must be refused, with expect.message.",
    "cases.expect": "What is to become of it; allowed, where nothing is said.",
    "cases.expect.allowed": "Whether the object is allowed.",
    "cases.expect.message": "A regular expression to be found in the denial.",
    "cases.expect.reason": "The denial's reason: Invalid, Forbidden ...",
    "cases.expect.code": "The denial's HTTP status.",
    "cases.expect.matched": "false: no policy matches this object.",
    "cases.expect.patched": "The whole object afterwards.",
    "cases.expect.contains": "Fields of the object afterwards; null says that a field is not there.",
    "cases.expect.patch": "The exact list of operations; [] says that nothing is changed.",
    "cases.expect.warnings": "Regular expressions: one for each warning, and none too many.",
    "cases.expect.auditAnnotations": "Key -> a regular expression to be found in its value.",
    "cases.expect.queue": "What the object's queue decides.",
    "cases.expect.queue.decision": "Admitted now, pending, or none: it waits in no queue.",
    "cases.expect.queue.position": "Its place among those that wait, from 1.",
    "cases.expect.queue.victims": "The jobs that must yield, as KIND NAMESPACE/NAME.",
}
_EXCEPTION: Final = {
    "spec.policyNames": "The policies that do not apply.",
    "spec.reason": "Why, for those who come after.",
    "spec.expires": "2026-12-31 (the end of that day, UTC) or an RFC 3339 time. From then on it is a lint error.",
    "spec.namespaces": "Shell patterns; none means every namespace.",
    "spec.objectSelector": "Only objects with these labels.",
    "spec.resourceRules": "Only these resources.",
}
WORDS: Final = {"Suite": _SUITE, "PolicyException": _EXCEPTION}
"""kind -> field, by its path without lists -> what it is."""
