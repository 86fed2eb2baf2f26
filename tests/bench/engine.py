"""What one review costs the engine, by its parts: reading the body, the policies, writing the answer. No HTTP.

The parts of the running process, with the shipped policies and no cluster, called one after the other. Processor time,
and of several rounds the least: what the machine does besides is left out.
"""

import asyncio
import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import orjson
from rich.console import Console
from rich.table import Table

from tests.bench import bodies
from tests.bench.crossings import POLICIES, served
from webhook.admission.verdict import NeedsFacts, Verdict
from webhook.admission.wire import Request, answer, parse
from webhook.server.body import read_json

ROUNDS, TIMES = 100, 40
Review = Callable[[Request], Verdict | NeedsFacts]


def least(work: Callable[[], object]) -> float:
    """Give the microseconds that a call takes in the best of some rounds."""
    found = []
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(TIMES):
            work()
        found.append((process_time() - start) / TIMES * 1e6)
    return min(found)


def parts(review: Review, body: bytes) -> tuple[float, float, float]:
    """Give the microseconds of reading a body, of its review, and of the answer."""
    request = parse(read_json(body))
    verdict = review(request)
    assert isinstance(verdict, Verdict)
    return (
        least(lambda: parse(read_json(body))),
        least(lambda: review(request)),
        least(lambda: orjson.dumps(answer(request.uid, verdict))),
    )


async def measured() -> list[tuple[str, tuple[float, float, float]]]:
    """Measure each kind of review of each body."""
    sent = {"Job": bodies.job(), "PyTorchJob": bodies.pytorch_job()}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as process:
            engine = process.daemon.engine
            await engine.warm.wait()
            gc.disable()  # the process freezes what it holds; this one holds the tests' modules as well
            for name, body in sent.items():
                found.append((f"{name} /mutate", parts(engine.mutate, body)))
                found.append((f"{name} /validate", parts(engine.validate, bodies.shaped(body, POLICIES))))
            gc.enable()
    return found


def main() -> None:
    """Print the figures."""
    table = Table("µs of a review", "body", "policies", "answer", "in all", title="the engine alone")
    for name, figures in asyncio.run(measured()):
        table.add_row(name, *(f"{figure:.1f}" for figure in (*figures, sum(figures))))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
