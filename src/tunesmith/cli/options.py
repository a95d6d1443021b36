"""How commands get their options, and the options that several of them share.

Options that belong together are the fields of a frozen dataclass: a command with a parameter of
that class takes each field as an option, and is handed an instance.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer import Option

from tunesmith.errors import UsageError

if TYPE_CHECKING:  # NumPy comes with it, and help has to do without
    from tunesmith.problem import MeasureSettings
    from tunesmith.target import Target

Processor = Annotated[
    str | None, Option("--mcpu", help="LLVM's name of the processor; default: this one's.")
]
TargetKind = Annotated[str, Option("--target", help="What to run on: cpu or cuda.")]
Architecture = Annotated[
    str | None,
    Option("--arch", help="The GPU's instruction set, such as sm_90; default: this one's."),
]
Triple = Annotated[
    str | None,
    Option("--triple", help="Another machine's platform, such as aarch64-linux-gnu."),
]
SketchName = Annotated[
    str | None, Option("--sketch", help="Only this sketch; default: all that fit.")
]
SketchNames = Annotated[
    list[str] | None,
    Option("--sketch", help="Only this sketch; repeatable; default: all that fit."),
]
StoreLocation = Annotated[
    str | None,
    Option("--store", help="A SQLite file or a database URL; default: in the user's data folder."),
]
Workloads = Annotated[
    list[str] | None,
    Option("--workload", help="A name, or a pattern such as 'resnet18.*'; repeatable."),
]
Prior = Annotated[bool, Option(help="Begin with the configs that are estimated to be fastest.")]
Transfer = Annotated[
    bool, Option(help="Correct the sketches' estimates by what was learned from other tasks.")
]
ModelName = Annotated[
    str | None,
    Option(
        "--model",
        help="The learned model to correct them by ('tunesmith models list'); default: the best.",
    ),
]
FreshRuns = Annotated[
    bool, Option("--fresh", help="Remove the runs of before, and do all of them anew.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]

_PASS_REST = {"allow_extra_args": True, "ignore_unknown_options": True}

FIGURES = Path("docs/benchmarks")
"""Where a checkout has the figures that it ships."""


def check_quick(output: Path) -> None:
    """Raises ``UsageError`` where figures of minutes would take the place of those of hours."""
    if output == FIGURES:
        raise UsageError(f"{FIGURES} is for figures of long runs: name a folder for --quick by -o")


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """How configs are measured: ``MeasureSettings`` in the units of a command line."""

    build_timeout: Annotated[float, Option(help="Seconds a build may take.")] = 10.0
    run_timeout: Annotated[float, Option(help="Seconds a run may take.")] = 10.0
    repeats: Annotated[int, Option(help="Times each config is measured.")] = 3
    min_repeat_ms: Annotated[float, Option(help="How long one repeat lasts.")] = 5.0
    cut_off: Annotated[
        float, Option(help="A config that takes so many times the best time is timed only once.")
    ] = 3.0

    def settings(self, **others: Any) -> MeasureSettings:
        """The settings, with values for ``others`` that are no options.

        Raises ``UsageError`` for a value that makes no sense.
        """
        from tunesmith.problem import MeasureSettings

        given = asdict(self) | others
        given["min_repeat_time"] = given.pop("min_repeat_ms") / 1e3
        return MeasureSettings(**given)


@dataclass(frozen=True, kw_only=True)
class TargetChoice:
    """What to compile for."""

    target: TargetKind = "cpu"
    mcpu: Processor = None
    cores: Annotated[
        int | None, Option(help="Threads of a program; default: one for each core it may use.")
    ] = None
    arch: Architecture = None
    triple: Triple = None

    def chosen_target(self) -> Target:
        """The target. Raises ``UsageError`` where these make none."""
        from tunesmith.target import Target

        return Target(self.target, self.mcpu, self.cores, self.arch, self.triple)


def transfer_of(transfer: bool, model: str | None) -> bool | str:
    """What ``--transfer`` and ``--model`` say together.

    Raises ``UsageError`` for a model that is not to be used.
    """
    if model is None:
        return transfer
    if Path(model).suffix in {".onnx", ".pt2", ".so"}:
        raise UsageError(f"--model names a learned model: give the network {model} without it")
    if not transfer:
        raise UsageError("--no-transfer uses no model, and --model names one: leave one out")
    return model


def add_commands(group: typer.Typer, *commands: Callable[..., None]) -> None:
    """Add functions as commands of their names: ``tune_command`` is ``tune-command``.

    One that takes the context, itself or in its options, gets the words that no option claims.
    """
    for command in commands:
        name = command.__name__.strip("_").replace("_", "-")
        expanded = _expanded(command)
        takes_rest = typer.Context in expanded.__annotations__.values()
        group.command(name, context_settings=_PASS_REST if takes_rest else None)(expanded)


def _expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer wants it: with a parameter for each field of its dataclasses."""
    classes: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            classes[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def expanded(**values: Any) -> None:
        for name, options in classes.items():
            values[name] = options(**{it.name: values.pop(it.name) for it in fields(options)})
        command(**values)

    for_typer: Any = expanded
    for_typer.__signature__ = inspect.Signature(parameters)
    for_typer.__annotations__ = {it.name: it.annotation for it in parameters}
    return expanded


def _parameters(options: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters of a function."""
    hints = get_type_hints(options, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(options)
    ]
