"""A port that serves an application, opened and closed in order."""

from __future__ import annotations

import ssl

from aiohttp import web

GRACE = 20.0
"""Seconds that requests in flight get to finish at shutdown; longer than any admission call may take."""

LINGER = 0.5
"""Seconds for which the rest of a body that was refused is still read, so that the client sees the answer."""


class Listener:
    """One port. `start` opens it; `stop` closes it to new connections and waits for what is in flight."""

    def __init__(self, app: web.Application, host: str, port: int, context: ssl.SSLContext | None = None) -> None:
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=GRACE, lingering_time=LINGER
        )
        self._host, self._port, self._context = host, port, context

    async def start(self) -> int:
        """Open the port and give its number (of use where 0 was asked for). Raises OSError."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, ssl_context=self._context, backlog=1024)
        await site.start()
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Close the port, let requests in flight finish, close the connections."""
        await self._runner.cleanup()


def parse_address(text: str) -> tuple[str, int]:
    """Split `host:port` (or `[v6]:port`, or `:port` for all addresses). Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f'"{text}" is not HOST:PORT')
    return host.strip("[]"), int(port)
