"""The files that come with Sluice, by reference: `sluice.dev/gpu-integer` is the folder of that shipped policy.

They stand beside the package in a checkout, and inside it where it was installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from webhook.diagnostics import did_you_mean

PREFIX: Final = "sluice.dev/"
PACKAGE: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (PACKAGE / "_policies", PACKAGE.parent / "policies")
QUEUE: Final = "queue"
"""The folder of the queue rules among them, which have names of their own."""
LIBRARY: Final = "library"
"""The folder of policies to choose from: never in force by themselves, `sluice add` copies them."""


def references() -> list[str]:
    """Return the references of all shipped policies, sorted."""
    found = {child.parent.name for folder in FOLDERS for child in folder.glob("*/policy.yaml")}
    return sorted(f"{PREFIX}{name}" for name in found)


def located(path: str | Path) -> Path:
    """Return the folder of a reference; any other path as it is. Raises ValueError on an unknown policy."""
    text = Path(path).as_posix()
    if not text.startswith(PREFIX):
        return Path(path)
    known = references()
    if (name := text.removeprefix(PREFIX)) in library_names():
        raise ValueError(f"{name} is a policy of the library; `sluice add {name}` copies it, with its parameters")
    if text not in known:
        hint = did_you_mean(text, known) or f"there are {', '.join(known)}"
        raise ValueError(f"no shipped policy {text}; {hint}")
    return next(there for folder in FOLDERS if (there := folder / text.removeprefix(PREFIX)).is_dir())


def library_names() -> list[str]:
    """Return the names of the policies of the library, sorted."""
    return sorted({path.parent.name for folder in FOLDERS for path in folder.glob(f"{LIBRARY}/*/policy.yaml")})


def library_folder(name: str) -> Path:
    """Return the folder of a policy of the library; raises StopIteration where there is none of this name."""
    return next(there for folder in FOLDERS if (there := folder / LIBRARY / name).is_dir())


def is_shipped(path: Path) -> bool:
    """Return whether a path is within the files that come with Sluice."""
    return any(path.resolve().is_relative_to(folder) for folder in FOLDERS)
