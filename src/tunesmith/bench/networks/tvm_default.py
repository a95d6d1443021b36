"""Networks by TVM alone: imported, and built with its default pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tunesmith.bench.networks.model import ComparedModel


def tvm_call(model: ComparedModel, cores: int) -> Callable[[], Any]:
    """A call of TVM's virtual machine. Raises what TVM raises."""
    import tvm

    from tunesmith.target import Target

    executable = tvm.compile(model.relax_module(), Target(cores=cores).to_tvm())
    return machine_call(executable, model, cores)


def machine_call(executable: Any, model: ComparedModel, cores: int) -> Callable[[], Any]:
    """A call of what TVM built of a network, on the inputs of the comparison."""
    import tvm
    from tvm import relax

    from tunesmith.kernel.calling import use_threads

    machine = relax.VirtualMachine(executable, tvm.cpu())
    tensors = [tvm.runtime.tensor(array) for array in model.arrays().values()]
    use_threads(cores)
    return lambda: machine["main"](*tensors)
