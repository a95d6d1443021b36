"""Memory between the layers of a network, planned once instead of allocated in each call.

TVM's plan says which tensors share memory, but its virtual machine allocates that in each call, and
checks all parameters. Both take longer than starting a layer's kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tunesmith.networks.description import ALIGNMENT, Buffer
from tunesmith.operators import Argument

# What TVM's virtual machine is asked in vain: the shapes and types of what a network has checked.
_CHECKS = ("vm.builtin.check_tensor_info", "vm.builtin.match_shape")
_RESHAPE = "vm.builtin.reshape"
_ALLOCATE, _TENSOR, _KILL = (
    "relax.vm.alloc_storage",
    "relax.vm.alloc_tensor",
    "relax.vm.kill_object",
)


def without_checks() -> Any:
    """A pass that drops the checks of parameters: callers have checked them, and no shape is
    computed in a call."""
    return _of_functions(lambda _, function: _without_checks(function), "WithoutChecks")


def planned(functions: Iterable[str], buffers: dict[str, list[Buffer]]) -> Any:
    """A pass that makes what these functions allocate their last parameters, but for their results.

    It comes after TVM has planned memory and lowered it. ``buffers`` gets those of each function,
    which have their offsets in one piece of memory.
    """
    names = set(functions)

    def with_buffers(name: str, function: Any) -> Any:
        if name not in names:
            return function
        changed, buffers[name] = _with_buffers(function)
        return changed

    return _of_functions(with_buffers, "PlannedMemory")


def _of_functions(change: Callable[[str, Any], Any], name: str) -> Any:
    import tvm
    from tvm.relax import Function

    def changed(module: Any, _: Any) -> Any:
        for variable, function in module.functions.items():
            if isinstance(function, Function):
                module[variable] = change(variable.name_hint, function)
        return module

    return tvm.transform.module_pass(changed, opt_level=0, name=name)


def _without_checks(function: Any) -> Any:
    bindings = _bindings(function)
    if any(_name(binding.value) == "vm.builtin.alloc_shape_heap" for binding in bindings):
        return function  # shapes are computed from those of the parameters
    kept = [binding for binding in bindings if _name(binding.value) not in _CHECKS]
    return _rebuilt(function, function.params, kept)


@dataclass
class _Plan:
    """What becomes of a function: the offsets of its storages, its buffers with their parameters,
    and the variables that these replace."""

    storages: dict[Any, int] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)
    replaced: dict[Any, Any] = field(default_factory=dict)
    # Where each variable that is replaced begins.
    offsets: dict[Any, int] = field(default_factory=dict)
    size: int = 0

    def add_storage(self, variable: Any, size: int) -> None:
        self.storages[variable] = self.size
        self.size += -(-size // ALIGNMENT) * ALIGNMENT

    def add_tensor(self, variable: Any, offset: int) -> None:
        from tvm import relax

        shape = tuple(int(extent) for extent in variable.ty.shape)
        name = f"buffer{len(self.buffers)}"
        self.buffers.append(Buffer(Argument(name, shape, str(variable.ty.dtype)), offset))
        parameter = relax.Var(name, relax.TensorType(shape, variable.ty.dtype))
        self.parameters.append(parameter)
        self.replaced[variable] = parameter
        self.offsets[variable] = offset


def _with_buffers(function: Any) -> tuple[Any, list[Buffer]]:
    bindings = _bindings(function)
    if any(hasattr(binding.value, "true_branch") for binding in bindings):
        return function, []
    returned = _storages_returned(function, bindings)
    plan, kept = _Plan(), []
    for binding in bindings:
        variable, call = binding.var, binding.value
        name = _name(call)
        first = call.args[0] if getattr(call, "args", ()) else None
        if name == _ALLOCATE and variable not in returned:
            plan.add_storage(variable, math.prod(int(extent) for extent in call.args[0].values))
        elif name == _TENSOR and first in plan.storages:
            plan.add_tensor(variable, plan.storages[first] + int(call.args[1].value))
        elif name == _RESHAPE and first in plan.offsets:
            plan.add_tensor(variable, plan.offsets[first])
        elif name == _KILL and (first in plan.storages or first in plan.replaced):
            continue
        else:
            kept.append(_replacing(binding, plan.replaced))
    parameters = [*function.params, *plan.parameters]
    return _rebuilt(function, parameters, kept), plan.buffers


def _storages_returned(function: Any, bindings: Sequence[Any]) -> set[Any]:
    """The storages of tensors that a call returns, or that anything but a kernel may return."""
    from tvm import relax

    source = {
        binding.var: binding.value.args[0]
        for binding in bindings
        if _name(binding.value) in {_TENSOR, _RESHAPE}
    }
    aliases = {
        binding.var: binding.value for binding in bindings if isinstance(binding.value, relax.Var)
    }
    tuples = {
        binding.var: list(binding.value.fields)
        for binding in bindings
        if isinstance(binding.value, relax.Tuple)
    }
    # A tuple that a call makes may hold any of its arguments.
    for binding in bindings:
        if _name(binding.value) == "vm.builtin.make_tuple":
            tuples[binding.var] = list(binding.value.args)
    found, waiting = set(), [function.body.body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, relax.Tuple):
            waiting += list(value.fields)
            continue
        found.add(value)
        waiting += [each[value] for each in (source, aliases) if value in each]
        waiting += tuples.get(value, [])
    return found


def _replacing(binding: Any, replaced: Mapping[Any, Any]) -> Any:
    from tvm import relax

    def changed(value: Any) -> Any:
        if isinstance(value, relax.Tuple):
            return relax.Tuple([changed(item) for item in value.fields])
        if isinstance(value, relax.TupleGetItem):
            return relax.TupleGetItem(changed(value.tuple_value), value.index)
        if isinstance(value, relax.Call):
            return relax.Call(
                value.op, [changed(it) for it in value.args], value.attrs, value.ty_args
            )
        return replaced.get(value, value) if isinstance(value, relax.Var) else value

    return relax.VarBinding(binding.var, changed(binding.value))


def _bindings(function: Any) -> list[Any]:
    return [binding for block in function.body.blocks for binding in block.bindings]


def _rebuilt(function: Any, parameters: Sequence[Any], bindings: Sequence[Any]) -> Any:
    from tvm import relax

    body = relax.SeqExpr([relax.BindingBlock(list(bindings))], function.body.body)
    return relax.Function(list(parameters), body, function.ret_ty, function.is_pure, function.attrs)


def _name(value: Any) -> str:
    """What a call calls; "" if it is none."""
    operation = getattr(value, "op", None)
    return str(getattr(operation, "name", None) or getattr(operation, "global_symbol", "") or "")
