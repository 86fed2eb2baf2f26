"""Who counts as a part of a job that a queue looks at: pairs that a controller makes, below a job held or admitted."""

import pytest

from webhook.admission.memory_facts import MemoryFacts
from webhook.jobs.kinds import BY_KIND
from webhook.jobs.owners import owned

QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
POD, JOB, CRONJOB = ("v1", "Pod"), ("batch/v1", "Job"), ("batch/v1", "CronJob")
JOBSET, MPIJOB = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("kubeflow.org/v2beta1", "MPIJob")
PYTORCH, TRAINJOB = ("kubeflow.org/v1", "PyTorchJob"), ("trainer.kubeflow.org/v1alpha1", "TrainJob")
RAYJOB, RAYCLUSTER, RAYSERVICE = ("ray.io/v1", "RayJob"), ("ray.io/v1", "RayCluster"), ("ray.io/v1", "RayService")
SPARK, VOLCANO = ("sparkoperator.k8s.io/v1beta2", "SparkApplication"), ("batch.volcano.sh/v1alpha1", "Job")
DEPLOYMENT, REPLICASET, STATEFULSET = ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")
APPWRAPPER = ("workload.codeflare.dev/v1beta2", "AppWrapper")

MADE = [
    ("a Pod of a Job", POD, [(JOB, "admitted")]),
    ("a Job of a JobSet", JOB, [(JOBSET, "admitted")]),
    ("a Pod of a Job of a JobSet", POD, [(JOB, "free"), (JOBSET, "admitted")]),
    ("the launcher of an MPIJob", JOB, [(MPIJOB, "admitted")]),
    ("the launcher's Pod", POD, [(JOB, "free"), (MPIJOB, "admitted")]),
    ("a worker of an MPIJob", POD, [(MPIJOB, "admitted")]),
    ("a Pod of a PyTorchJob", POD, [(PYTORCH, "admitted")]),
    ("the JobSet of a TrainJob", JOBSET, [(TRAINJOB, "admitted")]),
    ("a Pod four steps below", POD, [(JOB, "free"), (JOBSET, "free"), (TRAINJOB, "admitted")]),
    ("the cluster of a RayJob", RAYCLUSTER, [(RAYJOB, "admitted")]),
    ("the submitter of a RayJob", JOB, [(RAYJOB, "admitted")]),
    ("a Pod of a RayJob's cluster", POD, [(RAYCLUSTER, "free"), (RAYJOB, "admitted")]),
    ("the cluster of a RayService", RAYCLUSTER, [(RAYSERVICE, "admitted")]),
    ("a Spark driver", POD, [(SPARK, "admitted")]),
    ("a Spark executor, which the driver makes", POD, [(POD, "free"), (SPARK, "admitted")]),
    ("a component of an AppWrapper", JOB, [(APPWRAPPER, "admitted")]),
    ("a Pod of a component", POD, [(JOB, "free"), (APPWRAPPER, "admitted")]),
]
NOT_MADE = [
    ("a Job below a Job", JOB, [(JOB, "admitted")]),
    ("a Pod below a Pod", POD, [(POD, "admitted")]),
    ("a Pod below a Pod that has its own quota and an owner without", POD, [(POD, "admitted"), (SPARK, "free")]),
    ("a JobSet below a Job", JOBSET, [(JOB, "admitted")]),
    ("a Pod below a JobSet", POD, [(JOBSET, "admitted")]),
    ("a JobSet below a RayCluster", JOBSET, [(RAYCLUSTER, "admitted")]),
    ("a wrong pair in the middle", POD, [(JOB, "free"), (JOB, "admitted")]),
    ("another object than an AppWrapper's component", PYTORCH, [(APPWRAPPER, "admitted")]),
    ("a CronJob's Job", JOB, [(CRONJOB, "free")]),
    ("a Deployment's Pod", POD, [(REPLICASET, "free"), (DEPLOYMENT, "free")]),
    ("a StatefulSet's Pod", POD, [(STATEFULSET, "free")]),
    ("a Pod of a Volcano Job, which no Workload admits", POD, [(VOLCANO, "free")]),
]
STATES = [
    ("nobody admitted the owner", JOB, [(JOBSET, "free")], False),
    ("the owner names no queue", JOB, [(JOBSET, "suspended")], False),
    ("the owner has ended", JOB, [(JOBSET, "ended")], False),
    ("the owner's owner has ended", POD, [(JOB, "free"), (JOBSET, "ended")], False),
    ("the owner is held, and what it makes as well", (*JOB, True), [(JOBSET, "held")], True),
    ("the owner is held, and the child would run", JOB, [(JOBSET, "held")], False),
    ("a Pod has no field to be held by", POD, [(JOB, "held")], False),
    ("the owner is held, its owner has quota", POD, [(JOB, "held"), (JOBSET, "admitted")], True),
]


def obj(api_version, kind, uid, state="free", owner=None):
    """An object in a state; `owner` is the object that its reference names."""
    metadata = {"name": uid, "namespace": "ns", "uid": uid}
    if state in ("held", "admitted", "ended"):
        metadata["labels"] = QUEUE
    if owner is not None:
        metadata["ownerReferences"] = [reference(owner)]
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}
    row = BY_KIND.get((api_version.rpartition("/")[0], kind))
    if state in ("held", "suspended") and row and row.suspend_path:
        made["spec"] = {"suspend": True}
    if kind == "AppWrapper":
        made["spec"]["components"] = [{"template": {**obj(*JOB, "child"), "metadata": {"name": "child"}}}]
        made["spec"]["components"] += [{"template": {**obj(*JOB, "u0"), "metadata": {"name": "u0"}}}]
    if state == "ended":
        made["status"] = {"conditions": [{"type": "Completed", "status": "True"}]}
    return made


def reference(owner):
    """The reference that a controller writes."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def workload(owner):
    """An admitted Workload."""
    metadata = {"name": owner["metadata"]["uid"], "namespace": "ns", "ownerReferences": [reference(owner)]}
    status = {"conditions": [{"type": "Admitted", "status": "True"}]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata, "status": status}


def decided(child, above):
    """What `owned` says of a child below these owners, the nearest first."""
    objects, owner = [], None
    for i, ((api_version, kind), state) in reversed(list(enumerate(above))):
        owner = obj(api_version, kind, f"u{i}", state, owner)
        objects += [owner, workload(owner)] if state in ("admitted", "ended") else [owner]
    held = "held" if child[2:] == (True,) else "free"
    return owned(obj(*child[:2], "child", held, owner), "ns", MemoryFacts(objects))


@pytest.mark.parametrize(("child", "above"), [row[1:] for row in MADE], ids=[row[0] for row in MADE])
def test_what_a_controller_makes_is_its_owners(child, above):
    """Below a job with quota nothing is queued again, however deep."""
    assert decided(child, above)


@pytest.mark.parametrize(("child", "above"), [row[1:] for row in NOT_MADE], ids=[row[0] for row in NOT_MADE])
def test_what_no_controller_makes_is_nobodys(child, above):
    """An owner that is there and has quota frees nothing that its controller would not make."""
    assert not decided(child, above)


@pytest.mark.parametrize(("child", "above", "expected"), [row[1:] for row in STATES], ids=[row[0] for row in STATES])
def test_the_owner_is_held_or_admitted(child, above, expected):
    """A job that no queue looks at frees nothing, nor does one that has ended."""
    assert decided(child, above) is expected


@pytest.mark.parametrize(
    "change", [{"uid": "forged"}, {"name": "other"}, {"kind": "RayJob"}, {"controller": False}], ids=str
)
def test_a_reference_that_is_not_true_counts_as_none(change):
    """The object is found by its UID, and is the one that the reference names."""
    owner = obj(*JOBSET, "u0", "admitted")
    facts = MemoryFacts([owner, workload(owner)])
    child = obj(*JOB, "child", "free", owner)
    assert owned(child, "ns", facts)
    assert not owned(child, "elsewhere", facts)
    child["metadata"]["ownerReferences"] = [{**reference(owner), **change}]
    assert not owned(child, "ns", facts)


FOO = ("example.com/v1", "Foo")
CONFIGURED = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "integrations": {"externalFrameworks": ["Foo.v1.example.com"]},
}


@pytest.mark.parametrize(
    ("objects", "held", "expected"),
    [
        pytest.param(["admitted"], False, True, id="its Workload is admitted"),
        pytest.param(["waiting"], True, True, id="it waits, and its child with it"),
        pytest.param(["waiting"], False, False, id="it waits, and its child runs"),
        pytest.param([], True, False, id="nobody made a Workload for it"),
        pytest.param([], False, False, id="nor for the owner of one that runs"),
    ],
)
def test_of_an_external_kind_the_workload_stands_for_the_object(objects, held, expected):
    """Its controller makes the Workload; the object itself is not read."""
    owner = obj(*FOO, "u0", "free")
    made = {"admitted": workload(owner), "waiting": {**workload(owner), "status": {}}}
    child = obj(*JOB, "child", "held" if held else "free", owner)
    found = [made[name] for name in objects]
    assert owned(child, "ns", MemoryFacts([CONFIGURED, *found])) is expected
    assert not owned(child, "ns", MemoryFacts(found))


def test_a_circle_of_owners_ends():
    """Two AppWrappers that hold and own each other are nobody's."""
    one, two = obj(*APPWRAPPER, "a"), obj(*APPWRAPPER, "b")
    for mine, other in ((one, two), (two, one)):
        mine["metadata"]["ownerReferences"] = [reference(other)]
        mine["spec"]["components"] = [{"template": {**other, "spec": {}}}]
    assert not owned(one, "ns", MemoryFacts([one, two]))


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"ownerReferences": "x"}},
        {"metadata": {"ownerReferences": [7, {"controller": True, "uid": ["u"]}]}},
        {"metadata": None},
        {"status": {"conditions": [{"type": [], "status": "True"}]}},
    ],
    ids=str,
)
def test_malformed_objects_are_nobodys(broken):
    """Whatever stands there, the answer is no, and no error."""
    owner = {**obj(*JOBSET, "u0"), **broken}
    assert not owned({**obj(*JOB, "child"), **broken}, "ns", MemoryFacts())
    assert not owned(obj(*JOB, "child", owner=obj(*JOBSET, "u0")), "ns", Found(owner))


class Found:
    """Finds one owner, whatever is asked for."""

    external = ()

    def __init__(self, owner):
        self._owner = owner

    def owner(self, reference, namespace):
        return self._owner

    def admitted(self, job):
        return False
