"""Rule sets for `plan` and `simulate`: by name or file, with the settings of Kueue's feature gates applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from webhook.api.configuration.sections import QueueSettings
from webhook.policy.queue_rules.configured import configured
from webhook.policy.queue_rules.files import rules_named, shipped
from webhook.queue.rules import Rules


def rules_of(
    names: Sequence[str],
    gates: Mapping[str, bool] | None = None,
    strategies: Sequence[str] | None = None,
) -> Rules:
    """Compile shipped names and files to one rule set, a later one over an earlier one; equal calls share it.

    `gates` (Kueue's feature gates) and `strategies` (of fair sharing) go before what the files say. Raises
    SourceError for a file that is wrong or not there.
    """
    return _rules(tuple(names), tuple(sorted((gates or {}).items())), tuple(strategies or ()))


@lru_cache(maxsize=64)
def _rules(names: tuple[str, ...], gates: tuple[tuple[str, bool], ...], strategies: tuple[str, ...]) -> Rules:
    of_gates = configured(QueueSettings(feature_gates=dict(gates)))
    settings = dict(of_gates.settings)
    if strategies:
        settings["fairSharing"] = {"enabled": True, "strategies": list(strategies)}
    return rules_named(names, of_gates.parameters, settings)


def title(names: Sequence[str]) -> str:
    """Name a rule set for people: the names of shipped sets, of files what tells them apart."""
    known = shipped()
    return " + ".join(n if n in known else _short(Path(n)) for n in names)


def _short(file: Path) -> str:
    return file.parent.name if file.name == "policy.yaml" else file.stem
