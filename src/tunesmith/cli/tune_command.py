"""``tunesmith tune-command``: any command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from tunesmith.cli import options as opt
from tunesmith.cli.tune import SearchOptions, search
from tunesmith.cli.tune_result import complain, print_result


def tune_command(
    spec: Annotated[Path, Argument(help="A TOML file; see docs/command-line.md.")],
    options: SearchOptions,
    as_json: opt.Json = False,
) -> None:
    """Tune any command line that a TOML file describes."""
    from tunesmith.measure.command.spec import read_command_spec
    from tunesmith.store import open_store

    described = read_command_spec(spec)
    wanted = described.tune
    if options.seconds is None and options.trials is None:
        options = replace(options, seconds=wanted.seconds, trials=wanted.trials)
    seed = wanted.seed if options.seed is None else options.seed
    options = replace(options, seed=seed, tuner=options.tuner or wanted.tuner)
    options.check()
    tuner = options.algorithm()
    with open_store(options.store) as store:
        result = search(described.problem, tuner, options, store, described.settings)
    print_result(result, {}, as_json=as_json)
    complain(result)
