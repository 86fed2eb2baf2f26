"""The exceptions of an `ObjectStore`.

StoreError
├── NotFound         404
├── AlreadyExists    409 on create
├── Conflict         409: the resourceVersion (or uid) given is not the object's any more
├── Expired          410: the version to watch from is too old; list again
├── Refused          400, 401, 403, 405, 413, 415, 422: a retry of the same request fails too
└── Unavailable      429, 5xx, no connection: try again later
"""

from __future__ import annotations


class StoreError(Exception):
    """A request to a store failed."""


class NotFound(StoreError):
    """The object, or its kind, does not exist."""


class AlreadyExists(StoreError):
    """An object of this name already exists."""


class Conflict(StoreError):
    """The object has changed since it was read."""


class Expired(StoreError):
    """The version to watch from is older than the store remembers."""


class Refused(StoreError):
    """The request is wrong or not allowed. `status` is the HTTP status."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(StoreError):
    """The store cannot be reached or is overloaded. `after`: seconds it asks to wait (0: not said)."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after
