"""What a device's server tells of the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunesmith.compiler import llvm
from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import TunesmithError
from tunesmith.machine import fingerprint, read_cpu_info, this_machine
from tunesmith.measure.processes.channel import Channel, ChannelClosedError
from tunesmith.measure.processes.child import Child
from tunesmith.measure.remote.messages import PROTOCOL

_CPU_INFO = Path("/proc/cpuinfo")

# How long LLVM may take to be loaded and to tell the processor, in seconds.
_PATIENCE = 60.0


def about_this_device() -> dict[str, Any]:
    """Its machine, LLVM's name of the processor and the cores for programs, JSON-ready."""
    return {
        "protocol": PROTOCOL,
        "machine": _machine(),
        "processor": _processor(),
        "cores": usable_cores(),
    }


def _machine() -> dict[str, Any]:
    """This machine; if a program emulates its processor, such as qemu, that is said instead of the
    name of the real one, on which times do not depend as they would on a real device's."""
    machine = this_machine()
    # Of an x86 processor the system tells flags; that is what an emulator's host has.
    fields = read_cpu_info(_CPU_INFO.read_text() if _CPU_INFO.exists() else "")
    if machine["architecture"] != "x86_64" and "flags" in fields:
        machine |= {"cpu": f"emulated {machine['architecture']}", "emulated": True}
        machine["fingerprint"] = fingerprint(machine)
    return machine


def _processor() -> str:
    """LLVM's name of the processor; ``generic`` where only TVM's runtime is installed.

    A process of its own asks: LLVM would stay in the memory of a device that may have little.
    """
    child = Child(_tell_processor, None, 1)
    try:
        child.channel.wait(_PATIENCE)
        return str(child.channel.receive()[0]["processor"])
    except (ChannelClosedError, IndexError):
        return llvm.GENERIC
    finally:
        child.kill()
        child.reap()


def _tell_processor(channel: Channel) -> None:
    try:
        name = llvm.host_processor()
    except TunesmithError:
        name = llvm.GENERIC
    channel.send({"processor": name})
    channel.wait()  # until this process is killed, or it might end before it was heard
