"""`sluice`: the group of all commands. A command's module is imported when it is asked for."""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Final, TextIO

import click
from click.shell_completion import CompletionItem

from webhook import __version__
from webhook.cli import exits, interrupt
from webhook.diagnostics import SourceError, nearest

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "add": ("policies.add:add_command", "Copy policies of the library into a repository."),
    "certs": ("server.certs:certs", "Create a CA and a server certificate."),
    "completion": ("server.completion:completion_command", "Print a shell completion script."),
    "crds": ("server.crds:crds", "Print or install the CRDs of the queue's objects."),
    "dry-run": ("policies.dry_run:dry_run_command", "Show what would happen to objects."),
    "eval": ("policies.eval:eval_command", "Evaluate a CEL expression: value, type and cost."),
    "evict": ("cluster.evict:evict", "Stop a Workload and hold it until it is requeued."),
    "explain": ("policies.explain:explain_command", "Explain a verdict, clause by clause."),
    "generate": ("policies.generate:generate_command", "Generate native policies or JSON Schemas."),
    "get": ("cluster.get:get", "Show the queues, Workloads or flavors of a cluster."),
    "import": ("policies.import_policies:import_command", "Import policies, or a Kueue configuration."),
    "init": ("policies.init:init_command", "Create a policy repository."),
    "journal": ("queues.journal:journal_command", "Show and replay the queue's past decisions."),
    "lint": ("policies.lint:lint_command", "Find mistakes in policies, queues and jobs."),
    "lsp": ("policies.lsp:lsp", "Language server for editors."),
    "plan": ("queues.plan:plan", "Show which workloads are admitted, pending or preempted."),
    "register": ("server.register:register", "Register the webhooks with the API server."),
    "replay": ("policies.replay:replay_command", "Run recorded reviews against other policies."),
    "requeue": ("cluster.requeue:requeue", "Put a Workload back into its queue."),
    "resume": ("cluster.resume:resume", "Resume a stopped queue."),
    "run": ("server.run:run", "Try Sluice on this machine, without a cluster."),
    "serve": ("server.serve:serve", "Serve the admission webhooks and run the queues."),
    "simulate": ("queues.simulate:simulate", "Simulate a trace of jobs against queues and rules."),
    "stop": ("cluster.stop:stop", "Stop a queue: it admits no workloads."),
    "test": ("policies.test:test", "Run the test suites of policies."),
    "top": ("cluster.top:top", "Show queues and what is pending in them, live."),
    "why": ("cluster.why:why", "Explain why a job is pending."),
}
"""name -> (module:attribute below `webhook.cli.commands`, one line for help). The folder is the command's section."""
SECTIONS: Final[dict[str, str]] = {
    "policies": "Policies",
    "queues": "Queues, without a cluster",
    "cluster": "Queues of a cluster",
    "server": "Install and run",
}
"""folder -> the title of its section, in the order in which help lists them."""


class PipeClosed(Exception):
    """The reader of the output is gone. Not an OSError: click would end the process with 1, as if a check failed."""


class Commands(click.Group):
    """A group whose commands are imported on use: `sluice eval` does not pay for the Kubernetes client."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the options, and print what is asked for, such as the help. Raises PipeClosed."""
        try:
            return super().make_context(*arguments, **more)
        except BrokenPipeError:
            raise PipeClosed from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises PipeClosed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command's name, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and give the command; None where there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"webhook.cli.commands.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Load the command that is called; from then on Ctrl-C is the command's. A misspelt one gets a suggestion."""
        if args and args[0] not in COMMANDS and (near := nearest(args[0], COMMANDS)):
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near}'?")
        found = super().resolve_command(ctx, args)
        interrupt.as_usual()
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands from the table, without importing any."""
        rows = sorted(COMMANDS.items())
        found = [CompletionItem(name, help=line) for name, (_, line) in rows if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, by section, without importing any."""
        for folder, title in SECTIONS.items():
            inside = sorted(item for item in COMMANDS.items() if item[1][0].startswith(f"{folder}."))
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in inside])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sluice")
def cli() -> None:
    """Validate, patch and queue GPU jobs with policies kept in git."""


def run() -> int:
    """Run the command line and give one of the exit codes of `exits`; never raise.

    A mistake in a user's file is printed at its place.
    """
    _streams()
    try:
        return _run()
    except (PipeClosed, BrokenPipeError):
        for stream in (sys.stdout, sys.stderr):
            _dropped_where_closed(stream)
        return exits.CLOSED


def _streams() -> None:
    """Replace closed streams by ones that drop everything, and what a terminal cannot show by escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open to the end
    if not os.environ.get("COLUMNS", "").strip("0"):  # a terminal that has no size yet: all would be cut to nothing
        os.environ.pop("COLUMNS", None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _dropped_where_closed(stream: TextIO) -> None:
    """Let what is still to be written to a closed pipe go nowhere, without a word at the end of the process."""
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run() -> int:
    """Run the command line and give the exit code. Raises PipeClosed, or BrokenPipeError while an error is told."""
    try:
        cli.main(prog_name="sluice", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else exits.PASSED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except SourceError as error:
        hints = importlib.import_module("webhook.offline.lint.hints")  # brings the CEL compiler
        click.echo(hints.with_hints(error).render(), err=True)
    except PipeClosed:
        raise
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        click.echo(f"sluice: {named}{error.strerror or error}", err=True)
    except Exception as error:
        return _internal(error)
    else:
        return exits.PASSED
    return exits.BAD_INPUT


def _internal(error: Exception) -> int:
    """Print an internal error of Sluice, with its place; return the exit code INTERNAL."""
    if os.environ.get("SLUICE_TRACEBACK"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    click.echo(f"sluice: internal error: {said} ({Path(frame.filename).name}:{frame.lineno})", err=True)
    click.echo("  this is a bug in Sluice; set SLUICE_TRACEBACK=1 to see the traceback", err=True)
    return exits.INTERNAL
