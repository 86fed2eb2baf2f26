"""`sluice top`: one look at the queues and at what waits."""

from tests.cli.live.cluster import say
from tests.offline.running import invoke
from webhook.cli import exits
from webhook.cli.commands.cluster.top import top


def test_top_shows_queues_and_what_waits(store):
    """One look: counts, queues, and the Workloads that do not run."""
    done = invoke(top, "--once")
    assert done.exit_code == exits.PASSED, done.stderr
    assert "queues: 1; Workloads: 1 admitted, 1 pending, 0 finished" in done.stdout
    assert "job-waits-1" in done.stdout
    assert "job-runs-1" not in done.stdout


def test_top_has_a_row_on_a_line_for_a_script(store):
    """However long its message is, as `get` prints it."""
    say(store, {"QuotaReserved": ("False", "WaitingForQuota", "one\ntwo " + "long " * 100 + "end")})
    *_, header, row = invoke(top, "--once").stdout.splitlines()
    assert header.startswith("Namespace")
    assert "job-waits-1" in row
    assert row.endswith("long end")
