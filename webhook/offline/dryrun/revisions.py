"""Policy files as they were at a git revision, written into a folder of their own. Calls `git`; touches no checkout."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path


class RevisionError(Exception):
    """A revision cannot be read; the text says why."""


class GitError(RevisionError):
    """Git could not answer: no repository, no such revision. The text is its own."""


def at_revision(revision: str, paths: Iterable[Path], into: Path) -> list[Path]:
    """Write the given files and folders as they were at a revision below `into`, and give their new paths.

    A path that was not there at that time is left out. Raises RevisionError where git is absent, the revision is not
    known, or a path is in no repository.
    """
    found = []
    for number, path in enumerate(paths):
        there, folder = path.resolve(), _folder(path)
        top = Path(_git(folder, "rev-parse", "--show-toplevel").decode().strip())
        commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        inner = there.relative_to(top).as_posix()
        target = into / str(number)
        if _extract(top, commit.decode().strip(), inner, target):
            found.append(target / inner)
    return found


def tracked(path: Path) -> bool:
    """Return whether git keeps a file, or any file of a folder, now. Raises RevisionError where git is absent."""
    folder = _folder(path)
    try:
        return bool(_git(folder, "ls-files", "--", str(path.resolve())).strip())
    except GitError:
        return False


def _folder(path: Path) -> Path:
    there = path.resolve()
    folder = there if there.is_dir() else there.parent
    while not folder.exists():
        folder = folder.parent
    return folder


def _extract(top: Path, commit: str, inner: str, target: Path) -> bool:
    names = [] if inner == "." else [inner]
    if names and not _git(top, "ls-tree", "--name-only", commit, "--", *names).strip():
        return False
    archive = _git(top, "archive", "--format=tar", commit, "--", *names)
    target.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    return True


def _git(folder: Path, *args: str) -> bytes:
    git = shutil.which("git")
    if git is None:
        raise RevisionError("git is not installed; give a folder instead of a revision")
    command = [git, "-C", str(folder), *args]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (no shell; a fixed program)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise GitError(said or "no such folder or git revision")
    return done.stdout
