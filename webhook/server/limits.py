"""Bounds of one request, of one connection, and of all that one port holds. Durations in seconds, sizes in bytes.

Each port has bounds of its own, so that the clients of one cannot take the places of another's; the sums over the ports
are the bounds of the process.

Where they are enforced:

- `app.py`: `reviews`.
- `body.py`: `body`, `body_seconds`, `small`.
- `connection.py`: `head_seconds`, `stuck_seconds`, `unread`, `connections`, `large_bodies`, `all_unread`. It hands
  `line`, `headers`, `idle_seconds`, `linger` and `read` to aiohttp.
- `listener.py`: `grace`; it also cuts off connections that are behind their `head_seconds` or `stuck_seconds`.
- `routes/admission.py`: `seconds`, by what `deadlines.py` makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds. An UPDATE carries two objects of up to 3 MiB as JSON, hence bodies of 8 MiB."""

    # One request.
    body: int = 8 * MIB
    line: int = 8 * KIB
    """The request line, and each header."""
    headers: int = 64
    head_seconds: float = 10.0
    body_seconds: float = 5.0
    seconds: float = 9.0
    """How long a request may wait for facts, where the API server does not say."""

    # One connection.
    idle_seconds: float = 180.0
    """Longer than the 90 s for which Go's client keeps an idle connection: it must be the one to close it, else a call
    may meet a connection that is just being closed, and a POST is not sent again."""
    linger: float = 0.5
    """For so long the rest of a request that was refused is still read, so that the client sees the answer."""
    stuck_seconds: float = 20.0
    """For so long a client may leave its answer unread."""
    read: int = 32 * KIB
    """Bytes of a body after which reading pauses until the handler takes them; twice that, before a request's turn."""
    unread: int = MIB
    """Bytes that came in and that no handler has taken yet: heads, and what is sent before its turn."""

    # The whole port.
    connections: int = 1024
    reviews: int = 256
    """Reviews at once, that wait for their body or for facts; more are asked to come again."""
    small: int = 64 * KIB
    """A body up to this size counts as a review only: there are no more of them than `reviews`."""
    large_bodies: int = 32 * MIB
    """Bytes of all larger bodies at once; more are asked to come again."""
    all_unread: int = 64 * MIB
    grace: float = 20.0
    """What requests in flight get to finish at shutdown; longer than any admission call may take."""


WEBHOOK: Final = Limits()
STATE: Final = Limits(connections=128, unread=64 * KIB, all_unread=2 * MIB, large_bodies=0)
VISIBILITY: Final = Limits(connections=256, unread=64 * KIB, all_unread=4 * MIB, large_bodies=0)
PAGE: Final = Limits(
    body=32 * KIB, small=32 * KIB, unread=128 * KIB, connections=512, large_bodies=0, all_unread=8 * MIB,
    grace=5.0,
)  # fmt: skip
"""The page's bodies are tokens."""
