"""Sets of policies taken over from the child that loads them: the same verdicts, and no harm when the child fails."""

import asyncio
import os
import pickle
import subprocess
import sys

import pytest

from tests.patience import until
from tests.server.serving import review
from tests.shared import ROOT
from webhook.admission import pipeline
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.wire import parse
from webhook.diagnostics import SourceError
from webhook.policy.loading.lazy_bundle import PIECE, LazyBundle
from webhook.policy.loading.load_bundle import load_bundle
from webhook.policy.queue_rules.configured import Configured
from webhook.policy_reload.compile_worker import pieces
from webhook.policy_reload.policies import RULES, LoaderError, Policies, fetch, load
from webhook.policy_reload.reload import PolicyFiles

KINDS = ("jobs", "cronjobs", "things")


def policy(name, resource="jobs", rest="", validation="object.metadata.name != 'bad'", failure="Fail"):
    """A policy and its binding, as one file."""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: {failure}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}
{rest}
  validations:
  - {{expression: "{validation}", message: "{name} says no"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
"""


@pytest.fixture
def folder(tmp_path):
    """Policies for three kinds, one of them with failurePolicy Ignore."""
    where = tmp_path / "policies"
    where.mkdir()
    for kind in KINDS:
        (where / f"{kind}.yaml").write_text(policy(kind, kind))
    (where / "soft.yaml").write_text(policy("soft", failure="Ignore"))
    return where


def create(name="bad", resource="jobs"):
    """A request to create something in batch/v1."""
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {}}
    where = {"group": "batch", "version": "v1", "resource": resource}
    return parse(review(object=obj, name=name, resource=where))


def judge(policies, request, only=""):
    """The texts of the denials, without the policy's name in front."""
    denials = pipeline.validate(request, policies.parts[only], MemoryFacts()).denials
    return tuple(text.partition(": ")[2] for text in denials)


def test_a_set_taken_over_judges_as_one_loaded_here():
    """The shipped policies give the same patch, verdict and digest whether a child loaded them or this process."""
    folder = ROOT / "policies"
    here, there = load_bundle([folder]), load([folder])
    assert there.bundle.digest == here.digest
    assert [(p.name, p.mutating) for p in there.bundle.policies] == [(p.name, p.mutating) for p in here.policies]
    containers = [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1.5"}}}]
    obj = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}},
    }
    request = parse(review(object=obj))
    for judged in (pipeline.mutate, pipeline.validate):
        mine, theirs = judged(request, here, MemoryFacts()), judged(request, there.parts[""], MemoryFacts())
        assert theirs == mine
    assert mine.denials


def test_parts_are_kept_apart(folder):
    """At the path of one webhook call only its policies judge; one with Ignore alone has a path of its own."""
    assert judge(load([folder]), create(), "fail") == ("jobs says no", "soft says no")
    assert judge(load([folder]), create(), "ignore") == ()
    soft = folder / "soft.yaml"
    soft.write_text(soft.read_text().replace("operations: [CREATE]", "operations: [CREATE, UPDATE]"))
    policies = load([folder])
    assert judge(policies, create()) == ("jobs says no", "soft says no")
    assert judge(policies, create(), "fail") == ("jobs says no",)
    assert judge(policies, create(), "ignore") == ("soft says no",)
    assert judge(policies, create("good")) == ()
    assert policies.gate_part == "fail"


def test_only_what_is_asked_for_is_compiled(folder, monkeypatch):
    """Of a large set a policy is compiled when a request of its kind comes, and once."""
    monkeypatch.setattr("webhook.policy_reload.policies.FEW", 0)
    policies = load([folder])
    assert [s.compiled for s in policies.lazy.policies] == [None] * 4
    judge(policies, create(resource="cronjobs"))
    compiled = {s.stub.name: s.compiled for s in policies.lazy.policies if s.compiled is not None}
    assert list(compiled) == ["cronjobs"]
    judge(policies, create(resource="cronjobs"), "fail")
    assert policies.lazy.policies[0].compiled is compiled["cronjobs"]


def test_a_new_set_is_ready_for_the_kinds_that_came(folder, monkeypatch):
    """Before a set comes into force, what requests asked of the old one is compiled in it."""
    monkeypatch.setattr("webhook.policy_reload.policies.FEW", 0)
    old = load([folder])
    judge(old, create())
    (folder / "more.yaml").write_text(policy("more"))
    new = asyncio.run(fetch([folder], RULES, old))
    assert sorted(s.stub.name for s in new.lazy.policies if s.compiled) == ["jobs", "more", "soft"]
    assert judge(new, create()) == ("jobs says no", "more says no", "soft says no")
    assert new.rules is old.rules


@pytest.mark.parametrize(
    ("changed", "reused"),
    [
        ("", ["cronjobs", "jobs", "soft", "things"]),
        ("cronjobs", ["jobs", "soft", "things"]),  # a new place in its file is another source as well
    ],
)
def test_unchanged_policies_are_not_compiled_again(folder, changed, reused):
    """A new set uses what the old one has compiled, also after the old one has been released."""
    old = load([folder])
    (folder / "more.yaml").write_text(policy("more"))
    if changed:
        file = folder / f"{changed}.yaml"
        file.write_text("# a comment\n" + file.read_text())
    new = asyncio.run(fetch([folder], RULES, old))
    before = {p.stub.name: p.compiled for p in old.lazy.policies}
    assert sorted(p.stub.name for p in new.lazy.policies if p.compiled is before.get(p.stub.name)) == reused
    assert all(p.compiled is not None for p in new.lazy.policies)
    for _ in old.releasing():
        pass
    assert judge(new, create()) == ("jobs says no", "more says no", "soft says no")
    assert judge(new, create(resource="cronjobs")) == ("cronjobs says no",)


def test_a_changed_binding_is_a_changed_policy(folder):
    """A binding in a file of its own counts: what was compiled with the old one is not used again."""
    whole, _, binding = policy("apart").partition("---\n")
    (folder / "apart.yaml").write_text(whole)
    (folder / "binding.yaml").write_text(binding)
    old = load([folder])
    assert judge(old, create()) == ("apart says no", "jobs says no", "soft says no")
    (folder / "binding.yaml").write_text(binding.replace("Deny", "Audit"))
    new = asyncio.run(fetch([folder], RULES, old))
    assert judge(new, create()) == ("jobs says no", "soft says no")


def test_parameters_exceptions_and_lists_come_along(tmp_path):
    """A List of policies, a parameter, the scope its CRD gives it and an exception mean what they mean here."""
    params = "  paramKind: {apiVersion: example.org/v1, kind: Limit}"
    text = policy("limited", rest=params, validation="object.metadata.name != params.name")
    text = text.replace("validationActions", "paramRef: {name: l, parameterNotFoundAction: Deny}, validationActions")
    items = "".join(f"- {part.strip().replace(chr(10), chr(10) + '  ')}\n" for part in text.split("---\n"))
    (tmp_path / "list.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    (tmp_path / "rest.yaml").write_text("""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.example.org}
spec: {group: example.org, names: {kind: Limit, plural: limits}, scope: Cluster, versions: [{name: v1}]}
---
{apiVersion: example.org/v1, kind: Limit, metadata: {name: l}, name: bad}
---
apiVersion: sluice.dev/v1alpha1
kind: PolicyException
metadata: {name: e}
spec: {policyNames: [limited], reason: why not, expires: "2999-01-01", namespaces: [team-a]}
""")
    policies, here = load([tmp_path]), load_bundle([tmp_path])
    assert policies.bundle.digest == here.digest
    assert list(policies.bundle.objects) == list(here.objects)
    (woken,) = policies.parts[""].validating.policies_for(create()).all
    assert woken.policy.param_kind == here.policies[0].param_kind
    assert judge(policies, create()) == ()
    assert [e.name for e in policies.bundle.exceptions] == ["e"]


def test_findings_of_the_child_are_told_as_they_are(folder):
    """All mistakes of all files come over, with file, line and column."""
    for name in ("jobs", "soft"):
        (folder / f"{name}.yaml").write_text(policy(name, validation="object.metadata.name ="))
    with pytest.raises(SourceError) as caught:
        load([folder])
    assert [d.place.file.rpartition("/")[2] for d in caught.value.diagnostics] == ["jobs.yaml", "soft.yaml"]
    assert all(d.place.line and d.place.column and d.source for d in caught.value.diagnostics)


def failing(monkeypatch, code):
    """Let the child be another program."""
    monkeypatch.setattr("webhook.policy_reload.policies._command", lambda paths, names: [sys.executable, "-c", code])


def look(folder, monkeypatch, code):
    """Change the files, let the child fail, and give what is said of it; the old set judges on."""
    (folder / "jobs.yaml").write_text(policy("jobs"))
    files = PolicyFiles((folder,), lambda new: None)
    (folder / "jobs.yaml").write_text(policy("new"))
    with monkeypatch.context() as patch:
        failing(patch, code)
        assert asyncio.run(files.look()) is False
    assert judge(files.current, create()) == ("jobs says no", "soft says no")
    assert files.loads == {"success": 1, "failure": 1}
    return files.problem


def test_a_child_that_crashes_changes_nothing(folder, monkeypatch):
    """The last set stays in force, and the problem says how the child ended, and its last words."""
    problem = look(folder, monkeypatch, "raise MemoryError('all of it')")
    assert problem == "the process that loads policies exited with code 1: MemoryError: all of it"
    assert "-9" in look(folder, monkeypatch, "import os; os.kill(os.getpid(), 9)")


def test_a_child_that_stops_in_the_middle_changes_nothing(folder, monkeypatch):
    """Half a set is no set."""
    code = "import sys; sys.stdout.buffer.write(b'p' + (99).to_bytes(4, 'big') + b'half')"
    assert "exited with code 0" in look(folder, monkeypatch, code)


def test_a_child_that_takes_for_ever_is_ended(folder, monkeypatch):
    """After its time it is killed, and nothing is left of it."""
    monkeypatch.setattr("webhook.policy_reload.policies.LOAD_SECONDS", 0.5)
    old, children = Policies.of(LazyBundle(), None), []
    start = asyncio.create_subprocess_exec

    async def noted(*arguments, **options):
        children.append(await start(*arguments, **options))
        return children[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    failing(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(LoaderError, match=r"0\.5 s"):
        asyncio.run(fetch([folder], RULES, old))
    [child] = children
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    with pytest.raises(LoaderError, match=r"0\.5 s"):
        load([folder])


def test_a_stop_in_the_middle_of_a_reload_ends_the_child(folder, monkeypatch, tmp_path):
    """When the daemon stops, the child does too."""
    note = tmp_path / "pid"
    failing(monkeypatch, f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)")

    async def go():
        task = asyncio.create_task(fetch([folder], RULES, Policies.of(LazyBundle(), None)))
        await until(lambda: note.exists() and note.read_text(), "the child is there")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_the_child_runs_our_code(folder, monkeypatch, tmp_path):
    """A folder named `webhook` where the process happens to stand is not what is run."""
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "__init__.py").write_text("raise SystemExit('not me')")
    monkeypatch.chdir(tmp_path)
    assert len(load([folder]).bundle.policies) == 4


def test_the_child_keeps_a_limit_it_is_given(folder):
    """Where less memory is allowed than the child would take, it takes that, and loads."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from webhook.policy_reload import compile_worker
compile_worker.bound_memory()
assert resource.getrlimit(resource.RLIMIT_AS) == (1 << 30, 1 << 30)
from webhook.policy_reload.policies import load
assert len(load([{str(folder)!r}]).bundle.policies) == 4
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_nothing_at_all_is_a_set(folder):
    """Without files, and without names of rules, there are no policies, and what the rules are by default."""
    assert load([]).bundle.policies == ()
    assert load([], Configured(())).bundle.digest == load_bundle([]).digest


def test_pieces_are_small(tmp_path):
    """No piece holds more than PIECE policies, and a large file's lines are sent once, not with every policy."""
    text = "---\n".join(policy(f"p{i:03}") for i in range(PIECE + 5))
    (tmp_path / "all.yaml").write_text(text)
    found = [pickle.loads(piece) for piece in pieces([tmp_path], RULES.names)]
    assert [len(piece) for piece in found[:-1]] == [PIECE, 5]
    assert sum(len(head.body) for piece in found[:-1] for head in piece) < 20 * len(text)
    assert found[-1].lines == {str(tmp_path / "all.yaml"): tuple(text.splitlines())}
