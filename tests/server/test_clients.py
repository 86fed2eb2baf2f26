"""Client certificates: who gets a verdict, who is told what is missing, and what needs none."""

import asyncio
import ssl
from datetime import UTC, datetime

import aiohttp
import pytest
import uvloop

from tests.server.serving import review, serve
from webhook.server.clients import ClientCheck
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure, issue_client

API_SERVER = "kube-apiserver"
CONVERSION = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": {"uid": "c"}}


def answers(tmp_path, names=(), client=None):
    """What a client of that name gets by each path: status, and the message where there is one."""
    authority, folder = Folder(tmp_path / "clients"), Folder(tmp_path / "server")
    ensure(authority, ("clients",), datetime.now(UTC))

    async def go():
        async with serve(folder.path, client_ca=authority.bundle, check_client=ClientCheck(frozenset(names))) as served:
            context = ssl.create_default_context(cafile=str(folder.bundle))
            if client is not None:
                issue_client(authority, client, datetime.now(UTC))
                context.load_cert_chain(authority.client_certificate, authority.client_key)
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
                served.session, found = session, {}
                for path in ("/mutate", "/validate/fail"):
                    found[path] = await served.post(path, json=review())
                found["/convert"] = await served.post("/convert", json=CONVERSION)
                found["/livez"] = await served.text("/livez")
            return found, served.metrics.failures["unauthorized"]

    return uvloop.run(go())


def test_a_verdict_needs_a_certificate(tmp_path):
    """Without one a call is a 401 that says why; conversions and health, which the API server asks without, are not."""
    found, counted = answers(tmp_path)
    for path in ("/mutate", "/validate/fail"):
        status, body = found[path]
        assert (status, body["kind"]) == (401, "Status")
        assert "client certificate" in body["message"]
    assert (found["/convert"][0], found["/livez"][0], counted) == (200, 200, 2)


@pytest.mark.parametrize("names", [(), (API_SERVER,), ("other", API_SERVER)])
def test_with_its_certificate_the_api_server_gets_verdicts(tmp_path, names):
    """Any certificate of the authority does, or the one with a name that is allowed."""
    found, counted = answers(tmp_path, names, API_SERVER)
    assert ({status for status, _ in found.values()}, counted) == ({200}, 0)


def test_the_certificate_of_another_is_refused(tmp_path):
    """Where names are given, the same authority's certificate for somebody else is a 403 with the name in it."""
    found, _ = answers(tmp_path, (API_SERVER,), "eve")
    status, body = found["/mutate"]
    assert (status, body["message"]) == (
        403,
        'the client certificate of "eve" is not allowed: see --client-names of sluice serve',
    )


def test_a_certificate_of_a_stranger_ends_in_the_handshake(tmp_path):
    """A certificate of another authority gets no connection at all."""
    authority, folder, stranger = (Folder(tmp_path / name) for name in ("clients", "server", "stranger"))
    for each in (authority, stranger):
        ensure(each, ("clients",), datetime.now(UTC))
    issue_client(stranger, API_SERVER, datetime.now(UTC))

    async def go():
        async with serve(folder.path, client_ca=authority.bundle, check_client=ClientCheck()) as served:
            context = ssl.create_default_context(cafile=str(folder.bundle))
            context.load_cert_chain(stranger.client_certificate, stranger.client_key)
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
                served.session = session
                with pytest.raises(aiohttp.ClientError):
                    await served.text("/livez")

    asyncio.run(go())
