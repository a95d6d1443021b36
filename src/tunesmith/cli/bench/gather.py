"""``tunesmith bench gather``: random trials of the tasks of training sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import console, print_json, remarks
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.progress import Progress


def gather(
    sets: Annotated[list[Path], Argument(help="Training sets, whose tasks these are.")],
    *,
    store: opt.StoreLocation = None,
    target: opt.TargetKind = "cpu",
    mcpu: opt.Processor = None,
    arch: opt.Architecture = None,
    dtype: Annotated[str | None, Option(help="Take the operators in this type.")] = None,
    trials: Annotated[int, Option(help="Trials of each task, those in the store included.")] = 24,
    prior: Annotated[bool, Option(help="Begin with what the estimates like.")] = False,
    every: Annotated[int, Option(help="Take only every so many-th task.")] = 1,
    seed: Annotated[int, Option(help="Seed of the random configs.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Measure random configs of the tasks of training sets on this machine."""
    from tunesmith.bench.training.gather import GatherSettings, operators_of
    from tunesmith.bench.training.gather import gather as measured
    from tunesmith.reports.build_progress import BuildProgress
    from tunesmith.reports.format import counted
    from tunesmith.store import open_store
    from tunesmith.target import Target
    from tunesmith.task import Task
    from tunesmith.transfer.training_set import read_training_set

    if every < 1:
        raise UsageError(f"--every must be 1 or more, not {every}")
    operators = operators_of(map(read_training_set, sets), dtype)[::every]
    settings = GatherSettings(trials, prior, seed)
    device = Target(target, mcpu=mcpu, arch=arch)
    total = trials * len(operators)
    with open_store(store) as opened:
        with BuildProgress(remarks(), total, done="measured") as live:

            def watch(number: int, state: Progress) -> None:
                live.update(trials * number + state.trials)

            measured(operators, device, opened, settings, progress=watch)
        keys = {Task(operator, device).key for operator in operators}
        done = sum(summary.trials for summary in opened.tasks() if summary.key in keys)
        if as_json:
            print_json({"store": opened.name, "tasks": len(operators), "trials": done})
        else:
            found = f"{counted(done, 'trial')} of {counted(len(operators), 'task')}"
            console().print(f"{opened.name}: {found}")
