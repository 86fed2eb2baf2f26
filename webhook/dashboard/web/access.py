"""Who reads, and what they may see: tokens and rights are the API server's to judge (TokenReview, SubjectAccessReview).

Answers are remembered for a while, apart from those that policies ask for, so that no reader pushes one of those out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any, Final

from webhook.cluster.api.access_review import access_review
from webhook.dashboard.views.rows import Sees
from webhook.kube.well_known import KUEUE
from webhook.policy.facts import Check
from webhook.store.errors import StoreError
from webhook.store.objects import ObjectStore

REMEMBER: Final = 30.0
"""Seconds for which a right is not asked for again."""
REMEMBERED_REVIEWS: Final = 20_000
AT_ONCE: Final = 8
"""Reviews under way at the same time."""
NAMESPACES: Final = 500
"""Namespaces that are asked about for one answer; of more, the others are asked about for the next ones."""
SESSION_SECONDS: Final = 3600.0
"""Seconds after which one has to log in again: a token may be taken back."""
SESSIONS: Final = 1000
OWN_SESSIONS: Final = 20
"""Of one reader: logging in more often ends their own oldest session, and no one else's."""
LONGEST: Final = 16 * 1024
"""Bytes of a token."""


@dataclass(frozen=True, slots=True)
class PageReader:
    """A reader as the API server names them; `anybody` is one where there is no login, who sees everything."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    anybody: bool = False


ANYBODY: Final = PageReader(anybody=True)


class TooMany(Exception):
    """So many reviews are under way that no other one is begun."""


class Access:
    """Asks what readers may `get`, in the name of each. `clock` gives seconds."""

    def __init__(self, store: ObjectStore, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._room = asyncio.Semaphore(AT_ONCE)
        self._answers: OrderedDict[Check, tuple[bool, float]] = OrderedDict()

    async def may(self, reader: PageReader, resource: str, namespace: str = "", group: str = KUEUE) -> bool:
        """Return whether a reader may get all objects of a resource, in a namespace or (empty) in the whole cluster."""
        if reader.anybody:
            return True
        return await self._allowed(_check(reader, resource, namespace, group))

    async def _allowed(self, check: Check) -> bool:
        if (known := self._known(check)) is not None:
            return known
        async with self._room:
            if (known := self._known(check)) is not None:  # another answer of the same reader asked meanwhile
                return known
            allowed = await self._ask(check)
        self._answers[check] = allowed, self._clock() + REMEMBER
        self._answers.move_to_end(check)
        if len(self._answers) > REMEMBERED_REVIEWS:
            self._answers.popitem(last=False)
        return allowed

    def _known(self, check: Check) -> bool | None:
        found = self._answers.get(check)
        return found[0] if found is not None and found[1] > self._clock() else None

    async def sees(self, reader: PageReader, resource: str, namespaces: Iterable[str]) -> Sees:
        """Return what tells of which of some namespaces a reader may see the objects of a resource."""
        if await self.may(reader, resource):
            return lambda _: True
        checks = [_check(reader, resource, name) for name in set(namespaces)]
        answers = {check: self._known(check) for check in checks}  # good for this answer, though they expire meanwhile
        due = sorted((check for check in checks if answers[check] is None), key=self._turn)[:NAMESPACES]
        answers.update(zip(due, await asyncio.gather(*(self._allowed(check) for check in due)), strict=True))
        allowed = frozenset(check.namespace for check in checks if answers[check])
        return allowed.__contains__

    def _turn(self, check: Check) -> tuple[int, float, str]:
        """Rank what is asked for: what was allowed before, then what was never asked for, then the oldest denial."""
        allowed, until = self._answers.get(check, (None, 0.0))
        return (1 if allowed is None else 0 if allowed else 2), until, check.namespace

    async def _ask(self, check: Check) -> bool:
        """Ask the authorizer. What cannot be asked counts as denied."""
        try:
            review = await self._store.create(access_review(check))
        except StoreError:
            return False
        return (review.get("status") or {}).get("allowed") is True


def _check(reader: PageReader, resource: str, namespace: str, group: str = KUEUE) -> Check:
    return Check(
        user=reader.user, groups=reader.groups, extra=reader.extra, user_uid=reader.uid, verb="get",
        group=group, resource=resource, namespace=namespace,
    )  # fmt: skip


class Sessions:
    """Who is logged in, by the secret of their cookie. Tokens are not kept."""

    def __init__(self, store: ObjectStore, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._reviews = 0
        self._open: OrderedDict[str, tuple[PageReader, float]] = OrderedDict()

    async def open(self, token: str) -> tuple[str, PageReader] | None:
        """Return a secret and the person for a token; None where it is good for nobody. Raises TooMany, StoreError."""
        if not token or len(token) > LONGEST:
            return None
        if self._reviews >= AT_ONCE:
            raise TooMany
        self._reviews += 1
        try:
            review = await self._store.create(_token_review(token))
        finally:
            self._reviews -= 1
        reader = _reader(review.get("status") or {})
        if reader is None:
            return None
        own = [secret for secret, (who, _) in self._open.items() if who.user == reader.user]
        if len(own) >= OWN_SESSIONS:
            del self._open[own[0]]
        secret = token_urlsafe(32)
        self._open[secret] = reader, self._clock() + SESSION_SECONDS
        if len(self._open) > SESSIONS:
            self._open.popitem(last=False)
        return secret, reader

    def reader(self, secret: str) -> PageReader | None:
        """Return who a secret belongs to; None where it belongs to nobody, or not any more."""
        found = self._open.get(secret)
        if found is None:
            return None
        if found[1] < self._clock():
            del self._open[secret]
            return None
        return found[0]

    def close(self, secret: str) -> None:
        """Log out."""
        self._open.pop(secret, None)


def _token_review(token: str) -> dict[str, Any]:
    head = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}}
    return {**head, "spec": {"token": token}}


def _reader(status: Mapping[str, Any]) -> PageReader | None:
    user = status.get("user") or {}
    if status.get("authenticated") is not True or not user.get("username"):
        return None
    extra = tuple((key, tuple(values)) for key, values in sorted((user.get("extra") or {}).items()))
    return PageReader(str(user["username"]), str(user.get("uid") or ""), tuple(user.get("groups") or ()), extra)
