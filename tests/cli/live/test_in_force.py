"""The live commands decide by the rules and settings that the leader names, else by those of the folder."""

import asyncio
import json

from tests.cli.live.cluster import name_on_lease, publish
from tests.offline.running import invoke
from webhook.api.configuration.sections import QueueSettings, ResourceSettings
from webhook.cli import exits
from webhook.cli.commands.cluster.why import why
from webhook.cli.commands.queues.plan import plan
from webhook.documents import read
from webhook.policy.queue_rules.configured import Configured, published
from webhook.policy.queue_rules.files import rules_named


def test_the_rules_are_those_in_force(store, monkeypatch, tmp_path):
    """The rules that the leader names; else those of the folder, and that is said; `--rules` goes before both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".sluice.yaml").write_text("queueRules: [fifo]\npolicies: []\n")
    asked = (why, "waits", "-n", "team-a")
    assert "note: the rules in force are not known: Lease sluice-system/sluice does not exist " \
        "(SLUICE_NAMESPACE names the namespace of Sluice); decided by those of " \
        ".sluice.yaml: fifo" in invoke(*asked).stderr  # fmt: skip
    assert invoke(*asked, "--rules", "kueue").stderr == "note: the settings of the queues in force are not known: " \
        "Lease sluice-system/sluice does not exist (SLUICE_NAMESPACE names the namespace of Sluice); " \
        "counted by those of .sluice.yaml\n"  # fmt: skip
    publish(store, ("kueue", "backfill"))
    assert invoke(*asked).stderr == ""
    name_on_lease(store, published(Configured(("kueue",)), "sha256:0", QueueSettings()))
    assert "note: the files of the rules kueue differ here from those in force" in invoke(*asked).stderr
    name_on_lease(store, published(Configured(("team-rules",)), "sha256:0", QueueSettings()))
    assert "the rules in force, team-rules, are not all found here; decided by" in invoke(*asked).stderr
    assert invoke(*asked, "--rules", "kueue").stderr == ""
    name_on_lease(store, "{}")
    for more, what in ((), "rules in force"), (("--rules", "kueue"), "settings of the queues in force"):
        done = invoke(*asked, *more)
        assert done.exit_code == exits.PASSED, done.stderr
        assert f"the {what} are not known: Lease sluice-system/sluice: the annotation sluice.dev/rules cannot be " \
            "read: KeyError('names'); " in done.stderr  # fmt: skip


LICENCES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: licensed, namespace: team-a, creationTimestamp: "2026-01-01T00:00:02Z"}
spec:
  queueName: lq
  podSets: [{name: main, count: 1, template: {spec: {containers: [
    {name: c, image: i, resources: {requests: {nvidia.com/gpu: "4", example.com/licence: "1"}}}]}}}]
"""


UNCOUNTED = ResourceSettings(exclude_resource_prefixes=("example.com/",))


UNCOVERED = "example.com/licence"


def asked_of_licensed(*more):
    """Return what `why` and `plan --live` say of the Workload with the licence, and the notes of both."""
    told, planned = invoke(why, "licensed", "-n", "team-a", *more), invoke(plan, "--live", "-o", "json", *more)
    assert (told.exit_code, planned.exit_code) == (exits.PASSED, exits.PASSED)
    (row,) = [row for row in json.loads(planned.stdout)["pending"] if row["workload"] == "team-a/licensed"]
    assert told.stderr == planned.stderr
    return UNCOVERED in told.stdout, UNCOVERED in row["message"], told.stderr


def test_requests_are_counted_as_the_leader_counts_them(store, monkeypatch, tmp_path):
    """By the settings that it names; else by those of the folder, and that is said; a newer leader's are not known."""
    monkeypatch.chdir(tmp_path)
    asyncio.run(store.create(read(LICENCES)[0].value))
    publish(store)
    assert asked_of_licensed() == (True, True, "")
    (tmp_path / ".sluice.yaml").write_text("resources: {excludeResourcePrefixes: [example.com/]}\n")
    assert asked_of_licensed() == (True, True, "")
    assert asked_of_licensed("--rules", "kueue") == (True, True, "")
    annotation = published(Configured(), rules_named().digest, QueueSettings(resources=UNCOUNTED))
    name_on_lease(store, annotation)
    (tmp_path / ".sluice.yaml").write_text("policies: []\n")
    assert asked_of_licensed() == (False, False, "")
    assert asked_of_licensed("--rules", "kueue") == (False, False, "")
    (tmp_path / ".sluice.yaml").write_text("resources: {excludeResourcePrefixes: [example.com/]}\n")
    newer = {"source": "example.com/licence", "newer": 1}
    strategy, part, row = {"quota_check_strategy": "newer"}, {"newer": 1}, {"transformations": [newer]}
    for unknown in (None, {"newer": 1}, *({"resources": inner} for inner in (strategy, part, row))):
        fields = {**json.loads(annotation), "queues": unknown}
        name_on_lease(store, json.dumps({name: value for name, value in fields.items() if value is not None}))
        told = "note: the settings of the queues in force are not known: counted by those of .sluice.yaml\n"
        assert asked_of_licensed() == (False, False, told)


def test_the_lease_may_be_in_another_namespace(store, monkeypatch, tmp_path):
    """The variable of `sluice serve` says where; it goes before the file, and one that is no name is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".sluice.yaml").write_text("{policies: [], namespace: of-the-file}\n")
    publish(store, namespace="gpu-queue")
    assert "Lease of-the-file/sluice does not exist (SLUICE_NAMESPACE" in invoke(why, "waits", "-n", "team-a").stderr
    monkeypatch.setenv("SLUICE_NAMESPACE", "gpu-queue")
    assert invoke(why, "waits", "-n", "team-a").stderr == ""
    monkeypatch.setenv("SLUICE_NAMESPACE", "GPU/queue")
    done = invoke(why, "waits", "-n", "team-a")
    assert (done.exit_code, "SLUICE_NAMESPACE" in done.stderr) == (exits.BAD_INPUT, True)
