"""Loads that depend on a condition, such as those of padded images, without a branch."""

from __future__ import annotations

from typing import Any

# What TVM calls a value that is computed only where a condition holds.
_CONDITIONAL = "prim.if_then_else"


def unconditional_loads() -> Any:
    """The pass: a value is loaded in any case, and chosen then.

    What is loaded in a branch has to be there before the branch ends, so that a thread waits for
    one element of a padded image after the other. Without branches nvcc has all loads under way.
    Where there is nothing to load it is the first element, which every buffer has.
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_without_branches, opt_level=0, name="UnconditionalLoads")


def _without_branches(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.tirx import Bind, BufferStore

    body = tvm_ffi.structural_map(function.body, [(BufferStore, _store), (Bind, _bind)])
    return function.with_body(body)


def _store(store: Any) -> Any:
    from tvm.tirx import BufferStore, SeqStmt

    loads, value = _loads_before(store.value)
    if not loads:
        return store
    return SeqStmt([*loads, BufferStore(store.buffer, value, store.indices)])


def _bind(bind: Any) -> Any:
    from tvm.tirx import Bind, SeqStmt

    loads, value = _loads_before(bind.value)
    return SeqStmt([*loads, Bind(bind.var, value)]) if loads else bind


def _loads_before(value: Any) -> tuple[list[Any], Any]:
    """The statements that load what a value needs, and the value by what they loaded."""
    import tvm_ffi
    from tvm.ir import Call, TensorLoad
    from tvm.tirx import Bind, BufferLoad, Select, Var, const

    loads: list[Any] = []

    def chosen(call: Any) -> Any:
        if getattr(call.op, "name", None) != _CONDITIONAL:
            return call
        condition, load, other = call.args
        if not isinstance(load, TensorLoad) or load.source.scope() != "global":
            return call
        condition = _all_at_once(condition)
        (index,) = load.indices
        place = Select(condition, index, const(0, index.ty.dtype))
        loaded = Var("loaded", load.ty.dtype)
        loads.append(Bind(loaded, BufferLoad(load.source, [place])))
        return Select(condition, loaded, other)

    return loads, tvm_ffi.structural_map(value, (Call, chosen))


def _all_at_once(condition: Any) -> Any:
    """A condition whose parts are all computed: C++ would branch after each one that is false."""
    from tvm.tirx import And, Cast

    if not isinstance(condition, And):
        return condition
    first, second = (Cast("int32", _all_at_once(part)) for part in (condition.a, condition.b))
    return (first & second) != 0
