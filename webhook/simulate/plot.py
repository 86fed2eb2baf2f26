"""A simulation as an SVG: used quota by queue and waiting jobs over time, one column per rule set.

Rendered by a template, without a plotting library: the same run gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jinja2 import Environment

from webhook.simulate.simulation import SimulationResult, UsageSample
from webhook.simulate.summary import capacity, integral, summarise

COLOURS: Final = ("#3366cc", "#dc7633", "#2e8b57", "#8e44ad", "#c0392b", "#16a085", "#7f8c8d", "#b7950b")
WIDTH: Final = 430
HEIGHT: Final = 190
GAP: Final = 70
"""Between two columns."""
LETTER: Final = 7
TITLE_LETTER: Final = 9
"""Widths of letters, which no browser tells us."""
BUCKETS: Final = 200
MOST: Final = len(COLOURS)
REST: Final = "#cccccc"
"""The colour of all queues that have none of their own."""

TEMPLATE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ width }} {{ height }}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
{% for c in columns %}
<g transform="translate({{ c.x }},0)">
<text x="0" y="18" font-size="15" font-weight="bold"{% if c.squeezed %} textLength="{{ c.squeezed }}"\
 lengthAdjust="spacingAndGlyphs"{% endif %}>{{ c.title }}</text>
{% for line in c.subtitle %}<text x="0" y="{{ 34 + 14 * loop.index0 }}" fill="#555">{{ line }}</text>
{% endfor %}
{% for p in c.panels %}
<g transform="translate(0,{{ p.y }})">
<text x="0" y="-6" fill="#333">{{ p.title }}</text>
<rect width="{{ panel_width }}" height="{{ panel_height }}" fill="none" stroke="#bbb"/>
{% for a in p.areas %}<path d="{{ a.path }}" fill="{{ a.fill }}" stroke="{{ a.stroke }}" stroke-width="1"/>
{% endfor %}
<text x="-4" y="10" text-anchor="end" fill="#555">{{ p.top }}</text>
<text x="-4" y="{{ panel_height }}" text-anchor="end" fill="#555">0</text>
<text x="0" y="{{ panel_height + 15 }}" fill="#555">0 s</text>
<text x="{{ panel_width }}" y="{{ panel_height + 15 }}" text-anchor="end" fill="#555">{{ c.end }}</text>
</g>
{% endfor %}
</g>
{% endfor %}
<g transform="translate({{ left }},{{ legend_y }})">
{% for k in legend %}
<rect x="{{ k.x }}" y="{{ k.y }}" width="11" height="11" fill="{{ k.colour }}"/>
<text x="{{ k.x + 16 }}" y="{{ k.y + 10 }}">{{ k.name }}</text>
{% endfor %}
</g>
</svg>
"""


@dataclass(frozen=True, slots=True)
class Area:
    """A shape in a panel."""

    path: str
    fill: str
    stroke: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram; `top` labels the upper end of its axis."""

    title: str
    y: int
    top: str
    areas: tuple[Area, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """The diagrams of one rule set. `squeezed` is the width of a title that is too long, else 0."""

    x: int
    title: str
    squeezed: int
    subtitle: tuple[str, ...]
    end: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """What all columns share: the time of the end, the resource, the queues by name, and the most that wait at once.

    `others` is the number of queues that have no name here.
    """

    end: int
    resource: str
    names: tuple[str, ...]
    others: int
    most: float


@dataclass(frozen=True, slots=True)
class LegendKey:
    """What a colour stands for."""

    name: str
    colour: str
    x: int
    y: int


def plot(outcomes: Sequence[SimulationResult]) -> str:
    """Draw the outcomes beside each other on the same axes, as the text of an SVG file."""
    ends = [time for o in outcomes for time in (o.end, *(sample.at for sample in o.samples[-1:]))]
    end = max(ends, default=0) or 1
    resource = _main_resource(outcomes[0])
    names, others = _largest(outcomes, resource)
    waiting = [_series(o, end, lambda s: float(sum(s.pending.values()))) for o in outcomes]
    most = max((max(w, default=0.0) for w in waiting), default=0.0) or 1.0
    axes = Axes(end, resource, tuple(names), others, most)
    columns = [_column(i, o, axes, waiting[i]) for i, o in enumerate(outcomes)]
    width = max(80 + len(outcomes) * (WIDTH + GAP), 600)
    legend = list(_legend(axes, width - 80))
    environment = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(TEMPLATE).render(
        columns=columns,
        legend=legend,
        left=50,
        legend_y=540,
        width=width,
        height=578 + max((row.y for row in legend), default=0),
        panel_width=WIDTH,
        panel_height=HEIGHT,
    )


def _column(i: int, outcome: SimulationResult, axes: Axes, waiting: Sequence[float]) -> Column:
    summary = summarise(outcome, ())
    resource, most = axes.resource, axes.most
    return Column(
        x=50 + i * (WIDTH + GAP),
        title=outcome.name,
        squeezed=WIDTH + GAP // 2 if len(outcome.name) * TITLE_LETTER > WIDTH + GAP // 2 else 0,
        subtitle=(
            f"mean wait {seconds(summary.total.wait_mean)}, {summary.total.preemptions} preemptions,",
            f"fairness (Jain) {summary.fairness:.3f}, {summary.utilisation.get(resource, 0):.0%} of {resource} used",
        ),
        end=seconds(axes.end),
        panels=(
            Panel(f"{resource} usage by queue", 70, "100%", _stack(outcome, axes)),
            Panel("pending workloads", 310, f"{most:.0f}", (_line(waiting, most),)),
        ),
    )


def _stack(outcome: SimulationResult, axes: Axes) -> tuple[Area, ...]:
    quota = capacity(outcome.snapshot).get(axes.resource) or 1
    base = [0.0] * BUCKETS
    areas = []
    parts = [(_use_of({name}, axes.resource), colour) for name, colour in zip(axes.names, COLOURS, strict=False)]
    if axes.others:
        parts.append((_use_but(set(axes.names), axes.resource), REST))
    for use, colour in parts:
        part = [n / quota for n in _series(outcome, axes.end, use)]
        top = [b + p for b, p in zip(base, part, strict=True)]
        points = [*_points(top, 1.0), *reversed(_points(base, 1.0))]
        areas.append(Area("M" + " L".join(points) + " Z", colour, "none"))
        base = top
    return tuple(areas)


def _use_of(queues: Iterable[str], resource: str) -> Callable[[UsageSample], float]:
    return lambda sample: float(sum(sample.usage.get((queue, resource), 0) for queue in queues))


def _use_but(queues: Container[str], resource: str) -> Callable[[UsageSample], float]:
    return lambda sample: float(
        sum(n for (queue, name), n in sample.usage.items() if name == resource and queue not in queues)
    )


def _legend(axes: Axes, width: int) -> Iterator[LegendKey]:
    """Yield the keys in as many columns as the longest name leaves room for."""
    rest = [f"{axes.others:,} other {'queue' if axes.others == 1 else 'queues'}"] if axes.others else []
    named = [*zip(axes.names, COLOURS, strict=False), *((name, REST) for name in rest)]
    step = max((30 + LETTER * len(name) for name, _ in named), default=150)
    columns = max(1, width // max(step, 150))
    for i, (name, colour) in enumerate(named):
        yield LegendKey(name, colour, max(step, 150) * (i % columns), 18 * (i // columns))


def _line(values: Sequence[float], most: float) -> Area:
    return Area("M" + " L".join(_points(values, most)), "none", "#333")


def _points(values: Sequence[float], most: float) -> list[str]:
    step = WIDTH / (len(values) - 1)
    return [f"{i * step:.1f},{HEIGHT * (1 - min(v / most, 1.0)):.1f}" for i, v in enumerate(values)]


def _series(outcome: SimulationResult, end: int, value: Callable[[UsageSample], float]) -> list[float]:
    """Return the time-weighted mean of a sample's value in each of `BUCKETS` equal spans."""
    sums = [0.0] * BUCKETS
    width = end / BUCKETS
    samples = outcome.samples
    for i, sample in enumerate(samples):
        until = samples[i + 1].at if i + 1 < len(samples) else end
        at, number = float(sample.at), value(sample)
        while at < min(until, end):
            bucket = min(int(at / width), BUCKETS - 1)
            edge = end if bucket == BUCKETS - 1 else (bucket + 1) * width
            upto = min(edge, until)
            sums[bucket] += number * (upto - at)
            at = upto if upto > at else at + 1
    return [total / width for total in sums]


def _main_resource(outcome: SimulationResult) -> str:
    """The resource that is used most of what there is: the one worth drawing."""
    used = summarise(outcome, ()).utilisation
    return max(sorted(used), key=lambda r: used[r], default="cpu")


def _largest(outcomes: Sequence[SimulationResult], resource: str) -> tuple[list[str], int]:
    """The queues that used most of it in any outcome, at most `MOST`, sorted by name; and how many more used it."""
    used: dict[str, float] = {}
    for outcome in outcomes:
        for (queue, name), n in integral(outcome.samples, outcome.end).items():
            if name == resource:
                used[queue] = max(used.get(queue, 0.0), n)
    return sorted(sorted(used, key=lambda q: (-used[q], q))[:MOST]), max(0, len(used) - MOST)


def seconds(milliseconds: float) -> str:
    """Write a time for people: `250 ms`, `12.5 s`, `3.2 min`, `4.1 h`."""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if milliseconds >= 2 * size or (unit == "s" and milliseconds >= size):
            return f"{milliseconds / size:.1f} {unit}"
    return f"{milliseconds:.0f} ms"
