"""Whatever a user gives a command, it answers in words with an exit code of its table: never a traceback."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.running import exit_code_of
from webhook.cli import exits
from webhook.policy.loading.list_items import entries
from webhook.policy.loading.load_bundle import read_file

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGES = "m0: &m0 {x: 1}\n" + "".join(f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 10)}]\n" for i in range(1, 12))
FILES = {
    "empty": b"",
    "comments": b"# nothing\n---\n---\n",
    "binary": bytes(range(256)),
    "latin": (HEAD + "x: \u00e9\n").encode("latin-1"),
    "utf16": HEAD.encode("utf-16"),
    "bomb": (HEAD + BOMB).encode(),
    "merges": (HEAD + MERGES).encode(),
    "itself": (HEAD + "spec: &a\n  x: *a\n").encode(),
    "deep": (HEAD + "spec: " + "[" * 9_000 + "]" * 9_000).encode(),
    "twice": b'{"apiVersion": "v1", "kind": "Pod", "kind": "Job"}',
    "text": b"hello\n",
    "list": b"- 1\n- 2\n",
    "kinds": b"apiVersion: [v1]\nkind: {a: b}\nmetadata: []\n",
    "nulls": b"apiVersion: v1\nkind: Pod\nmetadata: null\nspec: null\n",
    "number": b"apiVersion: v1\nkind: Pod\nspec: {x: .inf, y: " + b"1" * 5_000 + b"}\n",
    "tag": b"apiVersion: v1\nkind: !!python/object/apply:os.system [ls]\n",
    "nul": b"a: \0b\n",
}
NOWHERE = ("missing.yaml", "x" * 300 + ".yaml", "good.yaml/inside", "loop.yaml")
COMMANDS = {
    "lint": ("lint", "FILE"),
    "lint --fix": ("lint", "--fix", "-o", "sarif", "FILE"),
    "dry-run -f": ("dry-run", "-p", "good.yaml", "-f", "FILE"),
    "dry-run -p": ("dry-run", "-p", "FILE", "-f", "good.yaml"),
    "dry-run -c": ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "-c", "FILE"),
    "dry-run --against": ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--against", "FILE"),
    "explain": ("explain", "-p", "good.yaml", "-f", "FILE"),
    "explain -c": ("explain", "-p", "good.yaml", "-f", "good.yaml", "-c", "FILE"),
    "explain -p": ("explain", "-p", "FILE", "-f", "good.yaml"),
    "dry-run --rules": ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--rules", "FILE"),
    "import kyverno": ("import", "kyverno", "FILE"),
    "import gatekeeper": ("import", "gatekeeper", "FILE"),
    "eval": ("eval", "object", "--object", "FILE"),
    "eval --batch": ("eval", "--batch", "FILE"),
    "generate": ("generate", "native", "FILE"),
    "plan": ("plan", "-f", "FILE"),
    "plan --rules": ("plan", "-f", "good.yaml", "--rules", "FILE"),
    "plan --traces": ("plan", "--traces", "FILE"),
    "plan --batch": ("plan", "--batch", "FILE"),
    "plan --live": ("plan", "--live", "--kubeconfig", "FILE"),
    "register": ("register", "--print", "--policies", "FILE", "--public-ca"),
    "register --ca-file": ("register", "--print", "--policies", "good.yaml", "--ca-file", "FILE"),
    "replay -c": ("replay", "-p", "good.yaml", "good.yaml", "-c", "FILE"),
    "replay -p": ("replay", "-p", "FILE", "good.yaml"),
    "simulate -f": ("simulate", "trace.csv", "-f", "FILE"),
    "simulate --compare-queues": ("simulate", "trace.csv", "-f", "good.yaml", "--compare-queues", "FILE"),
    "replay": ("replay", "-p", "good.yaml", "FILE"),
    "run": ("run", "--once", "--cert-dir", "certs", "-f", "FILE"),
    "simulate": ("simulate", "FILE"),
    "test": ("test", "FILE"),
}
CODES = {exits.PASSED, exits.FAILED, exits.BAD_INPUT, exits.NOTHING_TO_RUN}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with every bad file and a good one."""
    for name, data in FILES.items():
        (tmp_path / f"{name}.yaml").write_bytes(data)
    (tmp_path / "good.yaml").write_text(HEAD + "spec: {containers: [{name: a, image: b}]}\n")
    (tmp_path / "trace.csv").write_text("time,queue,run,cpu\n0,q,60,1\n")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_file_is_told(command, folder, monkeypatch, capsys):
    """Every command with every bad file, and with no file: an exit code of the table, and words where it is not 0."""
    if command == "run":
        monkeypatch.setattr("webhook.cli.commands.server.run.asyncio.run", lambda coroutine: coroutine.close())
    for name in (*(f"{n}.yaml" for n in FILES), *NOWHERE, "folder"):
        code = exit_code_of(monkeypatch, *(name if a == "FILE" else a for a in COMMANDS[command]))
        said = capsys.readouterr()
        assert code in CODES, (name, said.err)
        assert "Traceback" not in said.out + said.err
        assert code != exits.BAD_INPUT or said.err or command.startswith("lint"), name
        assert code != exits.BAD_INPUT or not said.out or command.startswith("lint"), name


@pytest.mark.parametrize("command", ["dry-run -f", "explain", "plan", "replay", "simulate -f", "test"])
def test_a_bad_configuration_is_told(command, folder, monkeypatch, capsys):
    """Whatever `.sluice.yaml` is, each command that reads it says what is wrong with it, or takes it as empty."""
    monkeypatch.chdir(folder)
    for name, data in FILES.items():
        Path(".sluice.yaml").write_bytes(data)
        code = exit_code_of(monkeypatch, *("good.yaml" if a == "FILE" else a for a in COMMANDS[command]))
        said = capsys.readouterr()
        assert code in CODES, (name, said.err)
        assert "Traceback" not in said.out + said.err
        assert code != exits.BAD_INPUT or said.err, name


def test_a_bug_of_ours_is_said_to_be_one(folder, monkeypatch, capsys):
    """What no command caught ends with a code of its own, one line that says where, and no traceback."""

    def broken(*args: object, **kwargs: object) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr("webhook.cli.commands.policies.lint._read", broken)
    assert exit_code_of(monkeypatch, "lint", "good.yaml") == exits.INTERNAL
    said = capsys.readouterr().err
    assert said.startswith("sluice: internal error: KeyError: 'no such thing' (test_hostile.py:")
    assert "Traceback" not in said


def test_an_interrupt_ends_quietly(folder, monkeypatch, capsys):
    """Ctrl-C in the middle of a command is exit code 130, without a word of Python."""

    def stopped(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webhook.cli.commands.policies.lint._read", stopped)
    assert exit_code_of(monkeypatch, "lint", "good.yaml") == exits.INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("streams", ["closed", "ascii"])
def test_closed_streams_and_poor_terminals(folder, streams):
    """With its streams closed, or an ASCII-only narrow terminal, a command does its work all the same."""
    (folder / "good.yaml").write_text('apiVersion: v1\nkind: Pod\nmetadata: {name: "\u9650", lables: {}}\n')
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "20", "NO_COLOR": "1", "LC_ALL": "C"}
    call = [sys.executable, "-m", "webhook.cli.main", "lint", "good.yaml"]
    if streams == "closed":
        call = ["sh", "-c", f"{sys.executable} -m webhook.cli.main lint good.yaml >&- <&-"]
    env["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(call, env=env, capture_output=True, check=False)
    assert done.returncode == exits.FAILED
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "line", "told"),
    [
        ("eval", "{", "<FILE>:2:2: error[YAML001]: not JSON"),
        ("eval", "[1]", "<FILE>:2: error[INP001]: each line must be a JSON object"),
        ("eval", '{"vars": {}}', "<FILE>:2: error[INP001]: a row requires expr"),
        (
            "eval",
            '{"expr": "Object{}", "env": "mutation", "apply": true, "vars": {"object": "x"}}',
            "<FILE>:2: error[INP001]: a row with apply requires vars.object to be a map",
        ),
        ("plan", '{"id": 1, "objects": [], "rules": true}', "<FILE>:2: error[INP001]: rules must be a list of strings"),
        (
            "plan",
            '{"id": 1, "objects": [], "featureGates": "x"}',
            "<FILE>:2: error[INP001]: featureGates must be a map",
        ),
        (
            "plan",
            '{"id": 1, "objects": [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",'
            ' "metadata": {"name": "a"}, "spec": {"cohortName": {"a": 1}}}]}',
            "<FILE>:2: error[SCH002]: spec.cohortName is a map, expected a string",
        ),
        ("plan", '{"id": 1}', "<FILE>:2: error[INP001]: a case requires an id and a list of objects"),
    ],
)
def test_a_bad_line_is_told_at_its_line(folder, monkeypatch, capsys, command, line, told):
    """A batch ends at the first line that is no row, and names it."""
    good = {"eval": {"expr": "1 + 1"}, "plan": {"id": "a", "objects": []}}[command]
    (folder / "rows.jsonl").write_text(json.dumps(good) + "\n" + line + "\n")
    assert exit_code_of(monkeypatch, command, "--batch", "rows.jsonl") == exits.BAD_INPUT
    assert told.replace("<FILE>", "rows.jsonl") in capsys.readouterr().err


def test_a_list_of_thousands_is_read_in_one_walk(folder):
    """The items of a long List know their places, and finding them takes time that grows with the file only."""
    steps = itertools.count()
    items = "".join(f"- {{apiVersion: v1, kind: Pod, metadata: {{name: p{next(steps)}}}}}\n" for _ in range(300))
    (folder / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems:\n" + items)
    (whole,) = read_file(folder / "list.yaml")
    found = list(entries(whole))
    assert [d.place(("metadata", "name")).line for d in found] == list(range(4, 304))
