"""Converts tests of the Kyverno CLI (cli.kyverno.io, kind Test) to suite cases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from webhook.diagnostics import Place, SourceError
from webhook.documents import Document
from webhook.offline.files import objects_of
from webhook.offline.importing.imported import Converted, Fate, ForeignTest, ImportNote, Object, Read
from webhook.policy.evaluation.result import FAILURE_KEY

CLI: Final = "cli.kyverno.io"
OPERATION: Final = "request.operation"
UNKNOWN: Final = ("exceptions", "targetResources", "jsonPayload", "jsonPayloads", "httpPayloads", "envoyPayloads")
"""Fields of a test that bring what an admission review has not."""


def is_test(document: Document) -> bool:
    """Return whether a document is a test of the Kyverno CLI."""
    group = str(document.at(("apiVersion",))).partition("/")[0]
    return (group == CLI and document.at(("kind",)) == "Test") or _is_bare(document)


def _is_bare(document: Document) -> bool:
    value = document.value
    return (
        isinstance(value, dict) and "kind" not in value and {"name", "policies", "resources", "results"} <= value.keys()
    )


@dataclass(frozen=True, slots=True)
class _Around:
    """What a test brings: its objects, the labels of namespaces, who asks, and values by policy and resource."""

    document: Document
    objects: tuple[Object, ...]
    labels: Mapping[str, Any]
    user: Object
    values: Object
    patched: Mapping[str, tuple[Object, ...]]


def tests_of(
    document: Document, policies: Mapping[str, Converted], read: Read
) -> tuple[list[tuple[str, ForeignTest]], list[ImportNote]]:
    """Return the tests of a file, each with its policy's name, and notes; `policies` are the converted ones."""
    results = document.at(("results",))
    wanted = [(i, r) for i, r in enumerate(results if isinstance(results, list) else ()) if isinstance(r, dict)]
    listed = {_beside(document, name) for name in _list(document.at(("policies",)))}
    here = {name for name, one in policies.items() if listed & {Path(one.file), *Path(one.file).parents}}
    wanted = [(i, r) for i, r in wanted if _policy(r) in here and not r.get("rule")]
    if not wanted:
        return [], []
    what = f"test {document.at(('metadata', 'name')) or document.at(('name',))}"
    if brought := [field for field in UNKNOWN if document.value.get(field)]:
        why = f"it needs {', '.join(brought)}, which an admission review does not have"
        return [], [ImportNote(document.place((brought[0],), key=True), Fate.LEFT_OUT, what, why)]
    try:
        around = _around(document, [r for _, r in wanted], read)
    except SourceError as error:
        first = error.diagnostics[0]
        return [], [ImportNote(document.place(), Fate.LEFT_OUT, what, f"{first.place}: {first.message}")]
    found: list[tuple[str, ForeignTest]] = []
    told: list[ImportNote] = []
    for i, result in wanted:
        place = document.place(("results", i))
        made = list(_cases(result, policies[_policy(result)], around, place))
        found += [(_policy(result), test) for test in made if test.expects]
        if not made:
            told.append(ImportNote(place, Fate.LEFT_OUT, what, "no resource in these files matches it"))
        elif not made[0].expects:
            told.append(
                ImportNote(
                    place, Fate.LEFT_OUT, what, f"the result {result.get('result')} has no equivalent for a mutation"
                )
            )
    return found, told


def _around(document: Document, results: list[Object], read: Read) -> _Around:
    def objects(*names: Any) -> tuple[Object, ...]:
        paths = [_beside(document, name) for name in names if name]
        return tuple(obj for path in paths for obj in objects_of(read(path)))

    values = next(iter(objects(document.value.get("variables"))), {})
    inline = document.value.get("values")
    values = inline if isinstance(inline, dict) else values
    labels = {str(_map(row).get("name")): _map(row).get("labels") for row in _list(values.get("namespaceSelector"))}
    user = _map(next(iter(objects(document.value.get("userinfo"))), {}).get("userInfo"))
    patched = {str(name): objects(name) for name in {r.get("patchedResources") or "" for r in results} if name}
    return _Around(document, objects(*_list(document.value.get("resources"))), labels, user, values, patched)


def _beside(document: Document, name: Any) -> Path:
    """Return the path of a file that a test names."""
    return Path(os.path.normpath(Path(document.file).parent / str(name)))


def _cases(result: Object, policy: Converted, around: _Around, place: Place) -> Iterator[ForeignTest]:
    """Yield a case for each object that a result names."""
    for obj in _named(result, around.objects):
        metadata = obj.get("metadata") or {}
        namespace = str(metadata.get("namespace") or "default")
        case: Object = {"object": obj, "namespace": {"name": namespace, "labels": around.labels.get(namespace) or {}}}
        if around.user:
            case["user"] = {"name": str(around.user.get("username") or ""), "groups": _list(around.user.get("groups"))}
        operation = str(result.get("operation") or _operation(around.values, policy.name, str(metadata.get("name"))))
        if operation == "DELETE":
            case["oldObject"] = case.pop("object")
        elif operation == "UPDATE":
            case["oldObject"] = obj
        if operation != "CREATE":
            case["operation"] = operation
        name = f"{obj.get('kind')} {metadata.get('name') or metadata.get('generateName')}: {result.get('result')}"
        yield ForeignTest(name, place, case, tuple(_expects(result, obj, policy, around)))


def _expects(result: Object, obj: Object, policy: Converted, around: _Around) -> Iterator[Object]:
    """Yield what a result stands for in our words. `skip`: the policy is not for the object."""
    actions = policy.files["policy.yaml"][1].value["spec"].get("validationActions") or []
    wanted = str(result.get("result"))
    if wanted == "skip":
        yield {"matched": False}
        yield {"patch": []}
    elif wanted == "pass":
        after = next(iter(_same(obj, around.patched.get(str(result.get("patchedResources")), ()))), None)
        if after is None:
            yield {"allowed": True}
        else:
            yield {"contains": after}
            yield {"patched": after}  # with what the API server puts into every object of the kind
    elif policy.mutates:
        return
    elif "Deny" in actions:
        yield {"allowed": False}
    elif "Warn" in actions:
        yield {"warnings": [policy.name]}
    else:
        yield {"auditAnnotations": {FAILURE_KEY: policy.name}}


def _same(obj: Object, others: tuple[Object, ...]) -> Iterator[Object]:
    """Yield the objects of the same kind and name."""
    key = (obj.get("kind"), (obj.get("metadata") or {}).get("name"))
    yield from (o for o in others if (o.get("kind"), (o.get("metadata") or {}).get("name")) == key)


def _named(result: Object, objects: tuple[Object, ...]) -> Iterator[Object]:
    """Yield the objects that a result names: by kind, and by name, `namespace/name` or a row of `resourceSpecs`."""
    kind = str(result.get("kind") or "").rpartition("/")[2]
    names = {str(name).rpartition("/")[2] for name in _list(result.get("resources"))}
    names |= {str(_map(row).get("name")) for row in _list(result.get("resourceSpecs"))}
    names |= {str(result["resource"])} if "resource" in result else set()
    for obj in objects:
        if kind in ("", obj.get("kind")) and (not names or (obj.get("metadata") or {}).get("name") in names):
            yield obj


def _operation(values: Object, policy: str, resource: str) -> str:
    """Return the operation that the values say: for all objects, or for one of a policy."""
    for row in _list(values.get("policies")):
        for one in _list(_map(row).get("resources")):
            if _map(row).get("name") == policy and _map(one).get("name") == resource:
                return str(_map(_map(one).get("values")).get(OPERATION) or "CREATE")
    return str(_map(values.get("globalValues")).get(OPERATION) or "CREATE")


def _policy(result: Object) -> str:
    return str(result.get("policy")).rpartition("/")[2]


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
