"""Identifies the kind of machine. Times are comparable only between machines of one kind."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from pathlib import Path
from typing import Any

from tunesmith.compiler.sve import own_bytes
from tunesmith.errors import UsageError

_CPU_INFO = Path("/proc/cpuinfo")

# The instruction sets that influence a compiler's code for tensor programs.
_ISA = {
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "fphp", "bf16", "i8mm", "sve", "sve2", "sme"),
}


def this_machine(device: str | None = None) -> dict[str, Any]:
    """CPU, logical cores, memory (GiB), instruction sets and fingerprint of this machine.

    One with SVE also has the bytes of its vectors.
    ``device`` names the accelerator that programs run on, if any. Machines of the same kind have
    the same fingerprint; the host's name is not included.
    """
    machine: dict[str, Any] = {**_host()}
    machine["isa"] = list(machine["isa"])
    if device is not None:
        machine["device"] = device
    return {"fingerprint": fingerprint(machine), **machine}


def machine_of(task_key: str) -> dict[str, Any]:
    """This machine as recorded for a task: for a GPU task it includes the first GPU."""
    _, _, target = task_key.rpartition("@")
    return machine_for("cuda" if target.startswith("cuda") else "cpu")


def machine_for(kind: str) -> dict[str, Any]:
    """This machine for targets of a kind: with its first GPU for ``cuda``."""
    return this_machine(_gpu_name() if kind == "cuda" else None)


def _gpu_name() -> str | None:
    from tunesmith.cuda.devices import gpus

    try:
        return gpus()[0].name
    except UsageError:
        return None


def fingerprint(machine: dict[str, Any]) -> str:
    """16 hex digits, a hash of the properties that determine speed.

    Memory is left out: the reported size changes slightly with kernel updates, and the machine
    would no longer find its own records.
    """
    decisive = {k: v for k, v in machine.items() if k not in ("fingerprint", "memory_gib")}
    text = json.dumps(decisive, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _host() -> dict[str, Any]:
    import psutil

    fields = read_cpu_info(_CPU_INFO.read_text() if _CPU_INFO.exists() else "")
    return {
        "architecture": platform.machine(),
        "cpu": cpu_name(fields) or platform.processor() or platform.machine(),
        "cores": int(psutil.cpu_count(logical=True) or 1),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "isa": sorted(_ISA & set((fields.get("flags") or fields.get("Features") or "").split())),
        **({"sve_bytes": own_bytes()} if own_bytes() else {}),
    }


def read_cpu_info(text: str) -> dict[str, str]:
    """The fields of the first processor in the text of ``/proc/cpuinfo``."""
    first = text.strip().split("\n\n")[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def cpu_name(fields: dict[str, str]) -> str:
    """The model's name with its family and model numbers.

    Virtual machines often hide the name ("AMD EPYC"), and Arm has numbers only.
    """
    if "model name" in fields:
        numbers = [fields.get(name, "?") for name in ("cpu family", "model")]
        return f"{fields['model name']} (family {numbers[0]}, model {numbers[1]})"
    if "CPU part" in fields:
        return f"Arm implementer {fields.get('CPU implementer', '?')}, part {fields['CPU part']}"
    return ""
