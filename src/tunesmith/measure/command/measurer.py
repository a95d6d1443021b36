"""Command lines as problems to tune."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunesmith.errors import InstantiationError, UsageError
from tunesmith.measure.activity import Activity
from tunesmith.measure.command.cost import Parse, cost_reader, parse_name
from tunesmith.measure.command.process import CommandResult, CommandRunner
from tunesmith.measure.command.template import Stage, parse_shell_stage, parse_stages
from tunesmith.measure.failure import FailedTrialError
from tunesmith.measure.identity import digest, identify
from tunesmith.measure.inline import InlineMeasurer, as_cost, check_default
from tunesmith.measurement import Candidate, Measurement, Outcome
from tunesmith.problem import BaseProblem, MeasureSettings
from tunesmith.space import Config, Space


class CommandProblem(BaseProblem):
    """A command line whose fields are a config's values, such as ``gcc -O{level} x.c && ./a.out``.

    ``command`` is a template (see ``template``): ``{name}``, or ``{name[0]}`` for a member of a
    tuple. It is split into arguments before values are filled in, so a value is always part of one
    argument. ``&&`` separates stages, which run one after the other: the last is the run, all
    others are the build. The stages of ``build``, if given, precede them. With ``shell=True`` each
    of the two templates is passed to ``/bin/sh`` with quoted values, and only ``build`` can define
    a build stage.

    The cost is the wall-clock seconds of the run, including a few milliseconds to start the
    process. With ``parse`` it is read from the standard output: by a callable on the text, or by a
    regular expression whose single group is the number, at its last match.

    Trials run one at a time in ``cwd`` (by default the directory current at construction), with
    the environment of this process, extended by ``env``. The last MiB of each output is kept. Of
    the ``MeasureSettings``, ``build_timeout`` applies to all build stages of a trial together,
    ``run_timeout`` to each run, ``memory_limit`` to each process, and ``repeats`` and ``cut_off``
    as described there. ``verify``, ``flush_cache``, ``min_repeat_time`` and ``workers`` do not
    apply: the command should check its own result, and fail or print no number.

    ``name`` identifies the command in the store, together with its templates, ``parse``, ``env``
    and the space. Without a name the directory is used instead, so only its records are comparable.

    At the end of a run the best ``finalists`` are measured again, in turn; 0 suits a deterministic
    cost.

    Raises ``UsageError`` for an invalid template or regular expression, a directory that does not
    exist, or a first program that cannot be found, and ``SpaceError`` if ``default`` is not in
    the space.
    """

    flops = None

    def __init__(
        self,
        space: Space,
        command: str,
        *,
        build: str | None = None,
        parse: Parse | None = None,
        shell: bool = False,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        default: Config | None = None,
        name: str | None = None,
        finalists: int = 3,
    ) -> None:
        self.space = space
        self.default = default
        self.finalists = finalists
        self.command = command
        self.cwd = Path(cwd or Path()).resolve()
        self._build = build
        self._parse = parse
        self._shell = shell
        self._env = dict(env or {})
        self._name = name
        templates = [template for template in (build, command) if template is not None]
        self.stages: tuple[Stage, ...] = tuple(
            stage
            for template in templates
            for stage in (
                [parse_shell_stage(template, space)] if shell else parse_stages(template, space)
            )
        )
        self._check()
        self._read_cost = cost_reader(parse)

    @property
    def key(self) -> str:
        name = self._name or Path(self.stages[0].program or "command").name
        identity = dict(self.describe())
        if self._name is None:
            identity["cwd"] = str(self.cwd)
        return f"command:{name}:{digest(identity)}"

    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": "command",
            "name": self._name,
            "command": self.command,
            "build": self._build,
            "shell": self._shell,
            "parse": parse_name(self._parse),
            "env": self._env,
            "space": identify(self.space),
        }

    def measurer(self, settings: MeasureSettings) -> CommandMeasurer:
        return CommandMeasurer(self, settings)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the commands."""
        return {**os.environ, **self._env}

    def cost(self, result: CommandResult) -> float:
        """The cost of a successful run; raises ``ValueError`` if its output has none."""
        return as_cost(self._read_cost(result))

    def _check(self) -> None:
        check_default(self.space, self.default)
        if not self.cwd.is_dir():
            raise UsageError(f"the directory {self.cwd} does not exist: make it or name another")
        for name, value in self._env.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise UsageError(f"env: {name} must be a text, not {value!r}")
        program = self.stages[0].program
        if program is None:
            return
        place = str(self.cwd / program) if os.sep in program else program
        if shutil.which(place, path=self.environment.get("PATH")) is None:
            raise UsageError(
                f"cannot run '{program}': no such program; install it or correct the command"
            )


class CommandMeasurer(InlineMeasurer):
    """Runs the stages of one trial at a time.

    A failing build stage is ``COMPILE_HOST``, a failing run ``RUNTIME_DEVICE``, an output without a
    cost ``WRONG_ANSWER``. Each round of a play-off builds again, because trials share a directory.
    """

    def __init__(self, problem: CommandProblem, settings: MeasureSettings) -> None:
        super().__init__()
        self._problem = problem
        self._settings = settings
        self._runner = CommandRunner()

    def measure(self, candidate: Candidate) -> Measurement:
        slowest = self._settings.cut_off * self.best
        return self._trial(candidate.config, self._settings.repeats, slowest)

    def measure_once(self, candidate: Candidate) -> Measurement:
        return self._trial(candidate.config, 1, math.inf)

    def close(self) -> None:
        super().close()
        self._runner.close()

    def _trial(self, config: Config, repeats: int, slowest: float) -> Measurement:
        trial = _Trial(self._problem, self._settings, self._runner, config)
        try:
            with self.spending(Activity.BUILD):
                trial.build()
            with self.spending(Activity.RUN):
                trial.run(repeats, slowest)
        except FailedTrialError as failure:
            return trial.measurement(failure.outcome, str(failure))
        return trial.measurement(Outcome.NO_ERROR)


@dataclass
class _Trial:
    """The stages of one config."""

    problem: CommandProblem
    settings: MeasureSettings
    runner: CommandRunner
    config: Config
    costs: list[float] = field(default_factory=list)
    build_time: float = 0.0
    run_time: float = 0.0
    cut_off: bool = False

    def build(self) -> None:
        """Run all stages except the last; they share the build timeout."""
        allowed = self.settings.build_timeout
        for stage in self.problem.stages[:-1]:
            result = self._start(stage, allowed - self.build_time)
            self.build_time += result.seconds
            if result.timed_out:
                raise FailedTrialError(
                    Outcome.BUILD_TIMEOUT, f"the build took longer than {allowed:g} s"
                )
            if result.failure:
                raise FailedTrialError(Outcome.COMPILE_HOST, result.failure)

    def run(self, repeats: int, slowest: float) -> None:
        """Run the last stage ``repeats`` times, or once if its cost is above ``slowest``."""
        allowed = self.settings.run_timeout
        for _ in range(repeats):
            result = self._start(self.problem.stages[-1], allowed)
            self.run_time += result.seconds
            if result.timed_out:
                raise FailedTrialError(
                    Outcome.RUN_TIMEOUT, f"the run took longer than {allowed:g} s"
                )
            if result.failure:
                raise FailedTrialError(Outcome.RUNTIME_DEVICE, result.failure)
            try:
                self.costs.append(self.problem.cost(result))
            except ValueError as error:
                raise FailedTrialError(Outcome.WRONG_ANSWER, str(error)) from None
            if self.costs[0] > slowest:
                self.cut_off = True
                return

    def measurement(self, outcome: Outcome, message: str = "") -> Measurement:
        """The measurement so far, with this outcome."""
        return Measurement(
            config=self.config,
            outcome=outcome,
            run_seconds=tuple(self.costs) if outcome is Outcome.NO_ERROR else (),
            build_time=self.build_time,
            run_time=self.run_time,
            message=message,
            cut_off=self.cut_off,
        )

    def _start(self, stage: Stage, timeout: float) -> CommandResult:
        try:
            arguments = stage.arguments(self.config)
        except InstantiationError as error:
            raise FailedTrialError(Outcome.INSTANTIATION_ERROR, str(error)) from None
        result = self.runner.run(
            arguments,
            cwd=self.problem.cwd,
            env=self.problem.environment,
            timeout=timeout,
            memory_limit=self.settings.memory_limit,
        )
        if result.lost:
            raise FailedTrialError(Outcome.UNKNOWN_ERROR, result.error)
        return result
