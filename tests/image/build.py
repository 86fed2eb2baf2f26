"""Run the stages of a Containerfile as plain commands into folders: one a stage, which stands for its root.

Absolute paths of a command that are no system folder's lie in the stage's folder. The base image is this machine's
Python; what a base image has besides is not looked at.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.image.containerfile import Instruction, Stage, read
from tests.shared import ROOT

CONTAINERFILE = ROOT / ".ci" / "Containerfile"
PYTHON = os.environ.get("SLUICE_IMAGE_PYTHON", sys._base_executable)
"""What `python` is in the base image. One that other users cannot run leaves the test as another user out."""
_OWN_PATH = re.compile(r"(?<![^\s=:\"'(])/(?=(?!usr/|bin/|etc/|dev/|tmp/)\w)")
"""The slash of an absolute path that a stage makes."""


@dataclass(frozen=True)
class Image:
    """The last stage and the folder that stands for its root."""

    root: Path
    stage: Stage

    @property
    def command(self) -> list[str]:
        """The entrypoint, as it is run from the folder."""
        program, *rest = self.stage.entrypoint
        return [f"{self.root}{program}", *rest]


def build(home: Path, arguments: Mapping[str, str]) -> Image:
    """Build the image below `home`, a folder for each stage. `arguments` are those of ARG.

    Raises RuntimeError with the words of a step that fails.
    """
    stages = read(CONTAINERFILE)
    roots = {stage.name: home.resolve() / (stage.name or "image") for stage in stages}
    for stage in stages:
        shutil.rmtree(roots[stage.name], ignore_errors=True)
        roots[stage.name].mkdir(parents=True)
        _run(stage, roots, arguments)
    return Image(roots[stages[-1].name], stages[-1])


def _run(stage: Stage, roots: Mapping[str, Path], arguments: Mapping[str, str]) -> None:
    folder = root = roots[stage.name]
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    environment["PATH"] = f"{_base(root)}:{environment['PATH']}"
    for step in stage.steps:
        if step.word == "ARG":
            environment |= {name: arguments.get(name, value) for name, value in step.pairs().items()}
        elif step.word == "WORKDIR":
            folder = root / step.text.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif step.word == "COPY":
            _copy(step, root, folder, roots)
        elif step.word == "RUN":
            command = _OWN_PATH.sub(f"{root}/", step.text)
            done = subprocess.run(
                ["/bin/sh", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"line {step.line}: {step.text}\n{done.stdout}{done.stderr}")


def _base(root: Path) -> Path:
    """What the base image brings: the command `python`, without the packages of the environment that tests run in."""
    folder = root.with_name(f"{root.name}-base")
    folder.mkdir(exist_ok=True)
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    command.chmod(0o755)
    return folder


def _copy(step: Instruction, root: Path, folder: Path, roots: Mapping[str, Path]) -> None:
    stage, sources, target = step.copied()
    origin = roots[stage] if stage else ROOT
    place = root / target.lstrip("/") if target.startswith("/") else folder / target
    for source in sources:
        found = origin / source.lstrip("/")
        into = place / found.name if found.is_file() else place
        into.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(found, into, symlinks=True, dirs_exist_ok=True, ignore=None if stage else _CONTEXT)
        else:
            shutil.copy2(found, into)


_CONTEXT = shutil.ignore_patterns("*.so", "__pycache__")
"""What Containerfile.dockerignore keeps from the build context of the folders that are copied."""


def built(home: Path, arguments: Mapping[str, str]) -> Image:
    """The same, taken from `home` where it was built of the same files before."""
    stages = read(CONTAINERFILE)
    mark = home / "built-of"
    now = _digest(stages, arguments)
    if mark.exists() and mark.read_text() == now:
        return Image(home.resolve() / "image", stages[-1])
    mark.unlink(missing_ok=True)
    image = build(home, arguments)
    mark.write_text(now)
    return image


def _digest(stages: list[Stage], arguments: Mapping[str, str]) -> str:
    """A mark of all that a build reads: the Containerfile, its arguments and the files of the build context."""
    context = {source for stage in stages for step in stage.of("COPY") if not step.copied()[0]
               for source in step.copied()[1]}  # fmt: skip
    files = {CONTAINERFILE}
    for path in (ROOT / source for source in context):
        files |= {path} if path.is_file() else {p for p in path.rglob("*") if p.suffix not in (".so", ".pyc")}
    digest = hashlib.sha256(repr((PYTHON, str(ROOT), sorted(arguments.items()))).encode())
    for file in sorted(file for file in files if file.is_file()):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
