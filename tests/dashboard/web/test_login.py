"""The page with a login: whose token it is and what that person may get are the API server's to say."""

import asyncio
import logging

import aiohttp
import pytest

from tests.daemon.serving import policies  # noqa: F401 - a fixture
from tests.dashboard.serving import FLAVOR, cluster_queue, local_queue, namespace, reading, workload
from tests.patience import until
from webhook.config import PageMode
from webhook.dashboard.web.access import SESSION_SECONDS, Access, PageReader, Sessions
from webhook.store.errors import Unavailable
from webhook.store.memory import MemoryStore

TOKENS = {"ann-secret": "ann", "root-secret": "root", "eve-secret": "eve"}
MAY = {
    "ann": {("workloads", "team-a"), ("localqueues", "team-a"), ("jobs", "team-a")},
    "root": {("workloads", ""), ("clusterqueues", ""), ("validatingadmissionpolicies", "")},
    "eve": set(),
}
OBJECTS = [
    namespace("team-a"), namespace("team-b"), FLAVOR, cluster_queue("a", "1", "c"), cluster_queue("b", "1", "c"),
    cluster_queue("z", "1"), local_queue("team-a", "main", "a"), local_queue("team-b", "main", "b"),
    local_queue("team-b", "shared", "a"), local_queue("team-b", "own", "z"),
]  # fmt: skip


class Store(MemoryStore):
    """Knows three tokens and what their owners may get."""

    def __init__(self):
        super().__init__()
        self.asked = []

    async def create(self, obj, *, dry_run=False):
        if obj["kind"] == "TokenReview":
            user = TOKENS.get(obj["spec"]["token"])
            known = {"authenticated": True, "user": {"username": user, "groups": ["dev"]}}
            return {**obj, "status": known if user else {"authenticated": False}}
        if obj["kind"] == "SubjectAccessReview":
            asks = obj["spec"]["resourceAttributes"]
            self.asked.append((obj["spec"]["user"], asks["resource"], asks.get("namespace", "")))
            allowed = (asks["resource"], asks.get("namespace", "")) in MAY[obj["spec"]["user"]]
            return {**obj, "status": {"allowed": allowed and asks["verb"] == "get"}}
        return await super().create(obj, dry_run=dry_run)


class Person:
    """Somebody with a browser of his own."""

    def __init__(self, page, session):
        self.page, self.session = page, session

    async def log_in(self, token, **headers):
        url = f"{self.page.url}/ui/api/login"
        async with self.session.post(url, data={"token": token}, headers=headers) as answer:
            return answer.status, answer.headers.get("Set-Cookie", ""), await answer.text()

    async def get(self, path):
        async with self.session.get(self.page.url + path) as answer:
            return answer.status, await answer.json()


def visited(tmp_path, policies, visit):  # noqa: F811
    """What `visit(person, page)` gives, where three jobs of two teams wait and one of team-b holds the quota."""

    async def go():
        async with reading(tmp_path, policies, *OBJECTS, store=Store(), mode=PageMode.LOGIN) as page:
            await page.store.create(workload("theirs", "shared", "team-b", cpu="2"))

            async def taken():
                return page.daemon.core.state.by_queue.get("a") and page.daemon.core.state.by_queue["a"].holders

            await until(taken, "the quota is taken")
            for name, queue, space in (("mine", "main", "team-a"), ("other", "shared", "team-b")):
                await page.store.create(workload(name, queue, space))

            async def waiting():
                return len(page.daemon.core.in_order("a") or ()) == 2

            await until(waiting, "two wait")
            jar = aiohttp.CookieJar(unsafe=True)  # of an address, not of a name
            async with aiohttp.ClientSession(
                connector=page.session.connector, connector_owner=False, cookie_jar=jar
            ) as s:
                return await visit(Person(page, s), page)

    return asyncio.run(go())


def test_nothing_without_a_login(tmp_path, policies, caplog):  # noqa: F811
    """Only files and who one is are answered; a wrong token is none; no token is in a log or in an answer."""
    caplog.set_level(logging.DEBUG)

    async def visit(person, page):
        before = {path: (await person.get(path))[0] for path in (
            "/ui/api/session", "/ui/api/cluster", "/ui/api/queues/a", "/ui/api/policies", "/ui/events",
            "/ui/api/workloads/team-a/mine",
        )}  # fmt: skip
        session = (await person.get("/ui/api/session"))[1]
        wrong = await person.log_in("wrong-secret")
        foreign = await person.log_in("ann-secret", Origin="https://elsewhere.example")
        return before, session, wrong, foreign, await person.log_in("ann-secret")

    before, session, wrong, foreign, right = visited(tmp_path, policies, visit)
    assert before.pop("/ui/api/session") == 200
    assert set(before.values()) == {401}
    assert (session["needsLogin"], session["user"], session["identity"]) == (True, "", "")
    assert wrong[0] == 401
    assert foreign[0] == 403
    assert right[0] == 204
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/ui"):
        assert part in right[1]
    told = caplog.text + "".join(map(str, (wrong, foreign, right)))
    assert [token for token in (*TOKENS, "wrong-secret") if token in told] == []


def test_a_person_sees_what_he_may_get(tmp_path, policies):  # noqa: F811
    """Of other namespaces only counts and amounts: no name of theirs is in any answer."""

    async def visit(person, page):
        await person.log_in("ann-secret")
        paths = (
            "/ui/api/cluster", "/ui/api/queues/a", "/ui/api/queues/z", "/ui/api/workloads/team-a/mine",
            "/ui/api/workloads/team-b/theirs", "/ui/api/find?text=the", "/ui/api/policies",
            "/ui/api/simulate?rules=fifo", "/ui/api/workloads/team-a/mine/what-if?priority=9",
        )  # fmt: skip
        return {path: await person.get(path) for path in paths}, (await person.get("/ui/api/session"))[1]

    seen, session = visited(tmp_path, policies, visit)
    assert (session["user"], session["may"]) == ("ann", [])
    statuses = {path: status for path, (status, _) in seen.items()}
    assert statuses == {
        "/ui/api/cluster": 200,
        "/ui/api/queues/a": 200,
        "/ui/api/queues/z": 404,
        "/ui/api/workloads/team-a/mine": 200,
        "/ui/api/workloads/team-b/theirs": 404,
        "/ui/api/find?text=the": 200,
        "/ui/api/policies": 403,
        "/ui/api/simulate?rules=fifo": 403,
        "/ui/api/workloads/team-a/mine/what-if?priority=9": 200,
    }
    assert [node["name"] for node in seen["/ui/api/cluster"][1]["nodes"]] == ["c", "a"]
    queue = seen["/ui/api/queues/a"][1]
    assert (queue["waiting"]["total"], queue["waiting"]["visible"]) == (2, 1)
    assert (queue["running"]["total"], queue["running"]["visible"]) == (1, 0)
    assert [row["name"] for row in queue["waiting"]["rows"]] == ["mine"]
    assert queue["localQueues"] == ["team-a/main"]
    (lack,) = seen["/ui/api/workloads/team-a/mine"][1]["shortages"]
    assert [(holder["amount"], holder["workload"]) for holder in lack["holders"]] == [(2000, "")]
    good = str([body for status, body in seen.values() if status == 200])
    assert "theirs" not in good
    assert "other" not in good


def test_rights_are_asked_once_and_for_all_where_they_can_be(tmp_path, policies):  # noqa: F811
    """Who may get all Workloads is asked about none of the namespaces; answers are used again."""

    async def visit(person, page):
        await person.log_in("root-secret")
        bodies = [(await person.get(path))[1] for path in (
            "/ui/api/queues/a", "/ui/api/queues/a", "/ui/api/cluster", "/ui/api/policies",
        )]  # fmt: skip
        async with person.session.post(f"{page.url}/ui/api/logout") as answer:
            assert answer.status == 204
        return bodies, page.store.asked, (await person.get("/ui/api/cluster"))[0]

    bodies, asked, after = visited(tmp_path, policies, visit)
    assert [row["name"] for row in bodies[0]["running"]["rows"]] == ["theirs"]
    assert sorted(asked) == [
        ("root", "clusterqueues", ""), ("root", "validatingadmissionpolicies", ""), ("root", "workloads", ""),
    ]  # fmt: skip
    assert after == 401


@pytest.mark.parametrize(
    "later, known",
    [(0.0, True), (SESSION_SECONDS - 1, True), (SESSION_SECONDS + 1, False)],
    ids=["at once", "within the hour", "behind it"],
)
def test_a_session_ends(later, known):
    """An hour after the login one is nobody again."""
    clock = [0.0]

    async def go():
        sessions = Sessions(Store(), lambda: clock[0])
        opened = await sessions.open("ann-secret")
        clock[0] = later
        return sessions.reader(opened[0])

    assert (asyncio.run(go()) is not None) is known


def test_nobody_logs_others_out():
    """Who logs in a thousand times ends his own oldest sessions."""

    async def go():
        sessions = Sessions(Store(), lambda: 0.0)
        ann, _ = await sessions.open("ann-secret")
        eves = [(await sessions.open("eve-secret"))[0] for _ in range(1000)]
        return sessions.reader(ann), [sessions.reader(secret) is not None for secret in (eves[0], eves[-1])]

    reader, eves = asyncio.run(go())
    assert reader.user == "ann"
    assert eves == [False, True]


def test_many_answers_at_once_ask_for_a_right_once():
    """Thirty-two answers for one reader ask about a namespace once, so that others need not wait behind them."""

    class Slow(Store):
        async def create(self, obj, *, dry_run=False):
            await asyncio.sleep(0.001)
            return await super().create(obj, dry_run=dry_run)

    async def go():
        store = Slow()
        access, eve = Access(store, lambda: 0.0), PageReader("eve")
        names = [f"n{number}" for number in range(20)]
        await asyncio.gather(*(access.sees(eve, "workloads", names) for _ in range(32)))
        return store.asked

    asked = asyncio.run(go())
    assert len(set(asked)) == 21
    assert len(asked) < 100  # not 672: only those that are under way at the same time may be asked twice


def test_whatever_its_name_a_namespace_is_asked_about():
    """Of very many some for each answer, in turn: first those that were seen before, then those never asked about."""

    async def go():
        store, now = Store(), [0.0]
        access, ann = Access(store, lambda: now[0]), PageReader("ann")
        names, seen = [*(f"n{number:04}" for number in range(1200)), "team-a"], []
        for now[0] in (0.0, 1.0, 2.0, 3.0, 100.0, 200.0, 300.0):
            before = len(store.asked)
            sees = await access.sees(ann, "workloads", names)
            seen.append((sees("team-a"), sees("n0001"), len(store.asked) - before))
        return seen, [space for _, _, space in store.asked]

    seen, asked = asyncio.run(go())
    most = 501  # and one about the whole cluster
    assert seen == [
        (False, False, most), (False, False, most - 1), (True, False, 201), (True, False, 0),
        (True, False, most), (True, False, most), (True, False, most),
    ]  # fmt: skip
    assert {name: asked.count(name) for name in ("n0000", "n0600", "n1100", "team-a")} == {
        "n0000": 3, "n0600": 2, "n1100": 2, "team-a": 4,
    }  # fmt: skip


def test_an_answer_that_expires_while_others_are_asked_for_is_still_good():
    now = [0.0]

    class Slow(Store):
        async def create(self, obj, *, dry_run=False):
            answer = await super().create(obj, dry_run=dry_run)
            now[0] += 1.0
            return answer

    async def go():
        access, ann = Access(Slow(), lambda: now[0]), PageReader("ann")
        await access.sees(ann, "workloads", ["team-a"])
        now[0] = 30.5
        sees = await access.sees(ann, "workloads", ["team-a", "team-b", "team-c"])
        return sees("team-a"), sees("team-b")

    assert asyncio.run(go()) == (True, False)


def test_one_reader_does_not_keep_others_out(tmp_path, policies):  # noqa: F811
    """Of the answers that are made at once only some are for one person: the rest is asked to come again."""

    async def visit(person, page):
        await person.log_in("eve-secret")
        room = asyncio.Event()
        create = page.store.create

        async def slow(obj, *, dry_run=False):
            if obj["kind"] == "SubjectAccessReview" and obj["spec"]["user"] == "eve":
                await room.wait()
            return await create(obj, dry_run=dry_run)

        page.store.create = slow
        eves = [asyncio.create_task(person.get(f"/ui/api/cluster?offset={number}")) for number in range(32)]
        await asyncio.wait(eves, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(connector=page.session.connector, connector_owner=False, cookie_jar=jar) as s:
            ann = Person(page, s)
            await ann.log_in("ann-secret")
            answer = asyncio.create_task(ann.get("/ui/api/policies"))
            await asyncio.wait([answer], timeout=0.5)
            refused = answer.done() and answer.result()[0] == 503
            room.set()
            await answer
        return [status for status, _ in await asyncio.gather(*eves)], refused

    statuses, refused = visited(tmp_path, policies, visit)
    assert (statuses.count(200), statuses.count(503)) == (8, 24)
    assert not refused


def test_an_api_server_that_is_away(tmp_path, policies):  # noqa: F811
    """A login says so, and nobody is let in."""

    async def visit(person, page):
        async def away(obj, *, dry_run=False):
            raise Unavailable("no connection with token ann-secret")

        page.store.create = away
        return await person.log_in("ann-secret")

    status, cookie, body = visited(tmp_path, policies, visit)
    assert (status, cookie) == (503, "")
    assert "ann-secret" not in body
