"""A webhook that writes down what the API server hands over for a create, and refuses it: nothing is ever stored."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.controlplane.cluster import ControlPlane
from tests.e2e.compare import unequal
from tests.e2e.hooks import Hooks, configuration
from webhook.kube.typed.defaulted import defaulted
from webhook.kube.typed.from_objects import Listed, nothing
from webhook.kube.typed.plugins import admitted

JSON = dict[str, Any]
_RULES = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"], "scope": "*"}]
_TOKEN = re.compile(r"(?<=kube-api-access-)[a-z0-9]{5}\b")
_NAME = "record"


class Recorder:
    """Asks an API server how it reads an object."""

    def __init__(self, plane: ControlPlane, hooks: Hooks) -> None:
        """Answer for `hooks`; `recording` installs the webhook."""
        self._client = plane.client
        self._seen: dict[str, JSON] = {}
        hooks.routes["/record"] = self._record

    def received(self, obj: JSON) -> JSON | str:
        """What the webhook gets of an object; a text where the server refuses it before."""
        self._seen.clear()
        path = self._client.path_of(obj, collection=True)
        answer = self._client.request("POST", f"{path}?dryRun=All&fieldValidation=Ignore", obj)
        found = self._seen.get(obj["metadata"]["name"])
        return found if found is not None else str(answer.body.get("message", answer.body))

    def _record(self, request: JSON) -> JSON:
        obj = request["object"]
        self._seen[request["name"] or obj["metadata"]["name"]] = obj
        return {"allowed": False, "status": {"message": "recorded"}}


@contextmanager
def recording(plane: ControlPlane, folder: Path) -> Iterator[Recorder]:
    """A recorder whose webhook is in force."""
    with Hooks(folder) as hooks:
        recorder = Recorder(plane, hooks)
        client = plane.client
        hook = configuration("MutatingWebhookConfiguration", _NAME, hooks.client_config("/record"), _RULES, {})
        client.create(hook)
        try:
            probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "namespace": "default"}}
            plane.wait("the webhook is in force", lambda: isinstance(recorder.received(probe), dict))
            yield recorder
        finally:
            client.delete(client.path_of(hook))


EXCEPT: Final = {
    r"ResourceSlice /spec/devices/\d+/taints/\d+/timeAdded": "the time of the request",
}
"""Where the server's object may be another than ours, and why."""


def differences(obj: JSON, theirs: JSON, listed: Listed = nothing) -> Iterator[tuple[str, Any, Any]]:
    """The places where what the server made of `obj` is not what Sluice makes of it: kind and path, theirs, ours."""
    for path, expected, found in unequal(comparable(theirs), ours(obj, listed)):
        place = f"{obj['kind']} {path}"
        if not any(re.fullmatch(pattern, place) for pattern in EXCEPT):
            yield place, expected, found


def comparable(obj: JSON) -> JSON:
    """An object without what the server alone can know."""
    plain: JSON = json.loads(_TOKEN.sub("x", json.dumps(obj)))
    for field in ("managedFields", "uid", "creationTimestamp", "generation"):
        plain["metadata"].pop(field, None)
    return plain


def ours(obj: JSON, listed: Listed = nothing) -> JSON:
    """How Sluice reads the same object, beside the other objects of a cluster."""
    return comparable(admitted(defaulted(obj), listed))
