"""The reference page of queue rules is what the code says today."""

from pathlib import Path

from webhook.offline.reference.queue_rules import page
from webhook.policy.queue_rules.points import POINTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "queue-rules.md"


def test_the_page_is_current_and_names_every_point():
    """`python -m webhook.offline.reference.queue_rules` writes the page that is there."""
    assert PAGE.read_text() == page() + "\n"
    assert all(f"`{'.'.join(p.path)}`" in page() for p in POINTS)
