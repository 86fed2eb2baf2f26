"""Which policies the running process goes by: changed ones come in, broken ones stay out, parameters are waited for."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from tests.daemon.serving import RULES, running
from tests.patience import until
from webhook.cel.program import Program
from webhook.cluster.webhooks import keep_registered as webhooks
from webhook.cluster.webhooks.configurations import VALIDATING, Options, WebhookEndpoint, register
from webhook.cluster.webhooks.keep_registered import registered
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.config import QueueMode
from webhook.diagnostics import SourceError
from webhook.policy.loading.load_bundle import NOT_IN_FORCE, load_bundle
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy.queue_rules.files import chosen
from webhook.policy_reload import reload
from webhook.policy_reload.policies import LoaderError, fetch, load
from webhook.policy_reload.reload import PolicyFiles
from webhook.store.errors import Refused
from webhook.store.memory import MemoryStore
from webhook.store.objects import ALL


def test_a_changed_policy_comes_into_force(tmp_path, policies):
    """An edit of a policy file changes the verdicts, without a restart, and the digest that is reported."""

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE) as (daemon, talk):
            before = (await talk.judge("FORBIDDEN"))["allowed"], (await talk.judge("other"))["allowed"]
            digest = daemon.policies.current.bundle.digest
            (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))

            async def changed():
                return daemon.policies.current.bundle.digest != digest

            await until(changed, "the change is in force")
            return before, ((await talk.judge("FORBIDDEN"))["allowed"], (await talk.judge("other"))["allowed"])

    assert asyncio.run(go()) == ((False, True), (True, False))


def test_a_change_while_the_first_set_is_loaded_comes_into_force(policies, monkeypatch):
    """A file that is written after it was read and before the first look is not taken for known."""

    def slowly(*rest):
        loaded = load(*rest)
        (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))
        return loaded

    async def go():
        monkeypatch.setattr(reload, "load", slowly)
        files = PolicyFiles((policies,), lambda _: None)
        return await files.look(), await files.look()

    assert asyncio.run(go()) == (True, False)


def test_a_set_that_changes_while_it_is_read_does_not_come_into_force(policies, monkeypatch):
    """A folder is swapped in the middle: what was read may be half of each, and is in no commit."""
    reads = []

    async def halfway(*rest):
        reads.append(RULES.replace("FORBIDDEN", f"name-{len(reads)}"))
        if len(reads) < 3:
            (policies / "policy.yaml").write_text(reads[-1])
        return await fetch(*rest)

    async def go():
        monkeypatch.setattr(reload, "fetch", halfway)
        files = PolicyFiles((policies,), lambda _: None)
        (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))
        return [await files.look() for _ in range(4)]

    assert asyncio.run(go()) == [False, False, True, False]
    assert len(reads) == 3


def test_files_that_change_there_and_back_while_they_are_read_are_read_again(policies, monkeypatch):
    """What the next look sees is what was noted before the change, and is not in force yet."""
    new, other = RULES.replace("FORBIDDEN", "new"), RULES.replace("FORBIDDEN", "other")

    async def meanwhile(*rest):
        (policies / "policy.yaml").write_text(other)
        return await fetch(*rest)

    async def go():
        files = PolicyFiles((policies,), lambda _: None)
        (policies / "policy.yaml").write_text(new)
        with monkeypatch.context() as patched:
            patched.setattr(reload, "fetch", meanwhile)
            first = await files.look()
        (policies / "policy.yaml").write_text(new)
        return first, await files.look(), await files.look()

    assert asyncio.run(go()) == (False, True, False)


def test_a_link_to_a_folder_does_not_replace_a_good_set(policies):
    """It is refused as soon as it is there, and forgotten as soon as it is gone."""

    async def go():
        files = PolicyFiles((policies,), lambda _: None)
        (policies.parent / "real").mkdir()
        (policies / "linked").symlink_to("../real")
        found = [(await files.look(), "is a symbolic link to a folder" in files.problem)]
        (policies / "linked").unlink()
        return [*found, (await files.look(), files.problem == ""), len(files.current.bundle.policies)]

    assert asyncio.run(go()) == [(False, True), (False, True), 1]


def test_a_folder_that_is_set_apart_is_noticed(policies):
    """By a mark that is put into it, and taken away: what is in force is what a restart would load."""
    folder = policies / "drafts"
    folder.mkdir()
    (folder / "policy.yaml").write_text(RULES.replace("no-foo", "draft"))

    async def go():
        files = PolicyFiles((policies,), lambda p: None)

        def names():
            return sorted(policy.name for policy in files.current.bundle.policies)

        seen = [names()]
        (folder / NOT_IN_FORCE).write_text("")
        seen.append((await files.look(), names()))
        (folder / NOT_IN_FORCE).unlink()
        seen.append((await files.look(), names()))
        return seen

    both, apart, again = asyncio.run(go())
    assert len(both) == 2
    assert apart == (True, [name for name in both if name != "draft"])
    assert again == (True, both)


def test_a_set_that_lost_all_its_policies_is_told(policies, caplog):
    """A file that was emptied, a folder without files; that the folder is there again is seen too."""

    async def go():
        files, policy = PolicyFiles((policies,), lambda _: None), policies / "policy.yaml"
        text = policy.read_text()
        policy.write_text("")
        assert await files.look()
        assert "no policies are in force: the changed files hold none, the replaced ones held 1" in caplog.text
        policy.unlink()
        policies.rmdir()
        assert not await files.look()
        assert "no such file or folder" in files.problem
        policies.mkdir()
        assert not await files.look()
        assert not files.problem
        policy.write_text(text)
        return await files.look()

    assert asyncio.run(go())


def test_a_change_that_keeps_size_and_time_comes_into_force(policies):
    """As `cp -p` and `rsync -t` make it; like a file that may be read only now."""

    async def go():
        files, policy = PolicyFiles((policies,), lambda _: None), policies / "policy.yaml"
        before = policy.stat()
        policy.write_text(RULES.replace("FORBIDDEN", "forbidden"))
        os.utime(policy, ns=(before.st_atime_ns, before.st_mtime_ns))
        return await files.look()

    assert asyncio.run(go())


def test_files_are_loaded_again_where_the_process_that_loads_them_failed(policies, monkeypatch):
    """The process was killed, or could not be started: no edit of the files would follow."""

    async def killed(*_):
        raise LoaderError("the process that loads policies exited with code -9")

    async def go():
        files = PolicyFiles((policies,), lambda _: None)
        (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))
        with monkeypatch.context() as patched:
            patched.setattr(reload, "fetch", killed)
            looks = [await files.look(), await files.look()]
        loads = dict(files.loads)
        monkeypatch.setattr(files, "_again", 0.0)  # a minute later
        return [*looks, await files.look()], loads, files.problem

    assert asyncio.run(go()) == ([False, False, True], {"success": 1, "failure": 1}, "")


@pytest.mark.parametrize("mode", [QueueMode.NONE, QueueMode.EMBEDDED])
def test_what_is_registered_follows(tmp_path, policies, mode):
    """A policy for another resource is called for, from the reload on, whatever was registered; the metric says so."""

    async def go():
        store, target = MemoryStore(), WebhookEndpoint(b"PEM", service="sluice", namespace="sluice-system")
        async with running(tmp_path, policies, store, mode=mode, keep_registration=True) as (_, talk):

            async def says(path, text):
                return text in (await talk.get(path))[1]

            await until(lambda: says("/readyz?verbose", "[+]registration ok: not registered"), "it is not registered")
            assert await says("/metrics", "sluice_registration_differs 1.0")
            await register(store, hooks((), gate=False), target, Options())

            async def called(resource):
                found = await registered(store, "sluice")
                return any(rule["resources"] == [resource] for hook in found for rule in hook.rules)

            await until(lambda: called("jobs"), "Jobs are sent")
            text = RULES.replace("resources: [jobs]", "resources: [services]").replace("batch", "''")
            (policies / "policy.yaml").write_text(text)
            await until(lambda: called("services"), "Services are sent")
            await until(lambda: says("/metrics", "sluice_registration_differs 0.0"), "the metric says that they agree")
            assert await says("/readyz?verbose", "[+]registration ok\n")

    asyncio.run(go())


@pytest.mark.parametrize("mode", [QueueMode.NONE, QueueMode.EXTERNAL, QueueMode.EMBEDDED])
def test_one_replica_says_what_is_registered(tmp_path, mode, monkeypatch):
    """Of two whose policies differ, as in an upgrade: the one that leads, and the other when that has ended."""
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.05)
    for resource in ("services", "endpoints"):
        (tmp_path / resource).mkdir()
        text = RULES.replace("[jobs]", f"[{resource}]").replace("batch", "''")
        (tmp_path / resource / "policy.yaml").write_text(text)
    settings = {"mode": mode, "keep_registration": True, "leader_election": True, "lease_seconds": 1}

    async def go():
        store, target = MemoryStore(), WebhookEndpoint(b"PEM", service="sluice", namespace="sluice-system")
        await register(store, hooks((), gate=False), target, Options())

        async def called(resource):
            found = await registered(store, "sluice")
            return any(rule["resources"] == [resource] for hook in found for rule in hook.rules)

        async def version():
            return (await store.get(VALIDATING, "sluice"))["metadata"]["resourceVersion"]

        async with running(tmp_path, tmp_path / "services", store, identity="a", **settings):
            await until(lambda: called("services"), "the first has written")
            before = await version()
            async with running(tmp_path, tmp_path / "endpoints", store, identity="b", **settings) as (_, talk):
                for _ in range(25):
                    await asyncio.sleep(0.1)  # the lease would lapse twice
                    assert await version() == before
                assert "registered for other policies" in (await talk.get("/readyz?verbose"))[1]
        async with running(tmp_path, tmp_path / "endpoints", store, identity="b", **settings):
            await until(lambda: called("endpoints"), "the other has written")
            assert not await called("services")

    asyncio.run(go())


def test_a_replaced_set_goes_without_a_look_for_garbage(policies, monkeypatch):
    """With 50,000 Workloads in memory such a look takes most of a second, in which nobody is answered."""
    monkeypatch.setattr(reload, "REVIEWED", 0.0)

    async def go():
        files = PolicyFiles((policies,), bool)
        before = programs()
        gc.disable()
        try:
            (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other"))
            assert await files.look()
            await until(lambda: programs() == before, "the replaced programs are gone")
        finally:
            gc.enable()
        return before

    assert asyncio.run(go())


def programs():
    """How many compiled expressions are in memory."""
    return sum(type(found) is Program for found in gc.get_objects())


def test_a_broken_set_of_policies_keeps_the_last_good_one(tmp_path, policies, caplog):
    """With a CEL mistake the old verdicts stay; log, metric and `/readyz?verbose` say so; a mended file comes in."""

    async def go():
        async with running(tmp_path, policies, mode=QueueMode.NONE) as (daemon, talk):
            (policies / "policy.yaml").write_text(RULES.replace("object.metadata.name !=", "object.metadata.name !=="))

            async def refused():
                return bool(daemon.policies.problem)

            await until(refused, "the broken file is told")
            verdict = await talk.judge("FORBIDDEN")
            ready, metrics = await talk.get("/readyz?verbose"), await talk.get("/metrics")
            (policies / "policy.yaml").write_text(RULES.replace("taken", "taken already"))

            async def mended():
                return (await talk.judge("FORBIDDEN"))["status"]["message"].endswith("taken already")

            await until(mended, "the mended file is in force")
            return verdict, ready, metrics[1], daemon.policies.problem

    verdict, ready, metrics, after = asyncio.run(go())
    assert verdict["allowed"] is False
    assert ready[0] == 200
    assert "the changed files have errors and are not used" in ready[1]
    assert "sluice_bundle_last_load_successful 0.0" in metrics
    assert 'sluice_bundle_loads_total{result="failure"} 1.0' in metrics
    assert "policy.yaml:9:" in caplog.text
    assert "^" in caplog.text
    assert after == ""


def test_a_broken_set_at_the_start_is_refused_with_its_place(tmp_path, policies):
    """There is no good set to fall back to: the process does not start, and says file, line and column."""
    (policies / "policy.yaml").write_text(RULES.replace("'FORBIDDEN'", "'FORBIDDEN"))
    with pytest.raises(SourceError) as caught:
        PolicyFiles((policies,), lambda new: None)
    assert caught.value.diagnostics[0].place.line == 9
    assert caught.value.diagnostics[0].place.column > 1


LIMITED = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limited}
spec:
  paramKind: {apiVersion: example.org/v1, kind: Limit}
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - expression: object.metadata.name != params.data.name
    message: the parameter forbids this name
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limited}
spec:
  policyName: limited
  paramRef: {name: one, parameterNotFoundAction: Allow}
  validationActions: [Deny]
"""
LIMIT = {"apiVersion": "example.org/v1", "kind": "Limit", "metadata": {"name": "one", "namespace": "team-a"}}


class Closed(MemoryStore):
    """A cluster that lets Limits be listed once `allow` is set, and serves them where `served` is."""

    def __init__(self, *, served=True):
        super().__init__()
        self.allow, self.served = False, served

    async def scope(self, gvk):
        return await super().scope(gvk) if gvk.kind != "Limit" or self.served else None

    async def list(self, gvk, namespace=None, labels=ALL):
        if gvk.kind == "Limit" and not self.allow:
            raise Refused("limits is forbidden", 403)
        return await super().list(gvk, namespace, labels)


def test_a_new_set_waits_until_its_parameters_are_listed(tmp_path, policies, monkeypatch):
    """Until then the old one is in force and the replica ready, and `/readyz?verbose` says what is waited for."""
    monkeypatch.setattr("webhook.daemon.PARAMETERS_WAIT", 0.05)

    async def go():
        store = Closed()
        await store.create({**LIMIT, "data": {"name": "taken"}})
        async with running(tmp_path, policies, store, mode=QueueMode.NONE) as (daemon, talk):
            (policies / "policy.yaml").write_text(RULES.replace("FORBIDDEN", "other") + LIMITED)

            async def waits():
                return "forbidden" in daemon.policies.problem

            await until(waits, "the new set waits")
            old = [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other", "taken")]
            ready = await talk.get("/readyz?verbose")
            store.allow = True

            async def swapped():
                return not daemon.policies.problem

            await until(swapped, "the new set is in force")
            return old, ready, [(await talk.judge(name))["allowed"] for name in ("FORBIDDEN", "other", "taken")]

    old, ready, new = asyncio.run(go())
    assert old == [False, True, True]
    assert ready[0] == 200
    assert "the parameters are not listed yet: example.org/v1 Limit (limits is forbidden)" in ready[1]
    assert new == [True, False, False]


def test_a_set_whose_parameters_are_not_served_is_in_force(tmp_path, policies):
    """To wait for a kind that may never come would keep all policies back: the one fails by its failurePolicy."""

    async def go():
        async with running(tmp_path, policies, Closed(served=False), mode=QueueMode.NONE) as (daemon, talk):
            digest = daemon.policies.current.bundle.digest
            (policies / "policy.yaml").write_text(RULES + LIMITED)

            async def changed():
                return daemon.policies.current.bundle.digest != digest

            await until(changed, "the change is in force")
            return await talk.judge("other")

    message = asyncio.run(go())["status"]["message"]
    assert "failed to find resource referenced by paramKind: 'example.org/v1, Kind=Limit'" in message


def test_rules_are_chosen_by_name(policies):
    """A QueuePolicy is taken by its name, behind those it extends, loaded or shipped; an unknown name is an error."""
    for name, extends in (("base", "[kueue]"), ("top", "[base]")):
        text = f"apiVersion: sluice.dev/v1alpha1\nkind: QueuePolicy\nmetadata: {{name: {name}}}\n"
        (policies / f"{name}.yaml").write_text(text + f"spec: {{extends: {extends}}}\n")
    documents = load_bundle([policies]).queue_policies
    assert [f.name for f in chosen(documents, ["top", "base", "user-caps"])] == ["kueue", "base", "top", "user-caps"]
    with pytest.raises(SourceError, match='did you mean "top"'):
        chosen(documents, ["tap"])


def test_without_a_choice_the_shipped_file_rules(policies):
    """Where no file is chosen, the queues run by the file `kueue`, not by rules written in Python."""
    rules = load([policies]).rules
    assert type(rules) is FileRules
    assert {Path(origin.document.file).parent.name for origin in rules.origins.values()} == {"kueue"}
