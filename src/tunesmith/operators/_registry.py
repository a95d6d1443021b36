"""Operators by name: ours, and those that installed packages bring."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators._batch_matmul import BatchMatmul
from tunesmith.operators._conv2d import Conv2d
from tunesmith.operators._conv2d_transpose import Conv2dTranspose
from tunesmith.operators._dense import Dense
from tunesmith.operators._depthwise_conv2d import DepthwiseConv2d
from tunesmith.operators._layer_norm import LayerNorm
from tunesmith.operators._matmul import Matmul
from tunesmith.operators._operator import Operator
from tunesmith.operators._pool2d import Pool2d
from tunesmith.operators._softmax import Softmax

ENTRY_POINT_GROUP = "tunesmith.operators"

# Those that are nothing but a product of matrices, or several.
MATRIX_PRODUCTS = (Matmul.name, Dense.name, BatchMatmul.name)

_OURS: dict[str, type[Operator]] = {
    cls.name: cls
    for cls in (
        Matmul,
        BatchMatmul,
        Dense,
        Conv2d,
        DepthwiseConv2d,
        Conv2dTranspose,
        Pool2d,
        Softmax,
        LayerNorm,
    )
}


@functools.cache
def _plug_ins() -> Mapping[str, EntryPoint]:
    """What other packages registered; a name of ours always means ours."""
    found = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {name: point for name, point in found.items() if name not in _OURS}


def operator_names() -> tuple[str, ...]:
    """The names of all operators, ours first."""
    return (*_OURS, *sorted(_plug_ins()))


def operator_class(name: str) -> type[Operator]:
    """The class of the operator called ``name``.

    Raises ``UsageError`` for an unknown name, and for a plug-in that gives no operator.
    """
    if name in _OURS:
        return _OURS[name]
    if name not in _plug_ins():
        raise unknown_name("operator", name, operator_names(), listed_by="tunesmith operators")
    point = _plug_ins()[name]
    try:
        loaded = point.load()
    except Exception as error:  # a stranger's module may fail in any way
        reason = " ".join(str(error).split())
        raise UsageError(f"operator '{name}' ({point.value}) does not load: {reason}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Operator)):
        raise UsageError(f"operator '{name}' ({point.value}) is no subclass of Operator")
    return loaded


def operator(name: str, **options: Any) -> Operator:
    """The operator called ``name`` with these options: ``operator("matmul", m=512, n=512, k=512)``.

    Raises ``UsageError`` for an unknown name or option, a missing option, and a bad value.
    """
    return operator_class(name)(**options)


def operator_from_json(data: Mapping[str, Any]) -> Operator:
    """The operator that ``Operator.to_json`` described.

    Raises ``UsageError`` where ``data`` describes none.
    """
    name, options = data.get("operator"), data.get("options")
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise UsageError(
            'an operator in JSON is {"operator": name, "options": {...}}, '
            f"not an object with {', '.join(map(str, data)) or 'nothing in it'}"
        )
    return operator(name, **options)
