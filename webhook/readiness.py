"""The conditions of readiness of one replica, and what becomes of each: sentences for `/readyz?verbose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.webhooks.registered import Registered
from webhook.kube.gvk import GroupVersionKind
from webhook.policy_reload.reload import PolicyFiles
from webhook.server.health import Condition, Probe
from webhook.tls.serving import ServingCertificate


def policies(files: PolicyFiles) -> Probe:
    """Say what is in force. Changed files with errors do not make a replica unready: it has the last good ones."""

    def condition() -> Condition:
        bundle = files.current.bundle
        told = f"{len(bundle.policies)} policies, {bundle.digest[:19]}"
        if files.problem:
            told += f"; the changed files have errors and are not used: {files.problem.splitlines()[0]}"
        return Condition(True, told)

    return condition


def certificate(serving: ServingCertificate, now: Callable[[], datetime]) -> Probe:
    """Say until when the certificate is valid."""

    def condition() -> Condition:
        problem = f"; {serving.problem}" if serving.problem else ""
        return Condition(serving.expires > now(), f"valid until {serving.expires:%Y-%m-%d}{problem}")

    return condition


def view(local: View, kinds: Sequence[GroupVersionKind], params: ParamKinds, files: PolicyFiles) -> Probe:
    """Say which kinds were not listed yet."""

    def condition() -> Condition:
        missing = [*local.missing(kinds), *params.missing(files.current.bundle.param_kinds)]
        return Condition(not missing, f"not listed yet: {', '.join(missing)}" if missing else "")

    return condition


def registration(registered: Registered) -> Probe:
    """Say how what is registered differs. It does not make a replica unready: no restart would mend it."""
    return lambda: Condition(True, registered.detail)
