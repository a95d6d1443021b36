"""The same edits on code for NVIDIA's GPUs: how many are valid, and whether ``ptxas`` takes them.

No GPU is needed: nothing runs.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tunesmith.evolve.edit import InvalidEditError
from tunesmith.evolve.llvm.build import llvm, parse
from tunesmith.evolve.llvm.representation import LLVMCode

ARCHITECTURE = "sm_80"

KERNEL = """
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @momentum_sgd(ptr addrspace(1) %p, ptr addrspace(1) %g,
                                     ptr addrspace(1) %m, i32 %n, float %rate, float %decay) {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %block, %size
  %i = add i32 %first, %thread
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %update, label %end

update:
  %at = sext i32 %i to i64
  %m.at = getelementptr float, ptr addrspace(1) %m, i64 %at
  %g.at = getelementptr float, ptr addrspace(1) %g, i64 %at
  %p.at = getelementptr float, ptr addrspace(1) %p, i64 %at
  %before = load float, ptr addrspace(1) %m.at, align 4
  %gradient = load float, ptr addrspace(1) %g.at, align 4
  %kept = fmul float %decay, %before
  %scaled = fmul float %rate, %gradient
  %after = fadd float %kept, %scaled
  store float %after, ptr addrspace(1) %m.at, align 4
  %more = fadd float %decay, 1.000000e+00
  %ahead = fmul float %more, %after
  %step = fsub float %ahead, %kept
  store float %step, ptr addrspace(1) %g.at, align 4
  %parameter = load float, ptr addrspace(1) %p.at, align 4
  %changed = fsub float %parameter, %step
  store float %changed, ptr addrspace(1) %p.at, align 4
  br label %end

end:
  ret void
}
"""
"""Momentum SGD, a thread for each parameter ("GEVO-ML", figure 5)."""


def check_edits(tries: int, seed: int = 0) -> dict[str, Any]:
    """Draw so many edits: how many are ``valid`` LLVM-IR, become PTX (``emitted``), and are
    ``assembled`` by ``ptxas``, None where it is not installed; and the ``milliseconds`` of each
    edit."""
    code = LLVMCode(KERNEL, "momentum_sgd")
    original, chance = code.apply([]), random.Random(seed)
    programs = set()
    begun = time.perf_counter()
    valid = 0
    for _ in range(tries):
        try:
            text = code.apply([code.draw([], chance)])
        except InvalidEditError:
            continue
        if text != original:
            valid += 1
            programs.add(text)
    seconds = time.perf_counter() - begun
    emitted = [ptx(text) for text in sorted(programs)]
    assembler = shutil.which("ptxas")
    assembled = None if assembler is None else sum(map(_assembles, emitted))
    return {
        "tries": tries,
        "valid": valid,
        "programs": len(programs),
        "emitted": len(emitted),
        "assembled": assembled,
        "milliseconds": 1e3 * seconds / tries,
    }


def ptx(text: str) -> str:
    """A module as PTX. Raises ``UsageError`` for what does not parse."""
    binding = llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(
        cpu=ARCHITECTURE, opt=3
    )
    return str(machine.emit_assembly(parse(text)))


def _assembles(code: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(code)
        ran = subprocess.run(
            ["ptxas", f"-arch={ARCHITECTURE}", str(source), "-o", f"{folder}/kernel.cubin"],
            capture_output=True,
            check=False,
            timeout=60,
        )
        return ran.returncode == 0
