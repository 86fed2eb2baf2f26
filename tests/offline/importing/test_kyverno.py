"""`sluice import kyverno`: what the API server has goes over with its tests; what is Kyverno's own is told."""

from pathlib import Path

import orjson
import pytest

from tests.offline.running import Done, invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.dry_run import dry_run_command
from webhook.cli.commands.policies.import_policies import import_command
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as suites_command

PODS = "{resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}"
VALIDATING = f"""apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata: {{name: no-host-network}}
spec:
  matchConstraints: {PODS}
  validations:
  - expression: "!object.spec.?hostNetwork.orValue(false)"
    message: no-host-network keeps Pods off the network of their node
  autogen: {{podControllers: {{controllers: [cronjobs, deployments, jobs, statefulsets]}}}}
"""
AUTOGEN = "  autogen: {podControllers: {controllers: [cronjobs, deployments, jobs, statefulsets]}}\n"
MUTATING = f"""apiVersion: policies.kyverno.io/v1beta1
kind: MutatingPolicy
metadata: {{name: add-team}}
spec:
  matchConstraints: {PODS}
  autogen: {{podControllers: {{controllers: []}}}}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{{metadata: Object.metadata{{labels: {{"team": "a"}}}}}}'
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: x}}
spec: {hostNetwork: HOST, containers: [{name: c, image: i}]}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {hostNetwork: true, containers: [{name: c, image: i}]}
"""
TEST = """apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [../policy.yaml]
resources: [objects.yaml]
results:
- {policy: no-host-network, isValidatingPolicy: true, kind: Pod, resources: [good], result: pass}
- {policy: no-host-network, isValidatingPolicy: true, kind: Pod, resources: [bad], result: fail}
- {policy: no-host-network, isValidatingPolicy: true, kind: Deployment, resources: [web], result: fail}
- {policy: no-host-network, isValidatingPolicy: true, kind: ConfigMap, resources: [other], result: skip}
- {policy: add-team, isMutatingPolicy: true, kind: Pod, resources: [good], result: pass, patchedResources: after.yaml}
- {policy: add-team, isMutatingPolicy: true, kind: Deployment, resources: [web], result: skip}
"""
OTHER = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"


def pod(name: str, *, host: bool = False) -> str:
    return POD.replace("NAME", name).replace("HOST", str(host).lower())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A library of a validating and a mutating policy, with tests in a hidden folder."""
    monkeypatch.chdir(tmp_path)
    tests = Path("library/.kyverno-test")
    tests.mkdir(parents=True)
    Path("library/policy.yaml").write_text(f"{VALIDATING}---\n{MUTATING}")
    (tests / "kyverno-test.yaml").write_text(TEST)
    objects = [pod("good"), pod("bad", host=True), DEPLOYMENT, OTHER]
    (tests / "objects.yaml").write_text("---\n".join(objects))
    (tests / "after.yaml").write_text(pod("good").replace("app: x", "app: x, team: a"))
    return tmp_path


def run(*arguments: str) -> Done:
    return invoke(import_command, "kyverno", "library", *arguments)


def test_policies_and_their_tests_go_over(here):
    """Both policies, a binding, and a suite each, which lint and test take as they are."""
    done = run("-o", "policies")
    assert (done.exit_code, done.stderr) == (exits.PASSED, ""), done.stdout
    counted = invoke(lint_command, "policies").stdout.splitlines()[-1].partition(" in ")[0]
    assert done.stdout.splitlines() == [
        "imported 2 of 2 policies into policies, with 6 tests",
        f"sluice lint: {counted}" + ("" if counted == "no findings" else "; to see them: sluice lint policies"),
    ]
    assert "0 errors" not in invoke(lint_command, "policies").stdout
    assert invoke(lint_command, "policies").exit_code == exits.PASSED
    tested = invoke(suites_command, "policies", "--min-coverage", "100")
    assert (tested.exit_code, "6 passed, 0 failed" in tested.stdout) == (exits.PASSED, True), tested.stdout


def test_what_lint_finds_in_what_was_written_is_counted(here):
    """What Kyverno takes and an API server reads otherwise: the import says so, and how to see it."""
    policy = Path("library/policy.yaml")
    policy.write_text(policy.read_text().replace("hostNetwork", "hostNetwrk"))
    done = run("-o", "my policies")
    assert done.stdout.splitlines()[-1].startswith("sluice lint: ")
    assert done.stdout.endswith("; to see them: sluice lint 'my policies'\n")
    assert "hostNetwrk" in invoke(lint_command, "my policies").stdout


def test_a_policy_for_pods_looks_into_templates(here):
    """As Kyverno's does by itself, unless it is told not to."""
    run()
    notes = {}
    for name in ("no-host-network", "add-team"):
        (policy, *_) = documents.read(Path(f"policies/{name}/policy.yaml").read_text())
        notes[name] = (policy.at(("metadata", "annotations")) or {}).get("sluice.dev/expand")
    assert notes == {"no-host-network": "pod-templates", "add-team": None}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "object.spec.?hostNetwork.orValue(false)",
            "image('x').valid",
            "7:24: not imported: {V}: image is a function of Kyverno",
        ),
        (
            "object.spec.?hostNetwork.orValue(false)",
            "resource.Get('v1', 'x', 'y', 'z').a",
            "{V}: resource is a function of Kyverno",
        ),
        ("object.spec.?hostNetwork.orValue(false)", "object.spec ==", "7:33: not imported: {V}: Syntax"),
        ("  validations:", "  generate: []\n  validations:", "6:13: not imported: {V}: the API server has no generate"),
        (
            "  validations:",
            "  evaluation: {mode: JSON}\n  validations:",
            "6:22: not imported: {V}: it does not apply to Kubernetes obj",
        ),
        ("  validations:", "  evaluation: {admission: {enabled: false}}\n  validations:", "to background scans only"),
        (f"matchConstraints: {PODS}", "matchConstraints: []", "spec.matchConstraints is missing"),
        ("v1alpha1", "v9", "1:13: not imported: {V}: unknown version v9; known versions: v1alpha1"),
        (
            "name: no-host-network",
            "name: ../../x",
            'not imported: ValidatingPolicy ../../x: "../../x" is not a valid object name',
        ),
        ("kind: ValidatingPolicy", "kind: ImageValidatingPolicy", "the API server does not verify images"),
        ("kind: ValidatingPolicy", "kind: GeneratingPolicy", "the API server does not generate objects"),
        ("policies.kyverno.io/v1alpha1\nkind: V", "kyverno.io/v1\nkind: ClusterPolicy #", "patterns and JMESPath"),
        ("validations:\n  - expression", "validations:\n    expression", "not imported: {V}: "),
    ],
)
def test_what_is_not_mechanical_is_told_at_its_place(here, old, new, told):
    """The file and line of what has no counterpart, and why; the other policy goes over all the same."""
    assert old in VALIDATING
    Path("library/policy.yaml").write_text(f"{VALIDATING.replace(old, new, 1)}---\n{MUTATING}")
    done = run()
    assert done.exit_code == exits.FAILED, done
    assert told.replace("{V}", "ValidatingPolicy no-host-network") in done.stdout
    assert "imported 1 of 2 policies into policies, with 2 tests\n" in done.stdout
    assert done.stdout.startswith("library/policy.yaml:")


@pytest.mark.parametrize(
    ("autogen", "told", "expanded"),
    [
        (AUTOGEN, [], True),
        ("", ["daemonsets, replicasets are not"], True),
        (AUTOGEN.replace("cronjobs, ", ""), ["Kyverno excludes cronjobs; Sluice"], True),
        (
            "  autogen: {podControllers: {controllers: [jobs]}}\n",
            ["excludes cronjobs, deployments, statefulsets;"],
            True,
        ),
        ("  autogen: {podControllers: {controllers: [daemonsets]}}\n", ["daemonsets are not"], False),
        (
            "  autogen: {podControllers: {controllers: [jobs, daemonsets]}}\n",
            ["excludes cronjobs, deployments, statefulsets;", "daemonsets are not"],
            True,
        ),
        ("  autogen: {podControllers: {controllers: []}}\n", [], False),
    ],
)
def test_controllers_that_kyverno_looks_into_and_others_are_told(here, autogen, told, expanded):
    """Job kinds are looked into all or none, other controllers never: their pods are judged when they are created."""
    Path("library/policy.yaml").write_text(VALIDATING.replace(AUTOGEN, autogen))
    done = run()
    notes = [
        line for line in done.stdout.splitlines() if "imported, differs: ValidatingPolicy no-host-network: " in line
    ]
    assert [words in note for words, note in zip(told, notes, strict=True)] == [True] * len(told), done
    assert ("pod-templates" in Path("policies/no-host-network/policy.yaml").read_text()) is expanded
    assert all(note.startswith("library/policy.yaml:9:12: " if autogen else "library/policy.yaml:") for note in notes)


@pytest.mark.parametrize("resources", ["pods, pods/ephemeralcontainers", "pods/ephemeralcontainers, pods"])
def test_debug_containers_beside_pods_change_nothing(here, resources):
    """Newer versions of Kyverno look into templates too where a policy is for both."""
    Path("library/policy.yaml").write_text(VALIDATING.replace("resources: [pods]", f"resources: [{resources}]"))
    done = run()
    assert done.exit_code == exits.PASSED, done.stdout
    assert "pod-templates" in Path("policies/no-host-network/policy.yaml").read_text()


def test_a_policy_that_is_not_imported_does_not_differ(here):
    """It stays behind: nothing else is told of it."""
    text = VALIDATING.replace(AUTOGEN, "").replace("object.spec.?hostNetwork.orValue(false)", "object.spec ==")
    Path("library/policy.yaml").write_text(text)
    assert "imported, differs" not in run().stdout


@pytest.mark.parametrize(
    ("actions", "allowed"),
    [("[Deny]", False), ("[Deny, Warn]", False), ("[Audit]", True), ("[Warn]", True), ("", False)],
)
def test_actions_become_those_of_the_binding(here, actions, allowed):
    """A failing test is a denial, a warning or an audit annotation, as the action says; Deny is the default."""
    chosen = f"  validationActions: {actions}\n  validations:" if actions else "  validations:"
    Path("library/policy.yaml").write_text(VALIDATING.replace("  validations:", chosen))
    assert run().exit_code == exits.PASSED
    assert invoke(suites_command, "policies").exit_code == exits.PASSED
    suite = Path("policies/no-host-network/suite.yaml").read_text()
    assert ("allowed: false" in suite) is not allowed


def test_a_test_that_fails_here_is_skipped_and_told(here):
    """The suite says why; `sluice test` passes, and the file of the test is named."""
    wrong = TEST.replace("resources: [good], result: pass}", "resources: [bad], result: pass}", 1)
    Path("library/.kyverno-test/kyverno-test.yaml").write_text(wrong)
    done = run()
    assert done.exit_code == exits.FAILED
    assert "library/.kyverno-test/kyverno-test.yaml:7:3: skipped in the suite: Pod bad: pass: " in done.stdout
    assert "with 6 tests, 1 of them skipped" in done.stdout
    assert "5 passed, 0 failed, 1 skipped" in invoke(suites_command, "policies").stdout


def test_a_namespaced_policy_is_for_its_namespace(here):
    """Its namespace becomes a selector of the label that every namespace has of its name."""
    text = VALIDATING.replace("kind: V", "kind: NamespacedV").replace("{name: no", "{namespace: team-a, name: no")
    Path("library/policy.yaml").write_text(text)
    run()
    (policy, _) = documents.read(Path("policies/no-host-network/policy.yaml").read_text())
    selector = policy.at(("spec", "matchConstraints", "namespaceSelector", "matchExpressions"))
    assert selector == [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a"]}]


@pytest.mark.parametrize(
    ("kind", "meta", "denied"),
    [("ClusterRole", "", False), ("ConfigMap", ", namespace: team-a", True), ("ConfigMap", ", namespace: b", False)],
)
def test_a_namespaced_policy_leaves_cluster_wide_objects_alone(here, kind, meta, denied):
    """It takes what is in its namespace, and no selector of namespaces leaves an object without one out."""
    text = VALIDATING.replace("kind: V", "kind: NamespacedV").replace("{name: no", "{namespace: team-a, name: no")
    text = text.replace("['']", "['*']").replace("[v1]", "['*']").replace("[pods]", "['*']")
    Path("library/policy.yaml").write_text(text.replace("!object.spec.?hostNetwork.orValue(false)", "false"))
    run()
    group = "rbac.authorization.k8s.io/" if kind == "ClusterRole" else ""
    Path("object.yaml").write_text(f"apiVersion: {group}v1\nkind: {kind}\nmetadata: {{name: team-a{meta}}}\n")
    done = invoke(dry_run_command, "-p", "policies", "--allow-missing", "-f", "object.yaml", "-o", "json")
    assert orjson.loads(done.stdout)["objects"][0]["allowed"] is not denied


def test_a_policy_for_some_namespaces_does_not_look_into_templates(here):
    """Kyverno adds no rules for pod controllers where a policy selects namespaces or objects."""
    match = PODS.replace("{resourceRules", "{namespaceSelector: {matchLabels: {tier: x}}, resourceRules")
    Path("library/policy.yaml").write_text(VALIDATING.replace(PODS, match))
    run()
    assert "pod-templates" not in Path("policies/no-host-network/policy.yaml").read_text()


def test_operations_users_and_labels_of_namespaces_go_over(here):
    """What a test says of the request, and of namespaces, the case says too."""
    values = "{apiVersion: cli.kyverno.io/v1alpha1, kind: Values, globalValues: {request.operation: UPDATE},"
    values += " namespaceSelector: [{name: default, labels: {tier: x}}]}"
    user = "{apiVersion: cli.kyverno.io/v1alpha1, kind: UserInfo, userInfo: {username: eve, groups: [g]}}"
    Path("library/.kyverno-test/values.yaml").write_text(values)
    Path("library/.kyverno-test/user.yaml").write_text(user)
    head = "variables: values.yaml\nuserinfo: user.yaml\nresults:"
    Path("library/.kyverno-test/kyverno-test.yaml").write_text(TEST.replace("results:", head))
    assert run().exit_code == exits.PASSED
    (suite,) = documents.read(Path("policies/no-host-network/suite.yaml").read_text())
    case = suite.at(("cases", 0))
    assert (case["operation"], case["user"]) == ("UPDATE", {"name": "eve", "groups": ["g"]})
    assert case["namespace"] == {"name": "default", "labels": {"tier": "x"}}
    assert "oldObject" in case


def test_names_of_conditions_become_qualified(here):
    """Kyverno takes a sentence where the API server takes a name."""
    conditions = "  matchConditions:\n  - {name: Is it (still) ours?, expression: 'has(object.spec)'}\n  validations:"
    Path("library/policy.yaml").write_text(VALIDATING.replace("  validations:", conditions))
    assert run().exit_code == exits.PASSED
    (policy, _) = documents.read(Path("policies/no-host-network/policy.yaml").read_text())
    assert policy.at(("spec", "matchConditions", 0, "name")) == "Is-it-still-ours"
    assert invoke(lint_command, "policies").exit_code == exits.PASSED


def test_conditions_whose_names_become_the_same_are_numbered(here):
    """The API server takes no two conditions of one name."""
    conditions = (
        "[{name: is it ours, expression: 'has(object.spec)'}, {name: is it ours?, expression: 'has(object.kind)'}]"
    )
    text = VALIDATING.replace("  validations:", f"  matchConditions: {conditions}\n  validations:")
    Path("library/policy.yaml").write_text(text)
    assert run().exit_code == exits.PASSED
    (policy, _) = documents.read(Path("policies/no-host-network/policy.yaml").read_text())
    assert [c["name"] for c in policy.at(("spec", "matchConditions"))] == ["is-it-ours", "is-it-ours-2"]


def test_a_test_is_of_the_policies_that_it_lists(here):
    """Of two policies with one name the second stays behind, and its tests do not go to the first."""
    Path("library/second").mkdir()
    Path("library/second/policy.yaml").write_text(VALIDATING)
    Path("library/second/kyverno-test.yaml").write_text(
        TEST.replace("../policy.yaml", "policy.yaml").replace("objects", "../.kyverno-test/objects")
    )
    Path("library/status.yaml").write_text(VALIDATING[: VALIDATING.index("spec:")] + "status: {}\n")
    done = run()
    told = (
        "library/second/policy.yaml:3:18: not imported: ValidatingPolicy no-host-network: a policy with this name is "
    )
    end = "defined at library/policy.yaml:1:1\nimported 2 of 3 policies into policies, with 6 tests\n"
    assert f"{told}{end}" in done.stdout


def test_what_is_there_already_stays(here):
    """A second import overwrites nothing, and says so, unless --force is given."""
    run()
    Path("policies/add-team/policy.yaml").write_text("# mine\n")
    done = run()
    assert (done.exit_code, "kept  policies/add-team/policy.yaml" in done.stderr) == (exits.BAD_INPUT, True)
    assert Path("policies/add-team/policy.yaml").read_text() == "# mine\n"
    assert run("--force").exit_code == exits.PASSED
    assert Path("policies/add-team/policy.yaml").read_text() != "# mine\n"


def test_nothing_to_import_and_files_that_cannot_be_read(here):
    """A folder without policies ends with 3; a broken file is told with 2, and the others go over."""
    Path("library/broken.yaml").write_text("apiVersion: policies.kyverno.io/v1\nkind: ]")
    done = run()
    assert (done.exit_code, "library/broken.yaml:2:" in done.stderr) == (exits.BAD_INPUT, True)
    assert "imported 2 of 2" in done.stdout
    Path("empty").mkdir()
    done = invoke(import_command, "kyverno", "empty")
    assert (done.exit_code, done.stderr) == (
        exits.NOTHING_TO_RUN,
        "sluice import kyverno: no policies of Kyverno in these files\n",
    )


def test_a_folder_that_may_not_be_looked_into_is_told(here, monkeypatch):
    """It is an error; what can be read goes over."""
    Path("library/private").mkdir()
    monkeypatch.setattr("webhook.policy.loading.load_bundle.os.access", lambda path, mode: Path(path).name != "private")
    done = run()
    assert (done.exit_code, "library/private: error[FILE001]" in done.stderr) == (exits.BAD_INPUT, True)
    assert "imported 2 of 2" in done.stdout


@pytest.mark.parametrize("field", ["metadata", "spec"])
@pytest.mark.parametrize("value", ["1", "[]", "x", "{}", "null", "[{}]"])
def test_fields_of_a_wrong_type_are_told(here, field, value):
    """Whatever stands there, the other policy goes over, and nothing fails inside."""
    kept = [line for line in VALIDATING.splitlines() if not line.startswith((f"{field}:", "  "))]
    Path("library/policy.yaml").write_text("\n".join([*kept, f"{field}: {value}", "---", MUTATING]))
    done = run()
    assert (done.exit_code, "imported 1 of 2" in done.stdout) == (exits.FAILED, True), done


@pytest.mark.parametrize("field", ["policies", "resources", "results", "variables", "userinfo", "metadata", "values"])
@pytest.mark.parametrize("value", ["1", "[1]", "gone.yaml", "{a: 1}", "[[]]", "[{policy: add-team}]"])
def test_a_test_of_a_wrong_shape_is_told_or_left(here, field, value):
    """Policies go over whatever their tests are."""
    kept = [line for line in TEST.splitlines() if not line.startswith(f"{field}:")]
    kept = kept if field != "results" else [line for line in kept if not line.startswith("- ")]
    Path("library/.kyverno-test/kyverno-test.yaml").write_text("\n".join([*kept, f"{field}: {value}"]))
    done = run()
    assert (done.exit_code in (exits.PASSED, exits.FAILED), "imported 2 of 2" in done.stdout) == (True, True), done
