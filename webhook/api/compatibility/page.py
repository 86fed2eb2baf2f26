"""The page `docs/compatibility.md`, made from the table: `python -m webhook.api.compatibility.page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.api.compatibility.differences import DIFFERENCES
from webhook.api.compatibility.feature import Feature, FeatureState
from webhook.api.compatibility.gates import effect
from webhook.api.compatibility.kueue import KUEUE
from webhook.api.compatibility.unsupported import written
from webhook.api.compatibility.volcano import VOLCANO

HEAD = """# Compatibility with Kueue and Volcano

Every feature of Kueue 0.20 and of Volcano, with its state in Sluice. This page is generated from a table in the code
(`make docs`); `sluice lint` and the reasons of pending Workloads use the same table.

- **yes**: supported, with a test
- **partial**: the notes say what is supported
- **different**: Sluice does the same in a different way
- **no**: not supported. If an object uses one of the listed fields, its Workload stays pending with a reason that
  names the field, and `sluice lint` reports an error (SUP001)
"""


def page() -> str:
    """Return the page in Markdown."""
    return "\n".join(
        [HEAD, *_section("Kueue", KUEUE), *_differences(), *_gates(), *_section("Volcano", VOLCANO)],
    )


def _section(name: str, features: Sequence[Feature]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| feature | state | notes | fields | test |"
    yield "|---|---|---|---|---|"
    for f in features:
        signs = ", ".join(f"`{s.of}` `{written(s.path)}`" for s in f.signs if f.state == FeatureState.NO)
        yield f"| {f.name} | {f.state.value} | {f.note} | {signs} | {f'`{f.test}`' if f.test else ''} |"
    yield ""


def _differences() -> Iterator[str]:
    yield "## Where decisions differ from Kueue's\n"
    yield "Compared with the real scheduler in 64 single cycles and 150 traces, `sluice plan --batch` and `--traces`"
    yield "decide as Kueue does, except for the rows of this table.\n"
    yield "| Sluice | why | how to get Kueue's decision | traces that show it |"
    yield "|---|---|---|---|"
    for d in DIFFERENCES:
        yield f"| {d.what} | {d.why} | {d.setting} | {', '.join(d.traces)} |"
    yield ""


def _gates() -> Iterator[str]:
    """Yield Kueue's feature gates, in the order of their names, each with the feature it belongs to."""
    yield "## Feature gates of Kueue\n"
    yield "What a gate in `featureGates` does: `as in Kueue` means that it has its effect. `always on` and `always off`"
    yield "are what Sluice does in any case; `sluice serve` warns if a gate is set to the other value.\n"
    yield "| gate | feature | state | effect |"
    yield "|---|---|---|---|"
    for gate, feature in sorted(((g, f) for f in KUEUE for g in f.gates), key=lambda row: row[0]):
        yield f"| {gate} | {feature.name} | {feature.state.value} | {effect(gate)} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
