"""What options take, checked when they are read: a mistake is told with the name of its option. And the options that
several commands have: one spelling and one help for each.

An empty text is refused, unless the option says that it means something.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from webhook import setting_values
from webhook.cli.completions import rules as rule_names
from webhook.diagnostics import nearest
from webhook.policy.loading.shipped import PREFIX, located

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


class Read(click.ParamType[Any]):
    """A value that a function reads, raising ValueError for a wrong one; `name` is shown in the help."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value; what is wrong becomes a usage error."""
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Words(click.Choice[str]):
    """Some words; a misspelt one gets a suggestion. `former` are old spellings, which are taken and not shown."""

    def __init__(self, words: Iterable[str], former: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self._former = former or {}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the word; what is wrong becomes a usage error."""
        return super().convert(self._former.get(value, value), param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the valid words, and the nearest one."""
        return super().get_invalid_choice_message(value, ctx) + suggested(str(value), self.choices)


class Renamed(click.Option):
    """An option with a former spelling, which is taken for one release more and not shown."""

    def __init__(self, declarations: Sequence[str], *, former: Sequence[str], **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self._former = list(former)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Accept both spellings."""
        shown, self.opts = self.opts, [*self.opts, *self._former]
        super().add_to_parser(parser, ctx)
        self.opts = shown


def suggested(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?`, as click does for options; nothing where no word is near."""
    found = nearest(word, known)
    return f" Did you mean '{found}'?" if found else ""


class PathOption(click.Path):
    """A path that is not empty: an empty one would be this folder. A directory is called a folder, as everywhere."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        if not self.file_okay:
            self.name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        if not str(value).strip():
            self.fail("must not be empty; give a path or leave it out", param, ctx)
        return super().convert(value, param, ctx)


class FolderOption(PathOption):
    """A folder, which may be yet to be made."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        path: Path = super().convert(value, param, ctx)
        if path.is_symlink() and not path.exists():
            self.fail(f'"{path}" is a broken link', param, ctx)
        there = next(above for above in path.absolute().parents if os.path.exists(above))
        if not there.is_dir():
            self.fail(f'"{there}" is a file; expected a folder', param, ctx)
        return path


class PoliciesOption(PathOption):
    """Policies: a file, a folder, or the reference of a shipped policy."""

    def __init__(self, *, exists: bool = True) -> None:
        super().__init__(exists=exists, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        if str(value).startswith(PREFIX):
            try:
                return located(value)
            except ValueError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


class Made(PathOption):
    """A file to be written, in a folder that is there: told before the work, not after it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the path; what is wrong becomes a usage error."""
        path: Path = super().convert(value, param, ctx)
        if not path.parent.is_dir():
            self.fail(f'folder "{path.parent}" does not exist', param, ctx)
        return path


def number(low: float, high: float, unit: str = "") -> Read:
    """Return the type of a number from `low` to `high`."""
    return Read("number", lambda value: setting_values.number(value, low, high, unit))


def whole(low: int, high: int, unit: str = "") -> Read:
    """Return the type of a whole number from `low` to `high`."""
    return Read("integer", lambda value: setting_values.whole(value, low, high, unit))


TIME: Final = Read("time", setting_values.moment)
"""In milliseconds since the epoch."""
TEXT: Final = Read("text", setting_values.text)
ANY_TEXT: Final = Read("text", str)
"""Of a filter, of which an empty one lets all through."""
LABEL: Final = Read("name", setting_values.label)
NAME: Final = Read("name", setting_values.name)
LABELS: Final = Read("key=value,...", setting_values.labels)
ADDRESS: Final = Read("host:port", setting_values.address)
SERVICE: Final = Read("namespace/name[:port]", setting_values.service)
FILE: Final = PathOption(exists=True, dir_okay=False, path_type=Path)
THERE: Final = PathOption(exists=True, path_type=Path)
"""A file or a folder."""
POLICIES: Final = PoliciesOption()
"""A file, a folder, or a reference such as `sluice.dev/gpu-integer`."""
GIVEN: Final = PathOption(path_type=Path)
"""A path of which the command says what is wrong with it, as one of the findings."""
GIVEN_POLICIES: Final = PoliciesOption(exists=False)
"""The same, or the reference of a shipped policy."""
FOLDER: Final = FolderOption()
ROWS: Final = PathOption(exists=True, dir_okay=False, allow_dash=True)
"""A file, or - for standard input; as text."""
INPUT: Final = PathOption(exists=True, allow_dash=True)
"""A file, a folder, or - for standard input; as text."""
FORMER_FORMATS: Final = {"table": "text"}
OF_THE_REPOSITORY: Final = "those of .sluice.yaml, else policies"
OWN_CLUSTER: Final = "$KUBECONFIG, in a pod its service account, else ~/.kube/config"
RULES_OF_THE_REPOSITORY: Final = "the queueRules of .sluice.yaml, else kueue"


def _default(text: str) -> str:
    return f"  [default: {text}]" if text else ""


def output_option(*formats: str) -> Decorator[Any]:
    """Add `-o/--output`: a format, the first is the default."""
    former = FORMER_FORMATS if "text" in formats else {}
    return click.option("-o", "--output", type=Words(formats, former), default=formats[0], show_default=True,
                        help="Output format.")  # fmt: skip


def files_option(default: str = "", *, required: bool = False) -> Decorator[Any]:
    """Add `-f/--file`: what a command is about."""
    told = f"Objects: files, folders, or - for standard input. Can be repeated.{_default(default)}"
    return click.option("-f", "--file", "files", multiple=True, required=required, type=INPUT, help=told)


def objects_option(default: str = "", former: Sequence[str] = ()) -> Decorator[Any]:
    """Add `-c/--objects`: what is known besides."""
    told = f"Context objects (namespaces, queues, params); read, not evaluated. Can be repeated.{_default(default)}"
    return click.option("-c", "--objects", cls=Renamed, former=former, multiple=True, type=THERE, help=told)


def policies_option(default: str = OF_THE_REPOSITORY) -> Decorator[Any]:
    """Add `-p/--policies`."""
    told = f"Policies: files, folders, or sluice.dev/NAME for a shipped one. Can be repeated.{_default(default)}"
    return click.option("-p", "--policies", multiple=True, type=POLICIES, help=told)


def rules_option(
    name: str = "rules", default: str = RULES_OF_THE_REPOSITORY, former: Sequence[str] = ()
) -> Decorator[Any]:
    """Add `--rules`, for a parameter of this name."""
    told = f"Queue rules. Can be repeated; later ones win.{_default(default)}"
    return click.option(
        "--rules", name, cls=Renamed, former=former, multiple=True, type=TEXT, shell_complete=rule_names,
        metavar="NAME|FILE", help=told,
    )  # fmt: skip


def cluster_options(command: Command) -> Command:
    """Add `--kubeconfig` and `--context`: which cluster is meant."""
    told = f"Kubeconfig file.{_default(OWN_CLUSTER)}"
    command = click.option("--context", type=TEXT, metavar="CONTEXT",
                           help="Kubeconfig context.  [default: the current one]")(command)  # fmt: skip
    return click.option("--kubeconfig", type=FILE, help=told)(command)


def live_options(command: Command) -> Command:
    """Add `--live`, with the options that say which cluster is meant."""
    command = cluster_options(command)
    return click.option("--live", is_flag=True, help="Read the objects from a live cluster. Read-only.")(command)


def not_live(*, live: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Refuse the options of a cluster where none is to be read."""
    if not live and (kubeconfig or context):
        raise click.UsageError("--kubeconfig and --context require --live")


def to_option(default: Path | None, told: str = "", former: Sequence[str] = ("-o", "--output")) -> Decorator[Any]:
    """Add `--to`: the folder that is written to. `told` is the default, where the option has none itself."""
    return click.option(
        "--to", "folder", cls=Renamed, former=former, type=FOLDER, default=default,
        show_default=default is not None and not told, help=f"Folder to write to.{_default(told)}",
    )  # fmt: skip


dry_run_option: Final[Decorator[Any]] = click.option(
    "--dry-run", is_flag=True, help="Let the API server check it; write nothing."
)
force_option: Final[Decorator[Any]] = click.option("--force", is_flag=True, help="Overwrite existing files.")
allow_missing_option: Final[Decorator[Any]] = click.option(
    "--allow-missing",
    is_flag=True,
    help="Continue if objects that affect the result (namespaces, queues, parameters) are missing.",
)
authorized_option: Final[Decorator[Any]] = click.option(
    "--authorized", is_flag=True, help="Allow all authorizer checks in policies; otherwise they are denied."
)
jobs_option: Final[Decorator[Any]] = click.option(
    "-j",
    "--jobs",
    type=whole(1, 256),
    metavar="N",
    help="Number of worker processes.  [default: number of cores; one for a small run]",
)
url_option: Final[Decorator[Any]] = click.option(
    "--url",
    type=Read("url", setting_values.url),
    help="URL of the server, if the API server does not reach it through a Service.",
)
ca_file_option: Final[Decorator[Any]] = click.option("--ca-file", type=FILE, help="CA bundle of the server (ca.crt).")


def service_option(default: str | None) -> Decorator[Any]:
    """Add `--service`."""
    return click.option("--service", type=SERVICE, default=default, show_default=default is not None,
                        help="Service of the server.")  # fmt: skip


def request_options(command: Command) -> Command:
    """Add what a review says beside its object: `--operation`, `--as`, `--as-group`, `--namespace`."""
    for option in (
        click.option("-n", "--namespace", type=LABEL, default="default", show_default=True,
                     help="Namespace of objects that set none."),
        click.option("--as-group", "groups", multiple=True, type=TEXT, metavar="GROUP",
                     help="Group of that user. Can be repeated."),
        click.option("--as", "user", type=TEXT, metavar="USER", default="sluice-dry-run", show_default=True,
                     help="User that sends the objects."),
        click.option("--operation", type=Words(["CREATE", "UPDATE", "DELETE"]), default="CREATE", show_default=True,
                     help="Operation of the request."),
    ):  # fmt: skip
        command = option(command)
    return command
