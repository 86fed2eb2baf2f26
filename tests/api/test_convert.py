"""v1beta1 <-> v1beta2: single rules, and the laws of going there and back."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.api.conversion.convert import as_stored, conversion_review, convert

NEW, OLD = "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"
names = st.text("abc", min_size=1, max_size=3)
quantities = st.one_of(st.integers(0, 9), st.sampled_from(["1", "500m", "2Gi", "1e3"]))


def maybe(**fields):
    return st.fixed_dictionaries({}, optional=fields)


groups = st.lists(
    st.fixed_dictionaries(
        {
            "coveredResources": st.just(["cpu"]),
            "flavors": st.lists(
                st.fixed_dictionaries(
                    {
                        "name": names,
                        "resources": st.lists(
                            st.fixed_dictionaries(
                                {"name": st.just("cpu"), "nominalQuota": quantities},
                                optional={"borrowingLimit": quantities},
                            ),
                            max_size=1,
                        ),
                    }
                ),
                max_size=2,
            ),
        }
    ),
    max_size=2,
)
word = st.sampled_from(["MayStopSearch", "TryNextFlavor"])
checks = st.fixed_dictionaries({"admissionChecks": st.lists(st.fixed_dictionaries({"name": names}), min_size=1)})
history = st.fixed_dictionaries({"consumedResources": st.dictionaries(names, quantities), "lastUpdate": st.just("t")})
counts = {"pendingWorkloads": st.integers(0, 9)}
BY_SECRET = {"location": "s", "locationType": "Secret"}
share = maybe(weightedShare=st.integers(0, 9), admissionFairSharingStatus=history)
common_queue = {
    "resourceGroups": groups,
    "queueingStrategy": st.sampled_from(["StrictFIFO", "BestEffortFIFO"]),
    "namespaceSelector": st.just({}),
    "admissionChecksStrategy": checks,
    "fairSharing": st.fixed_dictionaries({"weight": quantities}),
}
new_queue = maybe(cohortName=names, flavorFungibility=maybe(whenCanBorrow=word, whenCanPreempt=word), **common_queue)
old_queue = maybe(
    cohort=names,
    admissionChecks=st.lists(names, max_size=2),
    flavorFungibility=maybe(
        whenCanBorrow=st.one_of(word, st.just("Borrow")), whenCanPreempt=st.one_of(word, st.just("Preempt"))
    ),
    **common_queue,
)
ref = st.sampled_from([("kueue.x-k8s.io", "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")])
new_ref = st.builds(lambda r, n: {"group": r[0], "kind": r[1], "name": n}, ref, names)
domains = st.lists(
    st.builds(lambda a, b, n: {"values": [a, b], "count": n}, names, names, st.integers(1, 3)), max_size=4
)
places = st.builds(lambda d: {"levels": ["x", "y"], "domains": d}, domains)


def assigned(place):
    one = st.fixed_dictionaries({"name": names, "count": st.integers(0, 3)}, optional={"topologyAssignment": place})
    return st.fixed_dictionaries({"clusterQueue": names}, optional={"podSetAssignments": st.lists(one, max_size=2)})


def packed(place):
    """The v1beta2 form of a v1beta1 place."""
    old = workload(OLD, status={"admission": {"podSetAssignments": [{"topologyAssignment": place}]}})
    return convert([old], NEW)[0]["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]


def workload(version, **parts):
    return {"apiVersion": version, "kind": "Workload", "metadata": {"name": "w"}, **parts}


def objects(version, table):
    return st.one_of(
        *(
            st.fixed_dictionaries(
                {"apiVersion": st.just(version), "kind": st.just(kind), "metadata": st.just({"name": "x"})},
                optional=parts,
            )
            for kind, parts in table.items()
        )
    )


new_objects = objects(
    NEW,
    {
        "ClusterQueue": {"spec": new_queue, "status": maybe(fairSharing=share, **counts)},
        "LocalQueue": {
            "spec": maybe(clusterQueue=names),
            "status": maybe(flavorsUsage=st.lists(maybe(name=names)), **counts),
        },
        "Cohort": {"spec": maybe(parentName=names, resourceGroups=groups), "status": maybe(fairSharing=share)},
        "ResourceFlavor": {"spec": maybe(nodeLabels=st.dictionaries(names, names))},
        "WorkloadPriorityClass": {"value": st.integers(0, 9)},
        "AdmissionCheck": {"spec": maybe(controllerName=names)},
        "Workload": {
            "spec": maybe(queueName=names, priority=st.integers(0, 9), priorityClassRef=new_ref),
            "status": maybe(
                accumulatedPastExecutionTimeSeconds=st.integers(0, 9), admission=assigned(places.map(packed))
            ),
        },
    },
)
old_objects = objects(
    OLD,
    {
        "ClusterQueue": {
            "spec": old_queue,
            "status": maybe(pendingWorkloadsStatus=st.just({"lastChangeTime": "t"}), fairSharing=share, **counts),
        },
        "LocalQueue": {
            "status": maybe(
                flavorUsage=st.lists(maybe(name=names)),
                flavors=st.lists(maybe(name=names)),
                fairSharing=maybe(weightedShare=st.integers(0, 9), admissionFairSharingStatus=history),
            )
        },
        "AdmissionCheck": {"spec": maybe(controllerName=names, retryDelayMinutes=st.integers(0, 9))},
        "Workload": {
            "spec": maybe(
                priorityClassName=names,
                priorityClassSource=st.sampled_from(["kueue.x-k8s.io/workloadpriorityclass", ""]),
            ),
            "status": maybe(accumulatedPastExexcutionTimeSeconds=st.integers(0, 9), admission=assigned(places)),
        },
    },
)


@given(st.lists(new_objects, max_size=3))
def test_the_stored_version_survives_the_way_to_the_old_one_and_back(given_objects):
    """v1beta2 -> v1beta1 -> v1beta2 is the same object, and the given objects are left alone."""
    before = copy.deepcopy(given_objects)
    assert convert(convert(given_objects, OLD), NEW) == given_objects == before


@given(old_objects)
def test_what_the_old_version_loses_it_loses_once(obj):
    """v1beta1 -> v1beta2 -> v1beta1 changes an object at most once; metadata never changes."""
    once = convert(convert([obj], NEW), OLD)
    assert convert(convert(once, NEW), OLD) == once
    assert once[0]["metadata"] == obj["metadata"]


@given(new_objects)
def test_to_its_own_version_an_object_stays_as_it_is(obj):
    """Converting to the version an object has is the identity."""
    assert convert([obj], NEW) == [obj]


def test_the_old_words_of_a_cluster_queue():
    """cohort, admissionChecks, Borrow and Preempt get v1beta2's names; numbers as quantities stay numbers."""
    spec = {
        "cohort": "c",
        "admissionChecks": ["a"],
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        "resourceGroups": [{"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 6}]}]}],
    }
    (made,) = convert([{"apiVersion": OLD, "kind": "ClusterQueue", "metadata": {}, "spec": spec}], NEW)
    assert made["spec"] == {
        "cohortName": "c",
        "admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
        "resourceGroups": spec["resourceGroups"],
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"kubeConfig": BY_SECRET}, {"clusterSource": {"kubeConfig": BY_SECRET}}),
        (
            {"kubeConfig": {"location": "", "locationType": "Secret"}, "clusterProfileRef": {"name": "p"}},
            {"clusterSource": {"clusterProfileRef": {"name": "p"}}},
        ),
    ],
)
def test_how_a_cluster_is_reached_is_one_field_in_v1beta2(old, new):
    """v1beta1 requires a kubeConfig: an empty location stands for none."""
    obj = {"apiVersion": OLD, "kind": "MultiKueueCluster", "metadata": {"name": "a"}, "spec": old}
    (made,) = convert([obj], NEW)
    assert made["spec"] == new
    assert convert([made], OLD) == [obj]


def test_packed_places_are_unpacked_with_prefix_and_suffix():
    """A slice as Kueue writes it, with common parts cut off, becomes one domain per node."""
    slice_ = {
        "domainCount": 2,
        "valuesPerLevel": [
            {"universal": "rack-1"},
            {"individual": {"prefix": "node-", "roots": ["1", "2"], "suffix": ".x"}},
        ],
        "podCounts": {"individual": [3, 4]},
    }
    place = {"levels": ["rack", "host"], "slices": [slice_]}
    new = workload(NEW, status={"admission": {"podSetAssignments": [{"topologyAssignment": place}]}})
    (made,) = convert([new], OLD)
    assert made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["domains"] == [
        {"values": ["rack-1", "node-1.x"], "count": 3},
        {"values": ["rack-1", "node-2.x"], "count": 4},
    ]


def test_a_list_is_converted_with_its_items():
    """The API server may send a list; its items have no version of their own."""
    items = [{"metadata": {"name": "a"}, "spec": {"cohort": "c"}}]
    (made,) = convert([{"apiVersion": OLD, "kind": "ClusterQueueList", "items": items}], NEW)
    assert made["items"][0]["spec"] == {"cohortName": "c"}
    assert made["items"][0]["apiVersion"] == NEW


def test_a_review_succeeds_whole_or_fails_with_a_reason():
    """One object that cannot be converted fails the review, which still carries the uid."""
    review = {"request": {"uid": "u", "desiredAPIVersion": NEW, "objects": [workload(OLD)]}}
    assert conversion_review(review)["response"] == {
        "uid": "u",
        "convertedObjects": [workload(NEW)],
        "result": {"status": "Success"},
    }
    review["request"]["objects"].append({"apiVersion": "v1", "kind": "Pod"})
    failed = conversion_review(review)["response"]
    assert (failed["uid"], failed["convertedObjects"]) == ("u", [])
    assert 'no conversion of Pod "v1"' in failed["result"]["message"]


def test_a_malformed_object_fails_the_review_instead_of_the_server():
    """Parts of the wrong type are a failure with a message, not an exception."""
    bad = workload(OLD, status={"admission": {"podSetAssignments": [{"topologyAssignment": 3}]}})
    response = conversion_review({"request": {"uid": "u", "desiredAPIVersion": NEW, "objects": [bad]}})["response"]
    assert response["result"]["status"] == "Failure"
    assert "malformed" in response["result"]["message"]


@pytest.mark.parametrize(
    "objects, message",
    [
        (True, "must be a list"),
        ([{"apiVersion": OLD, "kind": "ClusterQueueList", "items": 3}], "must be a list of maps"),
        ([{"apiVersion": OLD, "kind": "ClusterQueueList", "items": [["x"]]}], "must be a list of maps"),
    ],
)
def test_lists_of_the_wrong_type_fail_the_review(objects, message):
    """What is no list of maps is told as that."""
    response = conversion_review({"request": {"uid": "u", "desiredAPIVersion": NEW, "objects": objects}})["response"]
    assert (response["uid"], response["convertedObjects"]) == ("u", [])
    assert message in response["result"]["message"]


def test_a_number_alone_does_not_fill_the_memory():
    """A slice that says it has a billion domains is refused before one is made."""
    place = {"levels": ["host"], "slices": [{"domainCount": 10**9, "podCounts": {"universal": 1},
             "valuesPerLevel": [{"universal": "x"}]}]}  # fmt: skip
    huge = workload(NEW, status={"admission": {"podSetAssignments": [{"topologyAssignment": place}]}})
    response = conversion_review({"request": {"uid": "u", "desiredAPIVersion": OLD, "objects": [huge]}})["response"]
    assert "more than 100000 domains" in response["result"]["message"]


@pytest.mark.parametrize("kind", [["Workload"], {}, None, 3, "Pod"])
def test_what_is_of_no_kind_stays_as_it_is(kind):
    """A kind of the wrong type is none."""
    obj = {"apiVersion": OLD, "kind": kind, "spec": {"cohort": "c"}}
    assert as_stored(obj) == obj
