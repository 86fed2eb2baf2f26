"""Checks policy files in a process of its own, for the one that serves: `python -m … RULES PATH...`.

Writes the set in pieces to stdout, each behind its length; or, where a file is wrong, the findings. It is started by
`webhook.policy_reload.policies`. It takes what processor time is left over, and a bounded memory.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from webhook.diagnostics import Diagnostic, SourceError
from webhook.documents import Document
from webhook.policy.loading.assemble import assemble
from webhook.policy.loading.lazy_bundle import pack
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import files_of, read_file
from webhook.policy.queue_rules.files import rules_among

LENGTH: Final = struct.Struct(">cI")
"""What stands before each piece: what it is, and how long."""
PIECE: Final = b"p"
FINDINGS: Final = b"f"
END: Final = b"e"
MEMORY: Final = 2 << 30
"""Bytes of address space: a thousand policies take a tenth of it."""
NICE: Final = 5


def pieces(paths: Iterable[Path], rules: Sequence[str]) -> Iterator[bytes]:
    """Load files as a server would, and give the set in pieces. Raises SourceError with all that is wrong."""
    findings: list[Diagnostic] = []
    found: list[Document] = []
    for file in files_of(paths, findings):
        try:
            found += read_file(file)
        except SourceError as error:
            findings += error.diagnostics
    documents = [entry for whole in found for entry in entries(whole)]
    bundle = assemble(documents, findings)
    rules_among(bundle.queue_policies, rules)
    yield from pack(bundle, documents)


def main(arguments: Sequence[str]) -> None:
    """Load, and write to stdout."""
    os.nice(NICE)
    bound_memory()
    gc.disable()  # what is loaded stays until the end: looking for garbage finds none, and takes a fifth of the time
    rules, *paths = arguments
    out = sys.stdout.buffer
    try:
        for piece in pieces(map(Path, paths), rules.split(",") if rules else ()):
            _write(out, PIECE, piece)
        _write(out, END, b"")
    except SourceError as error:
        _write(out, FINDINGS, pickle.dumps(list(error.diagnostics)))
    out.flush()
    os._exit(0)  # nothing is left to be put in order, and taking a large heap apart takes time


def bound_memory() -> None:
    """Take no more memory than MEMORY, or than is allowed already; where a system knows no such limit, go without."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _write(out: BinaryIO, kind: bytes, data: bytes) -> None:
    out.write(LENGTH.pack(kind, len(data)))
    out.write(data)


if __name__ == "__main__":
    main(sys.argv[1:])
