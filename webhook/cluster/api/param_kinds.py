"""Follows the kinds of policy parameters: whether each is served, its scope, and its objects.

The scope is that of discovery. Kinds that are not served are checked again: until a kind is served and listed, policies
that use it fail by their failurePolicy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from webhook.cluster.api.view import LOOK_AGAIN, View
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.scope import Scope
from webhook.store.errors import StoreError
from webhook.store.informer import Informer

AFTER_FAILURE = 1.0
"""Seconds until discovery is retried after an error."""


class ParamKinds:
    """The state of each kind of parameters. `start` and `stop` belong with those of the view."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.listed: dict[GroupVersionKind, tuple[Scope, Informer]] = {}
        """Scope and objects of the kinds that have been listed; kinds that are not served are missing."""
        self._problems: dict[GroupVersionKind, str] = {}
        self._known: dict[GroupVersionKind, asyncio.Event] = {}
        self._tasks: dict[GroupVersionKind, asyncio.Task[None]] = {}
        self._running = False

    def add(self, kinds: Iterable[GroupVersionKind]) -> None:
        """Also follow these kinds; kinds already followed are unaffected."""
        for gvk in kinds:
            self._known.setdefault(gvk, asyncio.Event())
            if self._running and gvk not in self._tasks:
                self._tasks[gvk] = asyncio.create_task(self._follow(gvk), name=f"parameters {gvk}")

    def start(self) -> None:
        """Start to follow the kinds."""
        self._running = True
        self.add(list(self._known))

    async def stop(self) -> None:
        """Stop all tasks."""
        self._running = False
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self, kinds: Iterable[GroupVersionKind]) -> None:
        """Wait until each of these kinds has been listed, or is known not to be served."""
        await asyncio.gather(*(self._known[gvk].wait() for gvk in kinds))

    def missing(self, kinds: Iterable[GroupVersionKind]) -> list[str]:
        """Return the names of those kinds that have not been listed yet, with the reason."""
        return [f"{name} ({problem})" if problem else name for name, problem in self.problems(kinds).items()]

    def problems(self, kinds: Iterable[GroupVersionKind]) -> dict[str, str]:
        """Return the problem of each kind not listed yet, by name; "" if there was no error."""
        lacking = (gvk for gvk in kinds if not self._known[gvk].is_set())
        return {str(gvk): self._problems.get(gvk) or self._view.informer(gvk).problem for gvk in lacking}

    async def _follow(self, gvk: GroupVersionKind) -> None:
        while (scope := await self._discovered(gvk)) is None:
            self._known[gvk].set()
            await asyncio.sleep(LOOK_AGAIN)
        self._view.add(gvk)
        informer = self._view.informer(gvk)
        await informer.synced.wait()
        self.listed[gvk] = scope, informer
        self._known[gvk].set()

    async def _discovered(self, gvk: GroupVersionKind) -> Scope | None:
        while True:
            try:
                scope = await self._view.store.scope(gvk)
            except StoreError as error:
                self._problems[gvk] = str(error)
                await asyncio.sleep(AFTER_FAILURE)
            else:
                self._problems.pop(gvk, None)
                return scope
