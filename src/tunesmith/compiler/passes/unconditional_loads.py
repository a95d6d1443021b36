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

    A load stays as it is that depends on more than its own condition (in a branch of another one),
    or whose condition or index is loaded itself.
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
    from tvm.ir import Call
    from tvm.tirx import And, Let, Or, Select

    loads: list[Any] = []

    def chosen(call: Any, mutator: Any) -> Any:
        if getattr(call.op, "name", None) != _CONDITIONAL:
            return mutator.default_mutate(call)
        return _chosen(call, loads)

    def as_it_is(expression: Any, _mutator: Any) -> Any:
        return expression  # parts of it may not be computed, or use what it names

    kept = ((And, Or, Select, Let), as_it_is)
    return loads, tvm_ffi.structural_mutate(value, [(Call, chosen), kept])


def _chosen(conditional: Any, loads: list[Any]) -> Any:
    """What a conditional load is once its load, which is added to ``loads``, has been made."""
    from tvm.ir import TensorLoad
    from tvm.tirx import Bind, BufferLoad, Select, Var, const

    condition, load, other = conditional.args
    if not isinstance(load, TensorLoad) or load.source.scope() != "global":
        return conditional
    (index,) = load.indices
    if _has_loads(condition) or _has_loads(index) or index.ty.dtype != "int32":
        return conditional
    condition = _all_at_once(condition)
    loaded = Var("loaded", load.ty.dtype)
    place = Select(condition, index, const(0, "int32"))
    loads.append(Bind(loaded, BufferLoad(load.source, [place])))
    return Select(condition, loaded, other)


def _has_loads(expression: Any) -> bool:
    import tvm_ffi
    from tvm.ir import TensorLoad

    found: list[Any] = []
    tvm_ffi.structural_walk(expression, (TensorLoad, found.append))
    return bool(found)


def _all_at_once(condition: Any) -> Any:
    """A condition whose parts are all computed: C++ would branch after each one that is false."""
    from tvm.tirx import And, Cast

    if not isinstance(condition, And):
        return condition
    first, second = (Cast("int32", _all_at_once(part)) for part in (condition.a, condition.b))
    return (first & second) != 0
