"""The routes of the page's port: files, the API, the login, the stream of changes. Only GET, HEAD and the login's POST.

Calling it never raises. What is asked for often is made once for all who may see the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from aiohttp import hdrs, web

from webhook.dashboard.model.json_view import JsonView
from webhook.dashboard.model.session import SessionView
from webhook.dashboard.web.access import ANYBODY, PageReader, Sessions, TooMany
from webhook.dashboard.web.answers import Views
from webhook.dashboard.web.events import Listeners
from webhook.dashboard.web.files import StaticFile
from webhook.dashboard.web.long_work import LongWork
from webhook.dashboard.web.query import FieldError
from webhook.dashboard.web.routes import asked
from webhook.server.body import read_body
from webhook.server.limits import PAGE, Limits
from webhook.server.responses import StatusError, status_response
from webhook.setting_values import LOOPBACK
from webhook.store.errors import StoreError

log = logging.getLogger(__name__)

AT_ONCE: Final = 32
"""Answers under way at the same time; more are asked to come again."""
OF_ONE: Final = 8
"""Of these for one person who has logged in, so that nobody keeps the others out."""
COOKIE: Final = "sluice-session"
SAFE: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Server": "Sluice",
}
FRESH: Final = {**SAFE, "Cache-Control": "no-store"}


@dataclass(slots=True)
class DashboardApp:
    """The application of the page's port. `sessions` is None where there is no login, and everybody sees everything.

    Where it is `plain`, it is asked by a name of this machine.
    """

    views: Views
    work: LongWork
    listeners: Listeners
    session: Callable[[], SessionView]
    files: dict[str, StaticFile]
    sessions: Sessions | None = None
    plain: bool = False
    limits: Limits = PAGE
    _under_way: int = field(default=0, init=False)
    _making: dict[tuple[PageReader, str], asyncio.Task[bytes]] = field(default_factory=dict, init=False)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        path = request.rel_url.raw_path
        try:
            response = await self._answer(request, path)
        except StatusError as error:
            response = self.refuse(error)
        except (ConnectionError, TimeoutError):
            response = self.refuse(StatusError("the client closed the connection"))
        except Exception:
            log.exception("%s failed: this is a bug in Sluice", path)
            response = self.refuse(StatusError("internal error: see Sluice's log", 500, "internal"))
        if not request.content.is_eof():
            response.force_close()
        return response

    def refuse(self, error: StatusError) -> web.Response:
        """Return the error response."""
        if isinstance(error, FieldError):
            cause = {"field": error.field, "message": str(error)}
            body = {"kind": "Status", "code": error.status, "message": str(error), "details": {"causes": [cause]}}
            return web.json_response(body, status=error.status, headers=FRESH)
        return status_response(error.status, str(error), **FRESH)

    async def _answer(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        if self.plain:
            _of_this_machine(request)
        if path in ("/", "/ui"):
            return web.Response(status=308, headers={**FRESH, "Location": "/ui/"})
        if path in ("/ui/api/login", "/ui/api/logout"):
            if request.method != "POST":
                return status_response(405, "Method Not Allowed", Allow="POST", **FRESH)
            return await (self._login(request) if path.endswith("login") else self._logout(request))
        if request.method not in ("GET", "HEAD"):
            return status_response(405, "Method Not Allowed", Allow="GET, HEAD", **FRESH)
        if path.startswith("/ui/") and not path.startswith("/ui/api/") and path != "/ui/events":
            return self._file(request, unquote(path.removeprefix("/ui/")))
        reader = self._reader(request)
        if path == "/ui/api/session":
            return _json(await self._session(reader))
        if reader is None:
            raise StatusError("log in first", 401, "unauthorized")
        if path == "/ui/events":
            return await self._events(request)
        return await self._shared(request, reader, path)

    def _reader(self, request: web.BaseRequest) -> PageReader | None:
        if self.sessions is None:
            return ANYBODY
        return self.sessions.reader(request.cookies.get(COOKIE, ""))

    async def _session(self, reader: PageReader | None) -> bytes:
        told = self.session()
        if reader is None:
            known = SessionView(mode=told.mode, version=told.version, needs_login=True, languages=told.languages)
            return msgspec.json.encode(known)
        may = await self.views.may(reader)
        return msgspec.json.encode(msgspec.structs.replace(told, user=reader.user, may=may))

    async def _shared(self, request: web.BaseRequest, reader: PageReader, path: str) -> web.Response:
        """Answer what the same reader asks for at the same time once."""
        found = asked(path, reader, request.rel_url.query)
        if found is None:
            return status_response(404, "Not Found", **FRESH)
        route, question = found
        key = reader, request.rel_url.raw_path_qs
        task = self._making.get(key)
        if task is None:
            of_one = sum(who == reader for who, _ in self._making)
            if self._under_way >= AT_ONCE or (of_one >= OF_ONE and not reader.anybody):
                raise StatusError("too many requests at once", 503, "busy")
            self._under_way += 1
            task = self._making[key] = asyncio.create_task(
                _encoded(route.make(self.work, question)), name=f"answer {path}"
            )
            task.add_done_callback(lambda done: self._made(key, done))
        return _json(await asyncio.shield(task))

    def _made(self, key: tuple[PageReader, str], done: asyncio.Task[bytes]) -> None:
        self._under_way -= 1
        del self._making[key]
        if not done.cancelled():
            done.exception()  # whoever asked may have gone: then nobody else looks at it

    def _file(self, request: web.BaseRequest, name: str) -> web.Response:
        file = self.files.get(name)
        if file is None:
            return status_response(404, "Not Found", **FRESH)
        headers = {**SAFE, "ETag": file.tag, "Cache-Control": "no-cache"}
        if file.tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=file.body, headers={**headers, "Content-Type": file.type})

    async def _login(self, request: web.BaseRequest) -> web.Response:
        """Put a token into a session. The token is in no log and in no answer."""
        _same_site(request)
        body = bytes(await read_body(request, self.limits))
        if self.sessions is None:
            return web.Response(status=204, headers=FRESH)
        token = parse_qs(body.decode("ascii", "replace"), max_num_fields=4).get("token", [""])[0].strip()
        try:
            opened = await self.sessions.open(token)
        except TooMany:
            raise StatusError("too many logins at once; try again", 429, "busy") from None
        except StoreError:
            raise StatusError("cannot verify the token with the API server", 503, "unavailable") from None
        if opened is None:
            raise StatusError("the API server does not know this token", 401, "unauthorized")
        response = web.Response(status=204, headers=FRESH)
        response.set_cookie(COOKIE, opened[0], path="/ui", httponly=True, samesite="Strict", secure=request.secure)
        return response

    async def _logout(self, request: web.BaseRequest) -> web.Response:
        _same_site(request)
        await read_body(request, self.limits)
        if self.sessions is not None:
            self.sessions.close(request.cookies.get(COOKIE, ""))
        response = web.Response(status=204, headers=FRESH)
        response.del_cookie(COOKIE, path="/ui")
        return response

    async def _events(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send what changes, until the client goes or the port closes."""
        if self.listeners.full:
            raise StatusError("too many event streams", 503, "busy")
        response = web.StreamResponse(headers={**FRESH, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        changes = self.listeners.changes()
        try:
            async for change in changes:
                told = b": still here\n\n"
                if change is not None:
                    told = b"event: changed\ndata: " + msgspec.json.encode(change) + b"\n\n"
                await response.write(told)
        except ConnectionError:
            response.force_close()
        finally:
            await changes.aclose()
        return response


async def _encoded(made: Awaitable[JsonView]) -> bytes:
    return msgspec.json.encode(await made)


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, headers={**FRESH, "Content-Type": "application/json"})


def _of_this_machine(request: web.BaseRequest) -> None:
    """Refuse another name: a web site may let its own mean this machine, to read in the browser. Raises StatusError."""
    host = request.headers.get(hdrs.HOST, "")
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        name = None
    if name not in LOOPBACK:
        raise StatusError(f'this page is at localhost and 127.0.0.1, not at "{host}"', 403, "unauthorized")


def _same_site(request: web.BaseRequest) -> None:
    """Refuse a form that another site sends. Raises StatusError."""
    origin = request.headers.get(hdrs.ORIGIN, "")
    if origin and urlsplit(origin).netloc != request.headers.get(hdrs.HOST, ""):
        raise StatusError("the form was sent by another site", 403, "unauthorized")
