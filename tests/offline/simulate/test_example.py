"""The example of the documentation: the command runs, says what the page says, and draws the picture that is there."""

import json

from click.testing import CliRunner

from tests.shared import ROOT
from webhook.cli.commands.queues.simulate import simulate

DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples" / "queue"
RULES = ("volcano-proportion", str(EXAMPLES / "research-counts-double.yaml"))


def run(*arguments):
    result = CliRunner().invoke(simulate, [str(EXAMPLES / "three-teams.yaml"), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_example_of_the_page_shows_what_the_page_says(tmp_path):
    """The team that counts double waits less, the others more, nobody is preempted; the picture shows both."""
    picture = tmp_path / "p.svg"
    before, after = json.loads(run("--compare", *RULES, "--by", "queue", "--plot", str(picture), "-o", "json"))
    waits = [{r["queue"]: r["wait_mean"] / 60_000 for r in s["rows"]} for s in (before, after)]
    change = {queue: waits[1][queue] - waits[0][queue] for queue in waits[0]}
    assert change["lab-0-research-0"] < -5
    assert min(change["lab-0-speech-0"], change["lab-0-vision-0"]) > 1
    assert (before["total"]["preemptions"], after["total"]["preemptions"]) == (0, 0)
    assert before["fairness"] > 0.999 > after["fairness"]
    titles = ["volcano-proportion", "research-counts-double"]
    for text in (picture.read_text(), (DOCS / "simulate-weight.svg").read_text()):
        assert [t for t in titles if t in text] == titles


def test_the_table_tells_both_rule_sets_side_by_side():
    """Each row of one rule set stands above its like of the other."""
    output = run("--compare", "kueue", "fifo", "--by", "queue")
    assert "kueue" in output
    assert "fifo" in output
    assert output.count("lab-0-research-0") == 2


def test_a_trace_needs_queues_and_a_readable_file(tmp_path):
    """Without `-f` a CSV trace has nowhere to go; a bad line ends with 2 and its place."""
    trace = tmp_path / "t.csv"
    trace.write_text("time,queue,run,cpu\nsoon,q,1,1\n")
    assert "use -f FILE" in CliRunner().invoke(simulate, [str(trace)]).output
    queues = tmp_path / "q.yaml"
    queues.write_text("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n")
    result = CliRunner().invoke(simulate, [str(trace), "-f", str(queues)])
    assert result.exit_code == 2
    assert "t.csv:2:1: error[TRACE001]" in result.output
