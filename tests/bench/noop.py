"""A webhook that allows everything, as cheap as aiohttp can be: the floor for any webhook in Python.

`python -m tests.bench.noop PORT CERTIFICATE KEY` serves until it is killed.
"""

import ssl
import sys

import orjson
import uvloop
from aiohttp import web


async def allow(request: web.Request) -> web.Response:
    """Answer an AdmissionReview without looking at the object."""
    review = orjson.loads(await request.read())
    response = {"uid": review["request"]["uid"], "allowed": True}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return web.Response(body=orjson.dumps(body), content_type="application/json")


def main(port: str, certificate: str, key: str) -> None:
    """Serve on a loopback port."""
    uvloop.install()
    app = web.Application(client_max_size=8 << 20)
    app.router.add_post("/{any:.*}", allow)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.run_app(app, host="127.0.0.1", port=int(port), ssl_context=context, print=None, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
