"""The page of a running daemon: every view, live, without a login."""

import asyncio
import json

import aiohttp

from tests.cluster.small_cluster import job
from tests.daemon.serving import policies  # noqa: F401 - a fixture
from tests.dashboard.serving import FLAVOR, cluster_queue, local_queue, namespace, reading
from tests.server.serving import review
from webhook.server.policy_measures import TIMED_ONE_IN


def test_every_view(tmp_path, policies):  # noqa: F811
    """A job that runs, one that waits: the tree, the queue, both lives, a what-if, and what follows from a change."""

    async def go():
        async with reading(tmp_path, policies) as page:
            await page.store.create(job("runs", cpu="2"))
            await page.when("/ui/api/queues/cq", lambda q: q["running"]["rows"])
            await page.store.create(job("waits", cpu="1"))
            await page.when("/ui/api/queues/cq", lambda q: q["waiting"]["rows"])
            names = {}
            for name in ("runs", "waits"):
                view = await page.when(f"/ui/api/workloads/team-a/{name}?kind=Job", lambda w: w["workload"]["state"])
                names[name] = view
            return {
                "session": await page.answer("/ui/api/session"),
                "cluster": await page.answer("/ui/api/cluster"),
                "queue": await page.when("/ui/api/queues/cq", lambda q: q["node"].get("admitted") == 1),
                "found": await page.answer("/ui/api/find?text=waits"),
                "smaller": await page.answer("/ui/api/workloads/team-a/waits/what-if?gpus=2&resource=cpu"),
                "first": await page.answer("/ui/api/workloads/team-a/waits/what-if?priority=100"),
                "policies": await page.answer("/ui/api/policies"),
                **names,
            }

    seen = asyncio.run(go())
    assert seen["session"]["mode"] == "read-only"
    (queue,) = [node for node in seen["cluster"]["nodes"] if node["kind"] == "queue"]
    assert queue["cells"] == [[0, 2000, 2000, 2000, 2000, 0, 0, 0, 2000]]
    assert (queue["pending"], queue["admitted"]) == (1, 1)
    assert seen["cluster"]["columns"] == [{"flavor": "f", "resource": "cpu"}]
    (row,) = seen["queue"]["waiting"]["rows"]
    assert (row["job"], row["position"], row["reason"]) == ("Job/waits", 1, "WaitingForQuota")
    assert row["message"] == "requests 1 cpu of flavor f, 0 free; no workload can be preempted for it"
    assert row["asks"] == {"cpu": 1000}
    (row,) = seen["queue"]["running"]["rows"]
    assert (row["job"], row["state"]) == ("Job/runs", "Admitted")
    (lack,) = seen["waits"]["shortages"]
    assert (lack["asked"], lack["free"], lack["holders"][0]["job"]) == (1000, 0, "Job/runs")
    assert seen["waits"]["rule"]["point"] == "capacity.available"
    assert seen["waits"]["rule"]["rule"] == "kueue"
    assert seen["waits"]["rule"]["line"] > 0
    assert seen["waits"]["rule"]["file"] == "queue/kueue/policy.yaml"
    (values,) = seen["waits"]["rule"]["values"]
    assert (values["node"], values["result"]) == ("cq", "0")
    assert ["usage", "2"] in values["parts"]
    told = [event["what"] for event in seen["runs"]["events"]]
    assert told == ["created", "queued", "admitted"]
    assert [row["job"] for row in seen["found"]["workloads"]] == ["Job/waits"]
    assert seen["smaller"]["changed"] == "2 cpu"
    assert seen["smaller"]["then"]["message"].startswith("requests 2 cpu of flavor f, 0 free")
    assert seen["first"]["now"]["position"] == seen["first"]["then"]["position"] == 1
    (policy,) = seen["policies"]["policies"]
    assert (policy["name"], policy["failurePolicy"], policy["line"]) == ("no-foo", "Fail", 3)


def test_before_a_stopped_local_queue_no_job_is_pending(tmp_path, policies):  # noqa: F811
    """As the status of the ClusterQueue has it."""
    stopped = local_queue("team-b", "main", "a")
    stopped["spec"]["stopPolicy"] = "Hold"
    around = [namespace("team-a"), namespace("team-b"), FLAVOR, cluster_queue("a", "1"), stopped]

    async def go():
        async with reading(tmp_path, policies, *around, local_queue("team-a", "main", "a")) as page:
            for name, team in (("waits", "team-a"), ("held", "team-b")):
                await page.store.create(job(name, cpu="2", namespace=team))
                path = f"/ui/api/workloads/{team}/{name}?kind=Job"
                await page.when(path, lambda w: w["workload"]["state"] and w["workload"]["reason"])
            tree = await page.answer("/ui/api/cluster")
            queue = await page.answer("/ui/api/queues/a")
            return [node["pending"] for node in (*tree["nodes"], queue["node"])]

    assert asyncio.run(go()) == [1, 1]


def test_when_jobs_start(tmp_path, policies):  # noqa: F811
    """At each place of a queue: when those before it have run their time, or whose run time is not known."""

    async def go():
        async with reading(tmp_path, policies) as page:
            for name, cpu, runs in (("runs", "2", 600), ("next", "2", None), ("last", "1", 60), ("large", "9", 60)):
                made = job(name, cpu=cpu)
                made["metadata"]["annotations"] = {"sluice.dev/run-time-seconds": str(runs)} if runs else {}
                await page.store.create(made)
                await page.when("/ui/api/queues/cq", lambda q, name=name: name in str(q))
            queue = await page.when("/ui/api/queues/cq", lambda q: len(q["waiting"]["rows"]) == 3)
            starts = await page.answer("/ui/api/queues/cq/starts")
            second = await page.answer("/ui/api/queues/cq/starts?offset=1")
            alone = await page.answer("/ui/api/workloads/team-a/last/start?kind=Job")
            runs = await page.answer("/ui/api/workloads/team-a/runs/start")
            return queue, starts["starts"], second["starts"], alone, runs

    queue, starts, second, alone, runs = asyncio.run(go())
    (row,) = queue["running"]["rows"]
    assert [start["start"] for start in starts] == [row["ends"], 0, 0]
    never = "requests 9 cpu of flavor f, the queue can use at most 2"
    assert [start["startUnknown"] for start in starts] == ["", "Job/next has no run time", never]
    assert [second[0], second[1:]] == [alone, starts[2:]]
    assert (runs["start"], runs["startUnknown"]) == (0, "")


def test_the_plain_page_of_this_machine_has_no_other_name(tmp_path, policies):  # noqa: F811
    """A web site whose name comes to mean 127.0.0.1 gets nothing of it; a forwarded port is `localhost`."""

    async def go():
        async with reading(tmp_path, policies) as page:
            hosts = [
                "localhost:8090",
                "LOCALHOST",
                "127.0.0.1:1",
                "[::1]:8090",
                "evil.example:8090",
                "[",
                "127.0.0.1.x",
            ]
            paths = ["/ui/api/session", "/ui/", "/ui/events"]
            found = {host: (await page.get(paths[0], headers={"Host": host}))[0] for host in hosts}
            return found, [await page.get(path, headers={"Host": "evil.example"}) for path in paths]

    found, others = asyncio.run(go())
    assert list(found.values()) == [200, 200, 200, 200, 403, 403, 403]
    assert [status for status, _ in others] == [403, 403, 403]
    assert others[0][1]["message"] == 'this page is at localhost and 127.0.0.1, not at "evil.example"'


def test_events_tell_of_a_decision(tmp_path, policies):  # noqa: F811
    """The stream begins with all parts, then says that queues changed as soon as a job is decided about."""

    async def go():
        async with reading(tmp_path, policies) as page, page.session.get(page.url + "/ui/events") as stream:
            assert stream.content_type == "text/event-stream"
            first = await told(stream)
            await page.store.create(job("runs", cpu="2"))
            while (change := await told(stream))["revision"] <= first["revision"]:
                pass
            return first, change

    first, change = asyncio.run(go())
    assert first["parts"] == ["cluster", "queues", "workloads", "policies"]
    assert change["parts"] == ["cluster", "queues", "workloads"]


async def told(stream):
    while True:
        line = (await stream.content.readline()).decode()
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))


def test_borrowed_and_lent(tmp_path, policies):  # noqa: F811
    """A queue that holds more than its quota borrows it from those of its cohort that have some idle."""
    objects = [
        namespace("team-a"), FLAVOR, cluster_queue("a", "2", "c"), cluster_queue("b", "3", "c"),
        cluster_queue("d", "1", "c"), local_queue("team-a", "main", "a"),
    ]  # fmt: skip

    async def go():
        async with reading(tmp_path, policies, *objects) as page:
            await page.store.create(job("big", cpu="4"))
            return await page.when("/ui/api/cluster", lambda c: c["nodes"] and c["nodes"][0].get("admitted"))

    view = asyncio.run(go())
    cells = {node["name"]: node["cells"][0] for node in view["nodes"]}
    assert [node["name"] for node in view["nodes"]] == ["c", "a", "b", "d"]
    assert [node["depth"] for node in view["nodes"]] == [0, 1, 1, 1]
    #             column, nominal, quota, reserved, used, borrowed, lent, free, most
    assert cells == {
        "c": [0, 0, 6000, 4000, 4000, 0, 0, 2000, 6000],
        "a": [0, 2000, 2000, 4000, 4000, 2000, 0, 2000, 6000],
        "b": [0, 3000, 3000, 0, 0, 0, 1500, 2000, 6000],
        "d": [0, 1000, 1000, 0, 0, 0, 500, 2000, 6000],
    }


def test_counts_of_policies(tmp_path, policies):  # noqa: F811
    """Denials are counted by policy, times are taken of some reviews, and a reload says what changed."""

    async def go():
        async with reading(tmp_path, policies) as page:
            for number in range(2 * TIMED_ONE_IN):
                name = "FORBIDDEN" if number % 2 else "fine"
                obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {}}
                url = f"https://127.0.0.1:{page.daemon.port}/validate"
                async with page.session.post(url, json=review(object=obj, name=name)) as answer:
                    assert answer.status == 200
            before = await page.answer("/ui/api/policies")
            text = (policies / "policy.yaml").read_text()
            other, more = text.replace("this name is taken", "taken"), text.replace("no-foo", "no-bar")
            (policies / "policy.yaml").write_text(f"{other}---\n{more}")
            after = await page.when("/ui/api/policies", lambda p: len(p["policies"]) == 2)
            (policies / "more.yaml").write_text("kind: [")
            broken = await page.when("/ui/api/policies", lambda p: p.get("problem"))
            return before, after, broken

    before, after, broken = asyncio.run(go())
    (row,) = before["policies"]
    assert (row["evaluated"], row["denied"], row["changed"], row["timed"]) == (2 * TIMED_ONE_IN, TIMED_ONE_IN, 0, 2)
    assert row["mean"] > 0
    assert row["slowest"] >= row["mean"]
    assert before["reload"] is None
    assert after["reload"]["changes"] == [
        {
            "change": change,
            "kind": "ValidatingAdmissionPolicy",
            "name": name,
            "file": "policies/policy.yaml",
            "line": line,
        }
        for change, name, line in (("changed", "no-foo", 3), ("added", "no-bar", 19))
    ]
    assert row["file"] == "policies/policy.yaml"
    assert after["reload"]["before"] == before["digest"] != after["digest"]
    assert "more.yaml" in broken["problem"]


def test_what_cannot_be_asked(tmp_path, policies):  # noqa: F811
    """Unknown paths, names and numbers, and methods that write, are refused in a sentence."""

    async def go():
        async with reading(tmp_path, policies) as page:
            await page.when("/ui/api/queues/cq", lambda q: q)
            paths = (
                "/ui/api/none", "/ui/api/queues/none", "/ui/api/workloads/team-a/none", "/ui/static/none.js",
                "/ui/static/../app.py", "/ui/api/queues/cq?offset=many", "/ui/api/simulate",
                "/ui/api/policies?sort=name",
                "/ui/api/simulate?rules=../../etc/passwd", "/ui/api/simulate?queue=cq&resource=cpu&quota=x",
                "/ui/api/simulate?queue=cq&resource=gpu&quota=1", "/ui/api/simulate?queue=cq&resource=cpu&quota=1",
            )  # fmt: skip
            refused = {path: await page.get(path) for path in paths}
            async with page.session.delete(page.url + "/ui/api/cluster") as answer:
                refused["DELETE"] = answer.status, await answer.json()
                headers = answer.headers
            return refused, headers

    refused, headers = asyncio.run(go())
    there = refused.pop("/ui/api/simulate?rules=../../etc/passwd")
    assert there[0] == 400
    assert there[1]["message"].startswith('no rules are called "../../etc/passwd"; there are backfill, ')
    nothing = "no Workload and no queued job named none in namespace team-a"
    unread = "x is not a quantity; write 24 or 64Gi"
    assert {path: (status, body["message"][: len(unread)]) for path, (status, body) in refused.items()} == {
        path: (status, message[: len(unread)])
        for path, status, message in (
            ("/ui/api/none", 404, "Not Found"),
            ("/ui/api/queues/none", 404, 'ClusterQueue "none" does not exist, or you may not get it'),
            ("/ui/api/workloads/team-a/none", 404, nothing),
            ("/ui/static/none.js", 404, "Not Found"),
            ("/ui/static/../app.py", 404, "Not Found"),
            ("/ui/api/queues/cq?offset=many", 400, "offset must be a number, 0 or more: many"),
            ("/ui/api/policies?sort=name", 400, "unknown parameter sort"),
            ("/ui/api/simulate", 400, "set queue, resource and quota, or rules"),
            ("/ui/api/simulate?queue=cq&resource=cpu&quota=x", 400, unread),
            ("/ui/api/simulate?queue=cq&resource=gpu&quota=1", 400, "ClusterQueue cq has no quota of gpu"),
            ("/ui/api/simulate?queue=cq&resource=cpu&quota=1", 409, "no finished job to simulate"),
            ("DELETE", 405, "Method Not Allowed"),
        )
    }
    causes = {path: body["details"]["causes"][0]["field"] for path, (_, body) in refused.items() if "details" in body}
    assert causes == {
        "/ui/api/queues/cq?offset=many": "offset",
        "/ui/api/policies?sort=name": "sort",
        "/ui/api/simulate": "quota",
        "/ui/api/simulate?queue=cq&resource=cpu&quota=x": "quota",
        "/ui/api/simulate?queue=cq&resource=gpu&quota=1": "resource",
    }
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'self'")


def test_jobs_that_ran_are_run_again(tmp_path, policies):  # noqa: F811
    """What this replica saw run is a trace: under half the quota the second job waits for the first."""

    async def go():
        async with reading(tmp_path, policies, seconds=3.0) as page:  # times are in whole seconds
            for name in ("one", "two"):
                await page.store.create(job(name, cpu="1"))
            path = "/ui/api/simulate?queue=cq&resource=cpu&quota=1"
            found = await page.when(path, lambda s: s["today"]["jobs"] == 2)
            rules = await page.answer("/ui/api/simulate?rules=fifo")
            return found, rules, await page.answer("/ui/api/trace"), await page.answer("/ui/api/simulate/progress")

    found, rules, trace, progress = asyncio.run(go())
    assert (trace["jobs"], trace["source"], progress["done"]) == (2, "memory", 1.0)
    assert {"kueue", "fifo"} <= set(trace["rules"])
    assert found["source"] == "memory"
    assert found["capacity"] == [{"cpu": 2000}, {"cpu": 1000}]
    assert (found["today"]["finished"], found["other"]["finished"]) == (2, 2)
    assert found["today"]["waitMax"] < found["other"]["waitMax"]
    assert max(point["used"].get("cpu", 0) for point in found["other"]["points"]) == 1000
    assert rules["other"]["name"] == "fifo"


def test_streams_end_with_the_daemon(tmp_path, policies):  # noqa: F811
    """Who listens is let go when the daemon stops."""

    async def go():
        async with reading(tmp_path, policies) as page:
            client = aiohttp.ClientSession()
            stream = await client.get(page.url + "/ui/events")
            await told(stream)
        rest = await stream.content.read()
        await client.close()
        return rest

    assert isinstance(asyncio.run(go()), bytes)
