"""Who reads, and what changed meanwhile."""

from __future__ import annotations

from typing import Literal

from webhook.dashboard.model.json_view import JsonView


class SessionView(JsonView, frozen=True):
    """`/ui/api/session`: who reads, and what this replica is. Answered without a login too, `user` then empty.

    `mode` is the port's. `needs_login` is True where nothing else is answered before one. `rules` decide the queues;
    `history` is where the past comes from. `may` has what the reader sees besides queues and jobs of his namespaces.
    """

    mode: Literal["read-only", "login"]
    version: str
    user: str = ""
    needs_login: bool = False
    leads: bool = False
    identity: str = ""
    rules: tuple[str, ...] = ()
    history: Literal["journal", "memory"] = "memory"
    may: tuple[Literal["cluster", "policies", "simulate"], ...] = ()
    languages: tuple[str, ...] = ("en", "zh")


class ChangeNotice(JsonView, frozen=True):
    """The data of a server-sent event `changed`: which answers are others now."""

    revision: int
    parts: tuple[Literal["cluster", "queues", "workloads", "policies"], ...]
