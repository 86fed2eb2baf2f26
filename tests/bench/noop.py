"""A webhook that allows everything, as cheap as aiohttp can be: the floor for any webhook in Python.

`python -m tests.bench.noop PORT CERTIFICATE KEY [PATCH]` serves until it is killed. With a PATCH (base64) it gives that
as the answer to every mutating call: what is left is the API server's own work with a patch.
"""

import ssl
import sys

import orjson
import uvloop
from aiohttp import web
from aiohttp.typedefs import Handler


def handler(patch: str) -> Handler:
    """Make the handler: an answer to an AdmissionReview without a look at the object."""

    async def allow(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        response = {"uid": review["request"]["uid"], "allowed": True}
        if patch and "Mutating" in request.path:
            response |= {"patchType": "JSONPatch", "patch": patch}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return web.Response(body=orjson.dumps(body), content_type="application/json")

    return allow


def main(port: str, certificate: str, key: str, patch: str = "") -> None:
    """Serve on a loopback port."""
    uvloop.install()
    app = web.Application(client_max_size=8 << 20)
    app.router.add_post("/{any:.*}", handler(patch))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.run_app(app, host="127.0.0.1", port=int(port), ssl_context=context, print=None, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
