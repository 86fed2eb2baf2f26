"""The edits by which a copy of Kueue runs its integration tests against `sluice serve`.

Each edit is a pattern and what takes its place; the files as they came are kept beside (`.orig`), so that another run
starts from them. Nothing of Kueue stands here but the names that the patterns look for.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
IMPORT: Final = '"sigs.k8s.io/kueue/test/sluicehook"'
GO_FILES: Final = {
    "hook.go": "test/sluicehook/sluicehook.go",
    "framework.go": "test/integration/framework/sluice.go",
    "metrics.go": "test/util/sluice.go",
    "timeouts.go": "test/util/sluicetimeouts.go",
}
Edit = tuple[str, str]

_HOOKED: Final[dict[str, tuple[Edit, ...]]] = {
    "pkg/controller/core/core.go": ((r"(func SetupControllers\([^\n]*\{\n)", r"\1\tsluicehook.Config = cfg\n"),),
    "pkg/scheduler/scheduler.go": (
        (
            r"(func \(s \*Scheduler\) Start\(ctx context\.Context\) error \{\n)",
            r"\1\tsluicehook.Scheduler = true\n\tif true {\n\t\treturn nil\n\t}\n",
        ),
        (
            r"(func WithQuotaCheckStrategy\((\w+) [^\n]*\{\n)",
            r'\1\tsluicehook.Option("resources.quotaCheckStrategy", \2)\n',
        ),
    ),
    "pkg/cache/queue/manager.go": (
        (
            r"(func WithResourceTransformations\((\w+) [^\n]*\{\n)",
            r'\1\tsluicehook.Option("resources.transformations", \2)\n',
        ),
        (
            r"(func WithExcludedResourcePrefixes\((\w+) [^\n]*\{\n)",
            r'\1\tsluicehook.Option("resources.excludeResourcePrefixes", \2)\n',
        ),
    ),
    "pkg/controller/jobframework/reconciler.go": (
        (
            r"(func ProcessOptions\(opts \.\.\.Option\) Options \{\n.*?)\treturn options\n",
            r"\1\tsluicehook.Jobs = append(sluicehook.Jobs, options)\n"
            r"\tsluicehook.CalledFromKind()\n\treturn options\n",
        ),
        (
            r"(func NewGenericReconcilerFactory\([^\n]*\{\n[^\n]*\{\n)",
            r"\1\t\tsluicehook.Kind(newJob().GVK().Kind, true)\n",
        ),
    ),
    "pkg/controller/jobframework/base_webhook.go": (
        (
            r"(func BaseWebhookFactory\[[^\n]*\{\n[^\n]*\{\n)",
            r"\1\t\tsluicehook.Kind(fromObject(obj).GVK().Kind, false)\n",
        ),
    ),
    "pkg/controller/failurerecovery/pod_termination_controller.go": (
        (
            r"(\treturn &TerminatingPodReconciler\{\n)",
            r"\tsluicehook.ForceDeleteAfter = options.forcefulTerminationGracePeriod\n\1",
        ),
    ),
    "pkg/features/kube_features.go": (
        (
            r"(func SetFeatureGatesDuringTest\([^\n]*\{\n)",
            r"\1\ttb.Cleanup(func() { sluicehook.GatesChanged() })\n\tdefer func() { sluicehook.GatesChanged() }()\n"
            r"\tfor k, v := range featureGates {\n"
            r'\t\tsluicehook.Note("gate", string(k)+"="+strconv.FormatBool(v))\n\t}\n',
        ),
        (r"import \(\n", 'import (\n\t"strconv"\n'),
    ),
}
"""Files that tell the hook what a suite asked for."""

_METRIC: Final = "metric.WithLabelValues(lvs...)"
_ATTEMPTS: Final = "metrics.AdmissionAttemptsTotal.WithLabelValues(string(result), roletracker.RoleStandalone)"
_BY_STATUS: Final = (
    "metrics.LocalQueueByStatus.WithLabelValues(lq.Name, lq.Namespace, string(status), roletracker.RoleStandalone)"
)


def _metric(function: str, metric: str, test: str) -> Edit:
    """Let a metric assertion look at Sluice's metrics in place of the registry of the test's own process."""
    look = rf"\1\tif true {{\n\t\tSluiceMetric({metric}, func(v float64) bool {{ {test} }})\n\t\treturn\n\t}}\n"
    return rf"(func {function}\([^\n]*\{{\n)", look


_MATCHED: Final = "ok, err := matcher.Match({}); return ok && err == nil"
_SUITES: Final = "test/integration/singlecluster/"
_JOBS: Final = f"{_SUITES}controller/jobs"
_USED: Final = r"\t+(?:util\.ExpectObjectToBeDeleted\([^\n]*Flavor, true\)|[^\n]*DeleteObject\([^\n]*Check\)[^\n]*)\n"
_USER: Final = r"(?:[^\n]*DeleteNamespace[^\n]*\n)?\t+util\.ExpectObjectToBeDeleted\([^\n]*, clusterQueue\w*, true\)\n"
_QUEUE_FIRST: Final = (rf"((?:{_USED})+)({_USER})", r"\2\1")
"""A flavor that a ClusterQueue uses stays, by Kueue's core controllers, which these suites leave out, and by Sluice."""

_EDITED: Final[dict[str, tuple[Edit, ...]]] = {
    "test/integration/framework/framework.go": (
        (
            r"CRDDirectoryPaths:\s+append\(f\.DepCRDPaths, baseCrdPath\)",
            "CRDDirectoryPaths: append(f.DepCRDPaths, sluiceCRDs())",
        ),
        (r"baseCrdPath := [^\n]*\n", ""),
        (r"if len\(f\.WebhookPath\) > 0 \{", "if false {"),
        (
            r"(\tginkgo\.By\(\"starting the manager\", func\(\) \{\n)",
            r"\1\t\tif true {\n\t\t\tf.startSluice(ctx, cfg, managerSetup, opts...)\n\t\t\treturn\n\t\t}\n",
        ),
        (
            r"(\tginkgo\.By\(\"stopping the manager\", func\(\) \{\n)",
            r"\1\t\tif true {\n\t\t\tf.pauseSluice()\n\t\t\treturn\n\t\t}\n",
        ),
        (r"(ginkgo\.By\(\"tearing down the test environment\"\)\n)", r"\1\tf.stopSluice()\n"),
        (r"\t\"path/filepath\"\n", ""),
    ),
    "test/util/metrics.go": (
        _metric("expectCounterMetricWithTimeout", _METRIC, "return int(v) == count"),
        _metric("expectHistogramMetric", _METRIC, _MATCHED.format("int(v)")),
        _metric("expectGaugeMetric", _METRIC, _MATCHED.format("v")),
        _metric(
            "expectAdmissionAttempts",
            _ATTEMPTS,
            "ok, err := gomega.BeNumerically(operation, want).Match(int(v)); return ok && err == nil",
        ),
        _metric("ExpectLQByStatusMetric", _BY_STATUS, "return v == 1"),
    ),
    "test/util/constants.go": (
        (r"^\tTimeout +=[^\n]*\n", ""),
        (r"^\tMediumTimeout =[^\n]*\n", ""),
        (r"^\tLongTimeout =[^\n]*\n", ""),
        (r"^\tVeryLongTimeout +=[^\n]*\n", ""),
    ),
    "test/util/util.go": (
        (
            r"conditionCmpOpts := cmpopts\.IgnoreFields\(metav1\.Condition\{\}, "
            r'"LastTransitionTime", "ObservedGeneration"\)(\n\tpreemptedWlCopy)',
            r"conditionCmpOpts := IgnoreConditionTimestampsAndObservedGeneration\1",
        ),
        (r"&& cond\.Message == msg \{", "&& (lenient || cond.Message == msg) {"),
    ),
    f"{_JOBS}/appwrapper/appwrapper_controller_test.go": (_QUEUE_FIRST, _QUEUE_FIRST),
    f"{_JOBS}/jaxjob/jaxjob_controller_test.go": (_QUEUE_FIRST,),
    f"{_JOBS}/jobset/jobset_controller_test.go": (_QUEUE_FIRST, _QUEUE_FIRST),
    f"{_JOBS}/pytorchjob/pytorchjob_controller_test.go": (_QUEUE_FIRST,),
    f"{_SUITES}scheduler/fairsharing/fair_sharing_test.go": (
        (
            r"(\tmetric := metrics\.CohortWeightedShare\.WithLabelValues\(lvs\.\.\.\)\n)",
            r"\1\tif true {\n\t\tutil.SluiceMetric(metric, func(v float64) bool { return v == weightedShare })\n"
            r"\t\treturn\n\t}\n",
        ),
    ),
}
"""Files of the tests: no manager, Sluice's metrics, time-outs that are variables (`go/timeouts.go`), queues that are
taken away before what they use."""


def apply(root: Path) -> None:
    """Edit an unpacked copy of Kueue. Raises ValueError where a file is not as the patterns know it."""
    for name, target in GO_FILES.items():
        (root / target).parent.mkdir(exist_ok=True)
        _write(root / target, (HERE / "go" / name).read_text(encoding="utf-8"))
    for path, edits in _HOOKED.items():
        _edit(root / path, (*edits, (r"import \(\n", f"import (\n\t{IMPORT}\n")))
    for path, edits in _EDITED.items():
        _edit(root / path, edits)


def edited(suite: str) -> list[str]:
    """Give the paths, in Kueue, of the files that a suite is built from and that differ from its own."""
    paths = (*GO_FILES.values(), *_HOOKED, *_EDITED)
    return [path for path in paths if not path.startswith(_SUITES) or path.startswith(f"{_SUITES}{suite}/")]


def _edit(file: Path, edits: tuple[Edit, ...]) -> None:
    original = file.with_name(file.name + ".orig")
    if not original.exists():
        shutil.copy(file, original)
    text = original.read_text(encoding="utf-8")
    for pattern, new in edits:
        text, count = re.subn(pattern, new, text, count=1, flags=re.S | re.M)
        if not count:
            raise ValueError(f"{file}: no {pattern}")
    _write(file, text)


def _write(file: Path, text: str) -> None:
    """Write a file, unless it says so already: what Go has built from it stays good."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
