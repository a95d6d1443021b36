"""Peels the last iteration off a loop."""

from __future__ import annotations

from typing import Any

PEEL_LAST = "tunesmith_last_turn"
"""Annotates loops of which only the last iteration needs bounds checks. The text is part of
programs and of their hashes, so it stays as it is."""


def peel_last_iterations() -> Any:
    """A pass that peels the last iteration off each loop annotated with ``PEEL_LAST``.

    TVM's simplifier can then remove the bounds checks from the other iterations. TVM's own
    ``LoopPartition`` splits at every condition in a loop, including those of a padded image; if
    these depend on outer loops, its parts run past the end of the loop and write out of bounds
    (TVM 0.27).
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_with_peeled_loops, opt_level=0, name="PeelLastIterations")


def _with_peeled_loops(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.tirx import For

    return function.with_body(tvm_ffi.structural_map(function.body, (For, _split)))


def _split(loop: Any) -> Any:
    from tvm.tirx import For, SeqStmt

    if PEEL_LAST not in loop.annotations:
        return loop
    kept = {key: value for key, value in loop.annotations.items() if key != PEEL_LAST}
    last = int(loop.extent) - 1
    if last > 1:
        before = For(loop.loop_var, loop.min, last, loop.kind, loop.body, None, kept)
    else:
        before = _iteration(loop, 0)
    return SeqStmt([before, _iteration(loop, last)])


def _iteration(loop: Any, number: int) -> Any:
    """The body of one iteration of a loop."""
    import tvm_ffi
    from tvm.tirx import Var

    def substitute(variable: Any) -> Any:
        return loop.min + number if variable.same_as(loop.loop_var) else variable

    return tvm_ffi.structural_map(loop.body, (Var, substitute))
