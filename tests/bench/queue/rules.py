"""The rule sets that the queue is timed with: each as its shipped file, and in hand-written Python."""

from __future__ import annotations

from tests.queue.python_rules import KueueRules
from webhook.policy.queue_rules.files import rules_named
from webhook.queue.rules import Rules


def rule_sets() -> dict[str, dict[str, Rules]]:
    """Give name -> form -> rules."""
    return {
        "kueue": {"file": rules_named(["kueue"]), "python": KueueRules()},
        "kueue-fair": {"file": rules_named(["kueue-fair"]), "python": KueueRules(fair=True)},
    }
