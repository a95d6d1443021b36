"""PyTorch's modules, by ``torch.export``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tunesmith.errors import MissingDependencyError, UsageError, last_line
from tunesmith.networks.check import Source
from tunesmith.networks.graph import Array

# Operations to decompose before the import. TVM's importer takes the arguments of batch_norm for
# those of another operation (momentum for epsilon), and trains.
_DECOMPOSED = ("batch_norm.default",)

_NO_TORCH = "networks of PyTorch need PyTorch: pip install 'tunesmith[networks]'"

# Operations of which the importer knows some cases.
_COMPOSITE = ("lstm.input", "gru.input")

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
    try:
        with _quietly(), torch.no_grad():
            return torch.export.export(model.eval(), tuple(example))
    except Exception as error:
        raise UsageError(f"PyTorch cannot export this network: {last_line(error)}") from error


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


def module_of(program: Any) -> Any:
    """The Relax module of an ``ExportedProgram``: its weights are constants of ``main``.

    Raises ``UsageError`` for operations that cannot be imported; it names them.
    """
    try:
        return _imported(program, _DECOMPOSED)
    except Exception as error:
        unknown = _NAME.findall(str(error)) if _UNSUPPORTED in str(error) else ()
    try:  # of plainer operations
        return _imported(program, (*_DECOMPOSED, *_COMPOSITE, *unknown))
    except Exception as error:
        raise UsageError(f"this network cannot be imported: {last_line(error)}") from error


def _imported(program: Any, decomposed: Container[str]) -> Any:
    """The Relax module of a program, after these operations have been decomposed."""
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    known = torch.export.default_decompositions()
    table = {it: known[it] for it in known if str(it).removeprefix("aten.") in decomposed}
    with _quietly():
        return from_exported_program(
            program.run_decompositions(table),
            keep_params_as_input=False,
            unwrap_unit_return_tuple=True,
            run_ep_decomposition=False,
        )


def source_of(program: Any) -> Source:
    """What PyTorch computes of inputs."""
    import torch

    module = program.module()

    def run(inputs: Sequence[Array]) -> list[Array]:
        with torch.no_grad():
            results = module(*map(torch.from_numpy, inputs))
        each = results if isinstance(results, tuple | list) else (results,)
        return [result.numpy() for result in each]

    return run


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings of libraries about themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
