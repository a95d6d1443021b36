"""Operators of ONNX that TVM's importer lacks, or makes loops of where Relax has an operation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.networks.importing.onnx_recurrent import recurrent_converters
from tunesmith.networks.relax import is_constant

# The modes of padding, and how Relax names them.
_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


@contextmanager
def own_operators() -> Iterator[None]:
    """Within the block TVM's importer of ONNX has our converters.

    It has no way to add an operator, so its table of them is replaced.
    """
    from tvm.relax.frontend.onnx import onnx_frontend

    known = onnx_frontend._get_convert_map
    made = (_clip(), _is_inf(), _pad(), _pow(), _upsample())
    own = {converter.__name__: converter for converter in made} | dict(recurrent_converters())
    onnx_frontend._get_convert_map = lambda: {**known(), **own}
    try:
        yield
    finally:
        onnx_frontend._get_convert_map = known


def _clip() -> Any:
    """Clips by bounds that are attributes: those before version 11."""
    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    def convert(_: Any, __: Any, inputs: Any, attributes: Mapping[str, Any], ___: Any) -> Any:
        low, high = (float(attributes.get(*given)) for given in _BOUNDS)
        return relax.op.clip(inputs[0], low, high)

    return type("Clip", (onnx_frontend.Clip,), {"_impl_v1": classmethod(convert)})


_BOUNDS = (("min", -math.inf), ("max", math.inf))


def _is_inf() -> Any:
    """Which numbers are infinite, of the signs that are asked for."""
    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    def convert(_: Any, builder: Any, inputs: Any, attributes: Mapping[str, Any], __: Any) -> Any:
        data, zero = inputs[0], relax.const(0, str(inputs[0].ty.dtype))
        found = builder.emit(relax.op.isinf(data))
        for sign, other in (("detect_positive", "less"), ("detect_negative", "greater")):
            if not attributes.get(sign, 1):
                beside = builder.emit(getattr(relax.op, other)(data, zero))
                found = builder.emit(relax.op.logical_and(found, beside))
        return found

    return type("IsInf", (onnx_frontend.IsInf,), {"_impl_v10": classmethod(convert)})


def _pad() -> Any:
    """Padding of floats."""
    from tvm.relax.frontend.onnx import onnx_frontend

    older = onnx_frontend.Pad

    def with_attributes(
        _: Any, builder: Any, inputs: Any, attributes: Mapping[str, Any], __: Any
    ) -> Any:
        pads = [int(each) for each in attributes.get("pads", attributes.get("paddings"))]
        sides = pads[: len(pads) // 2], pads[len(pads) // 2 :]
        value = attributes.get("value", 0.0)
        return _padded(builder, inputs[0], sides, _mode(attributes), value)

    def with_inputs(version: int) -> Any:
        def convert(
            _: Any, builder: Any, inputs: Any, attributes: Mapping[str, Any], params: Any
        ) -> Any:
            if "float" not in str(inputs[0].ty.dtype):
                theirs = older.get_converter(version)
                return theirs(builder, inputs, attributes, params)
            *sides, value = older._parse_pads_and_axes(inputs, params)
            return _padded(builder, inputs[0], sides, _mode(attributes), value)

        return classmethod(convert)

    methods = {f"_impl_v{version}": with_inputs(version) for version in (11, 18, 19)}
    return type("Pad", (older,), {"_impl_v2": classmethod(with_attributes), **methods})


def _mode(attributes: Mapping[str, Any]) -> str:
    return _MODES[attributes.get("mode", b"constant").decode()]


def _padded(
    builder: Any, data: Any, sides: Sequence[Sequence[int]], mode: str, value: float
) -> Any:
    """A tensor with so many elements added before and after each axis; fewer than 0 are cut off."""
    from tvm import relax

    before, after = sides
    if min(*before, *after, 0) < 0:
        axes = list(range(len(before)))
        begins = [max(0, -count) for count in before]
        sizes = [int(extent) for extent in data.ty.shape]
        ends = [size - max(0, -count) for size, count in zip(sizes, after, strict=True)]
        data = builder.emit(relax.op.strided_slice(data, axes, begins, ends))
    widths = [max(0, count) for pair in zip(before, after, strict=True) for count in pair]
    return builder.emit(relax.op.nn.pad(data, widths, mode, float(value)))


def _pow() -> Any:
    """Powers whose exponents are of another type than their bases."""
    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    def convert(
        _: Any, builder: Any, inputs: Any, attributes: Mapping[str, Any], params: Any
    ) -> Any:
        base, exponent = inputs
        if not _is_tensor(base):  # a number of a shape
            return onnx_frontend.Pow._impl_v7(builder, inputs, attributes, params)
        dtype = str(base.ty.dtype)
        if is_constant(base) and is_constant(exponent):
            power = np.power(base.value.numpy(), exponent.value.numpy()).astype(dtype)
            return relax.const(power, dtype)
        computed = dtype if "float" in dtype else "float64"
        given = [_as(builder, each, computed) for each in (base, exponent)]
        result = onnx_frontend.Pow._impl_v7(builder, given, attributes, params)
        if computed == dtype:
            return result
        # Powers of whole numbers may be off by a rounding, and casts cut fractions off.
        whole = builder.emit(relax.op.round(builder.emit(result)))
        return relax.op.astype(whole, dtype)

    return type("Pow", (onnx_frontend.Pow,), {"_impl_v7": classmethod(convert)})


def _is_tensor(value: Any) -> bool:
    from tvm import relax

    return isinstance(value.ty, relax.TensorType)


def _as(builder: Any, value: Any, dtype: str) -> Any:
    """A tensor, or a number of a shape, as a tensor of a type."""
    from tvm import relax

    if not _is_tensor(value):
        return relax.const(float(value), dtype)
    if str(value.ty.dtype) == dtype:
        return value
    if is_constant(value):
        return relax.const(value.value.numpy().astype(dtype), dtype)
    return builder.emit(relax.op.astype(value, dtype))


def _upsample() -> Any:
    """Images enlarged by factors that are an attribute (version 7) or an input (version 9)."""
    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    def convert(_: Any, __: Any, inputs: Any, attributes: Mapping[str, Any], params: Any) -> Any:
        scales = attributes.get("scales")
        if scales is None:
            scales = onnx_frontend.get_constant(inputs[1], params).value.numpy()
        shape = [int(extent) for extent in inputs[0].ty.shape]
        if len(shape) != 4 or any(scale != 1 for scale in scales[:2]):
            raise UsageError("Upsample is supported for height and width of images")
        factors = np.asarray(scales[2:], np.float32)
        sizes = np.asarray(shape[2:], np.float32) * factors
        if (sizes % 1).any():  # TVM would take other factors
            raise UsageError(f"Upsample of {shape[2]}x{shape[3]} by {factors} gives no whole size")
        return relax.op.image.resize2d(
            inputs[0],
            size=relax.ShapeExpr([int(size) for size in sizes]),
            layout="NCHW",
            method=_METHODS[attributes.get("mode", b"nearest").decode()],
            coordinate_transformation_mode="asymmetric",
            rounding_method="floor",
        )

    methods = {f"_impl_v{version}": classmethod(convert) for version in (7, 9)}
    return type("Upsample", (onnx_frontend.OnnxOpConverter,), methods)


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear"}
