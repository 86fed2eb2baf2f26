"""The finding codes of reading and loading files, which run before the rules: rows for their pages."""

from __future__ import annotations

from typing import Final

from webhook.diagnostics import Severity
from webhook.offline.lint.context import LintContext, LintRule


def _nothing(context: LintContext) -> tuple[()]:
    """Find nothing: the finding is made while the file is read."""
    return ()


def _row(code: str, title: str, why: str, severity: Severity = Severity.ERROR) -> LintRule:
    return LintRule(code, severity, title, _nothing, why)


READING: Final[tuple[LintRule, ...]] = (
    _row(
        "FILE001",
        "a file must be readable",
        "The file does not exist, is not readable, is not UTF-8 text, or is larger than 64 MiB.\n"
        "A link to a folder is not followed below a folder: name its target, too.",
    ),
    _row(
        "YAML001",
        "a file must be valid YAML or JSON",
        "The text is not valid YAML. The caret is where parsing stopped, which may be after the mistake.\n"
        "A duplicate key is an error too (the last would win silently), and so is very deep nesting.",
    ),
    _row(
        "INP001",
        "the input of a command must have the form that it reads",
        "A command reads one document, or one JSON object on each line, with the fields that the hint shows.",
    ),
    _row(
        "LOAD002",
        "a document must be a Kubernetes object",
        "Each document of a policy folder has `apiVersion` and `kind`. Keep other YAML elsewhere: loading the folder\n"
        "fails with it. `sluice lint` warns of a document that has neither of them nor `metadata`, such as a list.\n"
        "A file that another tool reads by its name, such as `kustomization.yaml` or `values.yaml`, is not loaded.",
    ),
    _row(
        "LOAD003",
        "a kind and its version must be known",
        "Policies are read in `admissionregistration.k8s.io/v1`, `v1beta1` and `v1alpha1`. `sluice.dev` has\n"
        "`v1alpha1`, with the kinds `QueuePolicy`, `PolicyException` and `Suite`.",
    ),
    _row(
        "LOAD004",
        "a policy must be defined once",
        "Two policies (or two bindings) have the same kind and name: only one of them can be in force.",
    ),
    _row(
        "POL001",
        "a policy must have only known fields",
        "The field does not exist in this kind. Some clients drop it silently, and the policy (or the suite)\n"
        "then does less than it says. The finding suggests the nearest field.",
    ),
    _row("POL002", "a policy must have all required fields", "A required field is missing, or a list is empty."),
    _row(
        "POL003",
        "a field must have a valid value",
        "The value has the wrong type (a string for a list, a number for a string), or is not a value that the\n"
        "field accepts, such as `failurePolicy: Abort`.",
    ),
    _row(
        "POL004",
        "a selector must be valid",
        "`matchLabels` maps names to values; each of `matchExpressions` has a key, an operator (`In`, `NotIn`,\n"
        "`Exists`, `DoesNotExist`) and, for the first two, values.",
    ),
    _row(
        "POL005",
        "the parts of a policy must be consistent",
        "Each part is valid alone, but not together: a patch type with the other type's expression, `Deny`\n"
        "with `Warn`, a name and a selector.",
    ),
    _row(
        "CEL001",
        "an expression must compile",
        "The expression is not valid CEL, uses an unknown name or function, or its types do not match. It is\n"
        "checked as the API server checks it at 1.36, and the caret marks the place in the expression.\n"
        "`sluice eval` evaluates a single expression.",
    ),
    _row(
        "RUL001",
        "a QueuePolicy must use only known rule points and settings",
        "`spec` has no such name; the finding suggests the nearest. `docs/reference/queue-rules.md` lists them all.",
    ),
    _row(
        "RUL002",
        "a setting of a QueuePolicy must have a valid value",
        "The value has the wrong type for the setting or rule point, or is out of range.",
    ),
    _row(
        "RUL003",
        "a rule expression must compile",
        "The expression is not valid CEL, uses a name that its rule point lacks, or its types do not fit. Fields are\n"
        "spelled as in the API (`workload.queuedAt`). `docs/reference/queue-rules.md` lists what each point provides.",
    ),
    _row(
        "RUL004",
        "a rule expression must return the type of its rule point",
        "Each rule point has one return type. Sort keys need an ordered type; a map is not ordered.",
    ),
    _row(
        "RUL005",
        "a parameter must be used by a rule",
        "No rule of the file reads `parameters.<name>`, and nothing it extends declares it, so it has no effect.\n"
        "Or its type differs from that of the parameter it replaces, or it is a time zone that does not exist.",
    ),
    _row(
        "RUL006",
        "the referenced rules must exist",
        "`extends` of a QueuePolicy, or `--rules`, names rules that are neither in the files nor shipped. A path in\n"
        "`extends` is relative to the folder of its file.",
    ),
    _row(
        "RUL007",
        "a QueuePolicy must not extend itself",
        "The files extend each other in a cycle.",
    ),
    _row(
        "RUL009",
        "fair sharing must have known strategies and the rule points it needs",
        "`fairSharing.strategies` has a name that `preempt.allowed` does not define, or fair sharing is on and no\n"
        "file sets `tournament`, `preempt.entitled` and `preempt.allowed`. Extend `kueue-fair`, which sets them.",
    ),
    _row(
        "RUL010",
        "rules must keep the laws that they declare",
        "`sluice test` tests each law of `laws.keeps` on random clusters, and found one in which the rules break it.\n"
        "The printed file is that cluster, reduced. Change the rules, or list the law in `laws.givesUp` and say why.\n"
        "`docs/reference/queue-rules.md` describes the laws.",
    ),
    _row(
        "EXC001",
        "an exception must have a valid end date",
        "Write a day such as `2026-12-31` (valid until its end, UTC), or a time with a zone (RFC 3339).",
    ),
    _row(
        "REV001",
        "an AdmissionReview must be valid",
        "The review has no request, or the request lacks a required field: uid, kind, resource, operation, object.",
    ),
    _row(
        "CFG001",
        "a setting must be known",
        "`.sluice.yaml`, or the file of `--config`, has a setting that does not exist; the finding suggests the\n"
        "nearest name. `docs/reference/configuration.md` lists all settings. In Kueue's own Configuration it is a\n"
        "warning: the field has no effect in Sluice.",
    ),
    _row("CFG002", "a setting must have a valid value", "The finding says which values the setting accepts."),
    _row(
        "CFG003",
        "a field of Kueue's Configuration should have an effect",
        "Sluice does not use this field. The finding says why, or what to use instead.",
        Severity.WARNING,
    ),
    _row(
        "JRN001",
        "a journal must be complete",
        "The first record of a journal file is its `begin` record, and every line is a record that this version\n"
        "reads. `docs/journal.md` describes the files.",
    ),
    _row(
        "TRACE001",
        "each row of a trace must be readable",
        "A row requires `time`, `queue` and `run`. `time` and `run` are durations such as `10m`, or seconds. Every\n"
        "column that `docs/simulate.md` does not list is a resource, and its value a quantity such as `8` or `64Gi`.",
    ),
    _row(
        "TRACE002",
        "a trace must name existing queues",
        "A job names a LocalQueue (in its namespace) or a ClusterQueue that is not in the files of `-f`, so it would\n"
        "never be admitted.",
    ),
    _row(
        "TRACE003",
        "a queue must have quota for the resources of a trace",
        "A job requests a resource that no resource group of its ClusterQueue covers, so it would never be admitted.",
    ),
    _row(
        "TRACE004",
        "a generator file must be valid",
        "The file has an unknown field, or a value of the wrong type. `docs/simulate.md` lists the fields.",
    ),
    _row(
        "TRACE005",
        "a queue must select the namespaces of a trace",
        "The `namespaceSelector` of a ClusterQueue does not select the namespace of a job, so it would never be\n"
        "admitted. Without the column `namespace` a job is in `default`. Labels are those of the Namespaces in `-f`.",
    ),
    _row(
        "SUI001",
        "the files of a suite must exist",
        "The suite, or a file that one of its cases references, does not exist.",
    ),
    _row(
        "SUI002",
        "a suite must be valid",
        "A suite has named cases, each with an object (or an invalid file) and its expected result.",
    ),
    _row(
        "SUI003",
        "a case must be able to run",
        "The case's object cannot be made into a request, or a policy calls the authorizer and the case does not set\n"
        "its answer. Set the answer under `authorizer`.",
    ),
    _row("SUI010", "the verdict must be as expected", "`allowed`, `code` or `reason` differs from the result."),
    _row(
        "SUI011",
        "the messages must be as expected",
        "A message, warning or audit annotation differs from the expected one.",
    ),
    _row(
        "SUI012",
        "the object must be as expected",
        "The object or the patch differs from the expected one. `sluice test --update` writes the new one; review it.",
    ),
    _row(
        "SUI013",
        "the queue decision must be as expected",
        "The queue's decision, its reason or its victims differ from the expected ones.",
    ),
    _row(
        "SUI014",
        "a policy must match the object",
        "No policy matches the case's object, so nothing was tested. Often the Namespace lacks the label that\n"
        "policies select by. If this is intended, set `matched: false`.",
    ),
    _row(
        "COV001",
        "every branch of a policy must be covered by a case",
        "No case makes this expression, or this part of it, give that result.",
        Severity.NOTE,
    ),
)
"""Codes that reading files and loading policies give."""
