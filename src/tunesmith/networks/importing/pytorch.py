"""PyTorch's modules, by ``torch.export``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, UsageError, first_line, last_line
from tunesmith.networks.check import Source
from tunesmith.networks.graph import Array
from tunesmith.networks.importing.places import placed
from tunesmith.networks.importing.pytorch_operations import operations

# Operations to decompose before the import. TVM's importer takes the arguments of batch_norm for
# those of another operation (momentum for epsilon), and trains.
_DECOMPOSED = ("batch_norm.default",)

_NO_TORCH = "networks of PyTorch need PyTorch: pip install 'tunesmith[networks]'"

# Operations of which we know some cases.
_COMPOSITE = ("lstm.input", "gru.input")

# As they are, then decomposed where they are unknown, then all of them.
_ATTEMPTS = 3

# What TVM's importer says of operations that it does not know, and their names in it.
_UNSUPPORTED = "Unsupported function types"
_NAME = re.compile(r"'([\w.]+)'")


def exported(model: Any, example: Sequence[Any]) -> Any:
    """The ``torch.export.ExportedProgram`` of a module for inputs like ``example``.

    Raises ``UsageError`` where PyTorch cannot export it, ``MissingDependencyError`` without it.
    """
    try:
        import torch
    except ImportError:
        raise MissingDependencyError(_NO_TORCH) from None
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"a network of PyTorch is a torch.nn.Module, not {type(model).__name__}")
    with _for_inference(model):
        return _exported(model, example, "PyTorch cannot export this network")


@contextmanager
def _for_inference(model: Any) -> Iterator[None]:
    """Within the block the module and all in it are in the mode of inference; then as before."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _exported(module: Any, example: Sequence[Any], complaint: str) -> Any:
    import torch

    try:
        with _quietly(), torch.no_grad():
            return torch.export.export(module, tuple(example))
    except Exception as error:
        raise UsageError(f"{complaint}: {first_line(error)}") from error


def with_batch(example: Sequence[Any], batch: int) -> list[Any]:
    """Inputs like ``example`` for another batch: the first size of the first input, and of others
    whose first size is the same.

    Raises ``UsageError`` if the first input has no such size.
    """
    first = example[0] if example else None
    if first is None or not first.ndim or not len(first):
        raise UsageError("the first input of this network has no batch: leave the batches out")
    return [
        each[:1].repeat(batch, *[1] * (each.ndim - 1))
        if each.ndim and len(each) == len(first)
        else each
        for each in example
    ]


def specialised(program: Any, batch: int | None) -> Any:
    """The program for a batch, by default 1, if it leaves first sizes open; else as it is.

    It is exported once more: so all sizes in it become numbers. Raises ``UsageError`` if it leaves
    other sizes open, and for a batch that it does not take.
    """
    import torch

    inputs = _inputs(program)
    if all(isinstance(size, int) for given in inputs for size in given.shape):
        return program
    example = []
    for number, given in enumerate(inputs):
        sizes = list(given.shape)
        if sizes and not isinstance(sizes[0], int):
            sizes[0] = batch or 1
        unknown = [size for size in sizes if not isinstance(size, int)]
        if unknown:
            raise UsageError(
                f"input {number} has the unknown size {unknown[0]}: export the model with fixed "
                "sizes, but for the batch"
            )
        example.append(torch.zeros(sizes, dtype=given.dtype))
    return _exported(
        program.module(), example, f"this program does not take the batch {batch or 1}"
    )


def _inputs(program: Any) -> list[Any]:
    """PyTorch's descriptions of a program's inputs: their shapes may have symbols."""
    names = set(program.graph_signature.user_inputs)
    return [node.meta["val"] for node in program.graph.nodes if node.name in names]


def read_program(path: str | Path) -> Any:
    """The ``ExportedProgram`` of a file that ``torch.export.save`` wrote.

    Raises ``UsageError`` for another file, ``MissingDependencyError`` without PyTorch.
    """
    try:
        import torch
    except ImportError:
        raise MissingDependencyError(_NO_TORCH) from None
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}: name a model that is there")
    try:
        with _quietly():
            return torch.export.load(str(path))
    except Exception as error:
        raise UsageError(f"{path} is no exported program: {last_line(error)}") from error


def module_of(program: Any, *, recurrent: bool = True) -> Any:
    """The Relax module of an ``ExportedProgram``: its weights are constants of ``main``.

    Layers of LSTM and GRU are calls that only our networks know, unless ``recurrent`` is false.

    Raises ``UsageError`` for operations that cannot be imported; it names them, with their places.
    """
    without: tuple[str, ...] = _DECOMPOSED
    for _ in range(_ATTEMPTS):
        try:
            return _imported(program, without, operations(recurrent=recurrent))
        except Exception as error:
            reason = error
        # Those that it does not know, and then those of which we know some cases.
        unknown = _unknown(reason)
        without = (*without, *(unknown or _COMPOSITE))
    unknown = _unknown(reason)
    if not unknown:
        raise UsageError(f"this network cannot be imported: {last_line(reason)}") from reason
    nodes = decomposed(program, without).graph.nodes
    names = ", ".join(placed(name, nodes) for name in unknown)
    raise UsageError(f"this network has operations that are not supported: {names}") from reason


def _unknown(error: Exception) -> list[str]:
    """The names of the operations that TVM's importer says that it does not know."""
    return _NAME.findall(str(error)) if _UNSUPPORTED in str(error) else []


def decomposed(program: Any, names: Container[str]) -> Any:
    """A program of functions alone, without the operations of these names, such as ``mm.default``,
    but with what PyTorch writes for them."""
    import torch

    known = torch.export.default_decompositions()
    table = {it: known[it] for it in known if str(it).removeprefix("aten.") in names}
    with _quietly():
        return program.run_decompositions(table)


def _imported(program: Any, names: Container[str], known: Mapping[str, Any]) -> Any:
    """The Relax module of a program, after the operations of these names have been decomposed;
    those that are ``known`` are converted so."""
    from tvm.relax.frontend.torch import from_exported_program

    with _quietly():
        return from_exported_program(
            decomposed(program, names),
            keep_params_as_input=False,
            unwrap_unit_return_tuple=True,
            run_ep_decomposition=False,
            custom_convert_map=dict(known),
        )


def source_of(*programs: Any) -> Source:
    """What PyTorch computes of inputs. Of several programs the one for their batch does.

    Results that are in dictionaries, tuples of tuples and the like are in the order of the
    program's outputs.
    """
    import torch
    from torch.utils import _pytree

    modules = {_batch(_inputs(program)): program.module() for program in programs}

    def run(inputs: Sequence[Array]) -> list[Array]:
        with torch.no_grad():
            results = modules[_batch(inputs)](*map(_tensor_of, inputs))
        return [_array_of(each) for each in _pytree.tree_leaves(results) if each is not None]

    return run


def _tensor_of(array: Array) -> Any:
    """A tensor on an array's memory; PyTorch does not take NumPy's bfloat16."""
    import numpy as np
    import torch

    if array.dtype.name != "bfloat16":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _array_of(tensor: Any) -> Array:
    """The array of a result; that of bfloat16 as float32, which holds the same numbers."""
    import torch

    found: Array = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
    return found


def _batch(inputs: Sequence[Any]) -> int | None:
    """The first size of the first input; None if there is none."""
    return inputs[0].shape[0] if inputs and inputs[0].shape else None


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings of libraries about themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
