"""Kueue's Configuration, and the same sections in Sluice's own: what is read, what is refused, what is told."""

import pytest

from webhook import config
from webhook.api.compatibility import gates
from webhook.api.configuration.managed import managed
from webhook.api.configuration.read import SECTIONS, from_configuration
from webhook.api.configuration.sections import (
    AdmissionFairSharing,
    FairSharingSection,
    Integrations,
    LocalQueueMetrics,
    Metrics,
    QueueSettings,
    QuotaCheckStrategy,
    RequeuingStrategy,
    RequeuingTimestamp,
    ResourceSettings,
    Retention,
    Transformation,
    WaitForPodsReady,
)
from webhook.diagnostics import SourceError
from webhook.documents import read
from webhook.policy.queue_rules.configured import Configured, configured

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
NOTHING = {"wait_for_pods_ready": WaitForPodsReady(), "integrations": Integrations(), "of_kueue": True}
READ = [
    ("", {}),
    ("manageJobsWithoutQueueName: true", {"manage_jobs_without_queue_name": True}),
    ("namespace: kueue-system", {"namespace": "kueue-system"}),
    (
        "waitForPodsReady: {timeout: 1h30m, blockAdmission: true, recoveryTimeout: 0s, requeuingStrategy:"
        " {timestamp: Creation, backoffBaseSeconds: 1, backoffLimitCount: 2, backoffMaxSeconds: 9}}",
        {
            "wait_for_pods_ready": WaitForPodsReady(
                5_400_000, True, 0, RequeuingStrategy(RequeuingTimestamp.CREATION, 1, 2, 9)
            )
        },
    ),
    ("waitForPodsReady: {timeout: 300ms, requeuingStrategy: {backoffLimitCount: null}}",
     {"wait_for_pods_ready": WaitForPodsReady(300)}),
    ("featureGates: {DisableWaitForPodsReady: true}",
     {"wait_for_pods_ready": None, "feature_gates": {"DisableWaitForPodsReady": True}}),
    ("waitForPodsReady: {timeout: 0s, recoveryTimeout: 0s}",
     {"wait_for_pods_ready": WaitForPodsReady(1_800_000, recovery_timeout=0)}),
    ("integrations: {frameworks: [pod], labelKeysToCopy: [team]}",
     {"integrations": Integrations(("pod",), (), ("team",))}),
    ("integrations: {frameworks: [], externalFrameworks: [Foo.v1.example.com]}",
     {"integrations": Integrations(external_frameworks=(("example.com", "Foo"),))}),
    ("admissionFairSharing: {usageSamplingInterval: 0s}",
     {"admission_fair_sharing": AdmissionFairSharing(0, 300_000)}),
    ("fairSharing: {preemptionStrategies: [LessThanInitialShare]}",
     {"fair_sharing": FairSharingSection(("LessThanInitialShare",))}),
    ("admissionFairSharing: {usageHalfLifeTime: 168h, resourceWeights: {cpu: 0.5}}",
     {"admission_fair_sharing": AdmissionFairSharing(604_800_000, 300_000, {"cpu": 0.5})}),
    (
        "resources: {excludeResourcePrefixes: [example.com/], quotaCheckStrategy: BlockUndeclared, transformations:"
        " [{input: a, strategy: Replace, multiplyBy: pods, outputs: {cpu: 500m}}, {input: b}]}",
        {
            "resources": ResourceSettings(
                ("example.com/",),
                (Transformation("a", {"cpu": 500_000_000}, False, "pods"), Transformation("b")),
            )
        },
    ),
    ("resources: {quotaCheckStrategy: IgnoreUndeclared}",
     {"resources": ResourceSettings(quota_check_strategy=QuotaCheckStrategy.IGNORE)}),
    ("metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: b}}}}",
     {"metrics": Metrics(LocalQueueMetrics(enable=True, selector={"matchLabels": {"a": "b"}}))}),
    ("metrics: {localQueueMetrics: {}}", {"metrics": Metrics(LocalQueueMetrics(enable=False))}),
    ("objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 90s}}",
     {"retention": Retention(3_600_000, 90_000)}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text[:40] for text, _ in READ])
def test_a_configuration_is_read(text, expected):
    """Each field ends in its setting, durations in milliseconds; Kueue's defaults stand for the rest."""
    settings, reading = from_configuration(*read(HEAD + text))
    assert settings == QueueSettings(**{**NOTHING, **expected})
    assert reading.findings == []


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("", None),
        ("waitForPodsReady: {enable: false, timeout: 5m}", None),
        ("waitForPodsReady: {enable: true, timeout: 5m}", WaitForPodsReady(300_000, True)),
        ("waitForPodsReady: {enable: true, blockAdmission: false}", WaitForPodsReady(300_000)),
        ("waitForPodsReady: {enable: true}", WaitForPodsReady(300_000, True)),
        ("waitForPodsReady: {timeout: 7m}", None),
    ],
)
def test_v1beta1_says_enable(section, expected):
    """Without it nobody waits; with it pods have five minutes and other admissions wait, unless it says otherwise."""
    settings, _ = from_configuration(*read(HEAD.replace("beta2", "beta1") + section))
    assert settings.wait_for_pods_ready == expected


@pytest.mark.parametrize(("enable", "expected"), [("", None), ("enable: false, ", None), ("enable: true, ", "some")])
def test_fair_sharing_of_v1beta1_is_on_where_it_says_so(enable, expected):
    """v1beta2 has the section instead."""
    text = f"fairSharing: {{{enable}preemptionStrategies: [LessThanInitialShare]}}"
    settings, reading = from_configuration(*read(HEAD.replace("beta2", "beta1") + text))
    assert reading.findings == []
    assert settings.fair_sharing == (expected and FairSharingSection(("LessThanInitialShare",)))


NOT_KUEUE = "{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system]}"


@pytest.mark.parametrize("selector", ["", f"managedJobsNamespaceSelector: {{matchExpressions: [{NOT_KUEUE}]}}"])
def test_jobs_beside_sluice_itself_are_never_managed(selector):
    """A Configuration names the namespace of its Kueue, and its selector leaves out that one."""
    text = f"namespace: kueue-system\nmanageJobsWithoutQueueName: true\n{selector}"
    settings, _ = from_configuration(*read(HEAD + text))
    selected = managed(config.queue_settings(config.Config(queues=settings))).selected
    names = ("kube-system", "kueue-system", "sluice-system", "team-a")
    assert [name for name in names if selected({"kubernetes.io/metadata.name": name})] == ["team-a"]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('waitForPodsReady: {timeout: 5 minutes}', '3:29: error[CFG002]: waitForPodsReady.timeout: "5 minutes" is not'),
        ('waitForPodsReady: {timeout: -1s}', '3:29: error[CFG002]: waitForPodsReady.timeout: "-1s" is not a duration'),
        ("manageJobsWithoutQueueName: 1", "3:29: error[CFG002]: manageJobsWithoutQueueName: 1 is not true or false"),
        ("featureGates: {A: on it}", "3:19: error[CFG002]: featureGates.A: 'on it' is not true or false"),
        ("resources: {transformations: [{outputs: {cpu: 1}}]}", "resources.transformations[0]: requires input"),
        ("resources: {transformations: [{input: a, outputs: {cpu: x}}]}", "transformations[0].outputs.cpu: "),
        ("fairSharing: {preemptionStrategies: [Any]}", "3:38: error[CFG002]: fairSharing.preemptionStrategies[0]: "),
        ("managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Is}]}", 'unknown operator "Is"'),
        ("fairSharing: [a]", "3:14: error[CFG002]: fairSharing must be a map"),
        ("fairSharing: {preemptionStrategies: []}", "fairSharing.preemptionStrategies: must be one of "),
        ("fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}", "must be one of "),
        ("integrations: {frameworks: [batch/jobs]}", "integrations.frameworks[0]: 'batch/jobs' is not one of "),
        ("integrations: {frameworks: [pod, pod]}", "integrations.frameworks: duplicate framework"),
        ("integrations: {externalFrameworks: [Foo.v1]}", "ernalFrameworks[0]: 'Foo.v1' is not a kind, version and"),
        ("resources: {transformations: [{input: a}, {input: a}]}", "resources.transformations: duplicate input a"),
        ("resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}", "resources: excludeResour"),
        ("managedJobsNamespaceSelector: {matchLabels: {}}", "must not match the namespace kube-system"),
        ("managedJobsNamespaceSelector: {matchLabels: {managed: true}}", "managed: True is not a string; quote"),
        ("managedJobsNamespaceSelector: {matchLabels: {team: 7}}", "matchLabels.team: 7 is not a string; quote it"),
        ("managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: In, values: [yes, x]}]}", "True is"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_error_at_its_place(text, finding):
    """A value of the wrong type or form is refused, in either file."""
    _, reading = from_configuration(*read(HEAD + text, "kueue.yaml"))
    assert any(finding in found.render() for found in reading.findings), reading.findings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("waitForPodReady: {}", 'unknown setting "waitForPodReady"'),
        ("integrations: {framework: [pod]}", 'unknown setting "integrations.framework"'),
        ("webhook: {port: 9443}", "webhook is not used: set listen and certDir of Sluice"),
        ("controller: {groupKindConcurrency: {Job.batch: 5}}", "controller is not used: Sluice has no such setting"),
        ("featureGates: {CustomMetricLabels: true}", "CustomMetricLabels is not used: it is always off (metrics)"),
        ("featureGates: {FinishOrphanedWorkloads: false}", "is not used: it is always on (orphaned workloads)"),
        ("multiKueue: {gcInterval: 1m}", "multiKueue is not used: jobs run in their own cluster"),
        ("featureGates: {MultiKueue: true}", "featureGates.MultiKueue is not used: MultiKueue is not supported"),
        ("featureGates: {Nobodys: true}", "featureGates.Nobodys is not used: no feature of Sluice has this gate"),
        ("resources: {deviceClassMappings: []}", "resources.deviceClassMappings is not used"),
    ],
)
def test_what_has_no_effect_is_told(text, told):
    """A Configuration with a field that Sluice does not know or use goes on; a warning names the field."""
    _, reading = from_configuration(*read(HEAD + text))
    assert reading.findings == []
    assert [told in found.render() for found in reading.told] == [True]


@pytest.mark.parametrize("gate", sorted({*gates.READ, *gates.SAME, *(gate for gate, on in gates.FIXED.items() if on)}))
def test_a_gate_that_is_as_sluice_does_is_not_told(gate):
    """Nor one that something reads, or that makes no difference; of what is not supported, where it is off."""
    on = "true" if gate in gates.FIXED else "false"
    assert from_configuration(*read(f"{HEAD}featureGates: {{{gate}: {on}}}"))[1].told == []


def test_the_own_file_has_the_same_sections(tmp_path):
    """They go before those of the Configuration; an unknown field in them is an error."""
    (tmp_path / "kueue.yaml").write_text(f"{HEAD}manageJobsWithoutQueueName: true\nwaitForPodsReady: {{timeout: 1s}}")
    own = tmp_path / "sluice.yaml"
    own.write_text(
        "kueueConfig: " + str(tmp_path / "kueue.yaml") + "\nwaitForPodsReady: {timeout: 2s}\nlogLevel: debug"
    )
    loaded = config.load(own, {}, {})
    assert loaded.log_level == "debug"
    assert loaded.queues.manage_jobs_without_queue_name
    assert loaded.queues.wait_for_pods_ready == WaitForPodsReady(2000)
    own.write_text("waitForPodsReady: {timeouts: 2s}")
    with pytest.raises(SourceError, match=r'unknown setting "waitForPodsReady\.timeouts"'):
        config.load(own, {}, {})
    assert config.load(None, {}, {}).queues == QueueSettings()


def test_the_file_of_an_option_is_read_and_told(tmp_path):
    """An unreadable file is an error that names it, warnings are handed over."""
    (tmp_path / "kueue.json").write_text('{"fairSharing": {}, "metrics": {"bindAddress": ":1"}}')
    told = []
    loaded = config.load(None, {"SLUICE_KUEUE_CONFIG": str(tmp_path / "kueue.json")}, {}, told)
    assert loaded.queues.fair_sharing == FairSharingSection()
    assert [found.message for found in told] == ["metrics.bindAddress is not used: set stateListen of Sluice"]
    with pytest.raises(SourceError, match=r"none\.yaml: error\[FILE001\]: cannot be read"):
        config.load(None, {}, {"kueue_config": tmp_path / "none.yaml"})


@pytest.mark.parametrize(
    ("settings", "names", "expected"),
    [
        (QueueSettings(), ("kueue",), Configured()),
        (
            QueueSettings(fair_sharing=FairSharingSection()),
            ("kueue", "user-caps"),
            Configured(("kueue-fair", "user-caps")),
        ),
        (
            QueueSettings(fair_sharing=FairSharingSection(("LessThanInitialShare",))),
            ("kueue",),
            Configured(
                ("kueue-fair",),
                settings={"fairSharing": {"enabled": True, "strategies": ["LessThanInitialShare"]}},
            ),
        ),
        (
            QueueSettings(
                wait_for_pods_ready=WaitForPodsReady(1000, True, None, RequeuingStrategy(backoff_limit_count=2))
            ),
            ("kueue",),
            Configured(
                ("kueue", "pods-ready", "block-until-ready"),
                {
                    "timeout": 1000,
                    "recoveryTimeout": 1000,
                    "retries": 2,
                    "backoffBase": 60_000,
                    "backoffMost": 3_600_000,
                },
            ),
        ),
        (
            QueueSettings(feature_gates={"PartialAdmission": False, "FlavorFungibility": False}),
            ("kueue",),
            Configured(parameters={"flavorFungibility": False}, settings={"partialAdmission": False}),
        ),
        (
            QueueSettings(admission_fair_sharing=AdmissionFairSharing(1000, 500, {"cpu": 2.0})),
            ("kueue",),
            Configured(
                settings={
                    "history": {
                        "halfLife": "1000ms",
                        "samplingInterval": "500ms",
                        "resourceWeights": {"cpu": 2.0},
                        "always": True,
                    }
                }
            ),
        ),
    ],
)
def test_settings_choose_rule_files(settings, names, expected):
    """Fair sharing is the rule file `kueue-fair`; gates and histories go before what the files say."""
    assert configured(settings, names) == expected


def test_every_section_is_a_field_of_kueue():
    """No name of ours is among the sections that both files have."""
    told = from_configuration(*read(HEAD + "\n".join(f"{name}: null" for name in SECTIONS)))[1].told
    assert told == []
