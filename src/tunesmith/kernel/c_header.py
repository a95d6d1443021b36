"""The C header of a saved kernel: functions that take plain pointers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from string import Template

from tunesmith.kernel.arrays import ALIGNMENT
from tunesmith.kernel.c_header_parts import FOR_CPU, FOR_GPU, Parts
from tunesmith.operators import Argument, Operator
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, with_weights

# For each element type: DLPack's type code and bits, and the C type.
_TYPES = {
    "float64": (2, 64, "double"),
    "float32": (2, 32, "float"),
    "float16": (2, 16, "uint16_t"),
    "bfloat16": (4, 16, "uint16_t"),
    "int8": (0, 8, "int8_t"),
    "uint8": (1, 8, "uint8_t"),
    "int16": (0, 16, "int16_t"),
    "int32": (0, 32, "int32_t"),
}

# Keywords of C and C++ that are plausible file names.
_RESERVED = (
    "auto break case char class const continue default delete do double else enum export extern "
    "float for friend goto if inline int long main new operator private public register return "
    "short signed sizeof static struct switch template this try typedef union unsigned using "
    "virtual void volatile while"
)

_HEADER = Template("""\
/* $operator
 *
$about
 */
#ifndef ${guard}_H
#define ${guard}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of DLPack's and TVM's C interfaces that a call needs. */
typedef struct {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} ${name}_tensor;

typedef struct {
  int32_t type_index;
  uint32_t padding;
  void* pointer;
} ${name}_any;

typedef int ${name}_function(void*, const ${name}_any*, int32_t, ${name}_any*);
$externs

$runtime

$sizes

enum { ${name}_$device, ${name}_TENSOR = 7, ${name}_MOST_TENSORS = 8 };

${loading}static inline int ${name}_call($call_parameters) {
  ${name}_any arguments[${name}_MOST_TENSORS], result = {0, 0, NULL};
  for (int i = 0; i < count; ++i) {
    if (!tensors[i].data || (uintptr_t)tensors[i].data % $alignment) return -1;
    arguments[i].type_index = ${name}_TENSOR;
    arguments[i].padding = 0;
    arguments[i].pointer = &tensors[i];
  }
$call
}

$functions
#ifdef __cplusplus
}
#endif
#endif
""")

# Usage notes for a kernel with constant weights.
_SEQUENCE = Template("""\
 *
 * The weights are constant: lay them out once, then pass the prepared weights to every call:
 *
 *     ${name}_prepare($given$weight, $prepared);
 *     $name($given$inputs, $result);
""")

_FUNCTION = Template("""\
static inline int $name($parameters) {
$shapes
  ${prefix}_tensor tensors[] = {
$tensors
  };
  return ${prefix}_call($given$symbol, tensors, $count);
}
""")


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
    parts = FOR_CPU if arch is None else FOR_GPU
    name = _identifier(stem)
    inputs, result = operator.arguments, operator.result
    arguments = (*inputs, result)
    functions = [_function(parts, name, name, "main", arguments)]
    sequence = ""
    if prepared is not None:
        weight = inputs[WEIGHT]
        given = with_weights(inputs, prepared)
        arguments = (*inputs, prepared, result)
        functions = [
            _function(parts, name, f"{name}_prepare", PREPARE, [weight, prepared]),
            _function(parts, name, name, "main", [*given, result]),
        ]
        sequence = _SEQUENCE.substitute(
            name=name,
            given=parts.given,
            weight=weight.name,
            prepared=prepared.name,
            inputs=", ".join(argument.name for argument in given),
            result=result.name,
        )
    symbols = ["main"] if prepared is None else [PREPARE, "main"]
    values = {
        "operator": operator.key,
        "library": shlex.quote(f"{stem}.so"),
        "processor": processor,
        "arch": arch,
        "alignment": 1 if arch is None else ALIGNMENT,
        "name": name,
        "guard": name.upper(),
        "sequence": sequence,
        "externs": "\n".join(f"extern {name}_function {_symbol(symbol)};" for symbol in symbols),
        "sizes": "\n".join(_size(name, argument) for argument in arguments),
        "functions": "\n".join(functions),
    }
    device_parts = {
        part: Template(getattr(parts, part)).substitute(values)
        for part in ("about", "runtime", "device", "loading", "call_parameters", "call")
    }
    return _HEADER.substitute(values, **device_parts)


def _function(
    parts: Parts, prefix: str, name: str, symbol: str, arguments: Sequence[Argument]
) -> str:
    """A C function on plain pointers that calls ``symbol`` of the library; the last is filled."""
    *inputs, result = arguments
    parameters = [f"const {_TYPES[a.dtype][2]}* {a.name}" for a in inputs]
    parameters.append(f"{_TYPES[result.dtype][2]}* {result.name}")
    place = Template(parts.place).substitute(prefix=prefix)
    return _FUNCTION.substitute(
        prefix=prefix,
        name=name,
        symbol=_symbol(symbol),
        given=parts.given,
        parameters=parts.parameters + ", ".join(parameters),
        shapes="\n".join(_shape(argument) for argument in arguments),
        tensors="\n".join(_tensor(place, argument) for argument in arguments),
        count=len(arguments),
    )


def _symbol(function: str) -> str:
    """The linker symbol that TVM gives a program's function."""
    return f"__tvm_ffi_{function}"


def _identifier(stem: str) -> str:
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"kernel_{name}" if name[:1].isdigit() or name in _RESERVED.split() else name


def _size(name: str, argument: Argument) -> str:
    shape = " x ".join(map(str, argument.shape))
    macro = f"{name}_{argument.name}_elements".upper()
    return f"#define {macro} {argument.elements} /* {shape}, {argument.dtype} */"


def _shape(argument: Argument) -> str:
    extents = ", ".join(map(str, argument.shape))
    return f"  int64_t {argument.name}_shape[] = {{{extents}}};"


def _tensor(place: str, argument: Argument) -> str:
    code, bits, _ = _TYPES[argument.dtype]
    return (
        f"      {{(void*){argument.name}, {place}, {len(argument.shape)}, {code}, {bits}, "
        f"1, {argument.name}_shape, NULL, 0}},"
    )
