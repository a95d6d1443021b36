"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

# Options of an operator are not known before its name is: they are read by ``task_choice``.
PASS_OPERATOR_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}

OperatorName = Annotated[
    str | None,
    typer.Argument(
        metavar="OPERATOR --OPTION VALUE ...",
        help="An operator and its options; 'tunesmith operators' lists them.",
        show_default=False,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option("--layer", help="A named layer such as resnet18.C8, instead of an operator."),
]
Device = Annotated[str, typer.Option("--target", help="What to run on.")]
Processor = Annotated[
    str | None, typer.Option("--mcpu", help="LLVM's name of the processor; default: this one's.")
]
Cores = Annotated[
    int | None, typer.Option("--cores", help="Threads a kernel may use; default: all cores.")
]
Arch = Annotated[
    str | None,
    typer.Option("--arch", help="The GPU's instruction set, such as sm_90; default: this one's."),
]
SketchName = Annotated[
    str | None, typer.Option("--sketch", help="Only this sketch; default: all that fit.")
]
SketchNames = Annotated[
    list[str] | None,
    typer.Option("--sketch", help="Only this sketch; repeatable; default: all that fit."),
]
OtherSketches = Annotated[
    list[str] | None, typer.Option("--without-sketch", help="Not this sketch; repeatable.")
]
StoreLocation = Annotated[
    str | None,
    typer.Option(
        "--store", help="A SQLite file or a database URL; default: in the user's data folder."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ConfigText = Annotated[
    str | None,
    typer.Option(
        "--config", help="A config as JSON, or 'default'; default: the best one in the store."
    ),
]
ReportPath = Annotated[
    Path | None, typer.Option("--report", help="Also write the HTML report to this file.")
]
Peers = Annotated[
    bool, typer.Option("--peers", help="Compare the best with PyTorch, if it is installed.")
]


@dataclass(frozen=True)
class Words:
    """What stands on a command line besides the command's own options, and the names of those."""

    extra: Sequence[str]
    options: Sequence[str]


def words_of(context: typer.Context) -> Words:
    """The words that no option of the command claimed."""
    options = [name for parameter in context.command.params for name in parameter.opts]
    return Words(context.args, [name[2:] for name in options if name.startswith("--")])
