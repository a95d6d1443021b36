"""What a compiled network takes and returns, as its file describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from tunesmith.errors import UsageError
from tunesmith.operators import Argument
from tunesmith.target import Target

# Format 1 had one function, and nothing for C; in format 2 a call allocated what is between layers.
FORMAT = 3

# Weights start at multiples of this many bytes, as our other tensors do.
ALIGNMENT = 64


@dataclass(frozen=True)
class Buffer:
    """A tensor between the layers of a network, at an ``offset`` in bytes in its memory."""

    argument: Argument
    offset: int

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        (argument,) = _arguments([saved["argument"]])
        return cls(argument, int(saved["offset"]))


@dataclass(frozen=True)
class Entry:
    """A function of a compiled network: the network for one batch.

    ``weights`` are the numbers of those that it takes after the ``inputs``, in order. After them it
    takes its ``buffers``. All entries have them in the same memory: one call runs at a time.
    """

    function: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    weights: tuple[int, ...]
    buffers: tuple[Buffer, ...] = ()

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
            buffers=tuple(map(Buffer.from_json, saved["buffers"])),
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
class Preparation:
    """The ``function`` that lays out weights on the GPU: it takes those with the numbers ``reads``
    and returns those with the numbers ``makes``."""

    function: str
    reads: tuple[int, ...]
    makes: tuple[int, ...]

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        return cls(
            function=str(saved["function"]),
            reads=tuple(map(int, saved["reads"])),
            makes=tuple(map(int, saved["makes"])),
        )


@dataclass(frozen=True)
class Description:
    """Everything about a compiled network except its code and its weights.

    There is one of ``entries`` for each batch; ``weights`` are what any of them reads.
    ``processor`` is what it was compiled for, ``cores`` is the number of threads that it runs on;
    ``triple`` is another machine's platform that it was compiled for, None for the one it was
    compiled on.
    ``bounds`` are for inputs that are indices, by name: these must be smaller, and not negative.
    ``kernels`` are the functions of its layers, by name.
    ``arch`` is the GPU architecture that it was compiled for, None for a CPU; those weights that
    ``preparation`` makes are not in the file.
    """

    entries: tuple[Entry, ...]
    weights: tuple[Argument, ...]
    processor: str
    cores: int
    bounds: Mapping[str, int] = field(default_factory=dict)
    kernels: Mapping[str, KernelDescription] = field(default_factory=dict)
    arch: str | None = None
    preparation: Preparation | None = None
    triple: str | None = None

    @property
    def target(self) -> Target:
        """What the code for the processor was compiled for."""
        return Target("cpu", self.processor, self.cores, triple=self.triple)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """The inverse. Raises ``LookupError``, ``TypeError``, ``ValueError`` for anything else."""
        arch, preparation, triple = map(saved.get, ("arch", "preparation", "triple"))
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
            arch=None if arch is None else str(arch),
            preparation=None if preparation is None else Preparation.from_json(preparation),
            triple=None if triple is None else str(triple),
        )

    @property
    def buffer_bytes(self) -> int:
        """What the buffers of all entries take."""
        ends = (
            buffer.offset + buffer.argument.bytes
            for entry in self.entries
            for buffer in entry.buffers
        )
        return max(ends, default=0)

    def check_indices(self, argument: Argument, indices: Callable[[], Any]) -> None:
        """Check an input that may be indices; ``indices`` makes a NumPy array of it.

        Raises ``UsageError`` for an index that is outside of its table.
        """
        bound = self.bounds.get(argument.name)
        if bound is None:
            return
        array = indices()
        if array.size and not 0 <= array.min() <= array.max() < bound:
            raise UsageError(
                f"{argument.name} must be indices from 0 to {bound - 1}, not from "
                f"{array.min()} to {array.max()}"
            )

    def entry(self, batch: int | None) -> Entry:
        """The entry for a batch. Raises ``UsageError`` for one that there is no program for."""
        for entry in self.entries:
            if entry.batch == batch:
                return entry
        known = ", ".join(str(entry.batch) for entry in self.entries)
        raise UsageError(f"this network is built for the batches {known}, not for {batch}")

    def entry_for(self, inputs: Sequence[Any]) -> Entry:
        """The entry for the batch of these inputs, or the only one there is.

        Raises ``UsageError`` for a batch that there is no program for, and for too many or too few.
        """
        shape = getattr(inputs[0], "shape", None) if inputs else None
        entry = self.entries[0]
        if shape and len(self.entries) > 1:
            entry = self.entry(int(shape[0]))
        if len(inputs) != len(entry.inputs):
            names = ", ".join(argument.name for argument in entry.inputs)
            count = len(entry.inputs)
            raise UsageError(f"this network takes {count} inputs ({names}): {len(inputs)}")
        return entry

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
        for number, weight in enumerate(self.weights):
            size = weight.bytes if self.is_stored(number) else 0
            found.append(found[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
        return found

    def is_stored(self, number: int) -> bool:
        """Whether the file has this one of the weights."""
        return self.preparation is None or number not in self.preparation.makes


def _arguments(saved: Sequence[Mapping[str, Any]]) -> tuple[Argument, ...]:
    return tuple(
        Argument(str(each["name"]), tuple(map(int, each["shape"])), str(each["dtype"]))
        for each in saved
    )
