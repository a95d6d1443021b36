"""From the CUDA C++ that TVM writes to C++ for a CPU, with a way in for the emulated driver."""

from __future__ import annotations

import re

from tunesmith.errors import TunesmithError

_SHARED = re.compile(r"__shared__ (alignas\(\d+\) )?([\w ]+? (\w+)\[\d+\];)")
_DYNAMIC = re.compile(r"extern __shared__ __align__\((\d+)\) ([\w ]+?) (\w+)\[\];")
_KERNEL = re.compile(r'extern "C" __global__ void .*?(\w+)\(([^)]*)\)\s*\{')

# A statement of PTX: its text, results, operands, and what else it changes.
_ASM = re.compile(
    r'(?:__asm__ __volatile__|asm volatile)\(\s*((?:"[^"]*"\s*)+)((?:[^;"]|"[^"]*")*)\);'
)
_OPERAND = re.compile(r'"=?\+?\w"\((\w+)\)')

# What PTX is called in warp.hpp and warpgroup.hpp, where it takes results and operands in the order
# of the statement: each statement with its name, to be filled in with parts of the statement.
_PTX = {
    r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(f16|bf16)\.\1\.f32 "
    r"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};": "mma_m16n8k16<{}>",
    r"ldmatrix\.sync\.aligned\.m8n8\.(x[124])(\.trans|)\.shared\.b16 "
    r"{%0(?:, %\d)*}, \[%\d\];": "ldmatrix_{}<{}>",
    r"cp\.async\.(?:ca|cg)\.shared\.global \[%0\], \[%1\], (\d+)(?:, %2)?;": "cp_async<{}>",
    r"cp\.async\.(?:ca|cg)\.shared\.global \[%0\], \[%1\], %2;": "cp_async_of",
    # A copy, or zeros at once.
    r"{ \.reg \.pred p; setp\.eq\.u32 p, %3, 1; "
    r"@p cp\.async\.(?:ca|cg)\.shared\.global \[%0\], \[%1\], %2; "
    r"@!p st\.shared(?:\.v[24])?\.u32 \[%0\], {%4(?:, %\d)*}; }": "cp_async_or_zeros",
    r"cp\.async\.commit_group;": "cp_async_commit_group",
    r"cp\.async\.wait_group (\d+);": "cp_async_wait_group<{}>",
    # The predicate says whether to add to the sums.
    r"{ \.reg \.pred (\w+); setp\.ne\.b32 \1, %\d+, 0; "
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(f16|bf16)\.\3 "
    r"{%0(?:, %\d+)*}, %\d+, %\d+, \1, 1, 1, ([01]), ([01]); }": (
        "wgmma_mma_async<{2}, {1}, {3}, {4}>"
    ),
    r"wgmma\.fence\.sync\.aligned;": "wgmma_fence",
    r"wgmma\.commit_group\.sync\.aligned;": "wgmma_commit_group",
    r"wgmma\.wait_group\.sync\.aligned (\d+);": "wgmma_wait_group<{}>",
    r"fence\.proxy\.async(?:\.shared::cta)?;": "fence_proxy_async",
}
_WORDS = {"f16": "half", "bf16": "nv_bfloat16", ".trans": "true", "": "false"}

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
    """The C++ of CUDA C++. It includes ``device.hpp``; ``kernel_NAME`` is each function's entry.

    Raises ``TunesmithError`` for a statement of PTX that the emulated GPU does not know.
    """
    entries = "".join(_entry(name, words) for name, words in _KERNEL.findall(source))
    # Shared memory is that of the one block that runs; C++ wants its words in this order.
    source = _SHARED.sub(r"\1static \2 UNWRITTEN(\3)", source)
    source = _DYNAMIC.sub(
        r"\2* \3 = (\2*)dynamic_shared_memory; dynamic_shared_start = \1;", source
    )
    source = _ASM.sub(_call, source)
    return f'#include "device.hpp"\n{source}{entries}'


def _call(statement: re.Match[str]) -> str:
    """The call of a function of the headers that does what a statement of PTX does."""
    text = " ".join("".join(re.findall(r'"([^"]*)"', statement[1])).replace(r"\n", " ").split())
    for known, name in _PTX.items():
        found = re.fullmatch(known, text)
        if found:
            parts = (_WORDS.get(part, part) for part in found.groups())
            return f"{name.format(*parts)}({', '.join(_OPERAND.findall(statement[2]))});"
    raise TunesmithError(f"the emulated GPU does not know this PTX: {text}")


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
