"""Keeps rows with the API server's answers: `python -m tests.cel_diff.kept < rows.jsonl >> tests/cel_diff/kept.jsonl`.

A row is one of `sluice eval --batch`; its answer becomes `expect`, as in the shared tables.
"""

import json
import sys

from tests.controlplane.oracle import ask_all


def keep(lines: list[str]) -> list[str]:
    """The rows as lines, each with what the API server answers."""
    rows = [json.loads(line) for line in lines if line.strip()]
    out = []
    for row, answer in zip(rows, ask_all(rows), strict=True):
        answer.pop("id", None)
        out.append(json.dumps({**row, "expect": answer}, ensure_ascii=False))
    return out


if __name__ == "__main__":
    print("\n".join(keep(list(sys.stdin))))
