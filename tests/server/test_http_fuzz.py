"""Random requests against the whole running process: an answer every time, never a 5xx, never a growing memory.

Methods, paths, content types and bodies are drawn; most bodies are valid reviews changed in a few places, since those
get the furthest. `SLUICE_FUZZ_SECONDS` asks for more than the few seconds of `make test`.
"""

import asyncio
import base64
import copy
import json
import os
import threading
from contextlib import contextmanager
from time import monotonic

import aiohttp
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.cluster.small_cluster import job, queues
from tests.daemon.serving import running
from tests.patience import PATIENCE
from tests.server.serving import review
from tests.shared import ROOT
from webhook.store.memory import MemoryStore

SECONDS = float(os.environ.get("SLUICE_FUZZ_SECONDS", "0"))
EXAMPLES = 100
"""Requests in one round; without SLUICE_FUZZ_SECONDS there are `ROUNDS`."""
ROUNDS = 5
GROWTH = 64 * 2**20
"""Bytes by which the process may grow after the first round, with all that Hypothesis and the client keep."""

ADMISSION = ["/mutate", "/validate", "/mutate/fail", "/mutate/ignore", "/validate/fail", "/validate/ignore"]
PATHS = [*ADMISSION, "/convert"]
STATE = ["/livez", "/readyz", "/readyz?verbose", "/metrics"]
ODD_PATHS = ["/", "//", "/mutate/", "/mutate/other", "/validate/../metrics", "/%00", "/convert?x", "/" + "a" * 3000]
TYPES = ["application/json", "application/json; charset=utf-8", "application/json;charset=x", "text/plain", "", "{}"]
TIMEOUTS = ["", "?timeout=10s", "?timeout=", "?timeout=-1s", "?timeout=1e9s", "?timeout=٣s", "?timeout=" + "9" * 500]

CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": 1}}}
TEMPLATE = {"spec": {"containers": [CONTAINER], "initContainers": [CONTAINER]}}


def of(group, version, kind, resource, spec):
    """A CREATE of one kind, in the queue that the running process knows."""
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    metadata = {"name": "j", "namespace": "team-a", "labels": labels}
    api = f"{group}/{version}" if group else version
    obj = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
    names = {"group": group, "version": version}
    return review(object=obj, kind={**names, "kind": kind}, resource={**names, "resource": resource})


def update(body):
    """The same as an UPDATE."""
    return {**body, "request": {**body["request"], "operation": "UPDATE", "oldObject": body["request"]["object"]}}


JOB = review(object=job("j"))
RAY = {"rayClusterSpec": {"workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": TEMPLATE}]}}
LIMITS = {"limits": [{"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": 2}, "default": {"nvidia.com/gpu": 1}}]}
JOB_SET = {"replicatedJobs": [{"name": "r", "template": {"spec": {"template": TEMPLATE}}}]}
REVIEWS = [
    JOB,
    update(JOB),
    of("", "v1", "Pod", "pods", TEMPLATE["spec"]),
    of("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}),
    of("kubeflow.org", "v2beta1", "MPIJob", "mpijobs", {"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}}}),
    of("ray.io", "v1", "RayJob", "rayjobs", RAY),
    of("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", JOB_SET),
    update(of("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", JOB_SET)),
    update(of("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", {"trainer": {"numNodes": 1}})),
    of("", "v1", "LimitRange", "limitranges", LIMITS),
]


ASSIGNED = {
    "podSetAssignments": [
        {
            "name": "main",
            "flavors": {"cpu": "f"},
            "resourceUsage": {"cpu": "1"},
            "topologyAssignment": {"levels": ["host"], "domains": [{"values": ["x1"], "count": 2}]},
        }
    ]
}
WORKLOAD = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "w"},
    "spec": {"priorityClassName": "p", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
    "status": {"admission": ASSIGNED, "accumulatedPastExexcutionTimeSeconds": 3},
}
SLICED = {
    **WORKLOAD,
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "spec": {"priorityClassRef": {"group": "g", "kind": "k", "name": "n"}},
    "status": {
        "admission": {
            "podSetAssignments": [
                {
                    "name": "main",
                    "topologyAssignment": {
                        "levels": ["host"],
                        "slices": [
                            {
                                "domainCount": 2,
                                "podCounts": {"individual": [1, 2]},
                                "valuesPerLevel": [{"individual": {"prefix": "x", "roots": ["1", "2"]}}],
                            }
                        ],
                    },
                }
            ]
        }
    },
}
KUEUE = [obj for obj in queues("2") if str(obj["apiVersion"]).startswith("kueue")]
OLD_KUEUE = json.loads(json.dumps(KUEUE).replace("/v1beta2", "/v1beta1"))
CLUSTER_QUEUES = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueueList", "items": OLD_KUEUE[:1]}


def to(version, objects):
    """A ConversionReview of these objects."""
    request = {"uid": "c", "desiredAPIVersion": f"kueue.x-k8s.io/{version}", "objects": objects}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


CONVERSIONS = [
    to("v1beta1", KUEUE),
    to("v1beta2", OLD_KUEUE),
    to("v1beta2", [WORKLOAD]),
    to("v1beta1", [SLICED]),
    to("v1beta2", [CLUSTER_QUEUES]),
]
WORDS = [
    "",
    "x",
    "-1",
    "0.5",
    "1e400",
    "9" * 400,
    "\0",
    "a/b/c",
    "é" * 300,
    "CREATE",
    "DELETE",
    "kueue.x-k8s.io/v1beta2",
]
WRONG = st.sampled_from(
    [None, True, False, 0, -1, 2**63, 10**30, 0.5, 1e308, [], {}, [None], {"": None}, [[]], [{}], {"a": {}}, *WORDS]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def spots(value, path=()):
    """Every place in a JSON value but its root."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield (*path, key)
        yield from spots(child, (*path, key))


@st.composite
def changed(draw, bases):
    """A valid review with up to four changes: a wrong value, a place left out, a value twice, a key renamed."""
    body = json.loads(json.dumps(draw(st.sampled_from(bases))))
    for _ in range(draw(st.integers(0, 4))):
        places = list(spots(body))
        inner = [place for place in places if place[1:2] in (("object",), ("oldObject",), ("objects",))]
        if inner and draw(st.integers(0, 3)):
            places = inner
        if not places:
            break
        change(draw, body, draw(st.sampled_from(places)))
    return json.dumps(body).encode()


def change(draw, body, place):
    """Change the value at one place."""
    *above, last = place
    parent = body
    for step in above:
        parent = parent[step]
    match draw(st.sampled_from(["wrong", "wrong", "any", "left out", "twice", "renamed", "deep"])):
        case "wrong":
            parent[last] = copy.deepcopy(draw(WRONG))
        case "any":
            parent[last] = draw(ANY_JSON)
        case "left out":
            del parent[last]
        case "twice":
            parent[last] = [parent[last], copy.deepcopy(parent[last])]
        case "renamed" if isinstance(parent, dict):
            parent[draw(st.text(max_size=5))] = parent.pop(last)
        case "deep":
            for _ in range(draw(st.sampled_from([3, 150, 250]))):
                parent[last] = {"a": parent[last]}


JSON = st.just("application/json")
REVIEWED = st.tuples(st.just("POST"), st.sampled_from(ADMISSION), JSON, changed(REVIEWS))
CONVERTED = st.tuples(st.just("POST"), st.just("/convert"), JSON, changed(CONVERSIONS))
CUT = st.tuples(changed(REVIEWS), st.floats(0, 1)).map(lambda drawn: drawn[0][: int(len(drawn[0]) * drawn[1])])
BODIES = CUT | ANY_JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=64) | changed(REVIEWS)
TIMED = st.tuples(st.sampled_from(PATHS), st.sampled_from(TIMEOUTS)).map("".join)
ODD = st.tuples(
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND"]),
    st.sampled_from([*PATHS, *STATE, *ODD_PATHS]),
    st.sampled_from(TYPES),
    BODIES,
)
SHARES = [REVIEWED] * 6 + [CONVERTED] * 2 + [st.tuples(st.just("POST"), TIMED, JSON, BODIES)] + [ODD]
REQUESTS = st.sampled_from(range(len(SHARES))).flatmap(SHARES.__getitem__)


class Served:
    """The running process, in a thread with a loop of its own."""

    def __init__(self, loop, talk, daemon):
        self.loop, self.talk, self.daemon = loop, talk, daemon

    def send(self, method, path, content_type, body):
        """Send one request; give status and body."""
        return asyncio.run_coroutine_threadsafe(self._send(method, path, content_type, body), self.loop).result()

    async def _send(self, method, path, content_type, body):
        headers = {"Content-Type": content_type} if content_type else {}
        limit = aiohttp.ClientTimeout(total=PATIENCE)
        async with self.talk.session.request(
            method, self.talk.url + path, data=body, headers=headers, timeout=limit
        ) as answer:
            return answer.status, await answer.read()


@contextmanager
def served(tmp_path):
    """Start the process over a store in memory, with the shipped policies and a queue."""
    loop, ready, done = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found = []

    async def main():
        try:
            store = MemoryStore()
            for obj in queues("2"):
                await store.create(obj)
            async with running(tmp_path, ROOT / "policies", store) as (daemon, talk):
                found.append(Served(loop, talk, daemon))
                ready.set()
                await done.wait()
        finally:
            ready.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        ready.wait()
        yield found[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def check(one, request):
    """An answer that is none of ours by mistake: no 5xx, JSON where a review was asked, a patch that can be read."""
    method, path, content_type, body = request
    status, answer = one.send(method, path, content_type, body)
    assert status < 500, (status, answer, request)
    if method != "POST" or path.startswith(tuple(STATE)):
        return
    told = json.loads(answer)
    if status == 200:
        response = told["response"]
        assert response["uid"] or path.startswith("/convert")
        if "patch" in response:
            assert isinstance(json.loads(base64.b64decode(response["patch"])), list)
    else:
        assert told["kind"] == "Status"
        assert told["message"]


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.timeout(SECONDS + 1800)
def test_no_request_breaks_the_server(tmp_path, record_property):
    """Whatever is sent is answered with a verdict or a 4xx, and sending more does not take more memory."""
    end, rounds, start = monotonic() + SECONDS, 0, 0
    with served(tmp_path) as one:
        while rounds < ROUNDS or monotonic() < end:
            one_round(one, rounds)
            rounds += 1
            start = start or resident()
        grown = resident() - start
        internal = one.daemon.metrics.failures["internal"]
    record_property("requests", rounds * EXAMPLES)
    record_property("grown", grown)
    print(f"{rounds * EXAMPLES} requests, {grown / 2**20:.1f} MiB more than after the first {EXAMPLES}")
    assert internal == 0
    assert grown < GROWTH


def one_round(one, number):
    """Send EXAMPLES requests; a failure is shrunk to a small one."""

    @seed(number if not SECONDS else number + 1000)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(REQUESTS)
    def send(request):
        check(one, request)

    send()
