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
    page = " ".join((DOCS / "simulate.md").read_text(encoding="utf-8").split())
    then, now = ({q.split("-")[2]: f"{wait:.0f}" for q, wait in waited.items()} for waited in waits)
    assert f"`research` waits {now['research']} minutes on average instead of {then['research']}" in page
    assert all(f"`{team}` {now[team]} instead of {then[team]}" in page for team in ("speech", "vision"))
    assert f"Jain's index falls from {before['fairness']:.3f} to {after['fairness']:.3f}" in page
    assert (before["total"]["preemptions"], after["total"]["preemptions"]) == (0, 0)
    assert before["fairness"] > 0.999 > after["fairness"]
    titles = ["volcano-proportion", "research-counts-double"]
    assert [t for t in titles if t in picture.read_text()] == titles
    assert (DOCS / "simulate-weight.svg").read_text() == picture.read_text(), "draw it with the command of the page"


def test_the_table_tells_both_rule_sets_side_by_side():
    """Each row of one rule set stands above its like of the other."""
    output = run("--compare", "kueue", "fifo", "--by", "queue")
    assert "kueue" in output
    assert "fifo" in output
    assert output.count("lab-0-research-0") == 2


def test_a_trace_runs_in_empty_queues_of_a_state_file(tmp_path):
    """A Workload and a Job of the cluster's state are not those of the trace."""
    trace, state = tmp_path / "t.csv", tmp_path / "state.yaml"
    trace.write_text("time,queue,run,namespace,nvidia.com/gpu\n0,default,60,vision,8\n")
    teams, waiting = DOCS / "examples" / "teams", ROOT / "docs/examples/gpu-job.yaml"
    state.write_text((teams / "queues.yaml").read_text() + "---\n" + (teams / "train.yaml").read_text())
    for files in (["-f", str(state)], ["-f", str(teams), "-f", str(waiting)]):
        result = CliRunner().invoke(simulate, [str(trace), *files, "-o", "json"])
        assert result.exit_code == 0, result.output
        (made,) = json.loads(result.output)
        assert (made["total"]["jobs"], made["total"]["wait_max"]) == (1, 0)


def test_rules_and_queues_are_compared_one_at_a_time():
    """Of two rule sets and two sets of queues there would be four runs."""
    both = ["--compare", "kueue", "fifo", "--compare-queues", str(DOCS / "examples" / "teams")]
    result = CliRunner().invoke(simulate, [str(EXAMPLES / "three-teams.yaml"), *both])
    assert result.exit_code == 2
    assert "use --compare or --compare-queues, not both" in result.output


def test_the_trace_begins_when_it_is_said(tmp_path):
    """The shipped `time-window` keeps a large job that comes on a Monday at noon until 20 o'clock."""
    trace = tmp_path / "t.csv"
    trace.write_text("time,queue,run,nvidia.com/gpu\n0,lab-0-spare-0,60,65\n")
    queues = tmp_path / "queues.yaml"
    queues.write_text(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: lab-0-spare-0}\n"
        "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: f,"
        " resources: [{name: nvidia.com/gpu, nominalQuota: 99}]}]}]}\n"
    )
    asked = [str(trace), "-f", str(queues), "--rules", "kueue", "--rules", "time-window", "-o", "json"]
    waits = []
    for begin in ([], ["--begin", "2026-11-23T12:00:00Z"]):
        result = CliRunner().invoke(simulate, [*asked, *begin])
        assert result.exit_code == 0, result.output
        waits.append(json.loads(result.output)[0]["total"]["wait_max"])
    assert waits == [0, 8 * 3_600_000]


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
