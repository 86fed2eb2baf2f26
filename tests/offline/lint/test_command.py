"""`sluice lint` as a user runs it: output forms, exit codes, repairs, bad input."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from webhook.cli import exits
from webhook.cli.commands.policies.lint import lint_command
from webhook.offline.lint.pages import examples
from webhook.policy.loading import shipped


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*args, stdin=None):
        return CliRunner().invoke(lint_command, list(args), input=stdin, catch_exceptions=False)

    return call


def write(name: str, code: str, key: str = "wrong") -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(examples(code)[key])


def test_text_shows_place_caret_and_hint(run):
    """The text form names file, line and column relative to the working folder, with a caret and the way out."""
    write("policies/limits.yaml", "LIM001")
    done = run("policies", "--only", "LIM001")
    assert done.exit_code == exits.FAILED
    assert done.stdout == (
        "policies/limits.yaml:7:27: error[LIM001]: min of nvidia.com/gpu is 0.5: an extended resource must be a "
        "whole number\n"
        "        min: {nvidia.com/gpu: 0.5}\n"
        "                              ^~~\n"
        "    = write 1: a pod cannot request a part of one unit (use --fix)\n"
        "1 error in 1 file\n"
    )


CONFIGURATION = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources: {excludeResourcePrefixez: [a/], transformations: nonsense}
"""
IN_A_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config}
data:
  controller_manager_config.yaml: |
"""


@pytest.mark.parametrize("place", ["kueue.yaml", "map.yaml (controller_manager_config.yaml)"])
def test_a_mistake_in_kueues_configuration_is_told(run, place):
    """The tools that decide leave out what is wrong in it."""
    Path("kueue.yaml" if place == "kueue.yaml" else "map.yaml").write_text(
        CONFIGURATION if place == "kueue.yaml" else IN_A_MAP + "".join(f"    {s}\n" for s in CONFIGURATION.splitlines())
    )
    done = run(".")
    assert done.exit_code == exits.FAILED
    assert f"{place}:3:13: warning[CFG001]" in done.stdout, done.stdout
    assert f"{place}:3:61: error[CFG002]" in done.stdout


def test_a_config_map_of_another_project_is_left_alone(run):
    """Under the same key it may have what is no YAML yet; the other documents of the file are read."""
    config_map = IN_A_MAP.replace("kueue-manager", "other") + "    value: {{ .Values.x }}\n"
    write("limits.yaml", "LIM001")
    Path("limits.yaml").write_text(f"{config_map}---\n{Path('limits.yaml').read_text()}")
    done = run("limits.yaml", "--only", "LIM001,YAML001")
    assert ("LIM001" in done.stdout, "YAML001" in done.stdout) == (True, False), done.stdout


def test_without_paths_the_repositorys_policies_are_checked(run):
    """Those that .sluice.yaml names, without shipped ones; where nothing names any, that is a usage error."""
    done = run()
    assert (done.exit_code, "no paths given, and no .sluice.yaml here names any" in done.stderr) == (2, True)
    write("rules/limits.yaml", "LIM001")
    write("other/limits.yaml", "LIM001")
    Path(".sluice.yaml").write_text("policies: [rules, sluice.dev/gpu-integer]\n")
    done = run()
    assert done.exit_code == exits.FAILED
    assert done.stdout.startswith("rules/limits.yaml:7:27: error[LIM001]")
    assert done.stdout.endswith(" in 1 file\n")


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_machine_forms_are_one_document(run, form):
    """Standard output is one JSON document, and nothing else, with the finding in it."""
    write("limits.yaml", "LIM001")
    done = run("limits.yaml", "-o", form)
    assert "LIM001" in json.dumps(json.loads(done.stdout))


def test_github_form_points_at_the_file(run):
    """The GitHub form is a workflow command with the file's path from the repository's root."""
    write("limits.yaml", "LIM001")
    assert run(".", "-o", "github").stdout.startswith("::error file=limits.yaml,line=7,col=27,title=LIM001,")


def test_fix_mends_the_file_and_says_so(run):
    """--fix writes the repair into the file and reports what is left: here, nothing."""
    write("limits.yaml", "LIM001")
    done = run("limits.yaml", "--fix", "--only", "LIM001")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "no findings in 1 file\n", "fixed limits.yaml\n")
    assert Path("limits.yaml").read_text() == examples("LIM001")["right"]


@pytest.mark.parametrize("named", ["sluice.dev/limits", "installed/limits", "installed/limits/policy.yaml"])
def test_fix_leaves_what_comes_with_sluice_as_it_is(run, monkeypatch, named):
    """However it is named: the files of the package are not those of this repository."""
    monkeypatch.setattr(shipped, "FOLDERS", (Path("installed").resolve(),))
    write("installed/limits/policy.yaml", "LIM001")
    done = run(named, "--fix", "--only", "LIM001")
    said = "comes with Sluice; copy its folder among your own policies, and fix it there"
    assert (done.exit_code, done.stderr) == (1, f"not fixed: installed/limits/policy.yaml {said}\n")
    assert Path("installed/limits/policy.yaml").read_text() == examples("LIM001")["wrong"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("ok.yaml",), exits.PASSED),
        (("warn.yaml",), exits.PASSED),
        (("warn.yaml", "--strict"), exits.FAILED),
        (("warn.yaml", "--strict", "--ignore", "lim"), exits.PASSED),
        (("bad.yaml",), exits.FAILED),
        (("bad.yaml", "--only", "QUE"), exits.PASSED),
        (("broken.yaml",), exits.BAD_INPUT),
        (("binary.yaml",), exits.BAD_INPUT),
        (("nowhere.yaml",), exits.BAD_INPUT),
        (("empty.yaml",), exits.NOTHING_TO_RUN),
        (("folder",), exits.NOTHING_TO_RUN),
        ((), exits.BAD_INPUT),
        (("ok.yaml", "--only", "LIMM001"), exits.BAD_INPUT),
    ],
)
def test_exit_codes(run, args, code):
    """0 fine, 1 found, 2 unreadable, 3 nothing there; never a traceback."""
    write("ok.yaml", "LIM001", "right")
    Path("ok.yaml").write_text(examples("LIM002")["right"])
    write("warn.yaml", "LIM009")
    write("bad.yaml", "LIM001")
    Path("broken.yaml").write_text("a: [1")
    Path("binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    Path("empty.yaml").write_text("# nothing\n---\n")
    Path("folder").mkdir()
    done = run(*args)
    assert done.exit_code == code
    assert "Traceback" not in done.output


def test_standard_input(run):
    """`-` reads documents from standard input and names them so."""
    done = run("-", stdin=examples("LIM001")["wrong"])
    assert done.exit_code == exits.FAILED
    assert done.stdout.startswith("<stdin>:7:27: error[LIM001]")


def test_explain_prints_the_page(run):
    """--explain prints a code's page with its examples."""
    done = run("--explain", "lim001")
    assert done.exit_code == 0
    assert done.stdout.startswith("# LIM001: an extended resource must be a whole number\n")
    assert "## Wrong" in done.stdout


def test_an_unknown_code_gets_a_suggestion(run):
    """A misspelt code is answered with the nearest one."""
    assert 'no such code "LIM01"; did you mean "LIM001"?' in run("--explain", "LIM01").stderr


def test_pages_are_written(run, tmp_path):
    """--pages writes a page per code and an index into a folder."""
    assert run("--pages", str(tmp_path / "docs")).exit_code == 0
    assert "[LIM001](LIM001.md)" in (tmp_path / "docs" / "README.md").read_text()


LIBRARY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}
  validations: [{expression: 'has(object.metadata.name)', message: a name is needed}]
---
"""


def test_a_library_has_one_line_for_what_the_cluster_has(run):
    """With --library missing bindings and open namespaces are one note each, and only what is refused is an error."""
    Path("library.yaml").write_text("".join(LIBRARY.replace("NAME", name) for name in ("a", "b", "c")))
    done = run("library.yaml", "-o", "json")
    told = [(f["code"], f["severity"]) for f in json.loads(done.stdout)["findings"]]
    assert (done.exit_code, told.count(("REF001", "error")), told.count(("SAF002", "error"))) == (exits.FAILED, 3, 3)
    done = run("library.yaml", "--library", "-o", "json")
    found = json.loads(done.stdout)["findings"]
    told = [(f["code"], f["severity"]) for f in found]
    assert (done.exit_code, told.count(("REF001", "note")), told.count(("SAF001", "note"))) == (exits.PASSED, 1, 1)
    assert told.count(("SAF002", "warning")) == 3
    assert [f["message"] for f in found if f["code"] == "REF001"] == [
        "3 policies have no binding in these files; a library leaves bindings to the cluster"
    ]
    Path("library.yaml").write_text(LIBRARY.replace("NAME", "Not_A_Name"))
    assert run("library.yaml", "--library").exit_code == exits.FAILED


PARAMETERS = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  validationActions: [Deny]
  paramRef: {name: limits, namespace: team-a, parameterNotFoundAction: Deny}
---
"""


def test_parameters_of_a_library_are_one_line(run):
    """So are parameters that the cluster has to have; in a repository each missing one is an error."""
    policy = LIBRARY.replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n", 1)
    Path("library.yaml").write_text("".join((policy + PARAMETERS).replace("NAME", name) for name in ("a", "b")))
    told = [
        f["severity"] for f in json.loads(run("library.yaml", "-o", "json").stdout)["findings"] if f["code"] == "REF003"
    ]
    assert told == ["error", "error"]
    found = json.loads(run("library.yaml", "--library", "-o", "json").stdout)["findings"]
    assert [(f["severity"], f["message"]) for f in found if f["code"] == "REF003"] == [
        ("note", "2 bindings reference parameters that are not in these files; the cluster must have them")
    ]


def test_a_policy_that_a_library_ships_twice_is_no_error(run):
    """Alone and in a bundle of all: the API server takes both files. In a repository it is a mistake."""
    for name in ("alone.yaml", "bundle.yaml"):
        Path(name).write_text(LIBRARY.replace("NAME", "a"))
    for options, severity in (((), "error"), (("--library",), "warning")):
        found = json.loads(run("alone.yaml", "bundle.yaml", "-o", "json", *options).stdout)["findings"]
        assert [f["severity"] for f in found if f["code"] == "LOAD004"] == [severity]


@pytest.mark.parametrize(
    ("configuration", "paths", "codes"),
    [
        ("policies: [policies]", ["policies"], {"BYP009"}),
        ("policies: [policies, sluice.dev/job-user]", ["policies"], set()),
        ("policies: [policies, sluice.dev/job-user]", [], set()),
        ("policies: [policies]", ["policies", "sluice.dev/job-user"], set()),
    ],
)
def test_shipped_policies_count_for_rules_by_user(run, configuration, paths, codes):
    """As `.sluice.yaml` names them, or the command."""
    write("policies/rules.yaml", "BYP009")
    Path(".sluice.yaml").write_text(configuration)
    done = run(*paths, "-o", "json")
    assert done.exit_code == exits.PASSED
    found = json.loads(done.stdout)["findings"]
    assert {row["code"] for row in found} == codes
    assert all("sluice.dev/job-user" in row["hint"] for row in found)


@pytest.mark.parametrize(
    ("text", "told", "code"),
    [
        ("apiVersion: v1\nkimd: Namespace\nmetadata: {name: team-a}\n", "error[LOAD002]", exits.FAILED),
        ("- a\n- b\n", "warning[LOAD002]", exits.PASSED),
    ],
)
def test_what_is_no_object_is_told(run, text, told, code):
    """A misspelt `kind` is an error, as where policies are loaded; what may be another tool's is a warning."""
    Path("namespace.yaml").write_text(text)
    done = run("namespace.yaml")
    assert (told in done.stdout, done.exit_code) == (True, code), done.stdout
    assert run("namespace.yaml", "--library").exit_code == code
    assert run("namespace.yaml", "--strict").exit_code == exits.FAILED
