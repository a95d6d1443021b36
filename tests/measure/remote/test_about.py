"""What a device tells of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunesmith import machine
from tunesmith.machine import this_machine
from tunesmith.measure.remote.device import about
from tunesmith.measure.remote.device.about import about_this_device

ARM = "processor : 0\nFeatures : fp asimd\nCPU implementer : 0x41\nCPU part : 0xd08\n"
X86 = "processor : 0\nmodel name : Some Xeon\nflags : fpu sse4_2 avx2\n"


def test_this_machine_is_what_it_is() -> None:
    assert about_this_device()["machine"] == this_machine()


@pytest.mark.parametrize(
    ("told", "name"),
    [(ARM, "Arm implementer 0x41, part 0xd08"), (X86, "emulated aarch64")],
)
def test_an_emulated_processor_is_told_from_a_real_one(
    told: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(told)
    monkeypatch.setattr(about, "_CPU_INFO", file)
    own = {"architecture": "aarch64", "cpu": machine.cpu_name(machine.read_cpu_info(told))}
    own["fingerprint"] = machine.fingerprint(own)
    monkeypatch.setattr(about, "this_machine", lambda: dict(own))
    found = about._machine()
    assert found["cpu"] == name
    assert found.get("emulated", False) == (told == X86)
    assert (found["fingerprint"] == own["fingerprint"]) == (told == ARM)
    assert found["fingerprint"] == machine.fingerprint(found)
