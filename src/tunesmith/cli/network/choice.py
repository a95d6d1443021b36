"""Which network a command is about."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.networks import Network
    from tunesmith.store import Store

NOTHING_KNOWN = (
    "nothing in the store is of this network, so all programs are picks of the model: "
    "'tunesmith network tune' measures others"
)


def knows(store: Store, network: Network) -> bool:
    """Whether a store has a valid trial of any of a network's tasks, of a sketch as it is now."""
    from tunesmith.networks.reporting.stored import stored_tasks

    return any(each.best for each in stored_tasks(network.tasks, store))


@dataclass(frozen=True, kw_only=True)
class NetworkChoice(opt.TargetChoice):
    """A file, and what to compile it for."""

    model: Annotated[
        Path | None,
        Argument(metavar="[NETWORK]", help="A file: .onnx, or .pt2 of torch.export.save."),
    ] = None
    zoo: Annotated[
        str | None,
        Option(help="A known network with random weights instead, such as resnet18."),
    ] = None
    batches: Annotated[
        list[int] | None,
        Option("--batch", help="A batch, if the model leaves it open; repeatable.", min=1),
    ] = None

    def check_measurable(self) -> None:
        """Raises ``UsageError`` if nothing can be measured for the target on this machine."""
        self.chosen_target().check_measurable("tunesmith network build")

    def check_runs_here(self, what: str) -> None:
        """Raises ``UsageError`` if the network is for another machine; ``what`` calls it."""
        target = self.chosen_target()
        if target.architecture != platform.machine():
            raise UsageError(
                f"{what} calls the network, and this machine runs no code for {target.triple}: "
                "leave out --triple"
            )

    @property
    def library(self) -> Path | None:
        """The file, if it is what 'network build' wrote and nothing else is named."""
        built = self.model is not None and self.model.suffix == ".so" and self.zoo is None
        return self.model if built else None

    @property
    def title(self) -> str:
        """The network's name for people."""
        name = str(self.zoo) if self.model is None else self.model.name
        batches = ", ".join(map(str, self.batches or ()))
        return f"{name}, batch {batches}" if batches else name

    @property
    def words(self) -> list[str]:
        """What names it on a command line."""
        found = ["--zoo", str(self.zoo)] if self.model is None else [str(self.model)]
        for batch in self.batches or ():
            found += ["--batch", str(batch)]
        if self.target != "cpu":
            found += ["--target", self.target]
        if self.arch is not None:
            found += ["--arch", self.arch]
        if self.mcpu is not None:
            found += ["--mcpu", self.mcpu]
        if self.cores is not None:
            found += ["--cores", str(self.cores)]
        return found if self.triple is None else [*found, "--triple", self.triple]

    def check_one_batch(self) -> None:
        """Raise ``UsageError`` if a call may be of several batches: each takes its own time."""
        if len(self.batches or ()) > 1:
            raise UsageError("a page and a measurement are about one batch: name one --batch")

    def network(self) -> Network:
        """The imported network.

        Raises ``UsageError`` for what is no model, unless there is one of file and zoo, and for a
        GPU of unknown architecture.
        """
        from tunesmith.networks import from_file, from_torch
        from tunesmith.networks.zoo import ZOO

        target = self.chosen_target()
        target.to_json()  # complain of it before the import
        if self.model is not None and self.zoo is None:
            return from_file(self.model, self.batches or (), target)
        if self.zoo is None or self.model is not None:
            raise UsageError(f"name a network, its file or one of --zoo: {', '.join(ZOO.names())}")
        known = ZOO.get(self.zoo)
        return from_torch(known.model(), known.example(1), target, batches=self.batches or ())
