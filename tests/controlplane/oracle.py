"""The API server's CEL as a function: rows in, answers out (see `oracle/main.go`)."""

import json
import subprocess
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from tests.controlplane.build import binary

JSON = dict[str, Any]


class Oracle:
    """A running oracle process; use it as a context manager."""

    def __init__(self) -> None:
        """Start the process, building it first when it has to be."""
        self._process = subprocess.Popen([str(binary("oracle"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, row: JSON) -> JSON:
        """The answer to one row."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(row).encode() + b"\n")
        stdin.flush()
        return dict(json.loads(stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ask_all(rows: Iterable[JSON]) -> list[JSON]:
    """The answers to `rows`, in their order; one process for all of them (about 10,000 rows a second)."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([str(binary("oracle"))], input=text.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bench(obj: JSON, rounds: int = 50_000) -> dict[str, JSON]:
    """Microseconds per evaluation of E1..E5 on `obj`: {"E1": {"tracked": ..., "untracked": ...}, ...}."""
    command = [str(binary("oracle")), "bench", str(rounds)]
    done = subprocess.run(command, input=json.dumps(obj).encode(), capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row.pop("name"): row for row in rows}
