"""`sluice test`: what cases can say, what is told where one fails, coverage, outputs and exit codes."""

import errno
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.policy import support
from tests.shared import ROOT
from webhook.cli.commands.policies.lint import lint_command
from webhook.cli.commands.policies.test import test as command
from webhook.offline.suite.run_suite import RunOptions
from webhook.offline.suite.session import SessionOptions, run_session
from webhook.offline.suite.suite_file import suites_of

THINGS = "[{apiGroups: ['', tests.dev], apiVersions: [v1], resources: [pods], operations: ['*']}]"


def validating(expression, rules=THINGS, **more):
    """A validating policy for Pods and for objects with any fields."""
    return support.validating(expression, rules, **more)


def mutating(patch, rules=THINGS, **more):
    """A mutating policy for the same."""
    return support.mutating(patch, rules, **more)


POLICY = validating("object.spec.x < 3", extra="    messageExpression: \"'x is ' + string(object.spec.x)\"")
POD = "{apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: %s}}"


@pytest.fixture
def suite(tmp_path):
    """Write a policy and a suite of the given cases; gives the folder."""

    def write(cases, policy=POLICY, head=""):
        (tmp_path / "policy.yaml").write_text(policy)
        (tmp_path / "suite.yaml").write_text(f"apiVersion: sluice.dev/v1alpha1\nkind: Suite\n{head}\ncases:\n{cases}")
        return tmp_path

    return write


def findings(folder):
    return [f for r in run_session([folder]).results for f in r.findings]


def case(obj=POD % 1, expect="{}", more=""):
    return f"- name: one\n  object: {obj}\n  expect: {expect}\n{more}"


@pytest.mark.parametrize(
    ("body", "expect"),
    [
        (POD % 1, "{}"),
        (POD % 3, "{allowed: false}"),
        (POD % 3, "{allowed: false, message: 'x is \\d', reason: Invalid, code: 422}"),
        (POD % 3, "{allowed: false, message: 'x is 3'}"),
        (POD % 1, "{patch: [], warnings: [], contains: {spec: {x: 1, y: null}}}"),
        (POD % 1, "{patched: {apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: 1}}}"),
        ("{apiVersion: v1, kind: Service, metadata: {name: a}}", "{matched: false}"),
    ],
)
def test_expectation_that_holds(suite, body, expect):
    """Verdict, message, reason, patch, object and warnings can be expected."""
    assert findings(suite(case(body, expect))) == []


@pytest.mark.parametrize(
    ("body", "expect", "code", "message"),
    [
        (POD % 3, "{}", "SUI010", "expected allowed, got denied: p: x is 3"),
        (POD % 1, "{allowed: false}", "SUI010", "expected denied, got allowed"),
        (POD % 3, "{allowed: false, reason: Forbidden}", "SUI010", "reason is Invalid"),
        (POD % 3, "{allowed: false, message: huge}", "SUI011", 'the message is "p: x is 3"'),
        (POD % 1, "{warnings: [careful]}", "SUI011", "no warning matches; warnings: none"),
        (POD % 1, "{auditAnnotations: {p/k: v}}", "SUI011", "p/k is missing"),
        (POD % 1, "{contains: {spec: {x: 2}}}", "SUI012", "spec.x is 1, not 2"),
        (POD % 1, "{patch: [{op: remove, path: /spec/x}]}", "SUI012", "the patch differs"),
        (
            POD % 1,
            "{patched: {apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: 2}}}",
            "SUI012",
            "the object differs",
        ),
        ("{apiVersion: v1, kind: Service, metadata: {name: a}}", "{}", "SUI014", "no policy matches this object"),
        (POD % 1, "{matched: false}", "SUI014", "matched: p"),
        (POD % 1, "{queue: {decision: admitted}}", "SUI013", "decision is none"),
    ],
)
def test_expectation_that_does_not_hold(suite, body, expect, code, message):
    """Each failed expectation is a finding with what came instead, at its line of the suite."""
    (finding,) = findings(suite(case(body, expect)))
    assert (finding.code, finding.place.line > 3) == (code, True)
    assert message in finding.message


def test_cases_say_who_when_and_where(suite):
    """User, groups, namespace labels, operation, old object, permissions and time are the case's to say."""
    policy = validating(
        "request.userInfo.username == 'bob' && 'dev' in request.userInfo.groups && request.operation == 'UPDATE' &&"
        " oldObject.spec.x == 1 && namespaceObject.metadata.labels['team'] == 'a' &&"
        " authorizer.group('').resource('pods').check('create').allowed()"
    )
    more = """  oldObject: {apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {x: 1}}
  user: {name: bob, groups: [dev]}
  namespace: {name: ns, labels: {team: a}}
  authorizer: [{verb: create, resource: pods, allowed: true}]
"""
    assert findings(suite(case(POD % 2, more=more), policy)) == []


def test_permissions_must_be_said(suite):
    """A policy that asks the authorizer cannot be tested without an answer, and says what was asked."""
    policy = validating("authorizer.path('/healthz').check('get').allowed()")
    (finding,) = findings(suite(case(), policy))
    assert "get /healthz" in finding.message


def test_params_and_cluster_objects(suite):
    """Parameters and other objects are given inline or as files beside the suite."""
    policy = validating("object.spec.x < params.data.max", extra="  paramKind: {apiVersion: v1, kind: ConfigMap}")
    policy = policy.replace("[Deny]", "[Deny], paramRef: {name: m, parameterNotFoundAction: Deny}")
    folder = suite(case(POD % 2, more="  params: cases/max.yaml\n"), policy)
    (folder / "cases").mkdir()
    (folder / "cases/max.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {max: 3}}")
    assert findings(folder) == []
    (folder / "cases/max.yaml").unlink()
    assert [f.message for f in findings(folder)] == ['no file "cases/max.yaml" next to the suite']


def test_whole_admission_review(suite):
    """A case's object may be a whole AdmissionReview, as recorded."""
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": "ns",
            "userInfo": {},
            "object": {"apiVersion": "v1", "kind": "Pod", "spec": {"x": 7}},
        },
    }
    assert findings(suite(case(json.dumps(body), "{allowed: false, message: x is 7}"))) == []


def test_invalid_policy_files(suite):
    """A whole-policy case passes where the file is refused with the message expected."""
    cases = "- name: bad\n  invalid: cases/bad.yaml\n  expect: {message: 'undeclared reference'}\n"
    folder = suite(cases + "- {name: good, invalid: cases/good.yaml}\n")
    (folder / "cases").mkdir()
    (folder / "cases" / "bad.yaml").write_text(validating("nothing == 1"))
    (folder / "cases" / "good.yaml").write_text(validating("true"))
    assert [f.message for f in findings(folder)] == ["cases/good.yaml loads without an error, but should not"]


CLUSTER = """
  cluster:
  - {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}
  - apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: q, namespace: default}
    spec: {clusterQueue: c}
  - apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: c}
    spec:
      namespaceSelector: {}
      resourceGroups:
      - {coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 2}]}]}
"""
JOB = """
    apiVersion: batch/v1
    kind: Job
    metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}}
    spec: {suspend: true, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: %s}}}]}}}"""
RUNNING = """
  - apiVersion: kueue.x-k8s.io/v1beta2
    kind: Workload
    metadata: {name: running, namespace: default}
    spec:
      queueName: q
      podSets:
      - name: main
        count: 1
        template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
    status:
      admission:
        clusterQueue: c
        podSetAssignments: [{name: main, flavors: {cpu: f}, resourceUsage: {cpu: "1"}, count: 1}]
      conditions: [{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]
"""
BLOCKING = """
  - apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    waitForPodsReady: {timeout: 5m, blockAdmission: true}
"""
OF_JOBS = "[{apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}]"


def test_queue_decision(suite):
    """A case may expect what the queue does with the object: admitted, or pending with place and reason."""
    policy = validating("true", OF_JOBS)
    fits = case(JOB % 1, "{queue: {decision: admitted, queue: c}}", CLUSTER)
    large = case(JOB % 3, "{queue: {decision: pending, reason: ExceedsMaxQuota}}", CLUSTER).replace("one", "two", 1)
    assert findings(suite(fits + large, policy)) == []
    bare = fits.replace("[{name: c, image", "[[{name: c, image").replace("}}]}}}", "}}]]}}}")
    (found,) = findings(suite(bare, policy))
    assert (found.code, found.place.line) == ("SCH002", 10)
    assert found.message.startswith("spec.template.spec.containers[0] is a list, expected a map")


def test_a_configuration_of_a_case_chooses_the_rules(suite):
    """As for a server that has it, and for `plan` and `dry-run`: here none comes in before the running one is ready."""
    free = case(JOB % 1, "{queue: {decision: admitted}}", CLUSTER + RUNNING)
    blocked = case(JOB % 1, "{queue: {decision: pending, reason: WaitingForPodsReady}}", CLUSTER + RUNNING + BLOCKING)
    assert findings(suite(free + blocked.replace("one", "two", 1), validating("true", OF_JOBS))) == []


def test_mistakes_in_a_suite(suite, tmp_path):
    """Unknown fields, double names, cases without an object and dates that are none are told at their lines."""
    folder = suite("- {name: a, objekt: {}}\n- {name: b, expect: {}}\n")
    suites_of([folder, tmp_path / "gone"], findings := [])
    text = "\n".join(finding.render() for finding in findings)
    assert 'unknown field "objekt"' in text
    assert 'did you mean "object"?' in text
    assert "no such file or folder" in text
    folder = suite(f"- {{name: a, object: {POD % 1}, now: soon}}\n- {{name: a}}\n")
    suites_of([folder], findings := [])
    text = "\n".join(finding.render() for finding in findings)
    assert all(t in text for t in ("duplicate case", "needs object", "not a valid time"))


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ("- {name: a, object: %s}\n- {name: a, object: %s}\n", 'SUI002]: duplicate case name "a"'),
        ("- {name: a, expect: {allowed: true}}\n", "SUI002]: a case needs object, oldObject or invalid"),
        ("- {name: a, object: %s, now: soon}\n", "SUI002]: not a valid time"),
        (
            "- {name: a, object: %s, namespace: {labels: {a: true}}}\n",
            "POL003]: expected a string in cases[0].namespace",
        ),
        (
            "- {name: a, object: %s, namespace: {annotations: {a: 1}}}\n",
            "POL003]: expected a string in cases[0].namespace",
        ),
        ("- {name: a, object: %s, namespace: 5}\n", "POL003]: expected a map in cases[0].namespace"),
        ("- {name: a, object: 5}\n", "SUI003]: not a Kubernetes object"),
        ("- {name: a, object: %s, params: [5]}\n", "SUI003]: not a Kubernetes object"),
    ],
)
def test_the_linter_says_what_a_suite_cannot_be(suite, tmp_path, cases, told):
    """As `sluice test` does, which refuses such a suite."""
    suite(cases.replace("%s", POD % 1))
    done = CliRunner().invoke(lint_command, [str(tmp_path)])
    assert (done.exit_code, told in done.output) == (1, True)


@pytest.mark.parametrize("field", ["object", "oldObject"])
def test_a_case_has_one_object(suite, tmp_path, field):
    """Of a file with two, the second would never be looked at."""
    (tmp_path / "two.yaml").write_text(f"{POD % 1}\n---\n{POD % 9}\n")
    (found,) = findings(suite(f"- name: one\n  object: {POD % 1}\n  {field}: two.yaml\n".replace(
        f"  object: {POD % 1}\n  object:", "  object:")))  # fmt: skip
    assert (found.code, found.message) == ("SUI003", "two.yaml has 2 objects; a case has one")


def test_coverage_names_branches_that_never_ran(suite):
    """A rule that was never false, and an arm that was never taken, are named at their places."""
    policy = validating("object.spec.x > 5 ? object.spec.y == 1 : object.spec.x < 3 || object.spec.z")
    session = run_session([suite(case(), policy)])
    missed = [b.what for b in session.missed]
    assert missed == [
        "validations[0] was never false",
        "validations[0]: the branch after ? was never evaluated",
        "validations[0]: what follows || was never evaluated",
    ]
    assert session.missed[1].finding.place.line == 9


def test_coverage_of_mutations(suite):
    """A mutation that never changed anything was not tested."""
    policy = mutating('has(object.spec.x) ? [] : [JSONPatch{op: "add", path: "/spec/x", value: 1}]')
    session = run_session([suite(case(), policy)])
    assert [b.what for b in session.missed] == [
        "mutations[0] was never changed",
        "mutations[0]: the branch after : was never evaluated",
    ]


def test_coverage_is_that_of_ones_own_policies(suite):
    """A shipped policy that a suite takes along has its own suite, which covers it; one's own still counts."""
    session = run_session([suite(case(), head="policies: [policy.yaml, sluice.dev/job-user]")])
    assert {branch.policy for branch in session.branches} == {"p"}


def test_a_policy_is_covered_however_suites_name_it(monkeypatch):
    """By folder, by `..` and by reference: what one suite runs is run for all, wherever the command is started."""
    monkeypatch.chdir(ROOT)
    folders = ("job-user", "library/user-quota", "queue/user-caps")
    session = run_session([Path("policies", folder) for folder in folders], SessionOptions(RunOptions(examples=0)))
    assert {branch.policy for branch in session.branches} >= {"job-user", "job-user-stays"}
    assert [branch.finding.render() for branch in session.missed] == []


def run(folder, *options):
    return CliRunner().invoke(command, [str(folder), *options])


def test_exit_codes(suite, tmp_path):
    """0 passed, 1 failed, 2 bad files, 3 nothing to run."""
    assert run(suite(case())).exit_code == 0
    assert run(suite(case()), "--min-coverage", "100").exit_code == 1
    assert run(suite(case(expect="{allowed: false}"))).exit_code == 1
    assert run(suite("- {nam: x}")).exit_code == 2
    assert run(suite(case(), policy="kind: [")).exit_code == 2
    assert run(suite(case()), "--run", "nothing//like it").exit_code == 3
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").exit_code == 3
    assert run(tmp_path / "empty").stdout == ""
    assert json.loads(run(tmp_path / "empty", "-o", "json").stdout)["cases"] == []
    assert json.loads(run(tmp_path / "empty", "-o", "sarif").stdout)["runs"][0]["results"] == []
    assert ElementTree.fromstring(run(tmp_path / "empty", "-o", "junit").stdout).get("tests") == "0"
    assert run(suite(case()), "--run", "(").exit_code == 2


def test_a_bad_suite_does_not_stop_the_others(suite, tmp_path):
    """What cannot be read, a suite or the policies of one, is told; the others run all the same, and the code is 2."""
    suite(case())
    for name, cases, policy in (("a", "- {nam: x}", POLICY), ("b", case(), "kind: ["), ("c", case(), POLICY)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(policy)
        (tmp_path / name / "suite.yaml").write_text(f"apiVersion: sluice.dev/v1alpha1\nkind: Suite\ncases:\n{cases}")
    (tmp_path / "suite.yaml").write_text((tmp_path / "suite.yaml").read_text() + "policies: [policy.yaml]\n")
    done = run(tmp_path)
    assert (done.exit_code, "2 passed, 0 failed, 3 errors in files" in done.stdout) == (2, True)
    assert 'unknown field "nam"' in done.stderr
    assert "b/policy.yaml:2:1: error[YAML001]" in done.stderr
    data = json.loads(run(tmp_path, "-o", "json").stdout)
    assert {found["code"] for found in data["errors"]} == {"POL002", "POL001", "YAML001"}
    xml = ElementTree.fromstring(run(tmp_path, "-o", "junit").stdout.encode())
    assert sum(c.find("error") is not None for c in xml.iter("testcase")) == 3


def test_a_folder_that_may_not_be_looked_into_is_told(suite, tmp_path, monkeypatch):
    """Its suites would seem to pass: it is an error, beside those that can be read."""
    suite(case(), head="policies: [policy.yaml]")
    (tmp_path / "private").mkdir()
    monkeypatch.setattr("webhook.policy.loading.load_bundle.os.access", lambda path, mode: Path(path).name != "private")
    done = run(tmp_path)
    assert (done.exit_code, "1 passed, 0 failed, 1 error in files" in done.stdout) == (2, True)
    assert "private: error[FILE001]" in done.stderr


@pytest.mark.parametrize(("file", "code"), [("suite.yaml", 2), ("notes.yaml", 0)])
def test_a_link_to_a_folder_with_suites_is_told(suite, tmp_path, file, code):
    """It is not followed; a working folder may have links to what is no test."""
    suite(case(), head="policies: [policy.yaml]")
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / file).write_text("a: 1\n")
    (tmp_path / "linked").symlink_to(elsewhere)
    done = run(tmp_path)
    assert (done.exit_code, "1 passed, 0 failed" in done.stdout) == (code, True)
    assert ("linked: error[FILE001]" in done.stderr) is (code == 2)


def test_outputs_are_one_document(suite):
    """JSON, JUnit and SARIF stand alone on standard output, with the failed case in each."""
    folder = suite(case() + case(POD % 3).replace("one", "two", 1))
    data = json.loads(run(folder, "-o", "json").stdout)
    assert data["summary"] == {"passed": 1, "failure": 1, "error": 0, "skipped": 0}
    assert data["cases"][1]["verdict"]["message"] == "p: x is 3"
    xml = ElementTree.fromstring(run(folder, "-o", "junit").stdout.encode())
    assert [c.get("name") for c in xml.iter("testcase") if c.find("failure") is not None] == ["two"]
    sarif = json.loads(run(folder, "-o", "sarif").stdout)
    assert "SUI010" in {r["ruleId"] for r in sarif["runs"][0]["results"]}


def test_text_output(suite):
    """The terminal shows each case, why one failed, coverage and the sum; --quiet only what did not pass."""
    folder = suite(case() + "- {name: later, skip: not yet, object: {}}\n" + case(POD % 3).replace("one", "two", 1))
    text = run(folder).stdout
    for part in ("✓ one", "- later", "not yet", "✗ two", "got denied: p: x is 3", "1 passed, 1 failed, 1 skipped"):
        assert part in text
    quiet = run(folder, "-q").stdout
    assert "one" not in quiet.split("coverage")[0]


def test_update_rewrites_what_was_expected(suite):
    """--update writes the new patch and object into the suite and leaves all else as it was, comments included."""
    policy = mutating('[JSONPatch{op: "add", path: "/spec/y", value: 1}]')
    cases = f"""# a comment
- name: one
  object: {POD % 1}
  expect:
    patch:   # old
    - {{op: remove, path: /a}}
    - {{op: remove, path: /b}}
# another
- name: two
  object: {POD % 2}
  expect:
    patched: {{apiVersion: tests.dev/v1, kind: Pod}}
    warnings: []
- name: three
  object: {POD % 3}
  expect: {{patch: []}}
"""
    folder = suite(cases, policy)
    assert run(folder).exit_code == 1
    done = run(folder, "--update")
    assert (done.exit_code, "updated" in done.stderr, "✗" in done.stdout) == (0, True, False)
    text = (folder / "suite.yaml").read_text()
    assert text.count("/spec/y") == 2
    assert "# a comment" in text
    assert "# another" in text
    assert run(folder).exit_code == 0, text


def test_a_mutation_that_never_settles_is_told(suite):
    """A policy that does its work again on its own result fails a case, whatever that expects."""
    policy = mutating('[JSONPatch{op: "add", path: "/spec/l/-", value: 1}]')
    body = "{apiVersion: tests.dev/v1, kind: Pod, metadata: {name: a}, spec: {l: []}}"
    (found,) = findings(suite(case(body), policy))
    assert (found.code, found.message) == ("SUI012", "m changes the object on every pass (not idempotent)")


def test_an_unmatched_object_is_told_why(suite, tmp_path):
    """Resource rules, namespace labels, a missing binding: each policy's reason is in the hint, and nothing else is."""
    service = "{apiVersion: v1, kind: Service, metadata: {name: a}}"
    (rules,) = findings(suite(case(service, "{allowed: false, message: x}")))
    assert rules.hint.startswith("p: it does not match services; its rules match pods\n")
    selecting = POLICY.replace("{resourceRules:", "{namespaceSelector: {matchLabels: {a: b}}, resourceRules:", 1)
    (label,) = findings(suite(case(), selecting))
    assert 'p: namespaceSelector does not match namespace "default"' in label.hint
    (bound,) = findings(suite(case(), POLICY.split("---")[0]))
    assert bound.hint.startswith("p: it has no binding")


def test_update_keeps_the_ends_of_lines_and_two_cases_on_one_line(suite):
    """A suite with the line ends of Windows keeps them; of two cases on one line each gets its own patch."""
    policy = mutating('[JSONPatch{op: "add", path: "/spec/y", value: object.spec.x}]')
    folder = suite("", policy)
    rows = ", ".join(f"{{name: {n}, object: {POD % x}, expect: {{patch: []}}}}" for n, x in (("one", 1), ("two", 22)))
    file = folder / "suite.yaml"
    file.write_bytes(file.read_bytes().replace(b"\ncases:\n", f"\ncases: [{rows}]\n".encode()).replace(b"\n", b"\r\n"))
    lines = file.read_bytes().count(b"\r\n")
    done = run(folder, "--update")
    assert (done.exit_code, done.stderr) == (0, f"updated 2 in {file}\n"), done.stdout
    assert file.read_bytes().count(b"\r\n") == file.read_bytes().count(b"\n") == lines


def test_update_keeps_the_comment_behind_a_value(suite):
    """It stands behind the key then."""
    policy = mutating('[JSONPatch{op: "add", path: "/spec/y", value: 1}]')
    folder = suite(
        "- name: one\n  object: " + POD % 1 + "\n  expect:\n    patch: []   # why\n    allowed: true\n", policy
    )
    assert run(folder, "--update").exit_code == 0
    assert "    patch:  # why\n    - {" in (folder / "suite.yaml").read_text()


def test_update_on_a_full_disk_keeps_the_suite(suite, monkeypatch):
    """What cannot be written whole is not written, and the command says which file."""
    folder = suite(case(expect="{patch: []}"), mutating('[JSONPatch{op: "add", path: "/spec/y", value: 1}]'))
    before = (folder / "suite.yaml").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    done = run(folder, "--update")
    assert isinstance(done.exception, OSError)
    assert done.exception.filename == str(folder / "suite.yaml")
    assert {p.name for p in folder.iterdir()} == {"policy.yaml", "suite.yaml"}
    assert (folder / "suite.yaml").read_bytes() == before


def full(path: Path, data: bytes) -> None:
    """Write what still has room on the disk."""
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


def test_a_suite_that_is_named_twice_runs_once(suite):
    """`sluice test . policies` counts each case once, and --update writes it once."""
    folder = suite(case(expect="{patch: []}"), mutating('[JSONPatch{op: "add", path: "/spec/y", value: 1}]'))
    file = folder / "suite.yaml"
    done = CliRunner().invoke(command, [str(folder), str(file), str(folder), "--update"])
    assert (done.exit_code, done.stderr) == (0, f"updated 1 in {file}\n")
    assert "1 passed, 0 failed" in done.stdout
