"""Readiness by a call of one's own: nobody is ready whose port an API server could not call."""

import asyncio
from datetime import UTC, datetime

from tests.controlplane.processes import free_ports
from tests.server.serving import serve
from webhook.server.self_call import SelfCall
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure
from webhook.tls.serving_certificate import trust


def caller(folder):
    """A self-call that trusts the bundle in a folder."""
    return SelfCall(lambda: trust(Folder(folder)))


def test_a_port_that_is_served_and_trusted_is_ready(tmp_path):
    """Not before the first call; a port on all addresses is called by the loopback's."""
    call = caller(tmp_path)

    async def go():
        before = call.condition()
        async with serve(tmp_path) as served:
            assert await call.look("0.0.0.0", int(served.url.rpartition(":")[2]))
        return before.ok, call.condition().ok

    assert asyncio.run(go()) == (False, True)


def test_a_certificate_that_the_bundle_does_not_trust_is_told(tmp_path):
    """`ca.crt` is of another authority, as after half a rotation: not ready, until it is the right one."""
    other = Folder(tmp_path / "other")
    ensure(other, ("localhost",), datetime.now(UTC))
    call = caller(tmp_path / "served")

    async def go():
        async with serve(tmp_path / "served") as served:
            port, good = int(served.url.rpartition(":")[2]), Folder(tmp_path / "served").bundle.read_bytes()
            await call.look("127.0.0.1", port)
            Folder(tmp_path / "served").bundle.write_bytes(other.bundle.read_bytes())
            await call.look("127.0.0.1", port)
            told = call.condition()
            Folder(tmp_path / "served").bundle.write_bytes(good)
            await call.look("127.0.0.1", port)
        return told, call.condition().ok

    told, ready = asyncio.run(go())
    assert not told.ok
    assert told.detail.startswith("the served certificate is not trusted by ca.crt: ")
    assert ready


def test_without_a_bundle_the_served_certificate_is_trusted(tmp_path):
    """A Secret that somebody else fills may have no `ca.crt`."""
    call = caller(tmp_path)

    async def go():
        async with serve(tmp_path) as served:
            Folder(tmp_path).bundle.unlink()
            return await call.look("127.0.0.1", int(served.url.rpartition(":")[2]))

    assert asyncio.run(go())


def test_a_closed_port_is_not_ready_and_a_busy_one_stays_so(tmp_path):
    """Nobody listens: not ready, with the reason. Once a call has succeeded, one that fails for load is no reason."""
    ensure(Folder(tmp_path), ("localhost",), datetime.now(UTC))
    call = caller(tmp_path)
    (closed,) = free_ports(1)

    async def go():
        await call.look("127.0.0.1", closed)
        before = call.condition()
        async with serve(tmp_path) as served:
            await call.look("127.0.0.1", int(served.url.rpartition(":")[2]))
        await call.look("127.0.0.1", closed)
        return before, call.condition().ok

    before, ready = asyncio.run(go())
    assert not before.ok
    assert f"port {closed} cannot be called" in before.detail
    assert ready
