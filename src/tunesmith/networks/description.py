"""What a compiled network takes and returns, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tunesmith.errors import UsageError
from tunesmith.operators import Argument

# Format 1 had one function, and nothing for C.
FORMAT = 2

# Weights start at multiples of this many bytes, as our other tensors do.
ALIGNMENT = 64


@dataclass(frozen=True)
class Entry:
    """A function of a compiled network: the network for one batch.

    ``weights`` are the numbers of those that it takes after the ``inputs``, in order.
    """

    function: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    weights: tuple[int, ...]

    @property
    def batch(self) -> int | None:
        """The first size of the first input; None if there is none."""
        return self.inputs[0].shape[0] if self.inputs and self.inputs[0].shape else None

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        return cls(
            function=str(saved["function"]),
            inputs=_arguments(saved["inputs"]),
            outputs=_arguments(saved["outputs"]),
            weights=tuple(map(int, saved["weights"])),
        )


@dataclass(frozen=True)
class KernelDescription:
    """What a kernel of a network computes, as ``Operator.to_json`` has it, and by which sketch."""

    operator: Mapping[str, Any]
    sketch: str

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        return cls(dict(saved["operator"]), str(saved["sketch"]))


@dataclass(frozen=True)
class Description:
    """Everything about a compiled network except its code and its weights.

    There is one of ``entries`` for each batch; ``weights`` are what any of them reads.
    ``processor`` is what it was compiled for, ``cores`` is the number of threads that it runs on.
    ``bounds`` are for inputs that are indices, by name: these must be smaller, and not negative.
    ``kernels`` are the functions of its layers, by name.
    """

    entries: tuple[Entry, ...]
    weights: tuple[Argument, ...]
    processor: str
    cores: int
    bounds: Mapping[str, int] = field(default_factory=dict)
    kernels: Mapping[str, KernelDescription] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """The inverse. Raises ``LookupError``, ``TypeError``, ``ValueError`` for anything else."""
        return cls(
            entries=tuple(map(Entry.from_json, saved["entries"])),
            weights=_arguments(saved["weights"]),
            processor=str(saved["processor"]),
            cores=int(saved["cores"]),
            bounds={str(name): int(bound) for name, bound in saved["bounds"].items()},
            kernels={
                str(name): KernelDescription.from_json(kernel)
                for name, kernel in saved.get("kernels", {}).items()
            },
        )

    def entry(self, batch: int | None) -> Entry:
        """The entry for a batch. Raises ``UsageError`` for one that there is no program for."""
        for entry in self.entries:
            if entry.batch == batch:
                return entry
        known = ", ".join(str(entry.batch) for entry in self.entries)
        raise UsageError(f"this network is built for the batches {known}, not for {batch}")

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """What a call with the first batch takes."""
        return self.entries[0].inputs

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """What a call with the first batch returns."""
        return self.entries[0].outputs

    @property
    def offsets(self) -> list[int]:
        """Where each of the weights starts, in bytes; then where they end."""
        found = [0]
        for weight in self.weights:
            found.append(found[-1] + -(-weight.bytes // ALIGNMENT) * ALIGNMENT)
        return found


def _arguments(saved: Sequence[Mapping[str, Any]]) -> tuple[Argument, ...]:
    return tuple(
        Argument(str(each["name"]), tuple(map(int, each["shape"])), str(each["dtype"]))
        for each in saved
    )
