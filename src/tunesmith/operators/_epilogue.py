"""What follows the products: bias, residual add and ReLU, fused into one elementwise stage."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tunesmith.operators import _dtypes
from tunesmith.operators._operator import Argument, Float64Array, Operator
from tunesmith.operators._options import flag


@dataclass(frozen=True)
class Epilogue:
    """``relu(products + bias + residual)``, any part of which may be absent.

    ``bias`` has one value per channel, ``residual`` the shape of the result.
    """

    bias: bool = False
    relu: bool = False
    residual: bool = False

    def arguments(self, result: Argument, channel_axis: int) -> tuple[Argument, ...]:
        """Its inputs: bias, then residual."""
        bias = Argument("bias", (result.shape[channel_axis],), result.dtype)
        residual = Argument("residual", result.shape, result.dtype)
        return (bias,) * self.bias + (residual,) * self.residual

    @property
    def operations(self) -> int:
        """Operations on each element of the result."""
        return self.bias + self.residual + self.relu

    def define(self, products: Any, extra: list[Any], channel_axis: int, dtype: str) -> Any:
        """The stage "epilogue" on the TE tensor ``products``, or ``products`` if it is empty.

        ``extra`` are the tensors of ``arguments``. The stage computes in the type of ``products``
        and rounds the result to ``dtype``.
        """
        from tvm import te

        if self.operations == 0 and products.dtype == dtype:
            return products
        bias = extra[0] if self.bias else None
        residual = extra[-1] if self.residual else None

        def element(*index: Any) -> Any:
            value = products(*index)
            if bias is not None:
                value = value + bias(index[channel_axis]).astype(products.dtype)
            if residual is not None:
                value = value + residual(*index).astype(products.dtype)
            if self.relu:
                value = te.max(value, te.const(0, products.dtype))
            return value.astype(dtype)

        return te.compute(products.shape, element, name="epilogue")

    def evaluate(
        self, products: Float64Array, extra: list[Float64Array], channel_axis: int
    ) -> Float64Array:
        """The same in NumPy."""
        value = products
        if self.bias:
            trailing = (1,) * (products.ndim - channel_axis % products.ndim - 1)
            value = value + extra[0].reshape(-1, *trailing)
        if self.residual:
            value = value + extra[-1]
        return np.maximum(value, 0) if self.relu else value


@dataclass(frozen=True, kw_only=True, repr=False)
class ProductOperator(Operator):
    """An operator that sums products of two operands, with an epilogue.

    Its TE definition is one reduction stage named after the operator, after a "pad" (or "dilate")
    stage if there is padding, and before an "epilogue" stage if there is one.
    """

    dtypes: ClassVar[tuple[str, ...]] = _dtypes.ALL_TYPES

    bias: bool = field(default=False, metadata=flag("add a value to each output channel"))
    relu: bool = field(default=False, metadata=flag("replace negative results by 0"))
    residual: bool = field(default=False, metadata=flag("add a tensor of the result's shape"))
    constant_weights: bool = field(
        default=False,
        metadata=flag("weights never change: laid out once, when a kernel is loaded"),
    )

    @property
    @abc.abstractmethod
    def operands(self) -> tuple[Argument, Argument]:
        """The two inputs whose products are summed."""

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the result."""

    @property
    @abc.abstractmethod
    def reduction_length(self) -> int:
        """The number of products in the longest sum."""

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one call, without the epilogue."""
        return self.result.elements * self.reduction_length

    @property
    def channel_axis(self) -> int:
        """The axis of the result that ``bias`` runs along."""
        return -1

    @abc.abstractmethod
    def _define_products(self, data: Any, weight: Any) -> Any:
        """The TE tensor of the sums, in the accumulator's type."""

    @abc.abstractmethod
    def _evaluate_products(self, data: Float64Array, weight: Float64Array) -> Float64Array:
        """The sums in NumPy."""

    @property
    def epilogue(self) -> Epilogue:
        """What follows the sums."""
        return Epilogue(bias=self.bias, relu=self.relu, residual=self.residual)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return (*self.operands, *self.epilogue.arguments(self.result, self.channel_axis))

    @property
    def result(self) -> Argument:
        dtype = "int32" if self.dtype == "int8" else self.dtype
        return Argument("output", self.output_shape, dtype)

    @property
    def flops(self) -> int:
        return 2 * self.multiply_adds + self.epilogue.operations * self.result.elements

    @property
    def tolerance(self) -> tuple[float, float]:
        return self._sum_tolerance(self.reduction_length)

    def _define(self, inputs: list[Any]) -> Any:
        data, weight, *extra = inputs
        products = self._define_products(data, weight)
        return self.epilogue.define(products, extra, self.channel_axis, self.result.dtype)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data, weight, *extra = inputs
        products = self._evaluate_products(data, weight)
        return self.epilogue.evaluate(products, extra, self.channel_axis)
