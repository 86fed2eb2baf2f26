"""A limit of memory that the kernel keeps for one process, as the chart's limit is kept for a container.

A cgroup where this user may make one, of either version; else a limit of the process itself (RLIMIT_DATA), by which an
allocation beyond it fails instead.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Version:
    """The files of one version of cgroups."""

    limit: str
    peak: str
    kills: str


VERSIONS = (
    Version("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"),
    Version("memory.max", "memory.peak", "memory.events"),
)


class MemoryLimit:
    """One limit. `command` is what to start in the place of a command."""

    def __init__(self, mib: int, group: Path | None, version: Version | None) -> None:
        self.mib, self._group, self._version = mib, group, version

    def command(self, command: Sequence[str]) -> list[str]:
        """A shell that puts itself under the limit, and becomes the command."""
        bound = f'echo $$ > "{self._group}/cgroup.procs"' if self._group else f"ulimit -d {self.mib * 1024}"
        return ["/bin/sh", "-ec", f'{bound}; exec "$@"', "limited", *command]

    def peak(self, pid: int) -> float:
        """MiB that were taken at most."""
        if self._group and self._version:
            return int((self._group / self._version.peak).read_text()) / MIB
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def kills(self) -> int:
        """How many processes the kernel has killed for it."""
        if not (self._group and self._version):
            return 0
        rows = (line.split() for line in (self._group / self._version.kills).read_text().splitlines())
        return next((int(number) for name, number in rows if name == "oom_kill"), 0)


@contextlib.contextmanager
def limited(mib: int, name: str) -> Iterator[MemoryLimit]:
    """A limit for what is started by its `command`; all of that must have ended when this is left."""
    group, version = _group(mib, name)
    try:
        yield MemoryLimit(mib, group, version)
    finally:
        if group is not None:
            group.rmdir()


def _group(mib: int, name: str) -> tuple[Path | None, Version | None]:
    for root in ROOTS:
        group = root / name
        with contextlib.suppress(OSError):
            group.mkdir()
            for version in VERSIONS:
                if (group / version.limit).exists():
                    (group / version.limit).write_text(str(mib * MIB))
                    return group, version
            group.rmdir()
    return None, None
