"""From the CUDA C++ that TVM writes to C++ for a CPU, with a way in for the emulated driver."""

from __future__ import annotations

import re

_SHARED = re.compile(r"__shared__ (alignas\(\d+\) )?([\w ]+? (\w+)\[\d+\];)")
_DYNAMIC = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];")
_KERNEL = re.compile(r'extern "C" __global__ void .*?(\w+)\(([^)]*)\)\s*\{')

_ENTRY = """
{kept}
static void call_{name}() {{ {name}({variables}); }}
static int run_{name}(const Launch* launch, void** given) {{
  {assigned}
  return run_grid(launch, call_{name});
}}
static const int bytes_{name}[] = {{{sizes}}};
extern "C" const Kernel kernel_{name} = {{run_{name}, {count}, bytes_{name}}};
"""


def to_cpp(source: str) -> str:
    """The C++ of CUDA C++. It includes ``device.hpp``; ``kernel_NAME`` is each function's entry."""
    entries = "".join(_entry(name, words) for name, words in _KERNEL.findall(source))
    # Shared memory is that of the one block that runs; C++ wants its words in this order.
    source = _SHARED.sub(r"\1static \2 UNWRITTEN(\3)", source)
    source = _DYNAMIC.sub(r"\1* \2 = (\1*)dynamic_shared_memory;", source)
    return f'#include "device.hpp"\n{source}{entries}'


def kernels_of(source: str) -> list[str]:
    """The names of the functions that CUDA C++ has for the GPU."""
    return [name for name, _ in _KERNEL.findall(source)]


def _entry(name: str, parameters: str) -> str:
    """Where a launch comes in: parameters are kept in variables, for a fiber takes none."""
    cleaned = (word.replace("__restrict__", "").strip() for word in parameters.split(","))
    words = [word.removeprefix("const ") for word in cleaned if word]
    kept = [re.sub(r"(\w+)$", rf"{name}_\1", word) for word in words]
    types = [re.sub(r"\w+$", "", word).strip() for word in words]
    variables = [word.split()[-1].strip("*") for word in kept]
    return _ENTRY.format(
        name=name,
        kept="".join(f"static {word};" for word in kept),
        variables=", ".join(variables),
        assigned=" ".join(
            f"{variable} = *({kind}*)given[{place}];"
            for place, (variable, kind) in enumerate(zip(variables, types, strict=True))
        ),
        sizes=", ".join(f"sizeof({variable})" for variable in variables) or "0",
        count=len(variables),
    )
