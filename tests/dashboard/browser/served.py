"""The page with answers that are made up, on a loopback port: what layout tests and measurements look at."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from webhook.dashboard.model.json_view import JsonView
from webhook.dashboard.model.session import ChangeNotice
from webhook.dashboard.web.files import static_files

POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
ALL = ("cluster", "queues", "workloads", "policies")
Question = tuple[str, ...]
"""The path below `/ui/api/`, in parts."""


@dataclass
class Scene:
    """What the server answers. `answer` gets the path and the query; KeyError is 404. `token` asks for a login."""

    answer: Callable[[Question, dict[str, str], int], JsonView]
    token: str = ""
    revision: int = 1


@dataclass
class Served:
    """A server that runs: where, and what it may be told from the test's thread."""

    url: str
    scene: Scene
    loop: asyncio.AbstractEventLoop
    listeners: set[asyncio.Queue] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    """Every path that was asked for, in order."""
    open: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while answers are sent as they are made."""

    def change(self) -> None:
        """Let a revision pass and tell all who listen."""
        self.scene.revision += 1
        self._tell(ChangeNotice(self.scene.revision, ALL))

    def hold(self) -> None:
        """Let answers be made, and not sent until they are let go."""
        self.loop.call_soon_threadsafe(self.open.clear)

    def let_go(self) -> None:
        """Send what was held, and hold no more."""
        self.loop.call_soon_threadsafe(self.open.set)

    def cut(self) -> None:
        """End every stream of events, as a restart would."""
        self._tell(None)

    def _tell(self, what: ChangeNotice | None) -> None:
        def tell() -> None:
            for queue in self.listeners:
                queue.put_nowait(what)

        self.loop.call_soon_threadsafe(tell)


@contextmanager
def served(scene: Scene) -> Iterator[Served]:
    """Serve a scene in a thread of its own."""
    loop = asyncio.new_event_loop()
    told = Served("", scene, loop)
    told.open.set()
    runner = web.AppRunner(_application(told), access_log=None, shutdown_timeout=0)
    ready = threading.Event()

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.url = f"http://127.0.0.1:{runner.addresses[0][1]}/ui/"
        ready.set()

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield told
    finally:
        told.cut()
        told.let_go()
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _application(told: Served) -> web.Application:
    files = static_files()

    async def file(request: web.Request) -> web.Response:
        told.asked.append(request.path)
        found = files.get(request.match_info["path"])
        if found is None:
            raise web.HTTPNotFound
        headers = {"Content-Type": found.type, "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}
        return web.Response(body=found.body, headers=headers)

    async def answer(request: web.Request) -> web.Response:
        told.asked.append(request.path_qs)
        question = tuple(request.match_info["path"].split("/"))
        if told.scene.token and request.cookies.get("session") != told.scene.token and question != ("session",):
            return _refused(401, "log in first")
        try:
            made = told.scene.answer(question, dict(request.query), told.scene.revision)
        except KeyError:
            return _refused(404, "there is none")
        if question == ("session",) and told.scene.token and request.cookies.get("session") == told.scene.token:
            made = msgspec.structs.replace(made, user="ada@example.com")
        if question != ("session",):
            await told.open.wait()
        return web.Response(body=msgspec.json.encode(made), content_type="application/json")

    async def login(request: web.Request) -> web.Response:
        if (await request.post()).get("token") != told.scene.token:
            return _refused(401, "the token is not valid")
        response = web.Response(status=204)
        response.set_cookie("session", told.scene.token, httponly=True, samesite="Strict")
        return response

    async def logout(_: web.Request) -> web.Response:
        response = web.Response(status=204)
        response.del_cookie("session")
        return response

    async def events(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        queue: asyncio.Queue = asyncio.Queue()
        queue.put_nowait(ChangeNotice(told.scene.revision, ALL))
        told.listeners.add(queue)
        try:
            while (change := await queue.get()) is not None:
                await stream.write(b"event: changed\ndata: " + msgspec.json.encode(change) + b"\n\n")
        except ConnectionError:
            pass  # the reader has left the page
        finally:
            told.listeners.discard(queue)
        return stream

    app = web.Application()
    app.router.add_post("/ui/api/login", login)
    app.router.add_post("/ui/api/logout", logout)
    app.router.add_get("/ui/api/{path:.+}", answer)
    app.router.add_get("/ui/events", events)
    app.router.add_get("/ui/{path:.*}", file)
    return app


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "status": "Failure", "code": status, "message": message}, status=status)
