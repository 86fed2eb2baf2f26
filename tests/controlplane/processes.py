"""A child process that ends for certain: own process group, tied to our life, log in a file."""

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_RANGE = range(10_000, 30_000)
"""Below those that systems give to who asks for any: such a one may be taken before the program has begun to listen."""
_PORTS = itertools.islice(itertools.cycle(_RANGE), random.randrange(len(_RANGE)), None)
_LEASH = Path(__file__).with_name("leash.py")


class Child:
    """One running program. `stop` is safe to call twice."""

    def __init__(self, name: str, command: list[str], logs: Path, env: dict[str, str] | None = None) -> None:
        """Start `command`; its output goes to `<logs>/<name>.log`."""
        self.name = name
        self.log = logs / f"{name}.log"
        leash = [sys.executable, "-I", "-S", str(_LEASH)]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*leash, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=env,
            )

    @property
    def running(self) -> bool:
        """Whether the program has not ended yet."""
        return self.process.poll() is None

    def tail(self, lines: int = 20) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def kill(self) -> None:
        """End it at once with SIGKILL, as a power cut would."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Keep it from running meanwhile (SIGSTOP): it neither answers nor ends."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def stop(self, seconds: float = 5) -> int:
        """Ask it to end, insist after `seconds`, and give its exit code."""
        if self.running:
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        self._signal(signal.SIGKILL)  # what is left of its group
        return self.process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody uses right now, and that nobody gets who asks the system for any."""
    return list(itertools.islice((port for port in _PORTS if _is_free(port)), count))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
