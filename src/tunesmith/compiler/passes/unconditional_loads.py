"""Makes conditional loads, such as those of padded images, branch-free."""

from __future__ import annotations

from typing import Any

# TVM's if_then_else expression.
_CONDITIONAL = "prim.if_then_else"


def unconditional_loads() -> Any:
    """A pass that loads unconditionally and then selects the value.

    A load in a branch must finish before the branch ends, so a thread would wait for the elements
    of a padded image one by one. Without branches nvcc overlaps the loads. Where the condition is
    false, the first element of the buffer is loaded instead.

    Loads inside another condition stay as they are, and so do those whose condition or index
    contains a load.
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
    """The statements that load a value's inputs, and the value in terms of what they loaded."""
    import tvm_ffi
    from tvm.ir import Call
    from tvm.tirx import And, Let, Or, Select

    loads: list[Any] = []

    def chosen(call: Any, mutator: Any) -> Any:
        if getattr(call.op, "name", None) != _CONDITIONAL:
            return mutator.default_mutate(call)
        return _chosen(call, loads)

    def unchanged(expression: Any, _mutator: Any) -> Any:
        return expression  # its parts may be unevaluated, or use variables that it binds

    kept = ((And, Or, Select, Let), unchanged)
    return loads, tvm_ffi.structural_mutate(value, [(Call, chosen), kept])


def _chosen(conditional: Any, loads: list[Any]) -> Any:
    """A conditional load as a select; appends its load to ``loads``."""
    from tvm.ir import TensorLoad
    from tvm.tirx import Bind, BufferLoad, Select, Var, const

    condition, load, other = conditional.args
    if not isinstance(load, TensorLoad) or load.source.scope() != "global":
        return conditional
    (index,) = load.indices
    if _has_loads(condition) or _has_loads(index) or index.ty.dtype != "int32":
        return conditional
    condition = _without_short_circuit(condition)
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


def _without_short_circuit(condition: Any) -> Any:
    """A condition with ``&`` instead of ``&&``, as C++ would branch after each false operand."""
    from tvm.tirx import And, Cast

    if not isinstance(condition, And):
        return condition
    a, b = (Cast("int32", _without_short_circuit(part)) for part in (condition.a, condition.b))
    return (a & b) != 0
