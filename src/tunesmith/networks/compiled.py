"""A compiled network: a program that users call on arrays, save, and load again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from tunesmith.errors import UsageError
from tunesmith.kernel import arrays
from tunesmith.kernel.calling import use_threads
from tunesmith.networks import files, objects, processors
from tunesmith.networks.description import Buffer, Description, Entry
from tunesmith.networks.on_gpu import GpuNetwork

# What TVM's virtual machine is told: DLPack's number of CPUs, and to keep memory for later calls.
_CPU, _POOLED = 1, 2


class CompiledNetwork:
    """A callable over a network's inputs. ``Network.build`` and ``load`` make it.

    Call it with arrays in the order of ``inputs``: NumPy arrays, or other tensors with DLPack such
    as PyTorch's. It returns a new array of the first input's library, or a tuple of them if the
    network has several results. It runs on as many threads as its target has cores. A network that
    was built for several batches runs the program for that of the first input. Calls from several
    threads of Python wait for each other.

    For a GPU, all inputs are in main memory or all on one GPU, and the results are where they are.
    A call on PyTorch's tensors runs on PyTorch's current stream, and may return before it has
    ended.

    Calling raises ``UsageError`` for arrays that do not fit, and ``TunesmithError`` on another
    processor than the network was compiled for, if that lacks instructions, or without a GPU that
    runs it.
    """

    def __init__(self, description: Description, executable: Any, weights: Sequence[Any]) -> None:
        """``executable`` is TVM's for a virtual machine, built or loaded; so are the weights."""
        self.description = description
        self._executable = executable
        self._weights = tuple(weights)
        self._gpu: GpuNetwork | None = None
        if description.arch is not None:
            self._gpu = GpuNetwork(description, executable, self._weights)
        self.relative_error: float | None = None
        """By how much its results differ from those of its source; None if that was not tried."""
        self.unchecked: str | None = None
        """Why they were not compared: the reason why this machine cannot run the network."""
        self.stored_tasks: int | None = None
        """How many tasks have a program of the store; None if that is not known."""
        # A library that could be loaded has been checked.
        self._is_for_this_processor = False
        # By function: the results that are no memory of their own, as its first call found them.
        self._shared: dict[str, Sequence[int]] = {}
        # Memory for inputs that are not aligned or not in C order, by their places.
        self._copies: dict[int, Any] = {}
        # TVM's virtual machine crashes if a second thread calls it meanwhile.
        self._one_call = threading.Lock()

    @property
    def weight_bytes(self) -> int:
        """What its weights take, as its programs read them."""
        return sum(weight.bytes for weight in self.description.weights)

    def __call__(self, *inputs: Any) -> Any:
        entry = self.description.entry_for(inputs)
        if self._gpu is not None:
            results = self._gpu.call(entry, inputs)
        else:
            results = self._call(entry, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def _call(self, entry: Entry, inputs: Sequence[Any]) -> list[Any]:
        """The results of a call on the CPU."""
        use_threads(self.description.cores)
        function, weights = self._functions[entry.function]
        with self._one_call:
            tensors = [
                arrays.input_tensor(value, argument, arrays.ALIGNMENT, partial(self._memory, place))
                for place, (value, argument) in enumerate(zip(inputs, entry.inputs, strict=True))
            ]
            self._check_indices(entry, tensors)
            made = function(*tensors, *weights)
            results = [made] if len(entry.outputs) == 1 else list(made)
            if entry.function not in self._shared:
                self._shared[entry.function] = _shared_results(results, [*tensors, *weights])
            for place in self._shared[entry.function]:
                results[place] = arrays.duplicate(results[place])
        return [arrays.like(inputs[0], each) for each in results]

    def _memory(self, place: int, size: int) -> Any:
        """Memory for a copy of an input, which later calls use again: new memory costs more than
        copying to it."""
        memory = self._copies.get(place)
        if memory is None or memory.nbytes < size:
            memory = self._copies[place] = arrays.aligned_bytes(size)
        return memory[:size]

    def bind(self, *inputs: Any) -> Callable[[], None]:
        """A call without checks on copies of these arrays, for timing.

        On a GPU the copies are there, and a call waits for the GPU. Raises like a call.
        """
        entry = self.description.entry_for(inputs)
        if self._gpu is not None:
            return self._gpu.bind(entry, inputs)
        copies = [
            arrays.duplicate(arrays.input_tensor(value, argument))
            for value, argument in zip(inputs, entry.inputs, strict=True)
        ]
        self._check_indices(entry, copies)
        use_threads(self.description.cores)
        function, weights = self._functions[entry.function]

        def call() -> None:
            with self._one_call:
                function(*copies, *weights)

        return call

    def _check_indices(self, entry: Entry, tensors: Sequence[Any]) -> None:
        for tensor, argument in zip(tensors, entry.inputs, strict=True):
            self.description.check_indices(argument, partial(arrays.as_numpy, tensor))

    @cached_property
    def _functions(self) -> Mapping[str, tuple[Callable[..., Any], Sequence[Any]]]:
        """The functions of all entries, with what they take after the inputs."""
        memory = arrays.aligned_bytes(self.description.buffer_bytes)
        return {
            entry.function: (
                self._machine[entry.function],
                [
                    *(self._weights[number] for number in entry.weights),
                    *(_tensor_in(memory, buffer) for buffer in entry.buffers),
                ],
            )
            for entry in self.description.entries
        }

    @cached_property
    def _machine(self) -> Any:
        """TVM's virtual machine: its functions by name."""
        self._check_processor()
        machine = self._executable["vm_load_executable"]()
        machine["vm_initialization"](_CPU, 0, _POOLED)
        return machine

    def watched(self, watch: Callable[..., int]) -> Self:
        """The same network, of which each call tells ``watch`` what it runs.

        ``watch`` is called right before and after each function with TVM's function, its name,
        whether it is before, the result (None before), and the arguments; it must return 0. Raises
        ``UsageError`` for a GPU, which runs functions after their calls have returned.
        """
        if self._gpu is not None:
            raise UsageError(
                "where the time of a call goes is measured on CPUs only, and this network is for a "
                f"GPU ({self.description.arch})"
            )
        twin = type(self)(self.description, self._executable, self._weights)
        twin._is_for_this_processor = self._is_for_this_processor
        twin._machine["set_instrument"](watch)
        return twin

    def check_runs_here(self) -> None:
        """Raises ``TunesmithError`` with the reason if this machine cannot run the network."""
        self._check_processor()
        if self._gpu is not None:
            self._gpu.check_runs_here()

    def _check_processor(self) -> None:
        if not self._is_for_this_processor:
            processors.check_processor(self.description)

    def save(self, path: str | Path) -> Path:
        """Write the network as one shared library; returns its path. Creates the folder if needed.

        For another platform nothing but a linker is needed; without a C compiler for it programs
        in C and C++ cannot load the library (``has_c_interface``).

        Raises ``UsageError`` for a path that cannot be a library's, ``MissingDependencyError``
        without a C compiler or linker, and ``TunesmithError`` if the file cannot be written.
        """
        return files.write(Path(path), self._executable, self._weights, self.description)

    @property
    def has_c_interface(self) -> bool:
        """Whether programs in C and C++ can load what ``save`` writes here."""
        return objects.has_c_interface(self.description)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load the library that ``save`` wrote.

        Raises ``TunesmithError`` if it is missing or is none, and if this machine's processor is
        another one or lacks instructions that it needs. One for a GPU is loaded without it: the
        first call needs it.
        """
        executable, weights, description = files.read(Path(path))
        network = cls(description, executable, weights)
        network._is_for_this_processor = True
        return network


def _shared_results(results: Sequence[Any], others: Sequence[Any]) -> list[int]:
    """The places of results in the memory of an input, of a weight, or of a result before them:
    such as an input that the network returns, and views."""
    return [
        place
        for place, result in enumerate(results)
        if arrays.overlaps(result, [*others, *results[:place]])
    ]


def _tensor_in(memory: Any, buffer: Buffer) -> Any:
    """TVM's tensor for a buffer of a network."""
    argument, begin = buffer.argument, buffer.offset
    array = memory[begin : begin + argument.bytes].view(argument.numpy_dtype)
    return arrays.numpy_tensor(array.reshape(argument.shape))
