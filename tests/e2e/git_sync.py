"""What a git-sync does for the chart's recipe, with a folder as the repository: a copy, and a link that is swapped.

`python git_sync.py --repo=FOLDER --root=DIR --link=NAME --period=1s`; each new state of the folder is a commit.
"""

import argparse
import hashlib
import os
import shutil
import time
from pathlib import Path


def commit_of(repo: Path) -> str:
    """A name for what is in a folder."""
    files = sorted(path for path in repo.rglob("*") if path.is_file())
    return hashlib.sha1(b"\0".join(str(f).encode() + f.read_bytes() for f in files)).hexdigest()


def sync(repo: Path, root: Path, link: str) -> None:
    """Copy a new commit beside the old one, and let the link lead to it in one step."""
    place = root / ".worktrees" / commit_of(repo)
    if (root / link).resolve() == place.resolve():
        return
    if not place.exists():
        shutil.copytree(repo, place.with_suffix(".part"))
        place.with_suffix(".part").rename(place)
    fresh = root / f".{link}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(place.relative_to(root))
    os.replace(fresh, root / link)


def main() -> None:
    """Run until the end of the container."""
    parser = argparse.ArgumentParser()
    for name in ("repo", "root", "link", "period"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    while True:
        sync(Path(given.repo), Path(given.root), given.link)
        time.sleep(min(1.0, float(given.period.removesuffix("s"))))


if __name__ == "__main__":
    main()
