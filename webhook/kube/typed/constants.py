"""Constant defaults by type: for fields that are unset, or empty where empty counts as unset.

Rules: k8s.io/kubernetes pkg/apis/*/v1/defaults.go; what types say themselves (`+default`) stands in the schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MODE: Final = 0o644
_SELECTED: Final[dict[str, Any]] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Final = {"failurePolicy": "Fail", **_SELECTED, "timeoutSeconds": 10}
_SHARE: Final = {"lendablePercent": 0}

_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "admissionregistration.v1.MatchResources": _SELECTED,
    "admissionregistration.v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.ServiceReference": {"port": 443},
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "apps.v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps.v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "apps.v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "apps.v1.ReplicaSetSpec": {"replicas": 1},
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps.v1.StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {},
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "core.v1.ConfigMapVolumeSource": {"defaultMode": _MODE},
    "core.v1.Container": {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    "core.v1.DownwardAPIVolumeSource": {"defaultMode": _MODE},
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.EphemeralContainer": {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    },
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "core.v1.NamespaceStatus": {"phase": "Active"},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core.v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core.v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    "core.v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.v1.ProjectedVolumeSource": {"defaultMode": _MODE},
    "core.v1.ReplicationControllerSpec": {"replicas": 1},
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.SecretVolumeSource": {"defaultMode": _MODE},
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.ServiceSpec": {"sessionAffinity": "None", "type": "ClusterIP"},
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "flowcontrol.v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, **_SHARE},
    "flowcontrol.v1.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol.v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, **_SHARE},
    "flowcontrol.v1.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "rbac.v1.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "resource.v1.DeviceSubRequest": {"allocationMode": "ExactCount"},
    "resource.v1.ExactDeviceRequest": {"allocationMode": "ExactCount"},
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "storage.v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
_REFERENCE: Final[Mapping[str, Any]] = {"port": 443}
DEFAULTS: Final = {f"io.k8s.api.{name}": row for name, row in _DEFAULTS.items()} | {
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference": _REFERENCE,
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": _REFERENCE,
}
