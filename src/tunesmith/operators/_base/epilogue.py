"""What follows the products: bias, residual, ReLU and post-ops, fused into one stage."""

from __future__ import annotations

import abc
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from tunesmith.errors import UsageError
from tunesmith.operators._base import element_types
from tunesmith.operators._base.arithmetic import Arithmetic, NumpyArithmetic, TvmArithmetic
from tunesmith.operators._base.operator import Argument, Float64Array, WeightedOperator
from tunesmith.operators._base.options import as_option, flag
from tunesmith.operators._base.post_op import AppliedPostOp, Operand
from tunesmith.operators._base.post_ops import PostOpsOption, post_ops


@dataclass(frozen=True)
class Epilogue:
    """``relu(products + bias + residual)``, any part of which may be absent, then ``post_ops``.

    ``bias`` has one value per channel, ``residual`` the shape of the result.
    """

    bias: bool = False
    relu: bool = False
    residual: bool = False
    post_ops: tuple[AppliedPostOp, ...] = ()

    @cached_property
    def operands(self) -> tuple[tuple[str, Operand], ...]:
        """The names of its tensors and what they are, in order: bias, residual, of post-ops."""
        found = [("bias", Operand.CHANNEL)] * self.bias
        found += [("residual", Operand.ELEMENT)] * self.residual
        names: Counter[str] = Counter()
        for post_op in self.post_ops:
            definition = post_op.definition
            if definition.operand is not Operand.NONE:
                name = definition.operand_name
                names[name] += 1
                numbered = name if names[name] == 1 else f"{name}{names[name]}"
                found.append((numbered, definition.operand))
        return tuple(found)

    def arguments(self, result: Argument, channel_axis: int) -> tuple[Argument, ...]:
        """Its inputs, one for each of ``operands``."""
        channels = (result.shape[channel_axis],)
        return tuple(
            Argument(name, channels if kind is Operand.CHANNEL else result.shape, result.dtype)
            for name, kind in self.operands
        )

    @property
    def operations(self) -> int:
        """Operations on each element of the result."""
        further = sum(post_op.definition.operations for post_op in self.post_ops)
        return self.bias + self.residual + self.relu + further

    @property
    def growth(self) -> float:
        """By how much an error of a product may grow, for operands in [-1, 1]."""
        return math.prod(post_op.growth for post_op in self.post_ops)

    def apply(
        self,
        arithmetic: Arithmetic,
        products: Any,
        operands: Iterator[Any],
        keep: Callable[[Any], Any] = lambda value: value,
    ) -> Any:
        """The result, given the products and all operands in order.

        ``keep`` gets the value before each post-op, which may use it several times.
        """
        value = products
        for _ in range(self.bias + self.residual):
            value = value + next(operands)
        if self.relu:
            value = arithmetic.maximum(value, arithmetic.number(0))
        for post_op in self.post_ops:
            has_operand = post_op.definition.operand is not Operand.NONE
            value = post_op.apply(arithmetic, keep(value), next(operands) if has_operand else None)
        return value

    def define(
        self,
        products: Any,
        extra: list[Any],
        channel_axis: int,
        dtype: str,
        computed: str | None = None,
    ) -> Any:
        """The stage "epilogue" on the TE tensor ``products``, or ``products`` if it is empty.

        ``extra`` are the tensors of ``arguments``. The stage computes in the type ``computed``,
        that of ``products`` by default, and rounds the result to ``dtype``.
        """
        from tvm import te

        if self.operations == 0 and products.dtype == dtype:
            return products

        kept = computed or str(products.dtype)

        def element(*index: Any) -> Any:
            operands = (
                tensor(index[channel_axis]) if kind is Operand.CHANNEL else tensor(*index)
                for tensor, (_, kind) in zip(extra, self.operands, strict=True)
            )
            wide = (operand.astype(kept) for operand in operands)
            value = self.apply(TvmArithmetic(kept), products(*index).astype(kept), wide)
            return value.astype(dtype)

        return te.compute(products.shape, element, name="epilogue")

    def evaluate(
        self, products: Float64Array, extra: list[Float64Array], channel_axis: int
    ) -> Float64Array:
        """The same in NumPy."""
        trailing = (1,) * (products.ndim - channel_axis % products.ndim - 1)
        operands = (
            tensor.reshape(-1, *trailing) if kind is Operand.CHANNEL else tensor
            for tensor, (_, kind) in zip(extra, self.operands, strict=True)
        )
        result: Float64Array = self.apply(NumpyArithmetic(), products, operands)
        return result


@dataclass(frozen=True, kw_only=True, repr=False)
class ProductOperator(WeightedOperator):
    """An operator that sums products of two operands, with an epilogue.

    Its TE definition is one reduction stage named after the operator, after a "pad" (or "dilate")
    stage if there is padding, and before an "epilogue" stage if there is one.
    """

    dtypes: ClassVar[tuple[str, ...]] = element_types.ALL_TYPES

    bias: bool = field(default=False, metadata=flag("add a value to each output channel"))
    relu: bool = field(default=False, metadata=flag("replace negative results by 0"))
    residual: bool = field(default=False, metadata=flag("add a tensor of the result's shape"))
    post_ops: str = field(
        default="",
        metadata=as_option(PostOpsOption("elementwise operations that follow, such as silu")),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for post_op in self.epilogue.post_ops:
            post_op.check_dtype(self.name, self.dtype)
            if not post_op.definition.bounded:
                raise UsageError(
                    f"{self.name}: post-op {post_op} cannot follow a product, whose errors it may "
                    "enlarge: take the operator elementwise"
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

    @cached_property
    def epilogue(self) -> Epilogue:
        """What follows the sums."""
        return Epilogue(
            bias=self.bias,
            relu=self.relu,
            residual=self.residual,
            post_ops=post_ops(self.post_ops),
        )

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
        relative, absolute = self._sum_tolerance(self.reduction_length)
        return relative, absolute * max(1.0, self.epilogue.growth)

    def _define(self, inputs: list[Any]) -> Any:
        data, weight, *extra = inputs
        products = self._define_products(data, weight)
        return self.epilogue.define(products, extra, self.channel_axis, self.result.dtype)

    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        data, weight, *extra = inputs
        products = self._evaluate_products(data, weight)
        return self.epilogue.evaluate(products, extra, self.channel_axis)
