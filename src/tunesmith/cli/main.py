"""The entry point of ``tunesmith``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import typer

from tunesmith.cli import bench, build, inspection, records, tune
from tunesmith.errors import TunesmithError

app = typer.Typer(
    name="tunesmith",
    help="Finds the fastest program for a tensor operator on the hardware at hand.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (tune, records, inspection, build, bench):
    module.register(app)


def main() -> None:
    """Run the command line; errors that we know are one line on standard error."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except TunesmithError as error:
        _leave(f"tunesmith: {error}", error.exit_code)
    except KeyboardInterrupt:
        _leave("tunesmith: interrupted; every finished trial is saved", 130)
    except BrokenPipeError:
        # Whoever read our output has gone; do not complain again when Python flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _leave(message: str, code: int) -> None:
    sys.stderr.write(message + "\n")
    sys.exit(code)


def _terminate(number: int, _frame: FrameType | None) -> None:
    """Leave on SIGTERM through all ``finally`` blocks, so that nothing stays behind."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
