"""Which network a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt

if TYPE_CHECKING:
    from tunesmith.networks import Network


@dataclass(frozen=True, kw_only=True)
class NetworkChoice:
    """A file, and what to compile it for."""

    model: Annotated[Path, Argument(help="A model: .onnx, or .pt2 of torch.export.save.")]
    batch: Annotated[
        int, Option(help="The batch of a model in ONNX that leaves it open.", min=1)
    ] = 1
    mcpu: opt.Processor = None
    cores: Annotated[int | None, Option(help="Threads that it may use; default: all cores.")] = None

    def network(self) -> Network:
        """The imported network. Raises ``UsageError`` for what is no model."""
        from tunesmith.networks import from_file
        from tunesmith.target import Target

        return from_file(self.model, self.batch, Target(mcpu=self.mcpu, cores=self.cores))
