"""``tunesmith tune``: the fastest program of a task."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.budget import Budget, Stop
from tunesmith.cli import options as opt
from tunesmith.cli.elsewhere import ElsewhereOptions, on_devices
from tunesmith.cli.output import check_page, command_line, print_text, remark, remarks
from tunesmith.cli.task_choice import TaskChoice
from tunesmith.cli.tune_result import complain, print_result
from tunesmith.errors import UsageError
from tunesmith.measure.milestones import reached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tunesmith.measure.trial.measurers import Measurers
    from tunesmith.problem import Measurable, MeasureSettings
    from tunesmith.store import Store
    from tunesmith.transfer.of_store import Transfer
    from tunesmith.tuners import Tuner
    from tunesmith.tuning.result import Result

TunerName = Annotated[str | None, Option("--tuner", help="The search algorithm.")]
Seed = Annotated[int | None, Option(help="The same seed makes the same proposals.")]
# What a run without any limit gets; an endless one has to be asked for by Ctrl-C.
DEFAULT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to search, when to stop, and where trials are kept."""

    tuner: TunerName = None
    tuner_option: Annotated[
        list[str] | None, Option(help="NAME=VALUE, one of the tuner's options; repeatable.")
    ] = None
    seconds: Annotated[
        float | None, Option(help="Stop after so many seconds; 60 without --trials or --patience.")
    ] = None
    trials: Annotated[int | None, Option(help="Stop at so many trials, with resumed ones.")] = None
    target_seconds: Annotated[
        float | None, Option(help="Stop when a call takes so many seconds or less.")
    ] = None
    patience: Annotated[int | None, Option(help="Stop after so many trials without a gain.")] = None
    store: opt.StoreLocation = None
    seed: Seed = None
    resume: Annotated[
        bool, Option("--resume/--fresh", help="Continue what the store holds, or start anew.")
    ] = True

    def check(self) -> None:
        """Raise ``UsageError`` for what makes no sense, before anything is begun."""
        self.budget()
        self._chosen()

    def algorithm(self) -> Tuner:
        """The tuner with its options, as far as its cost model can be had; see ``usable``.

        Raises ``UsageError`` where there is no such tuner or model. May take a second, as packages
        of models do to load.
        """
        from tunesmith.tuning.missing_model import usable

        return usable(self._chosen())

    def _chosen(self) -> Tuner:
        from tunesmith.tuners import parse_options, tuner

        name = self.tuner or "auto"
        return tuner(name, **parse_options(name, self.tuner_option or []))

    def budget(self) -> Budget:
        """The limits, of which a run has at least one. Raises ``UsageError`` as ``Budget`` does."""
        unlimited = self.seconds is None and self.trials is None and self.patience is None
        return Budget(
            seconds=DEFAULT_SECONDS if unlimited else self.seconds,
            trials=self.trials,
            target_seconds=self.target_seconds,
            patience=self.patience,
        )


@dataclass(frozen=True, kw_only=True)
class TaskSearchOptions(SearchOptions):
    """The same for a task."""

    tuner: TunerName = "auto"
    seed: Seed = 0
    target_gflops: Annotated[
        float | None, Option(help="Stop when a config has so many GFLOP/s.")
    ] = None
    prior: opt.Prior = True
    transfer: opt.Transfer = True
    model: opt.ModelName = None

    def check(self) -> None:
        super().check()
        opt.transfer_of(self.transfer, self.model)

    def budget(self) -> Budget:
        return replace(super().budget(), target_gflops=self.target_gflops)


@dataclass(frozen=True, kw_only=True)
class TrialOptions(opt.MeasureOptions):
    """How trials are measured, and what each may use."""

    memory_limit: Annotated[int, Option(help="MiB a trial may use.")] = 4096
    flush_cache: Annotated[bool, Option(help="Empty the caches before a repeat.")] = False

    def settings(self, **others: Any) -> MeasureSettings:
        return super().settings(memory_limit=self.memory_limit << 20, **others)


@dataclass(frozen=True, kw_only=True)
class SketchesChoice(TaskChoice):
    """A task, and which of its sketches."""

    sketch: opt.SketchNames = None
    without_sketch: Annotated[list[str] | None, Option(help="Not this sketch; repeatable.")] = None

    @property
    def sketches(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.sketch or (), self.without_sketch or ()


def tune(
    choice: SketchesChoice,
    options: TaskSearchOptions,
    measure: TrialOptions,
    elsewhere: ElsewhereOptions,
    *,
    build_only: Annotated[
        bool, Option("--build-only", help="Build a sample of the programs, and run none.")
    ] = False,
    peers: Annotated[
        bool, Option("--peers", help="Compare the best with PyTorch, if it is installed.")
    ] = False,
    report: Annotated[Path | None, Option(help="Also write the HTML report to this file.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Search for the fastest program of an operator."""
    reached("command line")
    task = choice.task()  # complain about the words before anything heavy is loaded
    options.check()
    check_page(report)
    settings = measure.settings()
    devices, nodes = elsewhere.devices(), elsewhere.nodes()
    if devices is not None and peers:
        raise UsageError("--rpc measures on devices alone: leave out --peers, or it")
    if build_only:
        if peers or report is not None or devices is not None or nodes is not None:
            raise UsageError(
                "--build-only measures nothing: leave out --peers, --report, --rpc and --cluster"
            )
        from tunesmith.cli.build_only import build_only as build

        build(choice, options, replace(settings, verify=False), as_json=as_json)
        return
    from tunesmith.compiler.importing import load_compiler

    with contextlib.ExitStack() as stack:
        measurers: Measurers
        if devices is not None:
            choice = on_devices(choice, devices)
            task, measurers = choice.task(), devices
            problem = choice.to_tune(elsewhere=True)
        elif nodes is not None:
            measurers = stack.enter_context(nodes)  # the rest is imported meanwhile
            load_compiler()
            problem = choice.to_tune(elsewhere=True)
        else:
            from tunesmith.measure.local.measurers import LocalMeasurers

            task.target.check_measurable()
            here = stack.enter_context(LocalMeasurers())  # the rest is imported meanwhile
            reached("start of the server")
            load_compiler()
            reached("compiler")
            problem, measurers = choice.to_tune(), here
            here.prepare(problem.job(settings))
        reached("task and sketches")
        tuner = options.algorithm()  # which may complain
        from tunesmith.store import open_store

        opened = stack.enter_context(open_store(options.store))
        reached("store")
        result = search(
            problem,
            tuner,
            options,
            opened,
            settings,
            prior=options.prior,
            transfer=_transfer(options, opened),
            measurers=measurers,
        )
        compared = _compare(result) if peers else {}
        print_result(result, compared, as_json=as_json)
        if report is not None:
            from tunesmith.cli.pages.report_page import write_run_report

            command = command_line(options.store, opened.name)
            write_run_report(
                opened, result, report, resumed=options.resume, peers=compared, command=command
            )
            if not as_json:
                print_text(f"report: {report}")
    complain(result)


def search(
    problem: Measurable,
    tuner: Tuner,
    options: SearchOptions,
    store: Store,
    settings: MeasureSettings,
    *,
    prior: bool = True,
    transfer: Transfer = True,
    measurers: Measurers | None = None,
) -> Result:
    """Search with a tuner as the options say, and show how far it is."""
    from tunesmith.reports.live import LiveProgress
    from tunesmith.tuning.tune import tune as run

    budget = options.budget()
    with LiveProgress(remarks(), budget.trials, budget.seconds, problem.flops) as live:
        return run(
            problem,
            tuner,
            budget,
            store=store,
            seed=options.seed or 0,
            fresh=not options.resume,
            prior=prior,
            transfer=transfer,
            settings=settings,
            measurers=measurers,
            tell=live.print,
            progress=live.update,
        )


def _transfer(options: TaskSearchOptions, store: Store) -> Transfer:
    """Whether to use a model of other tasks, or its name, which the store has."""
    from tunesmith.transfer.of_store import check_transfer

    transfer = opt.transfer_of(options.transfer, options.model)
    check_transfer(store, transfer)
    return transfer


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
