"""docs/install.md as a user carries it out."""

from pathlib import Path

from tests.docs.console import Shell
from tests.docs.markdown import DOCS
from tests.e2e.release import Release
from tests.e2e.test_documented_commands import kubectl


def section(title: str, folder: Path) -> Path:
    """A section of the install guide as a page."""
    text = (DOCS / "install.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    page = folder / "section.md"
    page.write_text(text)
    return page


def shell_of(release: Release, folder: Path) -> Shell:
    """A shell with `kubectl` and the rights of an administrator."""
    shell = Shell(folder)
    shell.environment |= {"KUBECONFIG": str(release.node.plane.kubeconfig)}
    shell.environment["PATH"] += f":{kubectl().parent}"
    return shell
