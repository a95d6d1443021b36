"""The C header of a saved kernel: its functions over plain pointers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from string import Template

from tunesmith.kernel.arrays import ALIGNMENT
from tunesmith.kernel.c_header_parts import FOR_CPU, FOR_GPU, Parts
from tunesmith.operators import Argument, Operator
from tunesmith.sketches.tir.weights import PREPARE, WEIGHT, with_weights

# DLPack's code and bits of each type that programs have, and the type that stands for it in C.
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

# Words that are likely names of files and no names of functions.
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

# What the header of a kernel with constant weights says besides.
_SEQUENCE = Template("""\
 *
 * The weights are constant: lay them out once, then call as often as you like, with what came of
 * them in their place:
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
    """The text of the header for a library compiled for ``processor``, and for a GPU with ``arch``.

    The function is called like the file, ``stem``, as far as C and C++ allow. ``prepared`` is what
    the library's ``prepare`` makes of the weights, None where it has no such function; it is
    declared as a second function then.
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
    words = {
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
    of_device = {part: Template(text).substitute(words) for part, text in _of_header(parts)}
    return _HEADER.substitute(words, **of_device)


def _of_header(parts: Parts) -> Iterator[tuple[str, str]]:
    """The parts that are the header's own, each with its name."""
    for part in ("about", "runtime", "device", "loading", "call_parameters", "call"):
        yield part, getattr(parts, part)


def _function(
    parts: Parts, prefix: str, name: str, symbol: str, arguments: Sequence[Argument]
) -> str:
    """A function over plain pointers that calls one of the library's, which fills the last."""
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
    """What TVM calls a function of a program in the library."""
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
