"""µs per evaluation of five expressions, ours beside the API server's CEL, cel-python and Python by hand; compile time.

The expressions and the object are those of the shared README; what is not on this machine is left out and said so.
"""

import re
import time
from collections.abc import Callable
from typing import Any

import celpy
from celpy import celtypes
from rich.console import Console
from rich.table import Table

from tests.controlplane import oracle
from webhook import cel
from webhook.kube.quantity import parse

try:  # `make bench` installs it where there is a wheel
    from cel_expr_python import cel as cpp
except ImportError:
    cpp = None

LIMITS = {"nvidia.com/gpu": "2", "cpu": "8", "memory": "32Gi"}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "team-a", "app": "train"}},
    "spec": {
        "suspend": False,
        "template": {
            "spec": {
                "containers": [
                    {"name": "main", "image": "registry.example.com/team/train:1.2", "resources": {"limits": LIMITS}},
                    {"name": "logs", "image": "registry.example.com/team/logs:1.0", "resources": {"limits": LIMITS}},
                ]
            }
        },
    },
}
CONTAINERS = "object.spec.template.spec.containers"
EXPRESSIONS = {
    "E1": f"{CONTAINERS}.all(c, !has(c.resources) || !has(c.resources.limits) || "
    "!('nvidia.com/gpu' in c.resources.limits) || quantity(c.resources.limits['nvidia.com/gpu']).isInteger())",
    "E2": "object.metadata.?labels[?'kueue.x-k8s.io/queue-name'].orValue('') != ''",
    "E3": f"{CONTAINERS}.map(c, c.name).filter(n, n.startsWith('m')).size() > 0",
    "E4": CONTAINERS + r".all(c, c.image.matches('^registry\\.example\\.com/[a-z0-9/._-]+:[a-z0-9.]+$'))",
    "E5": "Object{spec: Object.spec{suspend: true}}",
}
BUNDLES = (250, 500, 1_000)


def by_hand_gpus(o: Any) -> bool:
    """E1 without any of CEL's errors."""
    for c in o["spec"]["template"]["spec"]["containers"]:
        limits = c.get("resources", {}).get("limits", {})
        gpus = limits.get("nvidia.com/gpu")
        if gpus is not None and (parse(gpus).nanos % 1_000_000_000):
            return False
    return True


def by_hand_names(o: Any) -> bool:
    """E3 without any of CEL's errors."""
    names = [c["name"] for c in o["spec"]["template"]["spec"]["containers"]]
    return len([n for n in names if n.startswith("m")]) > 0


IMAGE = re.compile(r"registry\.example\.com/[a-z0-9/._-]+:[a-z0-9.]+$")


def by_hand_images(o: Any) -> bool:
    """E4 with Python's own `re`."""
    return all(IMAGE.match(c["image"]) for c in o["spec"]["template"]["spec"]["containers"])


BY_HAND: dict[str, Callable[[Any], object]] = {
    "E1": by_hand_gpus,
    "E2": lambda o: o["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name", "") != "",
    "E3": by_hand_names,
    "E4": by_hand_images,
    "E5": lambda o: {"spec": {"suspend": True}},
}


def microseconds(run: Callable[[], object], seconds: float = 0.2) -> float:
    """The best of three rounds, in µs a call."""
    count, best = 1, float("inf")
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        spent = time.perf_counter() - start
        if spent > seconds / 10:
            break
        count *= 4
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - start) / count * 1e6)
    return best


def ours(name: str) -> tuple[float, float]:
    """The fast and the exact form."""
    env = cel.mutation_env() if name == "E5" else cel.validation_env()
    program = cel.compile(EXPRESSIONS[name], env)
    values = dict.fromkeys(env.variables) | {"object": JOB}
    given = tuple(values.values())
    return microseconds(lambda: program.call(*given)), microseconds(lambda: program.evaluate(values))


def interpreted(name: str) -> float | None:
    """cel-python, the object converted beforehand; it has neither optionals nor quantities nor objects."""
    if name not in ("E3", "E4"):
        return None
    env = celpy.Environment()
    program = env.program(env.compile(EXPRESSIONS[name]))
    activation = {"object": celpy.json_to_cel(JOB)}
    assert isinstance(program.evaluate(activation), celtypes.BoolType)
    return microseconds(lambda: program.evaluate(activation))


def compiled_c(name: str) -> float | None:
    """cel-expr-python (cel-cpp), the activation prepared beforehand; None where it, or what E1 and E5 need, is not."""
    if cpp is None:
        return None
    try:
        env = cpp.NewEnv(variables={"object": cpp.Type.DYN})
        program = env.compile(EXPRESSIONS[name])
        activation = env.Activation({"object": JOB})
        program.eval(activation)
    except Exception as error:  # it has one class of errors of its own for everything
        print(f"{name} in cel-expr-python: {str(error).splitlines()[0][:80]}")
        return None
    return microseconds(lambda: program.eval(activation))


def reference() -> dict[str, dict[str, Any]]:
    """The API server's CEL, nothing where its binary cannot be had."""
    try:
        return oracle.bench(JOB)
    except (OSError, RuntimeError) as error:
        print(f"the API server's CEL is not on this machine: {error}")
        return {}


def compile_seconds(count: int) -> float:
    """How long it takes to compile the five expressions for `count` policies, no two alike."""
    start = time.perf_counter()
    for index in range(count):
        for name, text in EXPRESSIONS.items():
            env = cel.mutation_env() if name == "E5" else cel.validation_env()
            cel.compile(f"{text} // {index}", env)
    return time.perf_counter() - start


def main() -> None:
    """Print both tables."""
    server = reference()
    columns = ("", "ours", "ours, metered", "API server", "without cost", "cel-expr-python", "cel-python", "by hand")
    table = Table(*columns, title="µs a call")
    for name in EXPRESSIONS:
        fast, exact = ours(name)
        row = server.get(name, {})
        hand = microseconds(lambda name=name: BY_HAND[name](JOB)) if name in BY_HAND else None
        others = (compiled_c(name), interpreted(name), hand)
        figures = (fast, exact, row.get("tracked"), row.get("untracked"), *others)
        table.add_row(name, *("-" if f is None else f"{f:.2f}" for f in figures))
    Console(width=120).print(table)
    Console(width=120).print(bundles())


def bundles() -> Table:
    """Compile time of bundles: where the cost of one does not grow with their number, growth is 1."""
    table = Table("policies", "s", "ns an expression", "growth", title="compiling bundles of 5 expressions a policy")
    first = None
    for count in BUNDLES:
        spent = compile_seconds(count)
        each = spent / count / len(EXPRESSIONS) * 1e9
        first = each if first is None else first
        table.add_row(f"{count:,}", f"{spent:.2f}", f"{each:,.0f}", f"{each / first:.2f}")
    return table


if __name__ == "__main__":
    main()
