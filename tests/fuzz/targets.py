"""The doors, each with the errors it may give: any other exception is a finding."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.fuzz import inputs
from webhook import cel, documents
from webhook.admission.wire import BadReview, parse
from webhook.cel import check_types
from webhook.diagnostics import SourceError
from webhook.kube import json_patch
from webhook.server.body import read_json
from webhook.server.responses import StatusError

OBJECT: dict[str, Any] = {
    "s": "abc",
    "l": [3, 1, 2],
    "m": {"a": 1},
    "lm": [{"name": "a"}, {"name": "b"}],
    "big": 2**62,
    "long": "a" * 20_000,
}
ENVS = (cel.validation_env(), cel.mutation_env(typed=False))
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "operation": "CREATE",
        "userInfo": {"username": "a", "groups": ["b"]},
        "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}},
    },
}


def expression(rng: random.Random) -> str:
    """Compile a text and evaluate what compiles, in both forms."""
    text, env = inputs.cel_text(rng), rng.choice(ENVS)
    values = dict.fromkeys(env.variables) | {"object": OBJECT}
    try:
        program = cel.compile(text, env)
        program.evaluate(values)
        program.call(*values.values())
    except (cel.CelError, cel.CompileError):
        pass
    check_types(text, [{}])
    return text


def yaml(rng: random.Random) -> str:
    """Read documents, and find the places in what was read."""
    text = inputs.yaml_text(rng)
    try:
        for document in documents.read(text):
            document.place(())
    except SourceError:
        pass
    return text


def review(rng: random.Random) -> str:
    """Parse an AdmissionReview: changed text, or a right one with any value at any place."""
    whole = json.loads(json.dumps(REVIEW))
    request = whole["request"]
    for _ in range(rng.randrange(3)):
        request[rng.choice([*request, "oldObject", "options", "dryRun", "name", "subResource"])] = inputs.tree(rng)
    text = json.dumps(whole)
    body = (inputs.changed(rng, text) if rng.random() < 0.5 else text).encode(errors="surrogatepass")
    if rng.random() < 0.02:
        body = b"[" * 200_000
    with suppress(BadReview, StatusError):
        parse(read_json(body))
    return repr(body[:2_000])


def patch(rng: random.Random) -> str:
    """Apply any operations; the document given stays as it was, and a difference leads back."""
    document = inputs.tree(rng, 5)
    before = json.dumps(document)
    paths = ["", "/", "/a", "/a/b", "/a~1b", "/a/-", "/a/0", "/0", "/-1", "a", "/~", "/a/99999999999999999999", "/a/٣"]
    kinds = ["add", "remove", "replace", "move", "copy", "test", "", "x"]
    steps = [
        json_patch.Operation(rng.choice(kinds), rng.choice(paths), inputs.tree(rng, 2), rng.choice(paths))
        for _ in range(rng.randrange(1, 6))
    ]
    try:
        after = json_patch.apply(document, steps)
        again = (
            json_patch.apply(document, json_patch.diff(document, after)) if isinstance(document, dict | list) else after
        )
        if isinstance(document, dict | list) and type(document) is type(after):
            assert again == after
    except json_patch.PatchError:
        pass
    assert json.dumps(document) == before
    return f"{before} {steps}"


TARGETS: dict[str, Callable[[random.Random], str]] = {
    "expression": expression,
    "yaml": yaml,
    "review": review,
    "patch": patch,
}
