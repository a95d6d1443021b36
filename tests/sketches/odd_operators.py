"""Random operators of odd sizes, larger than those of the tests of properties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.errors import UsageError
from tunesmith.operators import Operator, operator

_SIZES = (1, 2, 3, 5, 7, 11, 16, 17, 23, 31, 33, 37)
_CHANNELS = (1, 2, 3, 4, 5, 8, 16, 17, 19)
_EXTENTS = (1, 3, 5, 6, 7, 9, 11, 13)
_FLOATS = ("float32", "float32", "float16", "bfloat16", "float64")
_FLAGS = ("bias", "relu", "residual", "constant_weights")
# Mostly none.
_POST_OPS = ("",) * 6 + ("clip:0:1", "silu", "gelu", "scale+tanh+multiply", "hard_swish+add")
_PRODUCTS = ("matmul", "dense", "batch_matmul")
_WINDOWS = ("conv2d", "depthwise_conv2d", "conv2d_transpose", "pool2d")
_ROWS = ("softmax", "layer_norm")
_CHAINS = (
    "relu",
    "scale+shift+gelu_tanh",
    "add+silu+multiply",
    "square+shift+exp",
    "maximum+rsqrt+scale",
    "negative+tanh+minimum+abs",
)
_OTHERS = ("adaptive_pool2d", "reduce", "elementwise", "embedding")
_CELLS = ("lstm", "gru")
NAMES = (*_PRODUCTS, *_WINDOWS, *_ROWS, *_CELLS, *_OTHERS)


class OddOperators:
    """An endless series of operators of some names, all by default, which a seed decides."""

    def __init__(self, seed: int, names: Sequence[str] = NAMES) -> None:
        self._rng = np.random.default_rng(seed)
        self._names = tuple(names)

    def __next__(self) -> Operator:
        while True:
            name = self._one(self._names)
            try:
                return operator(name, **self._options(name))
            except UsageError:  # options that do not fit together
                continue

    def _one(self, values: tuple[Any, ...]) -> Any:
        return values[int(self._rng.integers(len(values)))]

    def _pair(self, values: tuple[int, ...]) -> Any:
        """The same along both axes, as mostly in networks, or not."""
        first = self._one(values)
        return first if self._rng.random() < 0.7 else (first, self._one(values))

    def _padding(self, name: str) -> Any:
        """The same on opposite sides, as mostly in networks, or not."""
        pair = self._pair((0, 1, 2))
        if name == "conv2d_transpose" or self._rng.random() < 0.7:
            return pair
        return tuple(self._one((0, 1, 2)) for _ in range(4))

    def _epilogue(self) -> dict[str, Any]:
        flags = {name: bool(self._rng.random() < 0.4) for name in _FLAGS}
        further = {"post_ops": self._one(_POST_OPS), "dtype": self._one((*_FLOATS, "int8"))}
        return flags | further

    def _options(self, name: str) -> dict[str, Any]:
        if name == "elementwise":
            return {
                "n": self._one((1, 1, 2, 5)),
                "c": self._one(_CHANNELS),
                "inner": self._one((*_SIZES, 100, 300)),
                "post_ops": self._one(_CHAINS),
                "dtype": self._one(_FLOATS),
            }
        if name in _ROWS:
            return {
                "m": self._one(_SIZES),
                "n": self._one((*_SIZES, 100, 300)),
                "dtype": self._one(_FLOATS),
            }
        if name == "reduce":
            sizes = {axis: self._one((*_SIZES, 100)) for axis in ("outer", "n", "inner")}
            kind = self._one(("mean", "sum", "max", "min"))
            return sizes | {"kind": kind, "dtype": self._one(_FLOATS)}
        if name == "adaptive_pool2d":
            image = {"c": self._one(_CHANNELS), "h": self._one(_EXTENTS), "w": self._one(_SIZES)}
            kind = self._one(("avg", "max"))
            output = self._pair((1, 2, 3, 5, 7))
            return image | {"output_size": output, "kind": kind, "dtype": self._one(_FLOATS)}
        if name in _CELLS:
            return self._cell()
        return self._look_up() if name == "embedding" else self._weighted(name)

    def _weighted(self, name: str) -> dict[str, Any]:
        if name in _PRODUCTS:
            sizes = {axis: self._one(_SIZES) for axis in "mnk"} | self._epilogue()
            if name == "batch_matmul":
                sizes |= {"b": self._one((1, 2, 3)), "transpose": self._one(("NN", "NT", "TN"))}
            return sizes
        return self._window(name)

    def _cell(self) -> dict[str, Any]:
        return {
            "steps": self._one((1, 1, 2, 3)),
            "b": self._one((1, 1, 2, 3, 5, 8)),
            "units": self._one(_SIZES),
            "dtype": self._one(_FLOATS),
            "reverse": bool(self._rng.random() < 0.3),
            "constant_weights": bool(self._rng.random() < 0.6),
        }

    def _look_up(self) -> dict[str, Any]:
        return {
            "n": self._one(_SIZES),
            "rows": self._one(_SIZES),
            "width": self._one((*_SIZES, 100, 300)),
            "dtype": self._one((*_FLOATS, "int8")),
            "index_dtype": self._one(("int64", "int32")),
        }

    def _window(self, name: str) -> dict[str, Any]:
        options: dict[str, Any] = {
            "n": self._one((1, 1, 2)),
            "h": self._one(_EXTENTS),
            "w": self._one(_EXTENTS),
            "kernel": self._pair((1, 2, 3, 3, 3, 4, 5)),
            "stride": self._pair((1, 1, 2, 3)),
            "padding": self._padding(name),
        }
        layout = {"layout": self._one(("NCHW", "NCHW", "NHWC"))}
        if name == "pool2d":
            kind = {"kind": self._one(("max", "avg")), "dtype": self._one(_FLOATS)}
            flags = ("count_include_pad", "ceil_mode")
            inclusive = {flag: bool(self._rng.random() < 0.5) for flag in flags}
            return options | layout | kind | inclusive | {"c": self._one(_CHANNELS)}
        options |= self._epilogue()
        if name == "conv2d_transpose":
            channels = {"ci": self._one(_CHANNELS), "co": self._one(_CHANNELS)}
            return options | channels | {"output_padding": self._pair((0, 0, 1))}
        options |= layout | {"dilation": self._pair((1, 1, 1, 2))}
        if name == "depthwise_conv2d":
            return options | {"c": self._one(_CHANNELS), "multiplier": self._one((1, 1, 2, 3))}
        groups = self._one((1, 1, 1, 2, 3))
        channels = {"ci": groups * self._one(_CHANNELS), "co": groups * self._one(_CHANNELS)}
        return options | channels | {"groups": groups}
