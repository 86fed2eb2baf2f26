"""The client of the tests, without a server: what it does where the machine is too busy for a request."""

import json
from collections.abc import Sequence

import pytest

from tests.controlplane.client import ApiError, Client

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "team"}}
PODS = "/api/v1/namespaces/team/pods"


class Scripted(Client):
    """A client whose requests get these statuses, one after the other."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.sent: list[tuple[str, str]] = []
        self._kinds = {("v1", "Pod"): ("pods", True)}

    def exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[bytes, int, tuple[str, ...]]:
        self.sent.append((method, path))
        status = self.statuses.pop(0)
        return json.dumps({"code": status}).encode(), status, ()


def test_a_create_that_had_no_time_is_sent_again() -> None:
    """The second one makes the object."""
    client = Scripted(504, 201)
    assert client.create(POD) == {"code": 201}
    assert client.sent == [("POST", PODS)] * 2


def test_a_create_that_was_done_late_finds_its_object() -> None:
    """The first one was done after its answer: the object that is there is the one."""
    client = Scripted(504, 409, 200)
    assert client.create(POD) == {"code": 200}
    assert client.sent[-1] == ("GET", f"{PODS}/one")


@pytest.mark.parametrize(("method", "statuses"), [("POST", (409,)), ("POST", (429,)), ("GET", (429, 504, 404))])
def test_other_answers_are_errors(method: str, statuses: Sequence[int]) -> None:
    """A create that finds an object of somebody else is refused; a read comes again, and learns that there is none."""
    client = Scripted(*statuses)
    with pytest.raises(ApiError) as raised:
        client.call(method, PODS, POD)
    assert raised.value.status == statuses[-1]
    assert client.statuses == []


def test_a_delete_that_was_done_late_is_done() -> None:
    """What is not there any more was to go."""
    client = Scripted(504, 404)
    client.delete(f"{PODS}/one")
    assert client.statuses == []
