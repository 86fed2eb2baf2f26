"""The image: what the Containerfile promises, and Sluice started from its content as a user with no rights there."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.controlplane.processes import Child, free_ports
from tests.image import sbom
from tests.image.build import CONTAINERFILE, Image
from tests.image.containerfile import read
from tests.patience import PATIENCE, wait
from tests.shared import ROOT
from tests.wheel.test_wheel import modules
from webhook.documents import read as read_yaml
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure

NOBODY = 65532
STAGES = read(CONTAINERFILE)
CHART = ROOT / "charts" / "sluice"


def test_the_last_stage_only_copies():
    """Nothing is installed in it, so no compiler and no tool is; it is the slim form of what was built on."""
    build, last = STAGES
    assert last.of("RUN") == []
    assert last.base == f"{build.base}-slim"
    assert [step.copied()[:2] for step in last.of("COPY")] == [("build", ["/opt/sluice"]), ("", ["policies"])]


def test_the_chart_runs_what_the_image_is():
    """User, ports and the place of the shipped policies are those of the chart; nobody is root."""
    names = (CHART / "templates" / "_names.tpl").read_text()
    assert STAGES[-1].last("USER") == f"{NOBODY}:{NOBODY}"
    assert {f"runAsUser: {NOBODY}", f"runAsGroup: {NOBODY}"} <= {line.strip() for line in names.splitlines()}
    (values,) = read_yaml((CHART / "values.yaml").read_text())
    assert STAGES[-1].last("EXPOSE").split() == [str(values.value["webhook"]["port"]), "8080"]
    assert values.value["policies"]["shipped"] == STAGES[-1].of("COPY")[-1].copied()[2]


def test_the_build_sees_what_it_copies():
    """The list of what is kept out lets through every source of a COPY, and no more."""
    lines = (CONTAINERFILE.parent / "Containerfile.dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    copied = {source for stage in STAGES for step in stage.of("COPY") if not step.copied()[0]
              for source in step.copied()[1]}  # fmt: skip
    assert let_in == copied
    assert "*" in lines


def test_an_unknown_instruction_is_an_error(tmp_path):
    """What the reader of the tests does not know is named, not passed over."""
    file = tmp_path / "Containerfile"
    file.write_text("FROM python:3\n\nRUN a \\\n && b\nADD x y\n")
    with pytest.raises(ValueError, match=r"Containerfile:5: .* ADD"):
        read(file)


def installed(image: Image) -> Path:
    """The folder of packages."""
    (folder,) = image.root.glob("opt/sluice/lib/python3*/site-packages")
    return folder


def test_it_holds_the_locked_packages_and_no_other(image: Image):
    """What is installed is the lock of the image and Sluice; the bill of materials names the same."""
    names = {m[1].lower().replace("_", "-"): m[2] for path in installed(image).glob("*.dist-info")
             if (m := re.fullmatch(r"(.+)-([^-]+)\.dist-info", path.name))}  # fmt: skip
    assert names.pop("sluice-gate")
    assert names == {name: version for name, (version, _) in sbom.locked().items()}
    bill = sbom.document()
    assert {c["name"]: c["version"] for c in bill["components"]} == names
    assert all(c["externalReferences"] for c in bill["components"])
    assert bill["serialNumber"] == sbom.document()["serialNumber"]


def test_the_machine_code_is_in_it(image: Image):
    """Where it was built with machine code, each module that should be is; byte code is there for all others."""
    package = installed(image) / "webhook"
    assert list((package / "__pycache__").glob("daemon.*.pyc"))
    if not os.environ.get("SLUICE_IMAGE_COMPILED"):
        pytest.skip("built without machine code; SLUICE_IMAGE_COMPILED=1 builds it with")
    missing = [path for path in modules() if not list((package.parent / path.relative_to(ROOT).parent).glob(
        f"{path.stem}.*.so"))]  # fmt: skip
    assert missing == []


def test_the_command_runs_in_isolation(image: Image):
    """The entrypoint imports the image's packages alone, whatever PYTHONPATH says."""
    done = subprocess.run([*image.command, "--version"], capture_output=True, text=True, check=True)
    assert re.search(r"\d+\.\d+", done.stdout)
    call = [image.command[0], "-I", "-c", "import webhook; print(webhook.__file__)"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert Path(done.stdout.strip()).is_relative_to(image.root)


def may_run(image: Image) -> bool:
    """Whether another user can run this machine's Python at all."""
    try:
        done = subprocess.run([image.command[0], "-c", ""], user=NOBODY, group=NOBODY, extra_groups=(), check=False)
    except PermissionError:
        return False
    return done.returncode == 0


def test_it_serves_without_rights(image: Image, tmp_path_factory):
    """As a user that owns nothing and may write nowhere, it serves the shipped policies and answers `/readyz`."""
    if os.geteuid() != 0 or not may_run(image):
        pytest.skip("only root can start a process as another user")
    home = tmp_path_factory.mktemp("certs")
    certificates = Folder(home / "certs")
    ensure(certificates, ("127.0.0.1",), datetime.now(UTC))
    for path in (*home.parents, home, *home.rglob("*")):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):  # what was made for the tests
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    port, state = free_ports(2)
    policies = f"{image.root}{STAGES[-1].of('COPY')[-1].copied()[2]}"
    command = [*image.command, "serve", f"--policies={policies}", f"--cert-dir={certificates.path}", "--no-cluster"]
    command += [f"--listen=127.0.0.1:{port}", f"--state-listen=127.0.0.1:{state}"]
    before = {path: path.stat().st_mtime_ns for path in image.root.rglob("*")}
    drop = "import os,sys; os.setgroups([]); os.setgid({0}); os.setuid({0}); os.execv(sys.argv[1], sys.argv[1:])"
    child = Child("sluice", [sys.executable, "-c", drop.format(NOBODY), *command], home)
    try:
        wait(lambda: ready(child, state), "the image serves")
    finally:
        assert child.stop(PATIENCE) == 0
    assert {path: path.stat().st_mtime_ns for path in image.root.rglob("*")} == before


def ready(child: Child, port: int) -> bool:
    assert child.running, child.tail(40)
    call = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{port}/readyz?verbose').read())"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    return "policies ok" in done.stdout and json.dumps("failed") not in done.stdout


def test_the_release_makes_what_the_makefile_can():
    """The workflow calls targets that exist, builds this Containerfile for both architectures, signs and attests."""
    text = (ROOT / ".github" / "workflows" / "release.yaml").read_text()
    (workflow,) = read_yaml(text)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", text)) <= targets
    steps = workflow.value["jobs"]["image"]["steps"]
    (build,) = [step["with"] for step in steps if str(step.get("uses")).startswith("docker/build-push-action")]
    assert ROOT / build["file"] == CONTAINERFILE
    assert build["platforms"].split(",") == ["linux/amd64", "linux/arm64"]
    used = " ".join(str(step.get("uses") or step.get("run")) for step in steps)
    assert all(word in used for word in ("cosign sign", "attest-build-provenance", "attest-sbom"))


def test_the_release_has_all_that_it_made():
    """Wheels for every Python from the oldest supported to the newest, SBOM and chart; published when all are there."""
    (workflow,) = read_yaml((ROOT / ".github" / "workflows" / "release.yaml").read_text())
    jobs = workflow.value["jobs"]
    uploading = {name for name, job in jobs.items() if _steps(job, "actions/upload-artifact")}
    assert set(jobs["publish"]["needs"]) == uploading == {"wheels", "image", "chart"}
    assert jobs["wheels"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    (download,) = _steps(jobs["publish"], "actions/download-artifact")
    assert download["with"] == {"path": "dist", "merge-multiple": True}
    assert all(
        "dist/" in step["with"]["path"] for job in jobs.values() for step in _steps(job, "actions/upload-artifact")
    )
    (published,) = [step["run"] for step in jobs["publish"]["steps"] if "gh release" in str(step.get("run"))]
    assert published.endswith(" dist/*")


def _steps(job, action):
    return [step for step in job["steps"] if str(step.get("uses")).startswith(f"{action}@")]


STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
[ "$1" != push ] || printf 'Pushed: %s/sluice:1.2.3\\nDigest: sha256:0123\\n' "${3#oci://}" >&2
"""
"""A program that notes how it is called; `helm push` tells what it pushed where it tells it."""


def test_the_release_signs_the_chart_that_it_pushes(tmp_path):
    """By the digest that `helm push` prints: a tag may be moved."""
    (workflow,) = read_yaml((ROOT / ".github" / "workflows" / "release.yaml").read_text())
    (script,) = [step["run"] for step in workflow.value["jobs"]["chart"]["steps"] if "run" in step]
    for name in ("helm", "cosign"):
        (tmp_path / name).write_text(STUB)
        (tmp_path / name).chmod(0o755)
    calls = tmp_path / "calls"
    given = {"GITHUB_REF_NAME": "v1.2.3", "GITHUB_ACTOR": "ada", "REGISTRY": "r.example", "TOKEN": "t"}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls), "CHARTS": "r.example/charts"}
    subprocess.run(["bash", "-e", "-c", script], env=environment | given, check=True, cwd=tmp_path)
    assert calls.read_text().splitlines() == [
        "helm package charts/sluice --version 1.2.3 --app-version 1.2.3 --destination dist",
        "helm registry login r.example --username ada --password-stdin",
        "helm push dist/sluice-1.2.3.tgz oci://r.example/charts",
        "cosign login r.example --username ada --password-stdin",
        "cosign sign --yes r.example/charts/sluice@sha256:0123",
    ]
