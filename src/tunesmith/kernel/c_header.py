"""The C header of a saved kernel: functions that take plain pointers."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from typing import NamedTuple

from tunesmith.kernel.arrays import ALIGNMENT
from tunesmith.operators import Argument, Operator
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, with_weights


class _Type(NamedTuple):
    """An element type: DLPack's type code and bits, and the C type."""

    code: int
    bits: int
    c: str


_TYPES = {
    "float64": _Type(2, 64, "double"),
    "float32": _Type(2, 32, "float"),
    "float16": _Type(2, 16, "uint16_t"),
    "bfloat16": _Type(4, 16, "uint16_t"),
    "int8": _Type(0, 8, "int8_t"),
    "uint8": _Type(1, 8, "uint8_t"),
    "int16": _Type(0, 16, "int16_t"),
    "int32": _Type(0, 32, "int32_t"),
    "int64": _Type(0, 64, "int64_t"),
}

# Keywords of C and C++ that are plausible file names.
_RESERVED = (
    "auto break case char class const continue default delete do double else enum export extern "
    "float for friend goto if inline int long main new operator private public register return "
    "short signed sizeof static struct switch template this try typedef union unsigned using "
    "virtual void volatile while"
)


def c_header(
    operator: Operator,
    stem: str,
    processor: str,
    prepared: Argument | None = None,
    arch: str | None = None,
) -> str:
    """The header of a library compiled for ``processor``, and for the GPU architecture ``arch``.

    The function is named after the file (``stem``) as far as C and C++ allow. ``prepared`` is the
    tensor that ``prepare`` makes of the weights, None if the library has no such function; the
    header declares ``prepare`` as a second function.
    """
    from jinja2 import Environment, StrictUndefined

    name = _identifier(stem)
    inputs, weight, result = operator.arguments, None, operator.result
    tensors = (*inputs, result)
    functions: list[tuple[str, str, tuple[Argument, ...]]] = []
    if prepared is not None:
        weight, tensors = inputs[WEIGHT], (*inputs, prepared, result)
        inputs = tuple(with_weights(inputs, prepared))
        functions.append((PREPARE, f"{name}_prepare", (weight, prepared)))
    functions.append(("main", name, (*inputs, result)))
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = resources.files("tunesmith.kernel").joinpath("header.h.jinja")
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        name=name,
        operator=operator,
        library=shlex.quote(f"{stem}.so"),
        processor=processor,
        arch=arch,
        alignment=1 if arch is None else ALIGNMENT,
        inputs=inputs,
        weight=weight,
        prepared=prepared,
        tensors=tensors,
        functions=functions,
        types=_TYPES,
    )


def _identifier(stem: str) -> str:
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"kernel_{name}" if name[:1].isdigit() or name in _RESERVED.split() else name
