"""Shuffles that wait for all threads of a warp."""

from __future__ import annotations

from typing import Any

# What TVM calls the threads of a warp that happen to be together, and the type of such a set.
_TOGETHER, _SET = "tirx.tvm_warp_activemask", "uint32"
_ALL = 0xFFFFFFFF


def whole_warps() -> Any:
    """The pass: where TVM shuffles, all threads of a warp are named.

    TVM names those that happen to be together. After a branch that may be some of them, though all
    are about to come: who names all has them waited for (CUDA programming guide, "Warp Shuffle
    Functions").
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_with_whole_warps, opt_level=0, name="WholeWarps")


def _with_whole_warps(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.ir import Call

    return function.with_body(tvm_ffi.structural_map(function.body, (Call, _named)))


def _named(call: Any) -> Any:
    from tvm.tirx import const

    return const(_ALL, _SET) if getattr(call.op, "name", None) == _TOGETHER else call
