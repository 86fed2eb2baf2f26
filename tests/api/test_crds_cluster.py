"""A real API server takes the CRDs, fills in defaults, checks the rules, and serves both versions by `/convert`."""

import base64
import json
import ssl
import threading
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.controlplane.client import ApiError
from tests.e2e.crds import install
from webhook.api.conversion.convert import conversion_review
from webhook.api.crds.definitions import Webhook, definitions
from webhook.api.crds.kinds import KINDS
from webhook.kube.well_known import KUEUE
from webhook.tls.authority import issue, new_authority

GROUP = "crds-test.sluice.dev"
"""The CRDs go under a group of the test's own, beside those that other tests of the session install."""
CURRENT = "current-test.sluice.dev"
"""And under this one with Workloads in their current version only."""

pytestmark = pytest.mark.cluster


CONVERTED: set[tuple[str, str]] = set()
"""Group and kind of what was converted."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        group = GROUP if GROUP in body else CURRENT
        review = json.loads(body.replace(group, KUEUE))
        CONVERTED.update((group, obj["kind"]) for obj in review["request"]["objects"])
        answer = json.dumps(conversion_review(review)).replace(KUEUE, group).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """`/convert` over TLS: gives its address and its CA."""
    folder = tmp_path_factory.mktemp("tls")
    now = datetime.now(UTC)
    authority = new_authority(now)
    leaf = issue(authority, ("127.0.0.1",), now)
    (folder / "cert").write_bytes(leaf.certificate)
    (folder / "key").write_bytes(leaf.key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", base64.b64encode(authority.certificate).decode()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def api(control_plane, endpoint):
    """A client of a cluster that has the CRDs."""
    client = control_plane.client
    url, ca = endpoint
    made = definitions(Webhook(url=url, ca=ca), [replace(k, group=GROUP) for k in KINDS if k.group == KUEUE])
    both = [replace(k, group=CURRENT) for k in KINDS if k.kind in ("ClusterQueue", "Workload")]
    made += definitions(Webhook(url=url, ca=ca), both, ["Workload"])
    paths = [client.path_of(crd) for crd in made]
    install(control_plane, *made)
    conditions = [row for path in paths for row in client.get(path)["status"]["conditions"]]
    assert [row["message"] for row in conditions if row["type"] == "NonStructuralSchema"] == []
    yield client
    for path in paths:
        client.delete(path)


def queue(name, version="v1beta2", **spec):
    return {"apiVersion": f"{GROUP}/{version}", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def quota(**limits):
    resources = [{"name": "cpu", "nominalQuota": 6, **limits}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]


def test_defaults_are_filled_in_and_numbers_stay_numbers(api):
    """The strategy, the stop policy and the preemption of a plain queue, and a quota written as a number."""
    spec = api.create(queue("plain", resourceGroups=quota()))["spec"]
    assert spec["queueingStrategy"] == "BestEffortFIFO"
    assert spec["preemption"] == {
        "borrowWithinCohort": {"policy": "Never"},
        "reclaimWithinCohort": "Never",
        "withinClusterQueue": "Never",
    }
    assert spec["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == 6


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"resourceGroups": quota(borrowingLimit="1")}, "borrowingLimit requires a cohort"),
        ({"queueingStrategy": "LIFO"}, "Unsupported value"),
        ({"resourceGroups": quota(lendingLimit="much")}, "should match"),
        ({"stopPolicy": "Later"}, "Unsupported value"),
        ({"preemption": {"withinClusterQueue": "Always"}}, "Unsupported value"),
        ({"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}}, "requires reclaimWithinCohort"),
        ({"flavorFungibility": {"preference": "BorrowingOverPreemption"}}, "both other fields"),
    ],
)
def test_what_a_queue_may_not_say_is_refused_with_the_way_out(api, spec, message):
    """Enums, patterns and CEL rules of the schema hold in the API server; signs are `policies/queue/valid-quotas`'s."""
    with pytest.raises(ApiError, match=message):
        api.create(queue("wrong", **spec))


def test_an_object_of_the_old_version_is_stored_and_read_in_both(api):
    """v1beta1 as the articles write it comes back as v1beta2, and as v1beta1 again."""
    old = queue("old", "v1beta1", cohort="team", resourceGroups=quota(borrowingLimit=2))
    api.create({**old, "spec": {**old["spec"], "flavorFungibility": {"whenCanBorrow": "Borrow"}}})
    new = api.get(f"/apis/{GROUP}/v1beta2/clusterqueues/old")["spec"]
    assert (new["cohortName"], new["flavorFungibility"]["whenCanBorrow"]) == ("team", "MayStopSearch")
    back = api.get(f"/apis/{GROUP}/v1beta1/clusterqueues/old")["spec"]
    assert (back["cohort"], back["flavorFungibility"]["whenCanBorrow"]) == ("team", "MayStopSearch")


def test_a_kind_in_its_current_version_only_is_never_converted(api, control_plane, namespace):
    """Nobody reads either kind as v1beta1. The API server has a cache of each version that it serves, and has what is
    written converted for it; Workloads were written first."""
    pods = {"count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}
    workload = {"kind": "Workload", "metadata": {"name": "w", "namespace": namespace}, "spec": {"podSets": [pods]}}
    api.create({**workload, "apiVersion": f"{CURRENT}/v1beta2"})
    api.create({**queue("both"), "apiVersion": f"{CURRENT}/v1beta2"})
    control_plane.wait("the queue was converted", lambda: (CURRENT, "ClusterQueue") in CONVERTED)
    if int(api.get("/version")["minor"]) >= 36:
        assert (CURRENT, "Workload") not in CONVERTED
    else:  # before kubernetes/kubernetes#130704, a version that is not served had a cache too
        control_plane.wait("the Workload was converted", lambda: (CURRENT, "Workload") in CONVERTED)
    with pytest.raises(ApiError, match="404"):
        api.get(f"/apis/{CURRENT}/v1beta1/workloads")


def test_a_workload_keeps_its_pod_template_and_its_status_is_its_own_resource(api, namespace):
    """Nothing of a template is pruned, and a status written with the object is not taken."""
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "resources": {}}], "x": {"y": 1}},
    }
    workload = {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": namespace},
        "spec": {"queueName": "q", "podSets": [{"count": 2, "template": template}]},
        "status": {"admission": {"clusterQueue": "cq"}},
    }
    made = api.create(workload)
    assert made["spec"]["podSets"] == [{"name": "main", "count": 2, "template": template}]
    assert made["spec"]["active"] is True
    assert "status" not in made
    workload["metadata"]["name"] = "v"
    workload["spec"]["podSets"][0]["minCount"] = 3
    with pytest.raises(ApiError, match="minCount must not exceed count"):
        api.create(workload)
    workload["spec"]["podSets"][0]["minCount"] = 0
    with pytest.raises(ApiError, match="greater than or equal to 1"):
        api.create(workload)
    del workload["spec"]["podSets"][0]["minCount"]
    workload["spec"]["podSets"] *= 2
    with pytest.raises(ApiError, match="Duplicate value"):
        api.create(workload)
