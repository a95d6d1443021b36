"""The options that name a task, and from them to the task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.existing_store import existing_store
from tunesmith.errors import UsageError, unknown_name

if TYPE_CHECKING:  # NumPy comes with most of these, and help has to do without
    from tunesmith.measure.task.portfolio import Portfolio
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.operators import Operator
    from tunesmith.space import Config
    from tunesmith.task import Task


@dataclass(frozen=True, kw_only=True)
class TaskChoice(opt.TargetChoice):
    """The options that name a task. Those of its operator are among the words that are left."""

    context: typer.Context
    operator: Annotated[
        str | None,
        Argument(
            metavar="OPERATOR --OPTION VALUE ...",
            help="An operator and its options; 'tunesmith operators' lists them.",
            show_default=False,
        ),
    ] = None
    layer: Annotated[
        str | None, Option(help="A named layer such as resnet18.C8, instead of an operator.")
    ] = None

    @property
    def named(self) -> bool:
        """Whether any word names a task."""
        return bool(self.operator or self.layer or self.context.args)

    def task(self) -> Task:
        """The task. Raises ``UsageError`` where the words name none."""
        from tunesmith.task import Task

        target = self.chosen_target()  # which is complained of first
        return Task(self._operator(), target)

    def problems(self) -> tuple[TaskProblem, ...]:
        """The task with each of its sketches (imports TVM).

        Raises ``UsageError`` where the words name none, or a processor that LLVM does not know.
        """
        task = self.task()  # complain about the words before anything heavy is loaded
        from tunesmith.measure.task.portfolio import problems_of

        task.target.to_json()  # or it would be seen only where something is compiled
        only, without = self.sketches
        return problems_of(task, only, without)

    @property
    def sketches(self) -> tuple[Sequence[str], Sequence[str]]:
        """The sketches to look at, all that fit if there is none, and those to leave out."""
        return (), ()

    def to_tune(self, *, elsewhere: bool = False) -> TaskProblem | Portfolio:
        """The task with all of its sketches as one problem, to be measured here or ``elsewhere``.

        Raises ``UsageError`` as ``problems`` does, and for a target that nothing is measured on.
        """
        if not elsewhere:
            self.task().target.check_measurable()
        from tunesmith.measure.task.portfolio import joined

        return joined(self.problems())

    def _operator(self) -> Operator:
        from tunesmith.operators import parse_operator, workload

        name, extra = self.operator, list(self.context.args)
        if name is not None and name.startswith("-"):
            if self.layer is None:
                raise UsageError(f"name the operator before its options: it must precede {name}")
            extra = [name, *extra]  # an option that changes the layer
            name = None
        if (name is None) == (self.layer is None):
            raise UsageError("name one operator or one --layer: 'tunesmith operators' lists both")
        options = parse_words(extra)
        if name is not None:
            self._check_names(name, options)
            return parse_operator(name, options)
        layer = workload(str(self.layer))
        spellings = self._check_names(layer.name, options)
        replaced = {spellings[name] for name in options}
        kept = {n: v for n, v in layer.to_json()["options"].items() if n not in replaced}
        return parse_operator(layer.name, kept | options)

    def _check_names(self, operator: str, options: Iterable[str]) -> Mapping[str, str]:
        """The operator's options by every name that they go by.

        Raises ``UsageError`` for an unknown one, which may have been meant for the command.
        """
        from tunesmith.operators import operator_class

        own = [option for it in self.context.command.params for option in it.opts]
        declared = operator_class(operator).options()
        spellings = {name: option.name for option in declared for name in option.type.aliases}
        spellings |= {option.name: option.name for option in declared}
        for name in options:
            if name not in spellings:
                raise unknown_name(
                    f"option of {operator}",
                    name,
                    {*spellings, *(option[2:] for option in own if option.startswith("--"))},
                    listed_by=f"tunesmith operators {operator}",
                )
        return spellings


@dataclass(frozen=True, kw_only=True)
class SketchChoice(TaskChoice):
    """A task, and maybe one of its sketches."""

    sketch: opt.SketchName = None

    @property
    def sketches(self) -> tuple[Sequence[str], Sequence[str]]:
        return (() if self.sketch is None else (self.sketch,)), ()


@dataclass(frozen=True, kw_only=True)
class ConfigChoice(SketchChoice):
    """A task, and one of its configs."""

    store: opt.StoreLocation = None
    config: Annotated[
        str | None,
        Option(
            help="A config as JSON, or 'default'; default: the best one in the store, without any "
            "what the models think fastest."
        ),
    ] = None
    transfer: opt.Transfer = True
    model: opt.ModelName = None

    def chosen(self) -> tuple[TaskProblem, Config]:
        """The config that ``--config`` asks for, with the problem of its sketch.

        That is the best of the store, or what is thought fastest where that has none; the default;
        or the config as given, of the first sketch that has it. The store is opened only where it
        is needed. Raises ``UsageError`` for a store that does not exist, or a text that is no
        config of any problem's space.
        """
        transfer = opt.transfer_of(self.transfer, self.model)
        problems = self.problems()
        from tunesmith.space import Config

        if self.config == "default":
            return problems[0], problems[0].default
        if self.config is not None:
            try:
                config = Config.from_json(json.loads(self.config))
            except ValueError as error:
                raise UsageError(f"--config is no JSON object: {error}") from error
            fitting = [problem for problem in problems if problem.space.contains(config)]
            if not fitting:
                problems[0].space.check(config)
            return fitting[0], config
        from tunesmith.cli.output import remark
        from tunesmith.tuning.compile import choose

        with existing_store(self.store) as store:
            found = choose(problems, store, transfer=transfer, tell=remark)
        if not found.is_measured:
            remark(
                f"nothing is recorded for {problems[0].key} on this machine: this is what the "
                "models think fastest, and tuning finds better"
            )
        return found.problem, found.config


def parse_words(words: Sequence[str]) -> dict[str, object]:
    """``--name value``, ``--name=value`` and ``--flag`` as options by name.

    Raises ``UsageError`` for a word that belongs to no option and for an option given twice.
    """
    options: dict[str, object] = {}
    position = 0
    while position < len(words):
        word = words[position]
        if not word.startswith("--"):
            raise UsageError(
                f"cannot make sense of '{word}': options look like --n 1; 'tunesmith operators' "
                "lists them"
            )
        name, equals, value = word[2:].partition("=")
        following = words[position + 1] if position + 1 < len(words) else "--"
        if not equals and not following.startswith("--"):
            value, position = following, position + 1
        name = name.replace("-", "_")
        if name in options:
            raise UsageError(f"--{name} is given twice: keep one")
        options[name] = value if equals or value else True
        position += 1
    return options
