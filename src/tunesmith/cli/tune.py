"""``tunesmith tune`` and ``tunesmith tune-command``."""

from __future__ import annotations

import contextlib
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.budget import Budget, Stop
from tunesmith.cli import options as opt
from tunesmith.cli.output import console, remark, remarks
from tunesmith.cli.task_choice import TaskChoice
from tunesmith.cli.tune_result import complain, print_result
from tunesmith.errors import UsageError
from tunesmith.measure.milestones import reached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tunesmith.measure.trial.measurers import Measurers
    from tunesmith.problem import Measurable, MeasureSettings
    from tunesmith.store import Store
    from tunesmith.tuners import Tuner
    from tunesmith.tuning.result import Result

TunerName = Annotated[str, typer.Option("--tuner", help="The search algorithm.")]
TunerOptions = Annotated[
    list[str] | None,
    typer.Option("--tuner-option", help="NAME=VALUE, one of the tuner's options; repeatable."),
]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Stop after so many seconds.")]
Trials = Annotated[
    int | None, typer.Option("--trials", help="Stop at so many trials, resumed ones included.")
]
TargetSpeed = Annotated[
    float | None, typer.Option("--target-gflops", help="Stop when a config is this fast.")
]
TargetSeconds = Annotated[
    float | None, typer.Option("--target-seconds", help="Stop when one call takes no longer.")
]
Patience = Annotated[
    int | None, typer.Option("--patience", help="Stop after so many trials without a gain.")
]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same proposals.")]
Resume = Annotated[
    bool,
    typer.Option("--resume/--fresh", help="Continue what the store holds, or start anew."),
]
# What a run without any limit gets; an endless one has to be asked for by Ctrl-C.
DEFAULT_SECONDS = 60.0


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tune", context_settings=opt.PASS_OPERATOR_OPTIONS)(tune)
    app.command("tune-command")(tune_command)


def tune(
    context: typer.Context,
    *,
    operator: opt.OperatorName = None,
    layer: opt.Layer = None,
    target: opt.Device = "cpu",
    mcpu: opt.Processor = None,
    cores: opt.Cores = None,
    arch: opt.Arch = None,
    sketch: opt.SketchNames = None,
    without_sketch: opt.OtherSketches = None,
    tuner: TunerName = "auto",
    tuner_option: TunerOptions = None,
    seconds: Seconds = None,
    trials: Trials = None,
    target_gflops: TargetSpeed = None,
    target_seconds: TargetSeconds = None,
    patience: Patience = None,
    store: opt.StoreLocation = None,
    seed: Seed = 0,
    resume: Resume = True,
    prior: Annotated[
        bool,
        typer.Option("--prior/--no-prior", help="Begin with what a model likes."),
    ] = True,
    build_timeout: Annotated[float, typer.Option(help="Seconds a build may take.")] = 10.0,
    run_timeout: Annotated[float, typer.Option(help="Seconds a run may take.")] = 10.0,
    memory_limit: Annotated[int, typer.Option(help="MiB a trial may use.")] = 4096,
    repeats: Annotated[int, typer.Option(help="Times each candidate is measured.")] = 3,
    min_repeat_ms: Annotated[float, typer.Option(help="How long one repeat lasts.")] = 5.0,
    cut_off: Annotated[
        float, typer.Option(help="Times the best time at which a candidate is given up.")
    ] = 3.0,
    flush_cache: Annotated[bool, typer.Option(help="Empty the caches before a repeat.")] = False,
    build_only: Annotated[
        bool, typer.Option("--build-only", help="Build a sample of the programs, and run none.")
    ] = False,
    peers: opt.Peers = False,
    report: opt.ReportPath = None,
    as_json: opt.Json = False,
) -> None:
    """Search for the fastest program of an operator."""
    reached("command line")
    words = opt.words_of(context)
    choice = TaskChoice(operator, layer, words, target, mcpu, cores, arch, sketch, without_sketch)
    task = choice.task()  # complain about the words before anything heavy is loaded
    budget = _budget(seconds, trials, target_gflops, target_seconds, patience)
    algorithm = _tuner(tuner, tuner_option)
    from tunesmith.problem import MeasureSettings

    settings = MeasureSettings(
        build_timeout=build_timeout,
        run_timeout=run_timeout,
        memory_limit=memory_limit << 20,
        repeats=repeats,
        min_repeat_time=min_repeat_ms / 1e3,
        cut_off=cut_off,
        flush_cache=flush_cache,
    )
    if build_only:
        if peers or report is not None:
            raise UsageError("--build-only measures nothing: leave out --peers and --report")
        from tunesmith.cli.build_only import build_only as build

        settings = replace(settings, verify=False)
        build(choice, settings, trials=trials, seconds=seconds, seed=seed, as_json=as_json)
        return
    from tunesmith.measure.local.measurers import LocalMeasurers
    from tunesmith.measure.trial.prepared import load_compiler

    task.target.check_measurable()
    with contextlib.ExitStack() as stack:
        measurers = stack.enter_context(LocalMeasurers())  # the rest is imported meanwhile
        reached("start of the server")
        load_compiler()
        reached("compiler")
        problem = choice.to_tune()
        measurers.prepare(problem.job(settings))
        reached("task and sketches")
        from tunesmith.store import open_store

        opened = stack.enter_context(open_store(store))
        reached("store")
        result = _run(
            problem,
            algorithm,
            budget,
            store=opened,
            seed=seed,
            resume=resume,
            prior=prior,
            settings=settings,
            measurers=measurers,
        )
        compared = _compare(result) if peers else {}
        print_result(result, compared, as_json=as_json)
        if report is not None:
            from tunesmith.cli.report_page import write_run_report

            command = _command(store, opened)
            write_run_report(
                opened, result, report, resumed=resume, peers=compared, command=command
            )
            if not as_json:
                console().print(f"report: {report}", soft_wrap=True, markup=False)
    complain(result)


def tune_command(
    spec: Annotated[Path, typer.Argument(help="A TOML file; see docs/command-line.md.")],
    *,
    tuner: Annotated[str | None, typer.Option("--tuner", help="The search algorithm.")] = None,
    tuner_option: TunerOptions = None,
    seconds: Seconds = None,
    trials: Trials = None,
    target_seconds: TargetSeconds = None,
    patience: Patience = None,
    store: opt.StoreLocation = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the search.")] = None,
    resume: Resume = True,
    as_json: opt.Json = False,
) -> None:
    """Tune any command line that a TOML file describes."""
    from tunesmith.measure.command.spec import read_command_spec
    from tunesmith.store import open_store

    described = read_command_spec(spec)
    wanted = described.tune
    if seconds is None and trials is None:
        seconds, trials = wanted.seconds, wanted.trials
    if seed is None:
        seed = wanted.seed or 0
    algorithm = _tuner(tuner or wanted.tuner or "auto", tuner_option)
    budget = _budget(seconds, trials, None, target_seconds, patience)
    with open_store(store) as opened:
        result = _run(
            described.problem,
            algorithm,
            budget,
            store=opened,
            seed=seed,
            resume=resume,
            settings=described.settings,
        )
    print_result(result, {}, as_json=as_json)
    complain(result)


def _budget(
    seconds: float | None,
    trials: int | None,
    target_gflops: float | None,
    target_seconds: float | None,
    patience: int | None,
) -> Budget:
    limits = (seconds, trials, patience)
    if all(limit is None for limit in limits):
        seconds = DEFAULT_SECONDS
    return Budget(seconds, trials, target_gflops, target_seconds, patience)


def _tuner(name: str, texts: list[str] | None) -> Tuner:
    from tunesmith.tuners import parse_options
    from tunesmith.tuners import tuner as tuner_by_name

    return tuner_by_name(name, **parse_options(name, texts or []))


def _run(
    problem: Measurable,
    tuner: Tuner,
    budget: Budget,
    *,
    store: Store,
    seed: int,
    resume: bool,
    prior: bool = True,
    settings: MeasureSettings,
    measurers: Measurers | None = None,
) -> Result:
    from tunesmith.reports.live import LiveProgress
    from tunesmith.tuning.tune import tune as run

    with LiveProgress(remarks(), budget.trials, budget.seconds, problem.flops) as live:
        return run(
            problem,
            tuner,
            budget,
            store=store,
            seed=seed,
            fresh=not resume,
            prior=prior,
            settings=settings,
            measurers=measurers,
            progress=live.update,
        )


def _compare(result: Result) -> Mapping[str, float]:
    """Seconds of a call by peer; none where Ctrl-C says that it takes too long."""
    from tunesmith.bench.against_torch import compare_with_peers

    try:
        if result.stopped is not Stop.INTERRUPTED:
            return compare_with_peers(result, remark)
    except KeyboardInterrupt:
        pass
    remark("interrupted, so the best is not compared with others")
    return {}


def _command(location: str | None, store: Store) -> str:
    """The command line that repeats this run, without the secrets of a database's URL."""
    words = sys.argv[1:]
    if location is not None and "://" in location:
        words = [word.replace(location, store.name) for word in words]
    return shlex.join(["tunesmith", *words])
