"""Everything fits in one head and is found in one guess: small files and functions, folders for groups, own names."""

import ast
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.shared import ROOT

PACKAGE = ROOT / "webhook"
TOP_LEVEL = {"pyproject.toml", "webhook", "policies", "certs", "charts", "tests"} | {
    "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "docs",
}  # fmt: skip
SOURCES = sorted(PACKAGE.rglob("*.py"))
FILE_LINES = 400
FUNCTION_LINES = 50
WRAPPER_LINES = 150
GROUP = 3
"""So many files of one folder that begin with the same word are a folder."""
TEST_GROUPS_LEFT = {("tests/queue", "rule")}
"""Groups of test files that are not folders yet; it only gets shorter."""
PARAMETERS = 6
MANY_PARAMETERS_LEFT = {
    "cli/commands/cluster/stop.py stop",
    "cli/commands/policies/test.py once",
    "cluster/api/leader.py __init__",
    "cluster/controller.py __init__",
    "kube/conditions.py with_condition",
}
"""Functions with more parameters, which are to become values; it only gets shorter."""


def place(path: Path) -> str:
    """A file or folder as it is named in the lists."""
    return str(path.relative_to(PACKAGE))


def test_top_level_is_the_agreed_layout():
    """Nothing is tracked at the top level but what the layout names, and dot files."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in done.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_functions_are_short(path):
    """None has more than 50 lines, its docstring included."""
    functions = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )  # fmt: skip
    assert [f"{f.name} ({f.lineno})" for f in functions if (f.end_lineno or 0) - f.lineno >= FUNCTION_LINES] == []


def test_files_are_short():
    """None has more than 400 lines."""
    found = {place(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > FILE_LINES}
    assert found == set()


def test_what_aiohttp_has_no_option_for_is_little():
    """The subclass of its connection stays below 150 lines (docs/decisions/0076)."""
    assert len((PACKAGE / "server" / "connection.py").read_text(encoding="utf-8").splitlines()) < WRAPPER_LINES


def groups_of(paths: list[Path]) -> set[tuple[str, str]]:
    """Give the groups of files that should be folders: the folder they are in, and the word they begin with."""
    groups = defaultdict(list)
    for path in paths:
        word = path.stem.removeprefix("test_").split("_")[0]
        groups[str(path.parent.relative_to(ROOT)), word].append(path.stem)
    return {group for group, files in groups.items() if group[1] and len(files) >= GROUP}


def test_groups_are_folders():
    """No group of files in one folder is held together by a prefix, be it of the sources or of the tests."""
    assert groups_of(SOURCES) == set()
    assert groups_of(sorted((ROOT / "tests").rglob("*.py"))) <= TEST_GROUPS_LEFT


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters of a function; those of a command are its options, which stand one by one."""
    if any("command" in ast.unparse(decorator) for decorator in function.decorator_list):
        return 0
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return sum(argument.arg not in ("self", "cls") for argument in given)


def test_functions_have_few_parameters():
    """What belongs together is one value."""
    functions = [
        (path, node) for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]  # fmt: skip
    found = {f"{place(path)} {node.name}" for path, node in functions if parameters(node) > PARAMETERS}
    assert found <= MANY_PARAMETERS_LEFT


def test_a_name_is_one_class():
    """No two classes share a name, private ones included, but for the kinds of the API.

    A kind has its name in each version of its types, and once more in the core's model, which knows it by that name.
    """
    classes = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(kind_of_types(place(path)))
    shared = {name: found for name, found in classes.items() if len(found) > 1}
    assert {name for name, found in shared.items() if "" in found or len(set(found)) < len(found)} == set()


def kind_of_types(file: str) -> str:
    """Say which types of the API a file has: those of a version, or the core's; none for any other file."""
    if file == "queue/model.py":
        return "core"
    if file.startswith("api/types/"):
        return "v1beta1" if file == "api/types/v1beta1.py" else "v1beta2"
    return ""
