"""Who reads, and what changed meanwhile."""

from __future__ import annotations

from typing import Literal

from webhook.dashboard.model.json_view import JsonView


class SessionView(JsonView, frozen=True):
    """`/ui/api/session`: the reader, and this replica. Answered without a login too; then `user` is empty.

    `mode` is the port's. `needs_login`: nothing else is answered before a login. `rules` are those of the queues;
    `history` is the source of the past. `may` lists what the reader sees beside queues and jobs of their namespaces.
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
    """The data of a server-sent event `changed`: which answers have changed."""

    revision: int
    parts: tuple[Literal["cluster", "queues", "workloads", "policies"], ...]
