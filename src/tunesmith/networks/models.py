"""Networks of models: of PyTorch's modules, of exported programs, of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.networks.check import Source
from tunesmith.networks.network import Network
from tunesmith.networks.relax import graph_of
from tunesmith.target import Target


def from_torch(
    model: Any, example: Any, target: Target | str = "cpu", *, batches: Sequence[int] = ()
) -> Network:
    """The network of a ``torch.nn.Module``, for inputs like ``example``: an array or several.

    With ``batches`` it takes inputs of each of these, instead of the example's batch. The batch is
    the first size of the first input, and of all other inputs whose first size is the same in the
    example. Raises ``UsageError`` where it cannot be exported or imported,
    ``MissingDependencyError`` without PyTorch.
    """
    from tunesmith.networks.importing.pytorch import exported, with_batch

    inputs = example if isinstance(example, tuple | list) else (example,)
    if not batches:
        return from_exported(exported(model, inputs), target)
    programs = [exported(model, with_batch(inputs, batch)) for batch in _distinct(batches)]
    return _of_programs(programs, batches, target)


def from_exported(
    program: Any, target: Target | str = "cpu", *, batches: Sequence[int] = ()
) -> Network:
    """The network of a ``torch.export.ExportedProgram``, which may leave the batch open.

    ``batches`` are as for ``from_torch``; by default 1 where the program leaves it open. Raises
    like ``from_torch``, and ``UsageError`` for a batch that the program does not have.
    """
    from tunesmith.networks.importing.pytorch import specialised

    programs = [specialised(program, batch) for batch in _distinct(batches) or (None,)]
    return _of_programs(programs, batches, target)


def _of_programs(programs: Sequence[Any], batches: Sequence[int], target: Target | str) -> Network:
    """The network of exported programs, one for each batch."""
    from tunesmith.networks.importing.pytorch import module_of, source_of

    return _of_modules(map(module_of, programs), batches, target, source_of(*programs))


def _of_modules(
    modules: Iterable[Any], batches: Sequence[int], target: Target | str, source: Source
) -> Network:
    """The network of Relax modules, one for each batch, or of a single one if none is named."""
    graphs = [graph_of(module["main"], module) for module in modules]
    if not all(graph.inputs for graph in graphs):
        raise UsageError("the model has no input, so its results are constants: run it once")
    for graph, batch in zip(graphs, _distinct(batches), strict=False):
        if graph.batch != batch:
            raise UsageError(
                f"the model has the batch {graph.batch}, not {batch}: export it with an open "
                "batch, or name none"
            )
    return Network.of(graphs, target, source)


def from_onnx(
    path: str | Path, batches: Sequence[int] = (), target: Target | str = "cpu"
) -> Network:
    """The network of an ONNX file, for each of ``batches``: first sizes that the file leaves open.

    By default it takes the file's batch, or 1 if that is open. Raises ``UsageError`` for a file
    that is no model, for what cannot be imported and for a batch that the file does not have;
    ``MissingDependencyError`` without the package ``onnx``.
    """
    from tunesmith.networks.importing.onnx import module_of, read_model, source_of

    model = read_model(path)
    modules = [module_of(model, batch) for batch in _distinct(batches) or [1]]
    return _of_modules(modules, batches, target, source_of(model))


def from_file(
    path: str | Path, batches: Sequence[int] = (), target: Target | str = "cpu"
) -> Network:
    """The network of a file: ``.onnx``, or ``.pt2`` of ``torch.export.save``.

    Raises ``UsageError`` for another kind of file, and like ``from_onnx`` and ``from_exported``.
    """
    from tunesmith.networks.importing.pytorch import read_program

    kind = Path(path).suffix
    if kind == ".onnx":
        return from_onnx(path, batches, target)
    if kind == ".pt2":
        return from_exported(read_program(path), target, batches=batches)
    raise UsageError(f"{path} is neither .onnx nor .pt2: export the model to one of them")


def _distinct(batches: Sequence[int]) -> list[int]:
    """The batches in order, each once. Raises ``UsageError`` for one below 1."""
    if batches and min(batches) < 1:
        raise UsageError(f"a batch is at least 1, not {min(batches)}")
    return sorted(set(batches))
