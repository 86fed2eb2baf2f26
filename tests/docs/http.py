"""The page of everything that is asked over HTTP, made from the applications of the ports and the answers' types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin
from unittest.mock import Mock

import msgspec
from prometheus_client import CollectorRegistry

from webhook.dashboard.model.session import ChangeNotice, SessionView
from webhook.dashboard.web.routes import ROUTES
from webhook.server.app import make_app, state_routes
from webhook.server.metrics import ServerMetrics
from webhook.server.routes.visibility import GROUP, LIMIT, VERSIONS

HEAD = """\
# HTTP

What each port of `sluice serve` answers. [Server](../server.md) says who may ask, and the limits. An error is a
Kubernetes `Status` object with a `message`. This page is generated from the code by `python -m tests.docs.reference`.
"""
WORDS = {
    "/mutate": "AdmissionReview in and out: the verdict of the mutating policies, with a JSON patch.",
    "/mutate/fail": "The same, of policies with `failurePolicy: Fail`.",
    "/mutate/ignore": "The same, of policies with `failurePolicy: Ignore`.",
    "/validate": "AdmissionReview in and out: the verdict of the validating policies and of the queue, with warnings.",
    "/validate/fail": "The same, of policies with `failurePolicy: Fail`.",
    "/validate/ignore": "The same, of policies with `failurePolicy: Ignore`.",
    "/convert": "ConversionReview in and out: objects of the queues in another version.",
    "/livez": "200 while the process serves.",
    "/readyz": "200 when it is ready, else 503; `?verbose` lists each condition.",
    "/metrics": "[Metrics](metrics.md) in Prometheus' text format.",
}
PARAMETERS = {
    "filter": "part of a name of a queue or cohort",
    "offset": "first row, from 0",
    "running-offset": "first row of the running jobs, from 0",
    "limit": "number of rows",
    "namespace": "workloads of this namespace only",
    "since": "start of the history, in milliseconds since 1970",
    "kind": "kind of the job, if two have the name",
    "resource": "the resource that `gpus` or `quota` is an amount of",
    "gpus": "amount for all pods, as a quantity",
    "queue": "a ClusterQueue; of a what-if a LocalQueue of the namespace",
    "flavor": "flavor of the quota, if the queue has several",
    "quota": "new nominal quota, as a quantity",
    "rules": "names of rule files, separated by commas",
    "priority": "new priority",
    "text": "part of a name of a queue, a workload or a job",
}
PAGE_HEAD = """\
## The page's port

`uiListen`. Every answer is JSON of the types below: names in camelCase, every field always there. Amounts are
thousandths of `cpu`, bytes of memory, and units of all else. Times are milliseconds since 1970, durations milliseconds;
0 is "not known" for a time. `revision` counts changes of the queues: two answers with the same revision tell of the
same state.

| status | meaning |
|---|---|
| 400 | a parameter is wrong; `details.causes` names it |
| 401 | log in first (`login`) |
| 403 | no permission |
| 404 | it does not exist, or no permission to see it |
| 409 | no finished job to simulate |
| 429 | another what-if or simulation is running |
| 503 | too many requests at once |

| method | path | answer |
|---|---|---|
| GET | `/ui/` | the page; its files are below `/ui/static/` |
| POST | `/ui/api/login` | 204 and a cookie, for the form field `token` |
| POST | `/ui/api/logout` | 204; the session ends |
| GET | `/ui/api/session` | [SessionView](#sessionview) |
| GET | `/ui/events` | server-sent events `changed`, each a [ChangeNotice](#changenotice) |
"""


def page() -> str:
    """The whole page."""
    app = make_app(Mock(), Mock(), state_routes(Mock(), CollectorRegistry()), ServerMetrics())
    rows = [*(("POST", path) for path in app.reviews), *(("GET", path) for path in app.state)]
    parts = [HEAD, "## The webhook port\n", "`listen`, HTTPS.\n", *_table(rows), ""]
    parts += ["## The state port\n", "`stateListen`, plain HTTP.\n", *_table([("GET", path) for path in app.state]), ""]
    parts += [*_visibility(), PAGE_HEAD, *_routes(), "## Types\n"]
    views = [SessionView, ChangeNotice, *(route.view for route in ROUTES)]
    parts += [_type(struct) for struct in _structs(views)]
    return "\n".join(parts).rstrip() + "\n"


def _table(rows: list[tuple[str, str]]) -> list[str]:
    return ["| method | path | what it answers |", "|---|---|---|", *(f"| {m} | `{p}` | {WORDS[p]} |" for m, p in rows)]


def _visibility() -> Iterator[str]:
    yield "## The visibility port\n"
    yield f"`visibilityListen`, HTTPS, for the API server only: the API `{GROUP}`, versions {_all(VERSIONS)}.\n"
    yield "| method | path | what it answers |\n|---|---|---|"
    yield f"| GET | `/apis`, `/apis/{GROUP}`, `/apis/{GROUP}/{{version}}` | discovery |"
    for path in ("clusterqueues/{name}", "namespaces/{namespace}/localqueues/{name}"):
        words = (
            f"`PendingWorkloadsSummary`: what is pending there, in its order; `limit` (default: {LIMIT}) and `offset`"
        )
        yield f"| GET | `/apis/{GROUP}/{{version}}/{path}/pendingworkloads` | {words} |"
    yield ""


def _routes() -> Iterator[str]:
    for route in ROUTES:
        yield f"### {route.path}\n"
        yield f"[{route.view.__name__}](#{route.view.__name__.lower()})\n"
        if route.query:
            yield "| parameter | what it is |\n|---|---|"
            yield from (f"| `{name}` | {PARAMETERS[name]} |" for name in route.query)
            yield ""


def _structs(views: list[type[Any]]) -> list[type[Any]]:
    """Give types and those of their fields, each once, sorted by name."""
    found: dict[str, type[Any]] = {}
    waiting = list(views)
    while waiting:
        struct = waiting.pop()
        if struct.__name__ not in found:
            found[struct.__name__] = struct
            waiting += [inner for field in msgspec.structs.fields(struct) for inner in _inside(field.type)]
    return [found[name] for name in sorted(found)]


def _inside(kind: Any) -> Iterator[type[Any]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for argument in get_args(kind):
        yield from _inside(argument)


def _type(struct: type[Any]) -> str:
    about = re.sub(r"^`/ui/api/[^`]*`: |^`\.\.\./[^`]*`: ", "", inspect.getdoc(struct) or "")
    about = re.sub(r"`([a-z]+(?:_[a-z]+)+)`", lambda name: f"`{_camel(name[1])}`", about[:1].upper() + about[1:])
    fields = msgspec.structs.fields(struct)
    if struct.__struct_config__.array_like:
        names = ", ".join(f"`{field.encode_name}`" for field in fields)
        return f"### {struct.__name__}\n\n{about}\n\nAn array: {names}.\n"
    rows = [f"| `{field.encode_name}` | {_words(field.type)} |" for field in fields]
    return "\n".join([f"### {struct.__name__}\n", about, "", "| field | type |", "|---|---|", *rows, ""])


def _words(kind: Any) -> str:
    """Write a type for people."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is dict:
        return f"map of {_words(arguments[0])} to {_words(arguments[1])}"
    if origin is tuple:
        inner = [argument for argument in arguments if argument is not Ellipsis]
        return f"list of {_words(inner[0])}" if Ellipsis in arguments else " and ".join(map(_words, inner))
    if arguments and str(kind).startswith("typing.Literal"):
        return _all(arguments)
    if arguments:
        return " or ".join(_words(argument) for argument in arguments)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return {
        "str": "text",
        "int": "number",
        "float": "number",
        "bool": "true or false",
        "NoneType": "null",
        "Raw": "any JSON",
    }.get(kind.__name__, kind.__name__)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _all(values: Any) -> str:
    return ", ".join(f"`{value}`" for value in values)
