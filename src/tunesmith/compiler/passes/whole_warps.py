"""Makes warp shuffles wait for all threads of the warp."""

from __future__ import annotations

from typing import Any

# TVM's intrinsic for the mask of a warp's active threads, and the mask of all of them.
_ACTIVE_MASK, _ALL = "tirx.tvm_warp_activemask", 0xFFFFFFFF


def whole_warps() -> Any:
    """A pass that gives TVM's shuffles the mask of all threads of a warp.

    TVM uses the mask of the active threads. After a branch these may be only some of those that are
    to take part; with the full mask the shuffle waits for all of them (CUDA programming guide,
    "Warp Shuffle Functions").
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_with_whole_warps, opt_level=0, name="WholeWarps")


def _with_whole_warps(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.ir import Call

    return function.with_body(tvm_ffi.structural_map(function.body, (Call, _full_mask)))


def _full_mask(call: Any) -> Any:
    from tvm.tirx import const

    return const(_ALL, "uint32") if getattr(call.op, "name", None) == _ACTIVE_MASK else call
