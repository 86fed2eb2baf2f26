"""What `dry-run` and `explain` know of their files, and of which objects, is what a server knows of its cluster."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from tests.offline.dryrun.files import QUEUES, job, together
from tests.offline.running import invoke
from tests.one_answer.situations import DEFINITION, GADGET, NAMESPACE, WRITTEN, config_map, configuration
from tests.policy.support import validating
from tests.shared import ROOT
from webhook import documents
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.policies.explain import explain_command

SUSPENDS = (ROOT / "policies" / "suspend-jobs" / "policy.yaml").read_text(encoding="utf-8")
UNNAMED = job("train").replace("kueue.x-k8s.io/queue-name", "app")
ANY = "[{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]"
WAITING = documents.dump(configuration(manageJobsWithoutQueueName=True))
OF_GADGETS = validating("request.resource.resource == 'gadgetry' && request.namespace == ''", ANY)


@dataclass(frozen=True, slots=True)
class Asked:
    """Files of policies, an object, and what else is known; and the state in which the object ends."""

    policies: str
    tried: str
    known: tuple[str, ...]
    state: str


CASES = {
    "a parameter of the cluster goes before one in the files": Asked(
        together(WRITTEN[9], documents.dump(config_map("2", namespace=NAMESPACE))),
        job("train"),
        (documents.dump(config_map("1", namespace=NAMESPACE)),),
        "allowed",
    ),
    "a definition that is known": Asked(OF_GADGETS, documents.dump(GADGET), (documents.dump(DEFINITION),), "allowed"),
    "a Configuration as Kueue has it, without metadata": Asked(SUSPENDS, UNNAMED, (WAITING,), "patched"),
    "a Configuration in its ConfigMap": Asked(
        SUSPENDS,
        UNNAMED,
        (documents.dump({**config_map("1"), "data": {"controller_manager_config.yaml": WAITING}}),),
        "patched",
    ),
}


def by(command: click.Command, *args: str) -> dict[str, Any]:
    """The first object of what a command tells, as JSON."""
    told = json.loads(invoke(command, *args, "-p", "policies.yaml", "--allow-missing", "-o", "json").stdout)
    first: dict[str, Any] = (told["objects"] if command is dry_run_command else told)[0]
    return first


@pytest.mark.parametrize("command", [dry_run_command, explain_command], ids=lambda command: command.name)
@pytest.mark.parametrize("name", CASES)
def test_files_are_known_as_a_cluster_is(name, command, tmp_path, monkeypatch):
    """Whichever command reads them."""
    monkeypatch.chdir(tmp_path)
    asked = CASES[name]
    Path("policies.yaml").write_text(asked.policies)
    Path("tried.yaml").write_text(asked.tried)
    Path("known.yaml").write_text(together(*asked.known))
    found = by(command, "-f", "tried.yaml", "-c", "known.yaml")
    assert (found["state"], found.get("denials", [])) == (asked.state, [])


@pytest.mark.parametrize("command", [dry_run_command, explain_command], ids=lambda command: command.name)
def test_a_definition_may_be_tried_beside_its_object(command, tmp_path, monkeypatch):
    """Each object is read with the definitions of all files."""
    monkeypatch.chdir(tmp_path)
    Path("policies.yaml").write_text(OF_GADGETS)
    Path("tried.yaml").write_text(together(documents.dump(GADGET), documents.dump(DEFINITION)))
    assert by(command, "-f", "tried.yaml")["allowed"]


def test_a_job_without_a_namespace_takes_quota_once(tmp_path, monkeypatch):
    """It is in the namespace of `-n`, and not in `default` as well, where there is a queue of the same name."""
    monkeypatch.chdir(tmp_path)
    other = QUEUES.split("---\n")[-1].replace("team-a", "default")
    Path("policies.yaml").write_text(validating("true"))
    Path("job.yaml").write_text(job("train", 3).replace(f", namespace: {NAMESPACE}", ""))
    Path("queues.yaml").write_text(together(QUEUES, other))
    assert by(dry_run_command, "-f", "job.yaml", "-c", "queues.yaml", "-n", NAMESPACE)["queue"]["state"] == "admitted"
