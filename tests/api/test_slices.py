"""A Workload that replaces another counts as what it asks for beyond it, until the other has ended."""

from tests.cluster.small_cluster import queues
from tests.queue.python_rules import KueueRules
from webhook.api.job_to_workload import API_VERSION
from webhook.api.snapshot.reader import Reader
from webhook.jobs.elastic import REPLACES
from webhook.queue.cycle.decide import decide
from webhook.queue.report import SILENT
from webhook.queue.state import State


def _slice(name, count, held=None, ended=False, **annotations):
    pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    obj = {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", "annotations": annotations},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": count, "template": pod}]},
        "status": {"conditions": [{"type": "Finished", "status": "True"}] if ended else []},
    }
    if held is not None:
        usage = {"name": "main", "flavors": {"cpu": held}, "resourceUsage": {"cpu": str(count)}, "count": count}
        obj["status"]["admission"] = {"clusterQueue": "cq", "podSetAssignments": [usage]}
        obj["status"]["conditions"].append({"type": "QuotaReserved", "status": "True"})
    return obj


def _pods(reader, name):
    (found,) = (w for w in reader.snapshot().workloads if w.name == name)
    return found


def test_it_asks_for_the_difference_on_the_same_flavor():
    """And holds the difference, once it is admitted beside the other; all of it when that has ended."""
    old, new = _slice("old", 2, "f"), _slice("new", 5, **{REPLACES: "team-a/old"})
    reader = Reader([old, new])
    asked = _pods(reader, "new").pod_sets[0]
    assert (asked.count, dict(asked.flavors)) == (3, {"cpu": "f"})
    reader.changed(_slice("new", 5, "f", **{REPLACES: "team-a/old"}))
    assert _pods(reader, "new").admission.pod_set_assignments[0].resource_usage == {"cpu": 3000}
    told = reader.changed(_slice("old", 2, "f", ended=True))
    assert [event.workload.name for event in told] == ["old", "new"]
    assert _pods(reader, "new").admission.pod_set_assignments[0].resource_usage == {"cpu": 5000}


def test_it_asks_for_everything_when_the_other_is_gone():
    """Or holds nothing, or is none of its namespace."""
    new = _slice("new", 5, **{REPLACES: "team-a/old"})
    reader = Reader([_slice("old", 2, "f"), new])
    assert _pods(reader, "new").pod_sets[0].count == 3
    told = reader.gone(_slice("old", 2, "f"))
    assert [getattr(event, "key", "") or event.workload.name for event in told] == ["team-a/old", "new"]
    assert _pods(reader, "new").pod_sets[0].count == 5
    assert _pods(Reader([_slice("old", 2), new]), "new").pod_sets[0].count == 5
    foreign = _slice("new", 5, **{REPLACES: "team-b/old"})
    assert _pods(Reader([_slice("old", 2, "f"), foreign]), "new").pod_sets[0].count == 5


def test_of_those_that_are_gone_nothing_is_kept():
    """An elastic job leaves two Workloads at each of its sizes, for as long as it runs."""
    reader = Reader(queues("2"))
    reader.snapshot()
    for number in range(9):
        old, new = _slice(f"w-{number}", 2, "f"), _slice(f"w-{number + 1}", 3, **{REPLACES: f"team-a/w-{number}"})
        reader.changed(old)
        reader.changed(new)
        assert len(reader.gone(old)) == 2
        assert len(reader.changed(_slice(f"w-{number + 1}", 4))) == 1
        assert len(reader.gone(new)) == 1
    assert reader._heirs == {}


def test_no_other_flavor_is_taken():
    """Though one has room: the pods that run are on the first."""
    objects = queues("2")
    flavors = objects[2]["spec"]["resourceGroups"][0]["flavors"]
    flavors.append({"name": "g", "resources": [{"name": "cpu", "nominalQuota": "9"}]})
    other = {**objects[1], "metadata": {"name": "g"}}
    slices = [_slice("old", 2, "f"), _slice("new", 3, **{REPLACES: "team-a/old"})]
    state = State.from_snapshot(Reader([*objects, other, *slices]).snapshot())
    assert not decide(state, KueueRules(), 0, SILENT, 10).admitted
