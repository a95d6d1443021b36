"""The base of all operators: options, arguments, FLOPs, NumPy reference and TE definition."""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import math
from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators._base import element_types
from tunesmith.operators._base.options import (
    ChoiceOption,
    Option,
    OptionType,
    SidesOption,
    as_option,
    flag,
    format_value,
)

Array = npt.NDArray[Any]
Float64Array = npt.NDArray[np.float64]

# Options added after the first release: see ``Operator.key``.
_NEWER = frozenset({"ceil_mode", "constant_weights", "post_ops"})
# Programs index tensors with signed 32-bit integers.
_MAX_ELEMENTS = 2**31 - 1
# The tolerance for rounding in the accumulator, in unit roundoffs per step; the steps are the terms
# of the sum plus a fixed number for the arithmetic around it. Errors of sums of random terms grow
# like a random walk: plain loops stay below 1 per term; Winograd's F(4x4, 3x3) has 4 to 8 per term
# from 16 channels on, 40 with one channel. A kernel that drops a term is far outside.
_ROUNDOFFS_PER_STEP = 32
_STEPS_AROUND_SUM = 32


@dataclass(frozen=True)
class Argument:
    """A tensor that an operator takes or returns: its name, shape and element type."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size of its elements in bytes."""
        return self.elements * element_types.element_bits(self.dtype) // 8

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """NumPy's type of its elements."""
        return element_types.numpy_dtype(self.dtype)


class _OperatorType(abc.ABCMeta):
    """Raises ``UsageError`` for missing and unknown options, instead of Python's ``TypeError``."""

    if not TYPE_CHECKING:  # type checkers should use the signature that the fields give

        def __call__(cls, *values: Any, **options: Any) -> Any:
            known = {option.name: option for option in cls.options()}
            if values:
                raise UsageError(f"{cls.name} takes its options by name: {', '.join(known)}")
            for given in options:
                if given not in known:
                    listed_by = f"tunesmith operators {cls.name}"
                    raise unknown_name(f"option of {cls.name}", given, known, listed_by=listed_by)
            missing = [o.name for o in known.values() if o.required and o.name not in options]
            if missing:
                raise UsageError(f"{cls.name} also needs {', '.join(missing)}")
            return super().__call__(**options)


@dataclass(frozen=True, kw_only=True, repr=False)
class Operator(abc.ABC, metaclass=_OperatorType):
    """A tensor computation with its shapes and types. Its dataclass fields are its options.

    The constructor raises ``UsageError`` for an unknown or missing option, an invalid value, an
    impossible shape, and tensors too large to index with 32 bits.
    """

    name: ClassVar[str]
    """The registry name; also the name of the stage that holds the main reduction, if any."""
    summary: ClassVar[str]
    """A description in one line."""
    signature: ClassVar[tuple[str, ...]]
    """The arguments and their shapes in terms of the options, one text each."""
    dtypes: ClassVar[tuple[str, ...]] = element_types.FLOAT_TYPES
    """The element types it is defined for."""

    dtype: str = field(
        default="float32",
        metadata=as_option(
            ChoiceOption("element type of the inputs", choices=element_types.ALL_TYPES)
        ),
    )

    def __post_init__(self) -> None:
        for option in self.options():
            value = option.type.check(f"{self.name}: {option.name}", getattr(self, option.name))
            object.__setattr__(self, option.name, value)
        self._check_shapes()
        for argument in (*self.arguments, self.result):
            if argument.elements > _MAX_ELEMENTS:
                raise UsageError(
                    f"{self.name}: {argument.name} {argument.shape} has more than 2^31 - 1 "
                    "elements; make it smaller"
                )

    # -- what an operator defines ----------------------------------------------------------------

    @property
    @abc.abstractmethod
    def arguments(self) -> tuple[Argument, ...]:
        """The inputs in call order."""

    @property
    @abc.abstractmethod
    def result(self) -> Argument:
        """The output."""

    @property
    @abc.abstractmethod
    def flops(self) -> int:
        """Arithmetic operations of one call: two per multiply-add, one for any other.

        Taps on padding count; zeros that a transposed convolution inserts do not.
        """

    @property
    @abc.abstractmethod
    def tolerance(self) -> tuple[float, float]:
        """``(rtol, atol)`` within which the result on ``make_inputs`` must match the reference."""

    def _check_shapes(self) -> None:
        """Raise ``UsageError`` if options that are valid by themselves do not fit together."""

    @abc.abstractmethod
    def _define(self, inputs: list[Any]) -> Any:
        """The TE tensor of the result, given the placeholders of the arguments."""

    @abc.abstractmethod
    def _evaluate(self, inputs: list[Float64Array]) -> Float64Array:
        """The result in float64, given the arguments in float64."""

    # -- derived ---------------------------------------------------------------------------------

    def reference(self, *inputs: Array) -> Array:
        """The result computed by NumPy in float64 and rounded once at the end.

        Raises ``UsageError`` if the inputs are not the operator's arguments.
        """
        expected = self.arguments
        if len(inputs) != len(expected):
            names = ", ".join(argument.name for argument in expected)
            raise UsageError(f"{self.name} takes {len(expected)} inputs ({names}): {len(inputs)}")
        for argument, value in zip(expected, inputs, strict=True):
            if value.shape != argument.shape or value.dtype != argument.numpy_dtype:
                raise UsageError(
                    f"{self.name}: {argument.name} must be {argument.dtype} of shape "
                    f"{argument.shape}, not {value.dtype} of shape {value.shape}"
                )
        result = self._evaluate([value.astype(np.float64) for value in inputs])
        return element_types.cast(result, self.result.dtype)

    def make_inputs(self, seed: int) -> list[Array]:
        """Random inputs, the same for the same ``seed``.

        Floats are uniform in [-1, 1). Integers are uniform in [-128, 127], the full range of int8,
        to detect kernels whose partial sums saturate.
        """
        rng = np.random.default_rng(seed)
        return [_random(argument, rng) for argument in self.arguments]

    def compute(self) -> list[Any]:
        """The TE definition: the placeholders of the arguments in order, then the output tensor."""
        from tvm import te

        inputs = [
            te.placeholder(argument.shape, name=argument.name, dtype=argument.dtype)
            for argument in self.arguments
        ]
        return [*inputs, self._define(inputs)]

    @property
    def accumulate_dtype(self) -> str:
        """The type of the operator's sums."""
        return element_types.ACCUMULATE.get(self.dtype, self.dtype)

    def _relative_tolerance(self, terms: int) -> float:
        """The relative tolerance of sums of ``terms`` numbers and a few functions of them."""
        inner = terms + _STEPS_AROUND_SUM
        own, result = self.accumulate_dtype, self.result.dtype
        return inner * element_types.unit_roundoff(own) + 4 * element_types.unit_roundoff(result)

    def _sum_tolerance(self, terms: int) -> tuple[float, float]:
        """The tolerance of results that are sums of ``terms`` products of numbers in [-1, 1)."""
        if not element_types.is_float(self.dtype):
            return 0.0, 0.0
        steps = terms + _STEPS_AROUND_SUM
        absolute = _ROUNDOFFS_PER_STEP * steps * element_types.unit_roundoff(self.accumulate_dtype)
        return 4 * element_types.unit_roundoff(self.result.dtype), absolute

    # -- options as data -------------------------------------------------------------------------

    @classmethod
    @functools.cache
    def options(cls) -> tuple[Option, ...]:
        """The options in order: the operator's own, then those of its base classes."""
        own_first = [name for c in cls.__mro__ for name in inspect.get_annotations(c)]
        fields = sorted(dataclasses.fields(cls), key=lambda item: own_first.index(item.name))
        return tuple(cls._option(item) for item in fields)

    @classmethod
    def _option(cls, item: dataclasses.Field[Any]) -> Option:
        declared = inspect.getattr_static(cls, item.name, None)
        if isinstance(declared, SidesOption):
            return Option(item.name, declared, declared.default)
        kind: OptionType | None = item.metadata.get("option")
        if kind is None:
            raise UsageError(
                f"operator '{cls.name}': field '{item.name}' has no option type; declare it with "
                "field(metadata=as_option(...))"
            )
        if item.name == "dtype":  # each operator narrows the types of the shared field
            kind = dataclasses.replace(cast(ChoiceOption, kind), choices=cls.dtypes)
        return Option(
            item.name, kind, None if item.default is dataclasses.MISSING else item.default
        )

    @property
    def key(self) -> str:
        """Stable canonical text with every option: ``matmul(m=512,n=512,...,residual=false)``.

        Options added after the first release appear only if they differ from their default, so the
        keys of older records stay valid.
        """
        return f"{self.name}({','.join(self._pairs(_NEWER))})"

    @property
    def label(self) -> str:
        """A shorter key for display, without the options at their default values."""
        defaults = frozenset(option.name for option in self.options())
        return f"{self.name}({', '.join(self._pairs(defaults))})"

    def _pairs(self, unless_default: Container[str]) -> list[str]:
        """``name=value`` of the options; of these ones only if they differ from their default."""
        return [
            f"{option.name}={format_value(value)}"
            for option in self.options()
            if (value := getattr(self, option.name)) != option.default
            or option.name not in unless_default
        ]

    def __repr__(self) -> str:
        return self.key

    def __getstate__(self) -> dict[str, Any]:
        """The options, without what is derived from them: formulas cannot be pickled."""
        return {option.name: self.__dict__[option.name] for option in self.options()}

    def to_json(self) -> dict[str, Any]:
        """``{"operator": name, "options": {...}}`` with every option, pairs as lists."""
        values = {option.name: getattr(self, option.name) for option in self.options()}
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {"operator": self.name, "options": options}


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedOperator(Operator):
    """An operator whose second argument is weights, which may be laid out before the first call."""

    constant_weights: bool = field(
        default=False,
        metadata=flag("weights never change: laid out once, when a kernel is loaded"),
    )


def _random(argument: Argument, rng: np.random.Generator) -> Array:
    if not element_types.is_float(argument.dtype):
        return rng.integers(-128, 128, argument.shape, dtype=np.dtype(argument.dtype).type)
    exact = np.float64 if argument.dtype == "float64" else np.float32
    values = rng.random(argument.shape, dtype=exact) * 2 - 1
    return values.astype(argument.numpy_dtype, copy=False)
