"""Hypothesis settings of the machines that let a queue live: the same examples each time, others by hand.

By hand: SLUICE_EXAMPLES and SLUICE_EVENTS say how many, SLUICE_SHRINK=1 makes a failing one small.
"""

import os

from hypothesis import HealthCheck, Phase, settings


def settings_of(examples: int, events: int) -> settings:
    """The settings of a machine that by default has so many examples, of so many steps each."""
    return settings(
        max_examples=int(os.environ.get("SLUICE_EXAMPLES", str(examples))),
        stateful_step_count=int(os.environ.get("SLUICE_EVENTS", str(events))),
        derandomize="SLUICE_EXAMPLES" not in os.environ,
        deadline=None,
        phases=tuple(Phase)[: None if "SLUICE_SHRINK" in os.environ else -2],
        suppress_health_check=list(HealthCheck),
    )
