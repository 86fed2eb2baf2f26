"""`sluice replay` tells which recorded decisions other policies would make otherwise."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.offline.dryrun.files import GPU, NAMESPACE, SUSPEND, job
from tests.offline.running import invoke
from webhook import documents
from webhook.admission.pipeline import mutate, validate
from webhook.admission.verdict import Verdict
from webhook.admission.wire import parse
from webhook.cli import exits
from webhook.cli.commands.policies.replay import replay_command
from webhook.offline.dryrun.file_facts import FileFacts
from webhook.policy.loading.load_bundle import load_bundle
from webhook.record.recorder import Recorder


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A recording of three Jobs under the policies in `policies`: one good, one refused, one refused by the queue."""
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/gpu.yaml").write_text(GPU)
    Path("policies/suspend.yaml").write_text(SUSPEND)
    Path("ns.yaml").write_text(NAMESPACE)
    bundle = load_bundle([Path("policies")])
    facts = FileFacts([documents.read(NAMESPACE)[0].value], {})
    recorder = Recorder(Path("recorded"))
    for name, gpus in (("good", 1), ("half", 0.5), ("large", 100)):
        review = request(documents.read(job(name, gpus))[0].value)
        recorder.write(review, mutate(review, bundle, facts), 0.002, "mutate")
        verdict = validate(review, bundle, facts)
        if name == "large":
            verdict = Verdict(False, 403, "Forbidden", "team-a/gpu can never give 100", policies=verdict.policies)
        recorder.write(review, verdict, 0.001, "validate")
    recorder.close()
    return lambda *args: invoke(replay_command, *args)


def request(obj):
    kind = {"group": "batch", "version": "v1"}
    wire = {
        "uid": "u",
        "kind": {**kind, "kind": "Job"},
        "resource": {**kind, "resource": "jobs"},
        "operation": "CREATE",
        "name": obj["metadata"]["name"],
        "namespace": "team-a",
        "object": obj,
    }
    return parse({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": wire})


def test_the_same_policies_decide_the_same(recorded):
    """Replayed under the policies of the recording nothing differs, whatever was masked."""
    done = recorded("recorded", "-c", "ns.yaml")
    assert done.exit_code == exits.PASSED
    assert re.sub(r"\d+\.\d+ ms", "N", done.stdout) == (
        "note: 1 denials came from the queue and are not replayed\n"
        "latency recorded: p50 N, p95 N, p99 N\n"
        "latency replayed: p50 N, p95 N, p99 N\n"
        "0 of 6 recorded reviews would be decided differently\n"
    )


def test_a_missing_namespace_is_no_pass(recorded):
    """Without the namespace that policies select by, "0 differ" would say nothing: it is named, with exit code 2."""
    lines = Path("recorded/reviews.jsonl").read_text().splitlines(keepends=True)
    Path("recorded/reviews.jsonl").write_text(lines[1])  # the validation of the good one: allowed either way
    done = recorded("recorded")
    assert done.exit_code == exits.BAD_INPUT
    assert "sluice replay: required objects are missing: Namespace team-a; " in done.stderr
    assert recorded("recorded", "--allow-missing").exit_code == exits.PASSED


def test_other_policies_show_their_decisions(recorded):
    """A policy that refuses more is shown with both messages, one that shapes otherwise with both patches."""
    Path("policies/gpu.yaml").write_text(GPU.replace(".isInteger()", ".isInteger() && false"))
    Path("policies/suspend.yaml").write_text(SUSPEND.replace("suspend: true", "backoffLimit: 0"))
    done = recorded("recorded", "-c", "ns.yaml")
    assert done.exit_code == exits.FAILED
    assert "CREATE Job team-a/good: now denied  recorded/reviews.jsonl:2\n  - allowed: true\n  + allowed: false\n" in (
        done.stdout
    )
    assert "CREATE Job team-a/half: different patch" in done.stdout
    assert done.stdout.endswith("4 of 6 recorded reviews would be decided differently\n")


def test_json_has_both_verdicts(recorded):
    """The JSON form names each changed review and has the latencies."""
    Path("policies/suspend.yaml").unlink()
    found = json.loads(recorded("recorded", "-c", "ns.yaml", "-o", "json").stdout)
    assert [(c["name"], c["differs"]) for c in found["changed"]] == [(n, ["patch"]) for n in ("good", "half", "large")]
    assert set(found["latencyMs"]) == {"recorded", "replayed"}
    assert (found["total"], found["refusedByQueue"]) == (6, 1)


def test_compressed_recordings_are_read(recorded):
    """A recording that was compressed is read as well."""
    Path("old.jsonl.gz").write_bytes(gzip.compress(Path("recorded/reviews.jsonl").read_bytes()))
    assert recorded("old.jsonl.gz", "-c", "ns.yaml").stdout.endswith(
        "0 of 6 recorded reviews would be decided differently\n"
    )


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"{}\n", exits.BAD_INPUT, "bad.jsonl:1: not a recorded review: no verdict"),
        (b"\x1f", exits.BAD_INPUT, "bad.jsonl:1: not JSON"),
        (b"", exits.NOTHING_TO_RUN, "no recorded reviews"),
        (None, exits.BAD_INPUT, "bad.jsonl"),
    ],
)
def test_bad_recordings_are_told(recorded, content, code, said):
    """A file that cannot be used is named with its line, and never ends in a traceback."""
    if content is not None:
        Path("bad.jsonl").write_bytes(content)
    done = recorded("bad.jsonl")
    assert (done.exit_code, said in done.stderr) == (code, True)


def test_a_line_that_is_no_review_is_left_out(recorded):
    """Each is told, of many the first ones; the others are replayed, and the exit code says that some were not."""
    lines = Path("recorded/reviews.jsonl").read_text().splitlines()
    Path("recorded/reviews.jsonl").write_text("\n".join([*lines[:1], '{"time": 1', *lines[1:]]))
    done = recorded("recorded", "-c", "ns.yaml")
    assert done.exit_code == exits.BAD_INPUT
    assert done.stdout.endswith("0 of 6 recorded reviews would be decided differently\n")
    assert done.stderr.startswith("sluice replay: recorded/reviews.jsonl:2: not JSON")
    assert done.stderr.endswith(" (left out)\n")
    Path("recorded/reviews.jsonl").write_text("\n".join([*lines, *["{}"] * 12]))
    told = recorded("recorded", "-c", "ns.yaml").stderr.splitlines()
    assert (len(told), told[-1]) == (11, "sluice replay: and 2 more lines (left out)")


@pytest.mark.parametrize(("name", "value"), [("warnings", [["w"]]), ("warnings", "w"), ("policies", True)])
def test_a_verdict_of_the_wrong_types_is_told_at_its_line(recorded, name, value):
    """A line that somebody edited is none that the server recorded."""
    lines = Path("recorded/reviews.jsonl").read_text().splitlines()
    row = json.loads(lines[1])
    lines[1] = json.dumps({**row, "verdict": {**row["verdict"], name: value}})
    Path("recorded/reviews.jsonl").write_text("\n".join(lines))
    done = recorded("recorded", "-c", "ns.yaml")
    assert done.exit_code == exits.BAD_INPUT
    assert f"recorded/reviews.jsonl:2: not a recorded review: {name} of the verdict" in done.stderr
