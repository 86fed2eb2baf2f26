"""The conditions of readiness of one replica, and what becomes of each: sentences for `/readyz?verbose`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from webhook.certificates.secret import CertificateSecret
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.webhooks.keep_registered import Registered
from webhook.kube.gvk import GroupVersionKind
from webhook.policy_reload.reload import PolicyFiles
from webhook.server.health import HealthCondition, Probe
from webhook.tls.serving_certificate import ServingCertificate


def policies(files: PolicyFiles) -> Probe:
    """Return what is in force. Changed files with errors do not make a replica unready: it has the last good ones."""

    def condition() -> HealthCondition:
        bundle = files.current.bundle
        told = f"{len(bundle.policies)} policies, {bundle.digest[:19]}"
        if files.problem:
            told += f"; the changed files have errors and are not used: {files.problem.splitlines()[0]}"
        return HealthCondition(True, told)

    return condition


def certificate(serving: ServingCertificate, now: Callable[[], datetime], secret: CertificateSecret | None) -> Probe:
    """Return until when the certificate is valid, and what is wrong with the Secret that it is renewed in."""

    def condition() -> HealthCondition:
        told = [f"valid until {serving.expires:%Y-%m-%d}", serving.problem, secret.detail if secret else ""]
        return HealthCondition(serving.expires > now(), "; ".join(filter(None, told)))

    return condition


def view(local: View, kinds: Sequence[GroupVersionKind], params: ParamKinds, files: PolicyFiles, here: str) -> Probe:
    """Return which kinds were not listed yet, and why.

    Where the API server needs our own conversion for that (`here` is our Service, `name.namespace`), waiting for it
    would be in vain: a Service leads to replicas that are ready.
    """

    def condition() -> HealthCondition:
        told, ready = [], True
        problems = local.problems(kinds) | params.problems(files.current.bundle.param_kinds)
        for kind, problem in problems.items():
            converter = _CONVERTER.search(problem)
            ready = ready and converter is not None and converter[1] == here
            why = _conversion(converter[1], here) if converter else problem
            told.append(f"{kind} ({why})" if why else kind)
        return HealthCondition(ready, f"not listed yet: {', '.join(told)}" if told else "")

    return condition


_CONVERTER: Final = re.compile(r"conversion webhook for .* failed: .*https://([^/:?]+)\.svc[:/]")
"""In what the API server says of a list that it cannot convert: the Service that should have converted it."""


def _conversion(service: str, here: str) -> str:
    if service == here:
        return "the API server needs this server's /convert"
    return f"its CRD converts at {service}, which does not answer; if that Kueue is gone: sluice crds --take-over"


def registration(registered: Registered) -> Probe:
    """Return how what is registered differs. It does not make a replica unready: no restart would mend it."""
    return lambda: HealthCondition(True, registered.detail)
