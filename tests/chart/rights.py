"""What Sluice asks of the API server, seen in the tests that run it over a store; `rights.yaml` has each with a test.

A request is noted at the store, where code of the package calls it: what a test itself does to the cluster is not
Sluice's. Each of a test's requests has to be in the table, and a test that the table names has to send what stands
beside it. The chart's roles are held against the same table, so a right is granted when it is used, and only then.
"""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from webhook.api.crds.kinds import KINDS as CUSTOM_KINDS
from webhook.cluster.api.kinds import KUEUE, MANAGED
from webhook.cluster.api.live_store import LiveStore
from webhook.documents import read
from webhook.jobs.kinds import KINDS as JOB_KINDS
from webhook.kube.gvk import GroupVersionKind, gvk_of
from webhook.store import informer
from webhook.store.memory import MemoryStore

FILE = Path(__file__).with_name("rights.yaml")
VERBS = ("get", "list", "watch", "create", "update", "patch", "apply", "delete")
JOBS = "jobs.of-any-kind"
"""The row of the kinds that are held by a field: one code path, by their rows in the table of job kinds."""
OF_USERS = ("webhook.cli", "webhook.offline")
"""Packages of commands, which have the rights of the person who runs them."""
OBJECTS = "objects-of-any-kind.kueue.x-k8s.io"
"""The row of the queue's kinds for the account that rewrites them all."""
OF_OTHERS = {
    "webhook.cluster.webhooks.configurations": "registration",
    "webhook.cluster.webhooks.crds": "crds",
    "webhook.cluster.front_proxy": "front-proxy",
}
"""Modules whose requests need another account of the chart, or a role that comes with Kubernetes."""
STORES = ("webhook.store.memory", "webhook.cluster.api.live_store")

Right = tuple[str, str, str]
"""Account, resource with its group (`jobs/status.batch`), verb."""


def table() -> dict[str, dict[str, dict[str, str]]]:
    """By account and resource: each verb, with the test that sends it, or the reason why none does."""
    (document,) = read(FILE.read_text(encoding="utf-8"), FILE.name)
    return document.value


def rows() -> Iterator[tuple[Right, str]]:
    """The table, row by row."""
    for account, resources in table().items():
        for resource, verbs in resources.items():
            for words, told in verbs.items():
                yield from (((account, resource, verb), told) for verb in words.split())


def resource(gvk: GroupVersionKind, subresource: str = "") -> str:
    """The row's name of a kind."""
    if not subresource and any((gvk.group, gvk.kind) == (k.group, k.kind) and not k.gate for k in _HELD):
        return JOBS
    plural = _PLURALS.get((gvk.group, gvk.kind)) or _plural(gvk.kind.lower())
    return ".".join(filter(None, ("/".join(filter(None, (plural, subresource))), gvk.group)))


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word.removesuffix('y')}ies"
    return f"{word}{'es' if word.endswith('s') else 's'}"


_HELD = [kind for kind in JOB_KINDS if kind.gvk in MANAGED]
_PLURALS = {(kind.group, kind.kind): kind.plural for kind in CUSTOM_KINDS}


def _noted(method: Callable[..., Any], verb: str, sent: set[Right]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(store: Any, first: Any, *rest: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        if frame.f_code.co_name == verb and frame.f_locals.get("self") is store:  # a store of a test's own
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "")
        if module.startswith("webhook.") and not module.startswith((*OF_USERS, *STORES)):
            gvk = gvk_of(first) if isinstance(first, dict) else first
            account = OF_OTHERS.get(module, "sluice")
            named = (
                OBJECTS if account == "crds" and gvk.group == KUEUE else resource(gvk, options.get("subresource", ""))
            )
            sent.add((account, named, "patch" if verb == "apply" else verb))
        return method(store, first, *rest, **options)

    return call


@pytest.fixture(autouse=True)
def rights(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Note what Sluice asks of the store during a test, and hold it against the table."""
    sent: set[Right] = set()
    for store in (MemoryStore, LiveStore):
        for verb in VERBS:
            monkeypatch.setattr(store, verb, _noted(getattr(store, verb), verb, sent))
    yield
    known = dict(rows())
    assert sorted(sent - known.keys() - set(_of_parameters(sent))) == [], f"what Sluice sends and {FILE.name} lacks"
    if not str(informer.__file__).endswith(".py"):
        return  # compiled code has no frames: not all that it sends is seen
    name = request.node.nodeid
    assert (
        sorted(right for right, told in known.items() if told in (name, name.partition("[")[0]) and right not in sent)
        == []
    ), f"what this test sends by {FILE.name} and does not"


def _of_parameters(sent: Iterable[Right]) -> Iterator[Right]:
    """Kinds of parameters that a test's policies bring: `extraRules` of the chart grants them."""
    return (right for right in sent if right[1].endswith(".example.org"))
