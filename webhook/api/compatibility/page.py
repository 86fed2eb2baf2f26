"""The page `docs/compatibility.md`, made from the table: `python -m webhook.api.compatibility.page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.api.compatibility.differences import DIFFERENCES
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.compatibility.model import Feature, State
from webhook.api.compatibility.unsupported import written
from webhook.api.compatibility.volcano import VOLCANO

HEAD = """# Compatibility with Kueue and Volcano

Every feature of Kueue 0.20 and of Volcano, with its state in Sluice. This page is made from a table in the code
(`make docs`); `sluice lint` and the reason that a Workload waits for read the same table.

- **yes**: it works, and the test shows it
- **in part**: what works is said beside it
- **another way**: Sluice has other means for the same end
- **no**: it is not there. Where an object asks for it by one of the fields named, its Workload waits with a reason that
  names the field, and `sluice lint` says so as an error (SUP001)
"""


def page() -> str:
    """Give the page in Markdown."""
    return "\n".join(
        [HEAD, *_section("Kueue", KUEUE), *_differences(), *_gates(), *_section("Volcano", VOLCANO)],
    )


def _section(name: str, features: Sequence[Feature]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| feature | state | what is so | asked for by | shown by |"
    yield "|---|---|---|---|---|"
    for f in features:
        signs = ", ".join(f"`{s.of}` `{written(s.path)}`" for s in f.signs if f.state == State.NO)
        yield f"| {f.name} | {f.state.value} | {f.note} | {signs} | {f'`{f.test}`' if f.test else ''} |"
    yield ""


def _differences() -> Iterator[str]:
    yield "## Where a decision is another than Kueue's\n"
    yield "Held against 64 single cycles and 150 traces of the real scheduler, `sluice plan --batch` and `--trace`"
    yield "decide as Kueue does in all that is not named here.\n"
    yield "| Sluice | why | Kueue's answer |"
    yield "|---|---|---|"
    for d in DIFFERENCES:
        yield f"| {d.what} | {d.why} | {d.setting} |"
    yield ""


def _gates() -> Iterator[str]:
    """Give Kueue's feature gates, in the order of their names, each with the feature it belongs to."""
    yield "## Feature gates of Kueue\n"
    yield "| gate | feature | state |"
    yield "|---|---|---|"
    for gate, feature in sorted(((g, f) for f in KUEUE for g in f.gates), key=lambda row: row[0]):
        yield f"| {gate} | {feature.name} | {feature.state.value} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
