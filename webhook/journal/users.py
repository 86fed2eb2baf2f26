"""User names in a journal: kept, or replaced by a keyed hash, so that the same user always has the same hash.

The key is read from a file, or generated in the journal's folder. Without it, names cannot be guessed from hashes.
Nothing else in a record changes, so a replay decides the same unless rules name users.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from webhook.journal.heading import UserNames
from webhook.journal.records import Begin, Decided, Record
from webhook.queue.events import DefinitionChanged, WorkloadChanged, WorkloadGone
from webhook.queue.memory import Attempt, Memory, ParkedClass
from webhook.queue.model import LocalQueue, Snapshot, Workload
from webhook.queue.pending.queue import HeadVerdict

KEY_FILE: Final = "users.key"
SHORTEST_KEY: Final = 16
"""The least size of a key, in bytes."""
_KEPT: Final = 10_000
"""How many hashes are cached."""


def read_key(file: Path) -> bytes:
    """Read a key from a file. Raises OSError, and ValueError where it is too short."""
    key = file.read_bytes().strip()
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"{file} has {len(key)} bytes; a key has at least {SHORTEST_KEY}")
    return key


def key_in(folder: Path) -> bytes:
    """Read the key in a journal's folder, or create it, readable by its owner only. Raises OSError, ValueError."""
    folder.mkdir(0o700, parents=True, exist_ok=True)
    file = folder / KEY_FILE
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(f"{secrets.token_hex(32)}\n")
        except OSError:
            file.unlink()  # a full disk: without a key another one is made when there is room
            raise
    return read_key(file)


class UserHashes:
    """Replaces user names by hashes, record by record; remembers the user of each workload of the file."""

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        """Without a key, the one in the folder is read or created when the first file begins."""
        self._folder, self._key = folder, key
        self._users: dict[str, str] = {}
        self._hashes: dict[str, str] = {"": ""}

    def hashed(self, user: str) -> str:
        """Return the hash of a user name; "" for no user."""
        if user not in self._hashes:
            if len(self._hashes) > _KEPT:
                self._hashes = {"": ""}
            self._hashes[user] = f"user-{hmac.digest(self._key, user.encode(), 'sha256').hex()[:16]}"
        return self._hashes[user]

    def record(self, record: Record) -> Record:
        """Return a record without user names. Raises OSError, ValueError where the key cannot be read or made."""
        match record:
            case Begin():
                self._key = self._key or key_in(self._folder)
                self._users = {w.key: w.user for w in record.snapshot.workloads if w.user}
                made = replace(record, users=UserNames.HASH, snapshot=self._snapshot(record.snapshot))
                return replace(made, memory=self._memory(record.memory))
            case WorkloadChanged(workload):
                if workload.user:
                    self._users[workload.key] = workload.user
                return WorkloadChanged(self._workload(workload))
            case WorkloadGone(key):
                self._users.pop(key, None)
            case DefinitionChanged(definition) if isinstance(definition, LocalQueue):
                return DefinitionChanged(self._queue(definition))
            case Decided():
                evicted = (replace(e, message=self._message(e.workload, e.message)) for e in record.evicted)
                return replace(record, evicted=tuple(evicted)) if record.evicted else record
        return record

    def _snapshot(self, snapshot: Snapshot) -> Snapshot:
        return replace(
            snapshot,
            workloads=tuple(map(self._workload, snapshot.workloads)),
            local_queues=tuple(map(self._queue, snapshot.local_queues)),
        )

    def _workload(self, workload: Workload) -> Workload:
        """Hash a workload's user, also in labels and annotations whose value is that name."""
        if not workload.user:
            return workload
        return replace(
            workload,
            user=self.hashed(workload.user),
            labels=self._values(workload.labels, workload.user),
            annotations=self._values(workload.annotations, workload.user),
        )

    def _values(self, values: Mapping[str, str], user: str) -> Mapping[str, str]:
        return {name: self.hashed(user) if value == user else value for name, value in values.items()}

    def _queue(self, queue: LocalQueue) -> LocalQueue:
        if not queue.history.users:
            return queue
        users = {self.hashed(user): usage for user, usage in queue.history.users.items()}
        return replace(queue, history=replace(queue.history, users=users))

    def _memory(self, memory: Memory) -> Memory:
        return replace(
            memory,
            attempts={k: Attempt(self._verdict(k, a.verdict), a.progress) for k, a in memory.attempts.items()},
            parked={key: self._parked(key, one) for key, one in memory.parked.items()},
            woken={key: self._parked(key, one) for key, one in memory.woken.items()},
            denied={key: self._verdict(key, verdict) for key, verdict in memory.denied.items()},
        )

    def _parked(self, key: str, one: ParkedClass) -> ParkedClass:
        return replace(one, verdict=self._verdict(key, one.verdict))

    def _verdict(self, key: str, verdict: HeadVerdict | None) -> HeadVerdict | None:
        return None if verdict is None else replace(verdict, message=self._message(key, verdict.message))

    def _message(self, key: str, message: str) -> str:
        """Hash the name of a workload's user in a rule's message."""
        user = self._users.get(key, "")
        if not user or user not in message:
            return message
        return re.sub(rf"(?<![\w.@-]){re.escape(user)}(?![\w@-])", self.hashed(user), message)
