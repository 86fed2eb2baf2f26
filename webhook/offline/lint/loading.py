"""The codes of mistakes that reading and loading files find, before any rule runs: rows for their pages."""

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
        "a file can be read",
        "The file is not there, may not be read, is not UTF-8 text, or is larger than 64 MiB.",
    ),
    _row(
        "YAML001",
        "a file is YAML or JSON",
        "The text cannot be read as YAML: the caret stands where reading stopped, which may be after the mistake.\n"
        "A key that is there twice is an error too (the last would win in silence), and so is nesting without end.",
    ),
    _row("LOAD001", "a policy file can be read", "The file or folder is not there, or is not UTF-8 text."),
    _row(
        "LOAD002",
        "a document is a Kubernetes object",
        "Each document of a policy folder has `apiVersion` and `kind`. Other YAML belongs elsewhere.",
    ),
    _row(
        "LOAD003",
        "a kind and its version are known",
        "Policies are read in `admissionregistration.k8s.io/v1`, `v1beta1` and `v1alpha1`; of `sluice.dev` it is\n"
        "`v1alpha1`, with the kinds `QueuePolicy`, `PolicyException` and `Suite`.",
    ),
    _row(
        "LOAD004",
        "a policy is there once",
        "Two policies (or two bindings) of one kind and name: only one of them could be in force.",
    ),
    _row(
        "POL001",
        "a policy has only known fields",
        "The field does not exist in this kind. Some clients would drop it in silence, and the policy (or the suite)\n"
        "would do less than it says; the nearest field that exists is named.",
    ),
    _row("POL002", "a policy has all fields it needs", "A field that must be there is missing, or a list is empty."),
    _row(
        "POL003",
        "a field holds what it can hold",
        "The value is of another type than the field (a string for a list, a number for a string), or a word that the\n"
        "field does not know, such as `failurePolicy: Abort`.",
    ),
    _row(
        "POL004",
        "a selector can be used",
        "`matchLabels` maps names to values; each of `matchExpressions` has a key, an operator (`In`, `NotIn`,\n"
        "`Exists`, `DoesNotExist`) and, for the first two, values.",
    ),
    _row(
        "POL005",
        "the parts of a policy go together",
        "Each part is right by itself, but not beside another: a patch type with the other type's expression, `Deny`\n"
        "with `Warn`, a name and a selector, a variable that starts with two underscores.",
    ),
    _row("POL010", "a policy has a binding", "See [REF001](REF001.md).", Severity.WARNING),
    _row("POL011", "a binding's policy is there", "See [REF002](REF002.md).", Severity.WARNING),
    _row(
        "CEL001",
        "an expression compiles",
        "The expression is no CEL, uses a name or a function that does not exist here, or its types do not fit. It is\n"
        "checked as the API server checks it at 1.36, and the caret stands at the place inside the expression.\n"
        "`sluice eval` tries an expression by itself.",
    ),
    _row(
        "RUL001",
        "a QueuePolicy names only rule points and settings that there are",
        "The name is none of `spec`; the nearest that is one is named. `docs/reference/queue-rules.md` lists them all.",
    ),
    _row(
        "RUL002",
        "a setting of a QueuePolicy holds what it can hold",
        "The value is of another type than the setting or the rule point takes, or out of its range.",
    ),
    _row(
        "RUL003",
        "an expression of a rule compiles",
        "The expression is no CEL, uses a name that its rule point does not see, or its types do not fit. Fields are\n"
        "spelled as in the API (`workload.queuedAt`). `docs/reference/queue-rules.md` says what each point sees.",
    ),
    _row(
        "RUL004",
        "an expression of a rule gives what its point takes",
        "Each point takes one type, and sort keys a type that has an order: a map has none.",
    ),
    _row(
        "RUL005",
        "a parameter is read by a rule, or replaces one",
        "No rule of the file reads `parameters.<name>`, and nothing it extends declares it: it would change nothing.\n"
        "Or it is of another type than the parameter it replaces.",
    ),
    _row(
        "RUL006",
        "the rules that are named are there",
        "`extends` of a QueuePolicy, `--rules` names rules that are neither among the files nor\n"
        "shipped. A path is read from the folder of the file that names it.",
    ),
    _row(
        "RUL007",
        "a QueuePolicy does not extend itself",
        "The files extend each other in a circle, so none of them comes first.",
    ),
    _row(
        "RUL009",
        "fair sharing has the comparisons it names and the points it needs",
        "A name in `fairSharing.strategies` is none of `preempt.allowed`, or fair sharing is on and the file extends\n"
        "nothing that has `tournament`, `preempt.entitled` and `preempt.allowed`: extend `kueue-fair`.",
    ),
    _row(
        "RUL010",
        "rules keep the laws that they promise",
        "`sluice test` tried a law of `laws.keeps` on random clusters, and found one in which the rules break it: the\n"
        "file it prints is that cluster, as small as it could be made. Change the rule back, or give the law up in\n"
        "`laws.givesUp` and say why. `docs/reference/queue-rules.md` says what each law means.",
    ),
    _row(
        "EXC001",
        "an exception ends on a date",
        "Write a day such as `2026-12-31` (its end counts), or a time with its zone (RFC 3339).",
    ),
    _row(
        "REV001",
        "an AdmissionReview can be read",
        "The review has no request, or one that lacks what each request has: uid, kind, resource, operation, object.",
    ),
    _row("SUI001", "the files of a suite are there", "The suite, or a file that one of its cases names, is not there."),
    _row(
        "SUI002",
        "a suite is well made",
        "A suite has named cases, each with an object (or a file that must be refused) and what is expected of it.",
    ),
    _row(
        "SUI003",
        "a case can be run",
        "No request can be made of the case's object, or a policy asks the authorizer and the case does not say what\n"
        "it answers: write that under `authorizer`.",
    ),
    _row("SUI010", "the verdict is as expected", "`allowed`, `code` or `reason` is another than the policies give."),
    _row("SUI011", "the words are as expected", "A message, warning or audit annotation is another than expected."),
    _row(
        "SUI012",
        "the object is as expected",
        "The object or the patch is another than expected. `sluice test --update` writes what it is now: read it.",
    ),
    _row("SUI013", "the queue decides as expected", "The queue's decision, its reason or its victims are others."),
    _row(
        "SUI014",
        "a policy is for the object",
        "No policy is for the case's object, so nothing was tested: mostly the Namespace lacks the label that\n"
        "policies select by. A case that means it says `matched: false`.",
    ),
    _row(
        "COV001",
        "every branch of a policy runs in some case",
        "No case of the suites makes this expression, or this part of it, come to that result.",
        Severity.NOTE,
    ),
)
"""Codes that reading files and loading policies give."""
