"""Every option of every command, given what it cannot take: a usage error that names the option, and nothing is run."""

import os
import re

import click
import pytest
from click.testing import CliRunner

from tests.cli.test_help import ALL
from tests.offline.running import exit_code_of
from webhook.cli import exits
from webhook.cli.group import cli
from webhook.cli.option_types import FolderOption

NO_NUMBERS = ("", " ", "x", "nan", "inf", "-inf", "1e999", "-1", "1,5", "5s", "0x10", "99999999999999999999")
BAD = {
    "choice": ("", "x", "nan"),
    "number": NO_NUMBERS,
    "integer": (*NO_NUMBERS, "1.5"),
    "N|until-stable": ("", "x", "-1", "1.5", "\u00b2"),
    "time": (
        "",
        "x",
        "12:00",
        "2026-13-01",
        "tomorrow",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+12:00",
    ),
    "rows": ("", "x", "queue,user"),
    "text": ("", "  "),
    "name": ("", "Upper", "with space", "-a", "a_b", "x" * 254, "a/b", "..", "\u540d"),
    "host": ("", "h:70000", "a b", "-a", "a..b", "1.2.3.4:80", "x" * 254),
    "host:port": ("", "x", "1.2.3.4", "h:70000", "h:-1", "h:x", "h:", "::1:80", "h:\u00b2"),
    "path|URL": ("x", "http://h/w.whl", "https://h/w.whl", "https://h/sluice_gate-1-py3-none-any.whl#sha256=1"),
    "url": ("", "x", "http://h:1", "https://", "https://h:70000", "https://h:x", "https://u@h", "https://a b"),
    "key=value": ("", "x", "=v", "a b=c", "a=b c", "a/b/c=d", "/a=b"),
    "key=value,...": ("x", "=v", "a=b;c=d", "a!=b", "a in (b)", "a=b,a=c"),
    "namespace/name": ("", "x", "/x", "x/", "A/b", "a/b:c"),
    "namespace/name[:port]": ("", "x", "/x", "x/", "a/b:", "a/b:0", "a/b:70000", "a/b:x", "A/b"),
}
"""By the word that the help shows for the option's value."""
FORMER = {("certs", "--service"): ("x",)}
"""What a former spelling of the value takes still."""
MAY_BE_EMPTY = {("serve", "--state-listen"), ("serve", "--visibility-listen")}
ANY_TEXT = {("explain", "--policy"), ("test", "--run")}
"""Filters, of which an empty one lets all through."""
CHECKED = {
    ("crds", "--kind=Nothing"): 'no such kind "Nothing"; use one of ClusterQueue',
    ("crds", "--kind=Worklod"): 'no such kind "Worklod"; did you mean "Workload"?',
    ("crds", "--ca-file=good.yaml"): "not a PEM certificate bundle",
    ("register", "--print", "-p", "good.yaml", "--ca-file=good.yaml"): "not a PEM certificate bundle",
    ("generate", "schema", "--kind=Suit"): 'no such kind "Suit"; did you mean "Suite"?',
    ("lint", "good.yaml", "--only=LIM00X"): 'no such code "LIM00X"; did you mean "LIM001"?',
    ("lint", "good.yaml", "--ignore=nothing"): 'no such code "NOTHING"; use a code, or a family such as',
    ("lint", "--explain=x"): 'no such code "x";',
    ("test", "--run=("): "missing )",
    ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--against=nowhere"): "--against nowhere: fatal: not a git",
    ("dry-run", "-p", "good.yaml", "-f", "good.yaml", "--kubeconfig=good.yaml"): "require --live",
    ("plan", "--batch=good.yaml", "--rules=kueue"): "leave out --rules",
    ("plan", "--batch=good.yaml", "--now=2026-01-01T00:00:00Z"): "leave out --now",
    ("plan", "--traces=good.yaml", "--output=json"): "leave out --output",
    ("plan", "--batch=good.yaml", "--traces=good.yaml"): "--batch and --traces cannot be combined",
    ("plan", "-f", "good.yaml", "--context=prod"): "--kubeconfig and --context require --live",
    ("serve", "--no-cluster", "--cert-dir=folder"): "`sluice certs --cert-dir",
    ("init", "new", "--context=prod"): "require --from-kueue live",
    ("import", "kueue", "good.yaml", "--context=prod"): "--kubeconfig and --context require --live",
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
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "locked.yaml").touch(0o000)
    monkeypatch.chdir(tmp_path)
    for name in ("asyncio.run", "uvloop.run"):
        monkeypatch.setattr(name, begun)
    return tmp_path


def usage_error(monkeypatch, capsys, *arguments: str) -> str:
    """Run the command line as the shell does, and give what a usage error says."""
    code = exit_code_of(monkeypatch, *arguments)
    out, err = capsys.readouterr()
    assert (code, out, "Traceback" in err) == (exits.BAD_INPUT, "", False), (arguments, err)
    return err


def bad_values(path: tuple[str, ...], option: click.Option) -> tuple[str, ...]:
    """What the option cannot take."""
    word = option.type.name
    if isinstance(option.type, click.Path):
        return ("", " ", *no_paths(option.type))
    if (path[0], option.opts[-1]) in ANY_TEXT:
        return ()
    values = BAD["choice" if isinstance(option.type, click.Choice) else word]
    values = tuple(value for value in values if value not in FORMER.get((path[0], option.opts[-1]), ()))
    return tuple(value for value in values if value or (path[0], option.opts[-1]) not in MAY_BE_EMPTY)


def no_paths(kind: click.Path) -> list[str]:
    values = ["missing.yaml", "missing/file", "good.yaml/inside", "x" * 300] if kind.exists else ["good.yaml/inside"]
    values += ["loop"] if not kind.file_okay else []
    values += [] if kind.dir_okay else ["folder"]
    values += [] if kind.file_okay else ["good.yaml"]
    return values + (["locked.yaml"] if kind.exists and kind.file_okay and os.getuid() else [])


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{' '.join(p)} {o.opts[-1]}" for p, o in OPTIONS])
def test_a_bad_value_is_told_with_its_option(folder, monkeypatch, capsys, path, option):
    """Exit code 2, the option's name, what is wrong with it; no traceback, no output, nothing begun."""
    for value in bad_values(path, option):
        name = option.opts[-1]
        words = [name, value, "x"] if option.nargs == 2 else [f"{name}={value}"]
        told = usage_error(monkeypatch, capsys, *path, *words)
        assert "Error: Invalid value for " in told, value
        assert f"{name}'" in told.partition("Error: ")[2], value
        assert "could not convert" not in told


@pytest.mark.parametrize("words", CHECKED, ids=" ".join)
def test_what_a_command_finds_out_itself(folder, monkeypatch, capsys, words):
    """Values that only the command can judge are usage errors, too."""
    told = usage_error(monkeypatch, capsys, *words)
    assert CHECKED[words] in told
    assert words[-1].partition("=")[0] in told or "ca-file" in words[-1]


def test_what_is_allowed_is_told(folder, monkeypatch, capsys):
    """The range of a number, with its unit, is in the message, whichever way the number is wrong."""
    for value in ("x", "0.5", "1e999"):
        assert "from 1 to 3,600 seconds" in usage_error(monkeypatch, capsys, "serve", f"--lease-seconds={value}")
    assert "from 1 to 30 seconds" in usage_error(monkeypatch, capsys, "register", "--timeout=31")
    assert "does not end in a port from 0 to 65535" in usage_error(
        monkeypatch, capsys, "run", "--listen=127.0.0.1:70000"
    )


def test_no_option_takes_text_as_it_comes():
    """Every option has a type that says what it takes: a new one is in the tables above, or this file fails."""
    for path, option in OPTIONS:
        assert option.type is not click.STRING, (path, option.opts)
        assert not isinstance(option.type, click.types.IntParamType | click.types.FloatParamType), (path, option.opts)


MEANINGS = {
    "--namespace": "whose: of objects without one, of the context, of a LocalQueue, or Sluice's own",
    "--force": "what is done again: files, or a certificate",
    "--name": "a name of a server",
    "--kind": "of one kind, or of several",
    "--once": "what ends: a run, or a screen",
    "--verbose": "what is shown more",
    "--batch": "what a line is",
    "--traces": "recorded jobs, or OpenTelemetry's",
}
"""Options that mean something else for another command, and what differs."""
TEXT_OF_HELP = re.compile(r"\s*\[default: .*\]$")


def spellings():
    """Every option that is shown, with its help, its metavar and its commands."""
    found = {}
    for path, command in ALL:
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                found.setdefault(option.opts[-1], []).append((" ".join(path), option))
    return found


@pytest.mark.parametrize(("name", "uses"), spellings().items(), ids=spellings())
def test_one_option_is_one_thing(name, uses):
    """One spelling, one help and one kind of value over all commands, defaults aside; each has a help."""
    helps = {TEXT_OF_HELP.sub("", option.help or "") for _, option in uses}
    assert "" not in helps
    assert all(help[0].isupper() and help.endswith((".", ")")) for help in helps), helps
    if name not in MEANINGS:
        assert len(helps) == 1, helps
        assert len({(tuple(option.opts), option.metavar) for _, option in uses}) == 1
    assert all(option.metavar or option.type.name != "text" or name in FREE for _, option in uses), name


FREE = {"--policy"}
"""Options of which any text will do."""


def test_values_are_named():
    """Users, groups, codes, kinds, contexts and names are called so in the help."""
    metavars = {name: {option.metavar for _, option in uses} for name, uses in spellings().items()}
    named = {"--as": "USER", "--as-group": "GROUP", "--only": "CODE", "--ignore": "CODE", "--explain": "CODE",
             "--kind": "KIND", "--context": "CONTEXT", "--client": "NAME", "--identity": "NAME"}  # fmt: skip
    assert {name: metavars[name] for name in named} == {name: {word} for name, word in named.items()}


def test_policies_and_output_are_the_same_everywhere():
    """`-p` wherever policies are read; `-o` is a format, and text for people is `text`."""
    for path, command in ALL:
        options = {o.opts[-1]: o for o in command.params if isinstance(o, click.Option)}
        assert "--policies" not in options or options["--policies"].opts == ["-p", "--policies"], path
        if (output := options.get("--output")) is not None:
            assert isinstance(output.type, click.Choice), path
            assert {"table", "plain"}.isdisjoint(output.type.choices), path
            assert output.type.choices[0] in ("text", "yaml"), path
        folders = [name for name, o in options.items() if isinstance(o.type, FolderOption) and not o.hidden]
        assert set(folders) <= {"--to", "--cert-dir", "--journal-folder", "--record-folder"}, path


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "-f", "good.yaml", "-o", "table"),
        ("plan", "--trace", "empty.jsonl"),
        ("certs", "--dir", "folder/certs", "--service", "sluice", "--namespace", "sluice-system"),
        ("crds", "--write", "folder"),
        ("import", "kyverno", "policy.yaml", "-o", "folder/policies"),
        ("register", "--print", "--name", "sluice", "--public-ca", "--url", "https://sluice.example"),
    ],
    ids=" ".join,
)
def test_a_former_spelling_is_still_taken(folder, words):
    """For one release; what it does is the command's matter."""
    (folder / "empty.jsonl").touch()
    (folder / "policy.yaml").write_text(KYVERNO)
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == exits.PASSED, done.output


KYVERNO = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: named}
spec:
  autogen: {podControllers: {controllers: []}}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.metadata.name != ''", message: name it}]
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pln",), "No such command 'pln'. Did you mean 'plan'?"),
        (("get", "queus"), "Did you mean 'queues'?"),
        (("generate", "schema", "--kind", "Suit"), 'did you mean "Suite"?'),
        (("add", "whole-node"), 'no policy "whole-node" in the library; did you mean "whole-nodes"?'),
        (("plan", "-o", "jsn"), "Did you mean 'json'?"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_misspelt_word_gets_a_suggestion(folder, monkeypatch, capsys, words, said):
    """In one wording, click's own."""
    assert said in usage_error(monkeypatch, capsys, *words)
