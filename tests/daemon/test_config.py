"""The configuration: three places, one result, every mistake at its place."""

from pathlib import Path

import pytest

from webhook.api.configuration.managed import managed
from webhook.config import Config, QueueMode, load, queue_settings
from webhook.diagnostics import SourceError


def problems(tmp_path, text="", environment=None, flags=None):
    file = tmp_path / "sluice.yaml"
    file.write_text(text)
    with pytest.raises(SourceError) as caught:
        load(file, environment or {}, flags or {})
    return caught.value.diagnostics


def test_the_later_place_wins(tmp_path):
    """A flag goes before a variable, a variable before the file, the file before the default."""
    file = tmp_path / "sluice.yaml"
    file.write_text("listen: 0.0.0.0:1\nlogLevel: debug\nleaseSeconds: 7\n")
    environment = {"SLUICE_LISTEN": "0.0.0.0:2", "SLUICE_LOG_LEVEL": "warning", "SLUICE_SHARED": "/x"}
    config = load(file, environment, {"listen": "0.0.0.0:3"})
    assert (config.listen, config.log_level, config.lease_seconds) == ("0.0.0.0:3", "warning", 7.0)
    assert config.mode is QueueMode.EMBEDDED


def test_paths_are_absolute_and_lists_are_read():
    """Policies come as a list or colon-separated, rules comma-separated; paths are made absolute."""
    config = load(None, {"SLUICE_POLICIES": "a:b", "SLUICE_QUEUE_RULES": "kueue,user-caps"}, {})
    assert config.policies == (Path("a").absolute(), Path("b").absolute())
    assert config.queue_rules == ("kueue", "user-caps")


def test_an_unknown_setting_is_an_error_at_its_line(tmp_path):
    """A setting nobody knows is told with line, column and the nearest known name."""
    (found,) = problems(tmp_path, "listen: 0.0.0.0:1\nleaseSecnds: 7\n")
    assert (found.place.line, found.place.column) == (2, 1)
    assert "leaseSecnds" in found.message
    assert "leaseSeconds" in found.hint


def test_every_mistake_is_told_at_once(tmp_path):
    """Wrong values in file, environment and flags come out together."""
    found = problems(
        tmp_path,
        "mode: embeded\nleaderElection: maybe\n",
        {"SLUICE_LISTEN": "nowhere"},
        {"lease_seconds": "-1"},
    )
    text = "\n".join(d.render() for d in found)
    assert len(found) == 4
    assert '"embeded" is not one of embedded, external, none' in text
    assert '"maybe" is not true or false' in text
    assert "SLUICE_LISTEN" in text
    assert "--lease-seconds" in text


def test_a_share_is_at_most_one(tmp_path):
    """Recording more than all reviews is a mistake, told at its line."""
    (found,) = problems(tmp_path, "recordFolder: recorded\nrecordSample: 5\n")
    assert (found.place.line, found.message) == (2, "recordSample: 5 is out of range; give a number from 0 to 1")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("lease_seconds", "x", '"x" is not a number; give one from 1 to 3,600 seconds'),
        ("lease_seconds", "nan", '"nan" is not a number; give one from 1 to 3,600 seconds'),
        ("lease_seconds", "0", '"0" is out of range; give a number from 1 to 3,600 seconds'),
        ("reload_seconds", "inf", '"inf" is out of range; give a number from 0.05 to 86,400 seconds'),
        ("record_megabytes", "-1", '"-1" is out of range; give a number from 1 to 1,048,576 MiB'),
        ("writes_per_second", "", '"" is not a number; give one from 0.1 to 10,000'),
        ("listen", "h:70000", '"h:70000" does not end in a port from 0 to 65535'),
        ("listen", "", "must not be empty; give a value or leave it out"),
        ("kubeconfig", "", "must not be empty; give a value or leave it out"),
        ("log_level", "chatty", '"chatty" is not one of debug, info, warning, error'),
        ("namespace", "Mine", '"Mine" is not a valid name: use at most 63 lower-case letters, digits and -'),
        ("namespace_selector", "team", '"team" is not a label, KEY=VALUE'),
    ],
)
def test_what_is_wrong_is_told_alike_in_every_place(tmp_path, name, value, told):
    """A variable, a setting of the file and a flag are judged by the same rule, and say what is allowed."""
    for text, environment, flags, written in (
        (f'{name}: "{value}"\n', {}, {}, f"{name}: "),
        ("", {f"SLUICE_{name.upper()}": value}, {}, ""),
        ("", {}, {name: value}, ""),
    ):
        (found,) = problems(tmp_path, text, environment, flags)
        assert found.message == f"{written}{told}"


@pytest.mark.parametrize("text", [r'kueueConfig: "a\0b"', r'policies: ["a\0b"]'])
def test_no_path_has_a_nul(tmp_path, text):
    """YAML can write one, and no file can be named so."""
    (found,) = problems(tmp_path, f"{text}\n")
    assert found.place.line == 1
    assert found.message.endswith(": must not contain a NUL character")


@pytest.mark.parametrize(
    "text", ["leaseSeconds: true", "leaseSeconds: [1]", "leaseSeconds:", "namespace: 5", "listen: {}"]
)
def test_a_wrong_type_is_told_at_its_line(tmp_path, text):
    """What YAML makes of a value may be no text or number at all."""
    (found,) = problems(tmp_path, f"{text}\n")
    assert found.place.line == 1
    assert "is not" in found.message


@pytest.mark.parametrize(
    ("text", "environment", "flags", "told"),
    [
        ("journalMegabytes: no", {}, {}, "sluice.yaml:1:19: error[CFG002]: journalMegabytes: "),
        ("journal_megabytes: no", {}, {}, "sluice.yaml:1:20: error[CFG002]: journal_megabytes: "),
        ("", {"SLUICE_JOURNAL_MEGABYTES": "no"}, {}, "SLUICE_JOURNAL_MEGABYTES: error[CFG002]: "),
        ("", {}, {"journal_megabytes": "no"}, "--journal-megabytes: error[CFG002]: "),
    ],
)
def test_a_wrong_value_is_told_by_the_name_that_was_written(tmp_path, text, environment, flags, told):
    """Once: what has no line has the name as its place."""
    (found,) = problems(tmp_path, text, environment, flags)
    shown = found.render().splitlines()[0].removeprefix(f"{tmp_path}/")
    assert shown.startswith(told), shown
    assert shown.lower().replace("-", "_").count("journal") == 1
    assert found.source == text


@pytest.mark.parametrize("text", ["policies:", "policies: 5", "policies: {a: b}", "queueRules: true", "clientNames:"])
def test_a_list_of_which_all_entries_were_taken_out_is_no_name(tmp_path, text):
    """`policies:` with nothing below it is not the file `None`."""
    (found,) = problems(tmp_path, f"\n{text}\n")
    assert found.place.line == 2
    assert found.message.endswith(" is not a list of strings")


def test_namespaces_that_are_left_alone_are_set_in_every_place(tmp_path):
    """The names reach the queues, whose selector takes their jobs out; a name that no namespace has is a mistake."""
    file = tmp_path / "sluice.yaml"
    file.write_text("never: [ci, infra]\n")
    found = load(file, {}, {}), load(None, {"SLUICE_NEVER": "ci,infra"}, {}), load(None, {}, {"never": ("ci", "infra")})
    assert found[0] == found[1] == found[2]
    selected = managed(queue_settings(found[0])).selected
    spaces = ("ci", "infra", "team-a", "sluice-system", "kube-system")
    assert [name for name in spaces if selected({"kubernetes.io/metadata.name": name})] == ["team-a"]
    assert managed(queue_settings(load(None, {}, {}))).selected is None
    (wrong,) = problems(tmp_path, "never: [Not_a_name]\n")
    assert wrong.message.startswith('never: "Not_a_name" is not a valid name')


def test_who_is_let_in_is_set_in_every_place(tmp_path):
    """Names are a list in the file, a text with commas in a variable; without authorities they are a mistake."""
    file = tmp_path / "sluice.yaml"
    file.write_text("clientCa: ca.crt\nclientNames: [a, b]\n")
    by_file = load(file, {}, {})
    by_variable = load(None, {"SLUICE_CLIENT_CA": "ca.crt", "SLUICE_CLIENT_NAMES": "a,b"}, {})
    by_flag = load(None, {}, {"client_ca": "ca.crt", "client_names": ("a", "b")})
    assert by_file == by_variable == by_flag
    assert by_file.client_ca.is_absolute()
    assert by_file.client_names == ("a", "b")
    (found,) = problems(tmp_path, "clientNames: [a]\n")
    assert found.message == "clientNames (--client-names) requires clientCa (--client-ca)"


def test_the_defaults_are_usable():
    """Nothing given is a valid configuration."""
    assert load(None, {}, {}).listen == Config().listen
