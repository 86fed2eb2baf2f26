"""Every option of every command, given what it cannot take: a usage error that names the option, and nothing is run."""

import os
import sys

import click
import pytest

from tests.cli.test_help import ALL
from webhook.cli import exits
from webhook.cli import main as command_line

NO_NUMBERS = ("", " ", "x", "nan", "inf", "-inf", "1e999", "-1", "1,5", "5s", "0x10", "99999999999999999999")
BAD = {
    "choice": ("", "x", "nan"),
    "number": NO_NUMBERS,
    "integer": (*NO_NUMBERS, "1.5"),
    "N|until-stable": ("", "x", "-1", "1.5", "\u00b2"),
    "time": ("", "x", "12:00", "2026-13-01", "tomorrow"),
    "rows": ("", "x", "queue,user"),
    "text": ("", "  "),
    "name": ("", "Upper", "with space", "-a", "a_b", "x" * 254, "a/b", "..", "\u540d"),
    "host": ("", "h:70000", "a b", "-a", "a..b", "1.2.3.4:80", "x" * 254),
    "host:port": ("", "x", "1.2.3.4", "h:70000", "h:-1", "h:x", "h:", "::1:80", "h:\u00b2"),
    "path|URL": ("x", "http://h/w.whl", "https://h/w.whl", "https://h/sluice_gate-1-py3-none-any.whl#sha256=1"),
    "url": ("", "x", "http://h:1", "https://", "https://h:70000", "https://h:x", "https://u@h", "https://a b"),
    "key=value": ("", "x", "=v", "a b=c", "a=b c", "a/b/c=d", "/a=b"),
    "key=value,...": ("x", "=v", "a=b;c=d", "a!=b", "a in (b)"),
    "namespace/name": ("", "x", "/x", "x/", "A/b", "a/b:c"),
    "namespace/name[:port]": ("", "x", "/x", "x/", "a/b:", "a/b:0", "a/b:70000", "a/b:x", "A/b"),
}
"""By the word that the help shows for the option's value."""
MAY_BE_EMPTY = {("serve", "--state-listen"), ("serve", "--visibility-listen")}
ANY_TEXT = {("explain", "--policy"), ("test", "--run")}
"""Filters, of which an empty one lets all through."""
CHECKED = {
    ("crds", "--kind=Nothing"): "unknown kind: Nothing; known kinds: ClusterQueue",
    ("crds", "--ca-file=good.yaml"): "not a PEM certificate bundle",
    ("register", "--print", "--policies", "good.yaml", "--ca-file=good.yaml"): "not a PEM certificate bundle",
    ("generate", "schema", "--kind=Nothing"): 'unknown kind "Nothing"',
    ("lint", "good.yaml", "--only=LIM00X"): 'did you mean "LIM001"?',
    ("lint", "good.yaml", "--ignore=nothing"): "unknown code NOTHING",
    ("lint", "--explain=x"): "unknown code x",
    ("test", "--run=("): "missing )",
    ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--against=nowhere"): "--against nowhere: fatal: not a git",
    ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--kubeconfig=good.yaml"): "--kubeconfig requires --context NAME",
    ("plan", "--batch=good.yaml", "--rules=kueue"): "leave out --rules",
    ("plan", "--batch=good.yaml", "--now=2026-01-01"): "leave out --now",
    ("plan", "--trace=good.yaml", "--output=json"): "leave out --output",
    ("plan", "--batch=good.yaml", "--trace=good.yaml"): "--batch and --trace cannot be combined",
    ("plan", "-f", "good.yaml", "--context=prod"): "--kubeconfig and --context require --live",
    ("serve", "--no-cluster", "--cert-dir=folder"): "`sluice certs --dir",
}
OPTIONS = [
    (path, option)
    for path, command in ALL
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file and a folder; no command begins a loop of events."""

    def begun(*args: object, **kwargs: object) -> None:
        raise AssertionError("the command was run")

    (tmp_path / "good.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked.yaml").touch(0o000)
    monkeypatch.chdir(tmp_path)
    for name in ("asyncio.run", "uvloop.run"):
        monkeypatch.setattr(name, begun)
    return tmp_path


def said(monkeypatch, capsys, *arguments: str) -> str:
    """Run the command line as the shell does, and give what a usage error says."""
    monkeypatch.setattr(sys, "argv", ["sluice", *arguments])
    with pytest.raises(SystemExit) as end:
        command_line.main()
    out, err = capsys.readouterr()
    assert (end.value.code, out, "Traceback" in err) == (exits.BAD_INPUT, "", False), (arguments, err)
    return err


def bad_values(path: tuple[str, ...], option: click.Option) -> tuple[str, ...]:
    """What the option cannot take."""
    word = option.type.name
    if isinstance(option.type, click.Path):
        return ("", " ", *no_paths(option.type))
    if (path[0], option.opts[-1]) in ANY_TEXT:
        return ()
    values = BAD["choice" if isinstance(option.type, click.Choice) else word]
    return tuple(value for value in values if value or (path[0], option.opts[-1]) not in MAY_BE_EMPTY)


def no_paths(kind: click.Path) -> list[str]:
    values = ["missing.yaml", "missing/file", "good.yaml/inside", "x" * 300] if kind.exists else ["good.yaml/inside"]
    values += [] if kind.dir_okay else ["folder"]
    values += [] if kind.file_okay else ["good.yaml"]
    return values + (["locked.yaml"] if kind.exists and kind.file_okay and os.getuid() else [])


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{' '.join(p)} {o.opts[-1]}" for p, o in OPTIONS])
def test_a_bad_value_is_told_with_its_option(folder, monkeypatch, capsys, path, option):
    """Exit code 2, the option's name, what is wrong with it; no traceback, no output, nothing begun."""
    for value in bad_values(path, option):
        name = option.opts[-1]
        words = [name, value, "x"] if option.nargs == 2 else [f"{name}={value}"]
        told = said(monkeypatch, capsys, *path, *words)
        assert "Error: Invalid value for " in told, value
        assert f"{name}'" in told.partition("Error: ")[2], value
        assert "could not convert" not in told


@pytest.mark.parametrize("words", CHECKED, ids=" ".join)
def test_what_a_command_finds_out_itself(folder, monkeypatch, capsys, words):
    """Values that only the command can judge are usage errors, too."""
    told = said(monkeypatch, capsys, *words)
    assert CHECKED[words] in told
    assert words[-1].partition("=")[0] in told or "ca-file" in words[-1]


def test_what_is_allowed_is_told(folder, monkeypatch, capsys):
    """The range of a number, with its unit, is in the message, whichever way the number is wrong."""
    for value in ("x", "0.5", "1e999"):
        assert "from 1 to 3,600 seconds" in said(monkeypatch, capsys, "serve", f"--lease-seconds={value}")
    assert "from 1 to 30 seconds" in said(monkeypatch, capsys, "register", "--timeout=31")
    assert "does not end in a port from 0 to 65535" in said(monkeypatch, capsys, "run", "--listen=127.0.0.1:70000")


def test_no_option_takes_text_as_it_comes():
    """Every option has a type that says what it takes: a new one is in the tables above, or this file fails."""
    for path, option in OPTIONS:
        assert option.type is not click.STRING, (path, option.opts)
        assert not isinstance(option.type, click.types.IntParamType | click.types.FloatParamType), (path, option.opts)
