"""The chart's pods: image, names, the time that they end in, their volumes, how many there are."""

import math

import pytest

from tests.chart.helm import template
from tests.chart.looked_up import cluster_of
from tests.chart.rendered import CHART, configuration_of, of_kind
from webhook.config import load
from webhook.documents import read


@pytest.mark.cluster
@pytest.mark.parametrize(("chosen", "delay"), [((), 5), (("0",), 0), (("0.5",), 0.5), (("60",), 60)])
def test_a_pod_has_the_time_that_its_end_takes(chosen, delay, tmp_path):
    """It is not killed while its port is still open, nor before it has let go of the lease."""
    arguments = [f"--set=settings.shutdownDelay={given}" for given in chosen]
    assert configuration_of(tmp_path, *arguments).shutdown_delay == delay
    (deployment,) = of_kind("Deployment", *arguments)
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == math.ceil(delay) + 35


@pytest.mark.cluster
def test_names_of_a_long_release_fit_where_they_are_labels():
    """A Job's name is a label of its pods; so is a StatefulSet's with a hash of ten letters."""
    persistent = "--set=journal.enabled=true,journal.persistent=true"
    made = [d.value for d in read(template(CHART, persistent, release="r" * 53), "chart") if d.value]
    longest = {o["kind"]: max(len(p["metadata"]["name"]) for p in made if p["kind"] == o["kind"]) for o in made}
    assert longest["Job"] <= 63
    assert longest["StatefulSet"] + len("-0123456789") <= 63
    assert longest["Service"] <= 63
    (configuration,) = [o for o in made if o["kind"] == "ConfigMap"]
    release = next(iter(read(configuration["data"]["sluice.yaml"]))).value["release"]
    (replicas,) = [o for o in made if o["kind"] == "StatefulSet"]
    assert replicas["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/instance"] == release


@pytest.mark.cluster
@pytest.mark.parametrize(("tag", "image"), [("v2", "y/sluice:v2"), ("sha256:ab12", "y/sluice@sha256:ab12")])
def test_an_image_has_a_tag_or_a_digest(tag, image):
    """All pods have it, those of the hooks too."""
    made = [d.value for d in read(template(CHART, f"--set=image.repository=y/sluice,image.tag={tag}"), "chart")]
    pods = [o["spec"]["template"]["spec"] for o in made if o and o["kind"] in ("Deployment", "Job")]
    assert {c["image"] for pod in pods for c in pod["containers"]} == {image}
    assert len(pods) == 5


@pytest.mark.cluster
def test_recordings_have_a_place_to_be_written():
    """Where reviews are recorded, the read-only container has a volume at that folder, and none otherwise."""
    text = template(CHART, "--set=settings.recordFolder=/var/sluice/recorded")
    (deployment,) = (d.value for d in read(text, "chart") if d.value["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["recorded"] == "/var/sluice/recorded"
    assert {"name": "recorded", "emptyDir": {}} in pod["volumes"]
    assert "recorded" not in template(CHART)


@pytest.mark.cluster
def test_the_journal_has_a_volume(tmp_path):
    """Where decisions are kept, `serve` writes to a volume that is mounted; which one is the user's to say: Helm merges
    it into the default, and a volume of two types is refused."""
    claim = "journal.volume.ephemeral.volumeClaimTemplate.spec.accessModes[0]=ReadWriteOnce"
    arguments = ("--set=journal.enabled=true", f"--set={claim}")
    configuration, *_ = of_kind("ConfigMap", *arguments)
    file = tmp_path / "sluice.yaml"
    file.write_text(configuration["data"]["sluice.yaml"])
    (deployment,) = of_kind("Deployment", *arguments)
    pod = deployment["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["journal"] == str(load(file, {}, {}).journal_folder)
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "journal"]
    assert set(volume) == {"name", "ephemeral"}
    (deployment,) = of_kind("Deployment", "--set=journal.enabled=true,journal.volume.emptyDir.sizeLimit=9Gi")
    assert {"name": "journal", "emptyDir": {"sizeLimit": "9Gi"}} in deployment["spec"]["template"]["spec"]["volumes"]


@pytest.mark.cluster
def test_a_journal_that_is_kept_has_a_claim_for_each_replica(tmp_path):
    """The replicas are a StatefulSet then, with the same pods; what is scaled is that."""
    arguments = (
        "--set=journal.enabled=true,journal.persistent=true",
        "--set=journal.storageClass=fast,journal.size=7Gi",
    )
    assert of_kind("Deployment", *arguments) == []
    (replicas,) = of_kind("StatefulSet", *arguments)
    (claim,) = replicas["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "7Gi"
    assert claim["spec"]["storageClassName"] == "fast"
    pod = replicas["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == str(configuration_of(tmp_path, *arguments).journal_folder)
    assert "journal" not in [volume["name"] for volume in pod["volumes"]]
    (deployment,) = of_kind("Deployment", "--set=journal.enabled=true")
    assert replicas["spec"]["selector"] == deployment["spec"]["selector"]
    (scaler,) = of_kind("HorizontalPodAutoscaler", "--set=autoscaling.enabled=true", *arguments)
    assert scaler["spec"]["scaleTargetRef"]["kind"] == "StatefulSet"


@pytest.mark.cluster
def test_replicas_are_scaled_by_the_cpu_of_our_container():
    """A sidecar without a CPU request, as in the README, would leave a share of the pod's unknown."""
    (scaler,) = of_kind("HorizontalPodAutoscaler", "--set=autoscaling.enabled=true")
    (metric,) = scaler["spec"]["metrics"]
    (deployment,) = of_kind("Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (metric["type"], metric["containerResource"]["container"]) == ("ContainerResource", container["name"])
    assert "cpu" in container["resources"]["requests"]


@pytest.mark.cluster
@pytest.mark.parametrize("persistent", [False, True], ids=["Deployment", "StatefulSet"])
def test_autoscaling_keeps_the_number_that_runs(persistent, tmp_path):
    """An upgrade that drops the number scales a running release to one; one of its own undoes what was scaled."""
    kind = "StatefulSet" if persistent else "Deployment"
    arguments = [f"--set=autoscaling.enabled=true,journal.enabled=true,journal.persistent={str(persistent).lower()}"]
    metadata = {"name": "sluice", "namespace": "sluice-system"}
    running = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {"replicas": 5}}
    with cluster_of(tmp_path, running) as there:
        (upgraded,) = of_kind(kind, *arguments, *there)
        (scaled,) = of_kind(kind, arguments[0].replace("enabled=true", "enabled=false", 1), *there)
    assert (upgraded["spec"]["replicas"], scaled["spec"]["replicas"]) == (5, 2)
    with cluster_of(tmp_path) as empty:
        (installed,) = of_kind(kind, *arguments, *empty)
    (printed,) = of_kind(kind, *arguments)
    assert "replicas" not in installed["spec"] | printed["spec"]
