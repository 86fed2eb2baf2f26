"""`sluice`, from its first instruction on. It imports next to nothing: the commands are loaded when Ctrl-C is safe."""

from __future__ import annotations

import importlib
import sys

from webhook.cli import exits, interrupt


def main() -> None:
    """Run the command line and end the process with its exit code."""
    interrupt.at_once()
    try:
        code = importlib.import_module("webhook.cli.group").run()
    except KeyboardInterrupt:  # between two commands of ours, where nothing else catches it
        code = exits.INTERRUPTED
    interrupt.at_once()
    sys.exit(code)


if __name__ == "__main__":
    main()
