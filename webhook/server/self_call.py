"""A replica's call to itself: whether what it serves can be reached and is trusted, as an API server would find it.

The call goes through the open port, over TLS, with the authorities of the bundle that API servers are given. The name
in the certificate is not compared: a replica does not know by which one it is called.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from webhook.server.health import HealthCondition

CALL_SECONDS: Final = 10.0
"""Seconds between two calls."""
RETRY_SECONDS: Final = 0.5
"""Seconds until the next call where none has succeeded yet."""
TIMEOUT_SECONDS: Final = 5.0
"""How long a call may take."""
_REQUEST: Final = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_ANY: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where a port on all addresses is called


class SelfCall:
    """Calls one port; `trust` gives the context of a client that trusts what API servers are to trust.

    Not ready before the first call has succeeded. Later only a certificate that is not trusted counts: a call that
    takes too long, or is closed at the limit of connections, is a busy replica, and readiness would move its load to
    the others.
    """

    def __init__(self, trust: Callable[[], ssl.SSLContext]) -> None:
        self._trust = trust
        self.problem = "not called yet"

    def condition(self) -> HealthCondition:
        """Return the result of the last call that counts."""
        return HealthCondition(not self.problem, self.problem)

    async def follow(self, host: str, port: int) -> None:
        """Call for ever."""
        succeeded = False
        while True:
            succeeded = await self.look(host, port) or succeeded
            await asyncio.sleep(CALL_SECONDS if succeeded and not self.problem else RETRY_SECONDS)

    async def look(self, host: str, port: int) -> bool:
        """Call once; say whether that succeeded."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await _call(_ANY.get(host, host), port, self._trust())
        except ssl.SSLCertVerificationError as error:
            self.problem = f"the served certificate is not trusted by ca.crt: {error.verify_message}"
        except (OSError, TimeoutError) as error:
            if self.problem:
                self.problem = f"port {port} cannot be called: {str(error) or 'no answer in time'}"
        else:
            self.problem = ""
            return True
        return False


async def _call(host: str, port: int, context: ssl.SSLContext) -> None:
    """Ask for `/livez`. Raises OSError, TimeoutError."""
    reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="localhost")
    try:
        writer.write(_REQUEST)
        status = await reader.readline()
        if not status.startswith(b"HTTP/1.1 200 "):
            raise OSError(f"/livez answers {status.decode('latin-1').strip() or 'nothing'}")
    finally:
        writer.transport.abort()
