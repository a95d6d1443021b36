"""IREE: it parses MLIR, compiles it, and runs what it compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from tunesmith.errors import MissingDependencyError, UsageError, one_line
from tunesmith.evolve.evaluation.calls import Bind, Run, clocked


def version() -> str:
    """IREE's compiler's, of which it depends how fast a module is."""
    return metadata.version("iree-base-compiler")


def checked(text: str) -> str:
    """A module in MLIR's generic form, if it is one.

    Raises ``UsageError`` for a text that does not parse or verify, and ``MissingDependencyError``
    without IREE.
    """
    try:
        from iree.compiler import ir
    except ImportError as error:
        raise MissingDependencyError(
            "evolving a module of StableHLO needs IREE: pip install 'tunesmith[evolve]'"
        ) from error
    with _context():
        try:
            module = ir.Module.parse(text)
            module.operation.verify()
        except ir.MLIRError as error:
            raise UsageError(f"this is no StableHLO: {one_line(str(error))}") from error
        return str(module.operation.get_asm(print_generic_op_form=True))


@cache
def _context() -> Any:
    """One for all: to make one takes longer than to parse."""
    from iree.compiler import ir

    return ir.Context()


def compiled(text: str) -> bytes:
    """A module as code for this processor, of one thread.

    Raises ``UsageError`` with the compiler's complaint.
    """
    from iree.compiler import tools

    try:
        return bytes(
            tools.compile_str(
                text,
                input_type="stablehlo",
                target_backends=["llvm-cpu"],
                extra_args=["--iree-llvmcpu-target-cpu=host"],
            )
        )
    except tools.CompilerToolError as error:
        raise UsageError(f"IREE cannot compile it: {_complaint(str(error))}") from error


def _complaint(text: str) -> str:
    told = [line for line in text.splitlines() if "error:" in line]
    return one_line(told[0].partition("error:")[2] if told else text)


def loaded(code: bytes, entry: str) -> Bind:
    """A function of compiled code, which returns an array, or a tuple of them."""
    from iree import runtime

    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    function = context.modules.module[entry]

    def bind(arguments: Sequence[Any]) -> Run:
        given = [runtime.asdevicearray(config.device, each) for each in arguments]

        def run() -> tuple[Any, float]:
            returned, seconds = clocked(lambda: function(*given))
            if isinstance(returned, tuple | list):
                return tuple(np.asarray(each) for each in returned), seconds
            return np.asarray(returned), seconds

        return run

    return bind
