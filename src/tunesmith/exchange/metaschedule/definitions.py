"""The functions by which TVM knows an operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tunesmith.exchange.metaschedule.relax_functions import relax_functions
from tunesmith.operators import Operator
from tunesmith.sketches.tir.loop_nest import lower
from tunesmith.sketches.tir.weights import WEIGHT, has_constant_weights


def definitions(operator: Operator) -> Iterator[Any]:
    """Modules with a function ``main``: our definition of the operator, then what Relax makes of
    it, as a database of MetaSchedule has them.

    With constant weights they say that the layout of these is free.
    """
    import tvm

    own = lower(operator)
    if has_constant_weights(operator):
        own = tvm.IRModule({"main": own["main"].with_attr("layout_free_buffers", [WEIGHT])})
    yield own
    for function in relax_functions(operator):
        named = function.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        yield tvm.IRModule({"main": named})


def same_function(one: Any, other: Any) -> bool:
    """Whether two functions are the same up to names and attributes."""
    import tvm_ffi

    return bool(tvm_ffi.structural_equal(_bare(one), _bare(other)))


def _bare(function: Any) -> Any:
    for name in list(function.attrs.keys()):
        function = function.without_attr(name)
    return function


def lay_out_once(schedule: Any) -> None:
    """Mark the stage that packs constant weights, as MetaSchedule marks its own.

    ``SplitLayoutRewritePreproc`` makes a function of what is marked, and ``FoldConstant`` calls it
    when a network is built.
    """
    parameters = schedule.mod["main"].params
    for stage in schedule.get_child_blocks(schedule.get_sblock("root")):
        block = schedule.get(stage)
        packs = [read.source for read in block.reads] == [parameters[WEIGHT]]
        if packs and all(write.source not in parameters for write in block.writes):
            schedule.annotate(stage, "meta_schedule.layout_rewrite_preproc", 1)
