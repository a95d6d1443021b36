"""The C header of a saved kernel: one function over plain pointers."""

from __future__ import annotations

import re
import shlex
from string import Template

from tunesmith.arrays import ALIGNMENT
from tunesmith.operators import Argument, Operator

# DLPack's code and bits of each type that operators have, and the type that stands for it in C.
_TYPES = {
    "float64": (2, 64, "double"),
    "float32": (2, 32, "float"),
    "float16": (2, 16, "uint16_t"),
    "bfloat16": (4, 16, "uint16_t"),
    "int8": (0, 8, "int8_t"),
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
 * All tensors are dense, in C order, and start at multiples of $alignment bytes (use
 * aligned_alloc). $name returns 0, or -1 if the call failed; then nothing is known of the result.
 * It may be called from one thread at a time. It needs a processor like $processor, and runs on
 * as many threads as the environment variable TVM_NUM_THREADS says (half of the processors if it
 * is unset). All kernels have the same symbols: link one to a program.
 *
 * Link with the shared library beside this header, libtvm_runtime and libtvm_ffi. With TVM and FFI
 * set to where these two are, which is lib in the folders of the Python packages tvm and tvm_ffi:
 *
 *   cc program.c $library -L"$$TVM" -L"$$FFI" -ltvm_runtime -ltvm_ffi -Wl,-rpath-link,"$$FFI"
 *   LD_LIBRARY_PATH=.:$$TVM:$$FFI ./a.out
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

extern int __tvm_ffi_main(void*, const ${name}_any*, int32_t, ${name}_any*);

/* What the library calls at run time; the runtime provides it. */
extern int TVMBackendParallelLaunch(void*, void*, int);
extern void* TVMBackendAllocWorkspace(int, int, uint64_t, int, int);
extern int TVMBackendFreeWorkspace(int, int, void*);
extern void* __TVMBackendParallelLaunch __attribute__((weak));
extern void* __TVMBackendAllocWorkspace __attribute__((weak));
extern void* __TVMBackendFreeWorkspace __attribute__((weak));

$sizes

static inline int $name($parameters) {
  enum { CPU = 1, TENSOR = 7 };
$shapes
  ${name}_tensor tensors[] = {
$tensors
  };
  ${name}_any arguments[$count], result = {0, 0, NULL};
  for (int i = 0; i < $count; ++i) {
    if (!tensors[i].data || (uintptr_t)tensors[i].data % $alignment) return -1;
    arguments[i].type_index = TENSOR;
    arguments[i].padding = 0;
    arguments[i].pointer = &tensors[i];
  }
  if (&__TVMBackendParallelLaunch) __TVMBackendParallelLaunch = (void*)TVMBackendParallelLaunch;
  if (&__TVMBackendAllocWorkspace) __TVMBackendAllocWorkspace = (void*)TVMBackendAllocWorkspace;
  if (&__TVMBackendFreeWorkspace) __TVMBackendFreeWorkspace = (void*)TVMBackendFreeWorkspace;
  return __tvm_ffi_main(NULL, arguments, $count, &result) ? -1 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
""")


def c_header(operator: Operator, stem: str, processor: str) -> str:
    """The text of the header for a library compiled for ``processor``.

    The function is called like the file, ``stem``, as far as C and C++ allow.
    """
    name = _identifier(stem)
    inputs, result = operator.arguments, operator.result
    arguments = (*inputs, result)
    parameters = [f"const {_TYPES[a.dtype][2]}* {a.name}" for a in inputs]
    parameters.append(f"{_TYPES[result.dtype][2]}* {result.name}")
    return _HEADER.substitute(
        operator=operator.key,
        library=shlex.quote(f"{stem}.so"),
        processor=processor,
        alignment=ALIGNMENT,
        name=name,
        guard=name.upper(),
        count=len(arguments),
        parameters=", ".join(parameters),
        sizes="\n".join(_size(name, argument) for argument in arguments),
        shapes="\n".join(_shape(argument) for argument in arguments),
        tensors="\n".join(_tensor(argument) for argument in arguments),
    )


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


def _tensor(argument: Argument) -> str:
    code, bits, _ = _TYPES[argument.dtype]
    return (
        f"      {{(void*){argument.name}, CPU, 0, {len(argument.shape)}, {code}, {bits}, 1, "
        f"{argument.name}_shape, NULL, 0}},"
    )
