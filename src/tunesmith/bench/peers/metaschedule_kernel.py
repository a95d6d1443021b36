"""What TVM's MetaSchedule is given to tune, and the best kernel that it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tunesmith.bench.peers.metaschedule_build import compile_scheduled
from tunesmith.errors import TunesmithError
from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.tir.weights import WEIGHT
from tunesmith.target import Target


def metaschedule_module(operator: Operator) -> Any:
    """The operator's definition. MetaSchedule may choose how constant weights lie in memory."""
    import tvm
    from tvm import te

    function = te.create_prim_func(operator.compute())
    if isinstance(operator, ProductOperator) and operator.constant_weights:
        function = function.with_attr("layout_free_buffers", [WEIGHT])
    return tvm.IRModule({"main": function})


def metaschedule_schedule(operator: Operator, target: Target, folder: str) -> Any:
    """The module of the best record in a folder that a tuning run left.

    Its ``main`` computes the operator on plain arguments. Raises ``TunesmithError`` if the run
    found nothing.
    """
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    database = JSONDatabase(work_dir=folder)
    module = metaschedule_module(operator)
    found = database.query_schedule(module, target.to_tvm(), "main")
    if found is None:
        raise TunesmithError("MetaSchedule found nothing valid in its time: give it more")
    return found.mod


def metaschedule_call(operator: Operator, target: Target, folder: str) -> Callable[[], Any]:
    """A call of the best kernel on random arguments, constant weights in the layout it chose.

    Raises ``TunesmithError`` like that.
    """
    import numpy as np
    import tvm

    module = metaschedule_schedule(operator, target, folder)
    function = compile_scheduled(module, target.to_tvm())["main"]
    arrays = [*operator.make_inputs(seed=0), np.empty(operator.result.shape, operator.result.dtype)]
    if isinstance(operator, ProductOperator) and operator.constant_weights:
        # The same values in another order: their time does not depend on it.
        shape = _weight_shape(module)
        arrays[WEIGHT] = np.resize(arrays[WEIGHT], shape)
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    return lambda: function(*tensors)


def _weight_shape(module: Any) -> tuple[int, ...]:
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    function = RemoveWeightLayoutRewriteBlock(True)(module)["main"]
    return tuple(int(size) for size in function.params[WEIGHT].shape)
