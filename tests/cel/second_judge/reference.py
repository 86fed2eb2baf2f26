"""`python -m tests.cel.second_judge.reference`: write docs/reference/cel-python.md from the listed differences."""

from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT
from webhook.documents import read

PAGE = ROOT / "docs" / "reference" / "cel-python.md"
FILE = Path(__file__).with_name("differences.yaml")
HEAD = """\
# Where cel-python differs

cel-python is another implementation of CEL in Python. Sluice does not run it; its tests ask it as a second judge: each
row of the CEL specification that it supports is answered by it, by Sluice, and (as a table) by the API server. They
agree but for the rows below, where Sluice gives what the API server gives. cel-python has no optionals, no macros of
two variables and no libraries (strings, lists, sets, quantities, addresses, URLs, formats): such rows are not judged.

| rows | for example | Sluice and the API server | cel-python |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that differ for one reason."""

    example: str
    sluice: str
    theirs: str
    rows: tuple[str, ...]


def groups() -> tuple[Group, ...]:
    """Read the list."""
    [document] = read(FILE.read_text(encoding="utf-8"), str(FILE))
    return tuple(Group(g["example"], g["sluice"], g["cel-python"], tuple(g["rows"])) for g in document.value)


GROUPS = groups()


def page() -> str:
    """Give the text of the page."""
    return HEAD + "".join(
        f"| {len(g.rows)} | `{_cell(g.example)}` | {_cell(g.sluice)} | {_cell(g.theirs)} |\n" for g in GROUPS
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "\\n")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
