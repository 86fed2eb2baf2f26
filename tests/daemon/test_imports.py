"""What a replica that only answers reviews does without: its memory is needed once a replica."""

import subprocess
import sys

NOT_NEEDED = {
    "webhook.queue_parts",
    "webhook.cluster.controller",
    "webhook.queue.state",
    "webhook.journal.records",
    "webhook.dashboard.page",
    "webhook.cluster.api.client",
    "webhook.certificates.issuing",
}


def test_serving_begins_without_what_only_some_modes_use():
    """`sluice serve` is loaded without the queues, the journal, the page, the API client and the signing."""
    code = f"import sys, webhook.cli.commands.server.serve; print(sorted({NOT_NEEDED} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
