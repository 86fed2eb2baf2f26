"""Checks converted policies and tests: a policy that does not compile is left out, a test that fails is skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document
from webhook.offline.importing.imported import Converted, Fate, ForeignTest, Import, ImportNote, Object
from webhook.offline.reports.junit import CaseOutcome
from webhook.offline.suite.run_case import run_case
from webhook.offline.suite.suite_file import GROUP, Case
from webhook.policy.bundle import Bundle
from webhook.policy.loading.assemble import assemble

KYVERNOS: Final = frozenset(
    [
        *("resource", "http", "globalContext", "generator", "Get", "List", "Post", "Apply"),
        *("image", "images", "imageData", "isImage", "parseImageReference", "registry", "GetMetadata"),
        *("verifyImageSignatures", "verifyAttestationSignatures", "getImageData", "extractPayload"),
        *("attestors", "attestations", "parseServiceAccount", "parseServiceAccountName", "exceptions"),
        *("parseServiceAccountNamespace", "listObjToMap", "transform", "time", "now", "random", "hash"),
        *("get", "post", "base64", "decode", "decompress", "containsDigest"),
        *("math", "json", "yaml", "x509", "sha1", "sha256", "md5", "gzip", "regex"),
    ]
)
"""Names of Kyverno's CEL libraries."""
_UNKNOWN: Final = re.compile(r"undeclared reference to '([\w.]+)'")


def imported(converted: Iterable[Converted], told: Iterable[ImportNote], policies: int) -> Import:
    """Keep what works here. `policies` is how many were met."""
    notes, folders = list(told), dict[str, dict[str, list[Object]]]()
    cases = skipped = 0
    for one in converted:
        try:
            bundles = _bundles(one)
        except SourceError as error:
            notes += _refused(one, error.diagnostics)
            continue
        notes += one.differs
        files = {name: [d.value for d in documents] for name, documents in one.files.items()}
        for name, tests in one.suites.items():
            ran = [_tried(test, bundles[name]) for test in tests]
            notes += [ImportNote(t.place, Fate.SKIPPED, t.name, str(case["skip"])) for t, case in ran if "skip" in case]
            cases, skipped = cases + len(ran), skipped + sum("skip" in case for _, case in ran)
            if ran:
                files[f"{name}.yaml"] = [_suite(one, name, [case for _, case in ran])]
        folders[one.name] = files
    return Import(folders, tuple(sorted(set(notes))), policies, cases, skipped)


def _bundles(one: Converted) -> dict[str, Bundle]:
    """Compile all files together, and those of each suite. Raises SourceError."""
    assemble(document for documents in one.files.values() for document in documents)
    made: dict[str, Bundle] = {}
    for suite in one.suites:
        names = one.tested.get(suite) or tuple(one.files)
        made[suite] = assemble(document for name in names for document in one.files[name])
    return made


def _refused(one: Converted, diagnostics: Sequence[Diagnostic]) -> list[ImportNote]:
    return [ImportNote(d.place, Fate.LEFT_OUT, one.what, _reason(d)) for d in diagnostics]


def _reason(found: Diagnostic) -> str:
    """Return why the API server would reject an expression; functions of Kyverno are named as such."""
    name = _UNKNOWN.search(found.message)
    if name and name[1].split(".")[0] in KYVERNOS:
        return f"{name[1]} is a function of Kyverno; the API server does not have it"
    return found.message


def _tried(test: ForeignTest, bundle: Bundle) -> tuple[ForeignTest, Object]:
    """Return a test with its case: with the first expectation that holds, or skipped with the reason."""
    failed = ""
    for expect in test.expects:
        spec = {"name": test.name, **test.case, "expect": expect}
        result = run_case(Case("", test.name, spec, (), Document(None, test.place.file), Path()), bundle)
        if result.outcome is CaseOutcome.PASSED:
            return test, spec
        failed = failed or "; ".join(f.message for f in result.findings)
    spec = {"name": test.name, "skip": f"the result differs: {failed}", **test.case, "expect": test.expects[0]}
    return test, spec


def _suite(one: Converted, name: str, cases: list[Object]) -> Object:
    """Return a suite; of cases with the same name the later ones get a number."""
    seen: dict[str, int] = {}
    for case in cases:
        count = seen[case["name"]] = seen.get(case["name"], 0) + 1
        case["name"] += f" ({count})" if count > 1 else ""
    suite: Object = {"apiVersion": GROUP, "kind": "Suite", "metadata": {"name": name.removesuffix(".suite")}}
    if name == "suite":
        suite["metadata"]["name"] = one.name
    if tested := one.tested.get(name):
        suite["policies"] = list(tested)
    return {**suite, "cases": cases}
