"""What an API server answers instead of an object, by status and reason."""

import asyncio
from types import SimpleNamespace

import orjson
import pytest

from webhook.cluster.api.client import _answer, _lines, failure
from webhook.cluster.api.live_store import _event
from webhook.kube.gvk import NAMESPACE
from webhook.store.errors import AlreadyExists, Conflict, Expired, NotFound, Refused, Unavailable


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (403, "Forbidden", Refused),
        (422, "Invalid", Refused),
        (429, "TooManyRequests", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
    ],
)
def test_each_status_has_its_error(status, reason, kind):
    """A Status object becomes the error of its code and reason, with its message."""
    body = orjson.dumps({"kind": "Status", "message": "told so", "reason": reason})
    error = failure(status, {}, body)
    assert type(error) is kind
    assert str(error) == "told so"


def test_an_answer_that_is_no_status_is_shown():
    """A proxy's page is quoted; Retry-After is kept for whoever tries again."""
    error = failure(503, {"Retry-After": "7"}, b"<html>busy</html>")
    assert isinstance(error, Unavailable)
    assert error.after == 7.0
    assert "busy" in str(error)


def test_an_error_in_a_watch_is_raised():
    """The ERROR event of a watch whose version is too old is Expired, so that the caller lists again."""
    line = orjson.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}})
    with pytest.raises(Expired, match="too old"):
        _event(line, NAMESPACE)


@pytest.mark.parametrize("read", [lambda page: _answer(200, {}, page), lambda page: _event(page, NAMESPACE)])
def test_what_is_no_json_is_asked_for_again(read):
    """A proxy's page with status 200 would end the informer of a kind for ever."""
    with pytest.raises(Unavailable, match="<html>"):
        read(b"<html>be right back</html>")


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b'{"a":1}\n{"b"', b":", b"2}\n"], [b'{"a":1}', b'{"b":2}']),
        ([b'{"a":1}\n', b'{"type":"ADD'], [b'{"a":1}']),
        ([b"x" * 2**20] * 9 + [b"\n"], [b"x" * 9 * 2**20]),
    ],
    ids=["in any pieces", "cut off", "longer than what is buffered"],
)
def test_the_lines_of_a_watch_are_whole(pieces, lines):
    """A Job of 1.4 MiB of `<` is a line of 8 MiB; half a line, of a connection that was closed, is none."""

    async def iter_any():
        for piece in pieces:
            yield piece

    async def go():
        return [line async for line in _lines(SimpleNamespace(content=SimpleNamespace(iter_any=iter_any)), "host")]

    assert asyncio.run(go()) == lines
