"""What the CI of a new repository installs: the wheel it was given, checked by its hash, and never a bare name."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.offline.running import invoke
from webhook import documents
from webhook.cli import exits
from webhook.cli.commands.policies.init import init_command

NAME = "sluice_gate-0.1.0-py3-none-any.whl"
HASH = "0123456789abcdef" * 4
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: sluice-gate\nVersion: 0.1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": "",
}
WORKFLOWS = {"github": ".github/workflows/policies.yaml", "gitlab": ".gitlab-ci.yml"}


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel of our name with nothing in it, beside the folder that the test is in."""
    made = tmp_path / NAME
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in METADATA.items():
            archive.writestr(f"sluice_gate-0.1.0.dist-info/{name}", text)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return made


def installing(ci):
    """The shell that the CI of the repository runs to install Sluice, as its own YAML reader gives it."""
    [document] = documents.read(Path(WORKFLOWS[ci]).read_text(), WORKFLOWS[ci])
    if ci == "gitlab":
        return document.value["policies"]["script"][0]
    return next(s["run"] for s in document.value["jobs"]["check"]["steps"] if s.get("name") == "Install Sluice")


def run(shell, target):
    """Run it as CI does, without an index and into a folder of its own."""
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_TARGET": str(target), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-e", "-c", shell], env={**os.environ, **pip, "PATH": path}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("ci", WORKFLOWS)
def test_a_wheel_at_a_path_is_kept_in_the_repository(wheel, tmp_path, ci):
    """It is copied to .sluice/, and CI installs that copy."""
    done = invoke(init_command, "--ci", ci, "--wheel", str(wheel))
    assert (done.exit_code, f"wrote .sluice/{NAME}\n" in done.stdout, "--wheel" in done.stdout) == (0, True, False)
    assert Path(".sluice", NAME).read_bytes() == wheel.read_bytes()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert installing(ci) == f'pip install "file://$PWD/.sluice/{NAME}#sha256={digest}"\n'
    installed = run(installing(ci), tmp_path / "site")
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / "site" / "sluice_gate-0.1.0.dist-info").is_dir()


def test_another_file_of_that_name_is_not_installed(wheel, tmp_path):
    """Whoever changes the copy has to change the hash in the workflow, too."""
    invoke(init_command, "--wheel", str(wheel))
    with zipfile.ZipFile(Path(".sluice", NAME), "a") as archive:
        archive.writestr("evil.py", "")
    refused = run(installing("github"), tmp_path / "site")
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("ci", WORKFLOWS)
def test_a_url_is_written_with_its_hash(wheel, ci):
    """pip checks the hash in the fragment of a URL."""
    url = f"https://wheels.example.com/{NAME}#sha256={HASH}"
    assert invoke(init_command, "--ci", ci, "--wheel", url).exit_code == exits.PASSED
    assert installing(ci) == f'pip install "{url}"\n'
    assert not list(Path(".sluice").glob("*.whl"))


@pytest.mark.parametrize("ci", WORKFLOWS)
def test_without_a_wheel_ci_fails_and_says_what_to_write(wheel, tmp_path, ci):
    """No bare name is installed: the step fails with the line that has to stand there, and `init` says so at once."""
    done = invoke(init_command, "--ci", ci)
    assert "CI fails until its workflow installs a Sluice wheel; see --wheel.\n" in done.stdout
    failed = run(installing(ci), tmp_path / "site")
    assert failed.returncode == 1
    assert 'pip install "https://HOST/sluice_gate-VERSION-py3-none-any.whl#sha256=HASH"' in failed.stderr
    assert "run sluice init again with --wheel PATH-OR-URL and the same --ci" in failed.stderr


WRONG = (
    (f"https://wheels.example.com/{NAME}", "add #sha256= and the wheel's 64-digit `sha256sum`"),
    (f"https://wheels.example.com/{NAME}#sha256=abc", "add #sha256="),
    (f"https://wheels.example.com/{NAME}#md5={HASH}", "add #sha256="),
    (f"http://wheels.example.com/{NAME}#sha256={HASH}", "use an https:// URL"),
    (f"https://wheels.example.com/$(id)/{NAME}#sha256={HASH}", "use an https:// URL"),
    (f'https://wheels.example.com/";id;"/{NAME}#sha256={HASH}', "use an https:// URL"),
    (f"https://wheels.example.com/sluice-0.3.1-py3-none-any.whl#sha256={HASH}", "is not a Sluice wheel"),
    ("sluice", "'sluice' is not a Sluice wheel"),
    ("sluice-0.3.1-py3-none-any.whl", "is not a Sluice wheel"),
    ("sluice_gate-1$(id)-py3-none-any.whl", "is not a Sluice wheel"),
    (f"nowhere/{NAME}", "does not exist"),
)


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_what_is_no_wheel_is_refused(wheel, given, said):
    """Nothing is written, and the message says what to give."""
    done = invoke(init_command, "--wheel", given)
    assert done.exit_code == exits.BAD_INPUT
    assert said in done.stderr
    assert list(Path().iterdir()) == []
