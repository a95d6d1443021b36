"""Operators by name: built-in ones and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.errors import UsageError
from tunesmith.operators._base.operator import Operator
from tunesmith.registry import Registry

# The operators that are plain matrix products.
MATRIX_PRODUCTS = ("matmul", "dense", "batch_matmul")

_OURS = {
    "matmul": "tunesmith.operators._matrix_products:Matmul",
    "batch_matmul": "tunesmith.operators._matrix_products:BatchMatmul",
    "dense": "tunesmith.operators._matrix_products:Dense",
    "conv2d": "tunesmith.operators._conv2d:Conv2d",
    "depthwise_conv2d": "tunesmith.operators._depthwise_conv2d:DepthwiseConv2d",
    "conv2d_transpose": "tunesmith.operators._conv2d_transpose:Conv2dTranspose",
    "pool2d": "tunesmith.operators._pool2d:Pool2d",
    "adaptive_pool2d": "tunesmith.operators._pool2d:AdaptivePool2d",
    "reduce": "tunesmith.operators._reduce:Reduce",
    "softmax": "tunesmith.operators._softmax:Softmax",
    "layer_norm": "tunesmith.operators._layer_norm:LayerNorm",
    "elementwise": "tunesmith.operators._elementwise:Elementwise",
    "embedding": "tunesmith.operators._embedding:Embedding",
    "lstm": "tunesmith.operators._recurrent:Lstm",
    "gru": "tunesmith.operators._recurrent:Gru",
}


def _class(found: object) -> type[Operator] | None:
    return found if isinstance(found, type) and issubclass(found, Operator) else None


OPERATORS = Registry("operator", "operators", _OURS, _class, "a subclass of Operator")


def operator_names() -> tuple[str, ...]:
    """The names of all operators, the built-in ones first."""
    return OPERATORS.names()


def operator_class(name: str) -> type[Operator]:
    """The class of the operator called ``name``. Raises like ``Registry.get``."""
    return OPERATORS.get(name)


def operator(name: str, **options: Any) -> Operator:
    """The operator called ``name`` with these options: ``operator("matmul", m=512, n=512, k=512)``.

    Raises ``UsageError`` for an unknown name or option, a missing option, and a bad value.
    """
    return operator_class(name)(**options)


def operator_from_json(data: Mapping[str, Any]) -> Operator:
    """The inverse of ``Operator.to_json``. Raises ``UsageError`` for invalid ``data``."""
    known = data if isinstance(data, Mapping) else {}
    name, options = known.get("operator"), known.get("options")
    if not isinstance(name, str) or not isinstance(options, Mapping):
        found = f"an object with {', '.join(map(str, known)) or 'nothing in it'}"
        raise UsageError(
            'an operator in JSON is {"operator": name, "options": {...}}, '
            f"not {found if isinstance(data, Mapping) else repr(data)}"
        )
    return operator(name, **options)
