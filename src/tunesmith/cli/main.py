"""The entry point of ``tunesmith``."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from tempfile import gettempdir
from types import FrameType
from typing import Any, NoReturn

import typer

from tunesmith.cli import (
    best,
    build,
    compare,
    device,
    history,
    lists,
    record,
    show,
    space,
    tune,
    tune_command,
)
from tunesmith.cli.bench import (
    autotvm,
    builds,
    calls,
    experiments,
    gather,
    gevo,
    gpu,
    loop,
    networks,
    operators,
    replay,
    scale,
    space_analysis,
    starts,
    startup,
    store,
    train_model,
    training_set,
)
from tunesmith.cli.evolve import commands as evolve
from tunesmith.cli.exchange import export, import_
from tunesmith.cli.models import commands as models
from tunesmith.cli.network import build as network_build
from tunesmith.cli.network import compare as network_compare
from tunesmith.cli.network import example as network_example
from tunesmith.cli.network import report as network_report
from tunesmith.cli.network import run as network_run
from tunesmith.cli.network import show as network_show
from tunesmith.cli.network import tune as network_tune
from tunesmith.cli.options import add_commands
from tunesmith.cli.pages import dashboard, report
from tunesmith.errors import TunesmithError, system_reason

# 128 + SIGINT, as shells have it.
_INTERRUPTED = 130

# Of the system's errors those that a user can do something about.
_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNUSABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)

app = typer.Typer(
    name="tunesmith",
    help="Finds the fastest program for a tensor operator on the hardware at hand.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
add_commands(
    app,
    *(tune.tune, tune_command.tune_command, record.record),
    *(best.best, history.history, report.report, export.export, import_.import_),
    *(lists.operators, lists.tuners, lists.sketches, space.space, show.show),
    *(build.build, compare.compare, evolve.evolve, dashboard.dashboard),
    *(device.device, device.tracker),
)
bench = typer.Typer(help="Measure the figures that the project promises.")
add_commands(
    bench,
    *(loop.loop, operators.operators, calls.calls, starts.starts, builds.builds, gpu.gpu),
    *(experiments.nose, experiments.opevo, experiments.gbfs, replay.replay, autotvm.autotvm),
    *(startup.startup, scale.scale, store.store),
    *(space_analysis.space_analysis, networks.networks),
    *(gather.gather, training_set.training_set, train_model.train_model, gevo.gevo),
)
app.add_typer(bench, name="bench")
network = typer.Typer(help="Import, tune, build and run whole networks.")
add_commands(
    network,
    *(network_tune.tune, network_build.build, network_run.run),
    *(network_show.show, network_report.report, network_compare.compare),
    network_example.example,
)
app.add_typer(network, name="network")
learned = typer.Typer(help="List, train, score and remove models of a store's trials.")
add_commands(learned, models.list_, models.train, models.score, models.remove)
app.add_typer(learned, name="models")


def main() -> None:
    """Run the command line; what we or Typer refuse is one line on standard error."""
    signal.signal(signal.SIGTERM, _terminate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an encoding that has no dash
    try:
        words = sys.argv[1:] or ["--help"]
        status = app(words, prog_name="tunesmith", standalone_mode=False)
        print(end="", flush=True)  # here, where a reader that has gone is no surprise
        _ignore_interrupts()  # Python's own clean-up would print a traceback
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except TunesmithError as error:
        _leave(str(error), error.exit_code)
    except BrokenPipeError:  # whoever reads our output has gone
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno in _FULL:
            _drop_output()
            _leave(f"a disk is full: that of the output, or of {gettempdir()}: make room there", 1)
        if error.errno not in _UNUSABLE or error.filename is None:
            raise
        _leave(f"cannot use {error.filename}: {system_reason(error)}: name another place", 1)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _leave(_refusal(error), 2)
    if status == _INTERRUPTED:  # which is also how Typer tells of it
        _leave("interrupted; every finished trial is saved", _INTERRUPTED)


def _refusal(error: Any) -> str:
    """Typer's complaint about the words of a command line, in our form."""
    text = " ".join(error.format_message().split()).rstrip(".")
    command = error.ctx.command_path if getattr(error, "ctx", None) else "tunesmith"
    return f"{text[:1].lower()}{text[1:]} (see '{command} --help')"


def _leave(message: str, code: int) -> NoReturn:
    _ignore_interrupts()  # one more shall not spoil the status
    sys.stderr.write(f"tunesmith: {message}\n")
    sys.exit(code)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _drop_output() -> None:
    """What is still to be printed goes nowhere: Python would complain when it flushes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(number: int, _frame: FrameType | None) -> None:
    """Leave on SIGTERM through all ``finally`` blocks, so that nothing stays behind."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
