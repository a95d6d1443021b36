"""Graphs from Relax functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.networks.graph import Emit, Graph, Node, Value

_PREFIX = "relax."

OPAQUE = "tir."
"""What the names of operations begin with that are functions of TIR."""

CELLS = {
    (kind, reverse): f"tunesmith.{kind}{'_reversed' if reverse else ''}"
    for kind in ("lstm", "gru")
    for reverse in (False, True)
}
"""The functions that stand for steps of a cell (see ``importing/recurrent.py``), forwards or
backwards."""


def graph_of(function: Any, module: Any | None = None) -> Graph:
    """The graph of a Relax function whose shapes are numbers.

    ``module`` has the functions of TIR that it calls. Raises ``UsageError`` for control flow and
    for shapes that are not known.
    """
    return _Reader(function, module).read()


class _Reader:
    """Reads one function: of each of its variables it knows the value or the values."""

    def __init__(self, function: Any, module: Any | None) -> None:
        self._function = function
        self._module = module
        self._values: dict[Any, tuple[Value, ...]] = {}
        self._nodes: list[Node] = []

    def read(self) -> Graph:
        function = self._function
        inputs = []
        for parameter in function.params:
            value = _tensor(parameter.ty, parameter.name)
            self._values[parameter] = (value,)
            inputs.append(value)
        for block in function.body.blocks:
            for binding in block.bindings:
                self._bind(binding.var, binding.value)
        return Graph(tuple(inputs), tuple(self._nodes), self._of(function.body.body))

    def _bind(self, variable: Any, expression: Any) -> None:
        from tvm import relax

        if isinstance(expression, relax.Call):
            name = getattr(expression.op, "name", "")
            if name == "relax.shape_of":
                (value,) = self._of(expression.args[0])
                self._values[variable] = (Value.of(np.array(value.shape, np.int64)),)
            elif name == "relax.null_value":  # a result that is None
                self._values[variable] = ()
            elif name == "relax.shape_to_tensor":
                self._values[variable] = self._of(expression.args[0])
            else:
                self._values[variable] = self._node(variable, expression).outputs
        else:
            self._values[variable] = self._of(expression)

    def _of(self, expression: Any) -> tuple[Value, ...]:
        """The values of an expression that computes nothing."""
        from tvm import relax

        if isinstance(expression, relax.Tuple):
            return tuple(value for each in expression.fields for value in self._of(each))
        if isinstance(expression, relax.TupleGetItem):
            return (self._of(expression.tuple_value)[expression.index],)
        if is_constant(expression) and expression not in self._values:
            self._values[expression] = (Value.of(expression.value.numpy()),)
        if expression in self._values:
            return self._values[expression]
        raise UsageError(
            f"a network may not contain {type(expression).__name__}: export it without control flow"
        )

    def _node(self, variable: Any, call: Any) -> Node:
        if getattr(call.op, "name", "") == "relax.call_tir":
            return self._call_of_function(variable, call)
        if getattr(call.op, "name", "") == "relax.call_dps_packed":
            return self._steps_of_cell(variable, call)
        name = getattr(call.op, "name", None)
        if not isinstance(name, str) or not name.startswith(_PREFIX):
            raise UsageError(f"a network may not call {name or call.op}: export it as one function")
        arguments = [argument for argument in call.args if _has_tensors(argument)]
        inputs = tuple(value for argument in arguments for value in self._of(argument))
        outputs = tuple(_tensor(kind, variable.name) for kind in _fields(variable.ty))
        return self._add(
            name.removeprefix(_PREFIX),
            inputs,
            outputs,
            lambda values: _again(call, list(values)),
            {**_attributes(call), **_plain_arguments(call)},
        )

    def _call_of_function(self, variable: Any, call: Any) -> Node:
        """A call of a function of TIR: an operation of Relax, or any other as it is."""
        from tvm import relax

        called, tensors, *others = call.args
        name = called.name_hint.rstrip("0123456789")
        inputs = self._of(tensors)
        outputs = tuple(_tensor(kind, variable.name) for kind in _fields(variable.ty))
        if name in _FUNCTIONS and len(inputs) == 2:
            function = getattr(relax.op, name)
            return self._add(name, inputs, outputs, lambda values: function(*values), {})
        if others or self._module is None:
            raise UsageError(f"a network may not call {name}: export it with other operations")
        body = self._module[called]

        def emit(values: Sequence[Any]) -> Any:
            copied = relax.BlockBuilder.current().add_func(body, name)
            return relax.op.call_tir(copied, relax.Tuple(list(values)), list(call.ty_args))

        return self._add(f"{OPAQUE}{name}", inputs, outputs, emit, {})

    def _steps_of_cell(self, variable: Any, call: Any) -> Node:
        """A call that stands for steps of a cell."""
        function, tensors = call.args[:2]
        named = {name: cell for cell, name in CELLS.items()}
        kind, reverse = named[str(function.global_symbol)]
        output = _tensor(variable.ty, variable.name)

        def emit(_: Sequence[Any]) -> Any:
            raise UsageError(f"{kind} of {output.dtype} is not supported: take float32")

        return self._add(kind, self._of(tensors), (output,), emit, {"reverse": reverse})

    def _add(
        self,
        name: str,
        inputs: tuple[Value, ...],
        outputs: tuple[Value, ...],
        emit: Emit,
        attributes: Mapping[str, Any],
    ) -> Node:
        self._nodes.append(Node(name, inputs, outputs, emit, attributes))
        return self._nodes[-1]


_TYPES = (
    *("bool", "float16", "bfloat16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)

_FUNCTIONS = ("maximum", "minimum")
"""What TVM's importer of ONNX writes as functions of TIR that it names so, with a number."""


def is_constant(expression: Any) -> bool:
    """Whether an expression of Relax is a constant tensor."""
    return type(expression).__name__ == "GenericConst"


def _has_tensors(argument: Any) -> bool:
    from tvm import relax

    kind = argument.ty
    if isinstance(kind, relax.TupleType):
        return any(isinstance(field, relax.TensorType) for field in kind.fields)
    return isinstance(kind, relax.TensorType)


def _again(call: Any, values: list[Any]) -> Any:
    """A call like ``call`` with other tensors, in the order in which it names its own."""
    from tvm import relax

    def replaced(argument: Any) -> Any:
        if not _has_tensors(argument):
            return argument
        if isinstance(argument, relax.Tuple):
            return relax.Tuple([replaced(each) for each in argument.fields])
        return values.pop(0)

    return relax.Call(call.op, [replaced(each) for each in call.args], call.attrs, call.ty_args)


def _fields(kind: Any) -> Sequence[Any]:
    """The types of a tuple's fields, or the type itself."""
    return kind.fields if hasattr(kind, "fields") else (kind,)


def _tensor(kind: Any, name: str) -> Value:
    if not hasattr(kind, "shape") or kind.shape is None:
        raise UsageError(f"the shape of {name} is not known: export the network with fixed shapes")
    if str(kind.dtype) not in _TYPES:
        raise UsageError(f"{name} is of {kind.dtype}, which is not supported: take float32")
    shape = tuple(_number(extent, name) for extent in kind.shape)
    if 0 in shape:
        raise UsageError(f"{name} of shape {shape} has no elements: export the network without it")
    return Value(shape, str(kind.dtype), name)


def _number(extent: Any, name: str) -> int:
    try:
        return int(extent)
    except (TypeError, ValueError):
        raise UsageError(
            f"the shape of {name} depends on {extent}: give the sizes of the inputs"
        ) from None


def _attributes(call: Any) -> Mapping[str, Any]:
    if call.attrs is None:
        return {}
    fields = type(call.attrs).__tvm_ffi_type_info__.fields
    return {field.name: _plain(getattr(call.attrs, field.name)) for field in fields}


def _plain_arguments(call: Any) -> Mapping[str, Any]:
    """Arguments that are no tensors, by the names that the operation gives them."""
    from tvm import relax

    found: dict[str, Any] = {}
    known = tuple(info.name for info in call.op.arguments)
    for name, argument in zip(_UNNAMED.get(call.op.name, known), call.args, strict=False):
        if isinstance(argument, relax.ShapeExpr):
            found[name] = tuple(_number(extent, name) for extent in argument.values)
        elif not _has_tensors(argument):
            given = argument.fields if isinstance(argument, relax.Tuple) else argument
            found[name] = _plain(getattr(given, "value", given))
    return found


_UNNAMED = {"relax.strided_slice": ("x", "axes", "begin", "end", "strides")}
"""The arguments of operations that do not name all of them."""


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return tuple(_plain(each) for each in value)
    if hasattr(value, "value"):
        return _plain(value.value)
    return str(value)
