"""Hoists work on constant weights out of ``main``: it is done once, not in each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, with_weights


@dataclass(frozen=True, eq=False)
class _Stage:
    """A statement at the top of a function, and the buffers that it reads and writes."""

    statement: Any
    read: frozenset[Any]
    written: frozenset[Any]


def hoisted(module: Any) -> Any:
    """A scheduled module with the stages that depend on the weights alone in ``prepare``.

    Stages are the statements in the root block of ``main``. The buffer that the hoisted ones
    compute replaces the weights among the parameters of ``main``. The module is returned unchanged
    where there are none, and where the rest needs several of their buffers, or the weights as well:
    ``prepare`` computes one tensor.
    """
    import tvm

    function = module["main"]
    root = function.body.block
    weight = function.params[WEIGHT]
    stages = _stages(root.body, [*function.params, *root.alloc_buffers])
    early = _early(stages, weight, frozenset(root.alloc_buffers))
    late = [stage for stage in stages if stage not in early]
    made = {buffer for stage in early for buffer in stage.written}
    needed = {buffer for stage in late for buffer in stage.read} & {weight, *made}
    if len(needed) != 1 or weight in needed:
        return module
    (prepared,) = needed
    inner = [buffer for buffer in root.alloc_buffers if buffer in made - needed]
    rest = [buffer for buffer in root.alloc_buffers if buffer not in made]
    functions = {
        PREPARE: _function(function, [weight, prepared], early, inner),
        "main": _function(function, with_weights(function.params, prepared), late, rest),
    }
    return tvm.IRModule(
        {name: one.with_attr("global_symbol", name) for name, one in functions.items()}
    )


def _stages(body: Any, buffers: Sequence[Any]) -> list[_Stage]:
    from tvm.s_tir import SBlock
    from tvm.s_tir.analysis import get_sblock_access_region
    from tvm.tirx import SeqStmt

    stages = []
    for statement in body.seq if isinstance(body, SeqStmt) else [body]:
        block = SBlock([], [], [], "stage", statement)
        regions = get_sblock_access_region(block, {buffer: buffer for buffer in buffers})
        # Opaque accesses, the third ones, may be of either kind.
        read, written, opaque = ({region.source for region in some} for some in regions)
        stages.append(_Stage(statement, frozenset(read | opaque), frozenset(written | opaque)))
    return stages


def _early(stages: Sequence[_Stage], weight: Any, inner: frozenset[Any]) -> list[_Stage]:
    """The stages that depend on the weights alone, and write buffers of their own."""
    known = {weight}
    found = []
    for stage in stages:
        others = {buffer for other in stages if other is not stage for buffer in other.written}
        constant = stage.read & known and stage.read <= known | stage.written
        if constant and stage.written <= inner - others:
            found.append(stage)
            known |= stage.written
    return found


def _function(
    whole: Any, parameters: Sequence[Any], stages: Sequence[_Stage], inner: Sequence[Any]
) -> Any:
    """A function of some stages of the whole one."""
    from tvm.s_tir import SBlock, SBlockRealize
    from tvm.tirx import PrimFunc, SeqStmt

    statements = [stage.statement for stage in stages]
    body = SeqStmt(statements) if len(statements) > 1 else statements[0]
    root = SBlock([], [], [], "root", body, alloc_buffers=list(inner))
    return PrimFunc(list(parameters), SBlockRealize([], True, root), attrs=whole.attrs)
