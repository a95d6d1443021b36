"""What Linux says of an AArch64 processor, on emulated ones."""

from __future__ import annotations

import pytest

from tests.cli.command import Process
from tests.measure.remote.aarch64 import aarch64_python, needs_aarch64

ASKING = (
    "from tunesmith.compiler.aarch64 import missing_on_aarch64\n"
    "names = 'neon fullfp16 dotprod i8mm bf16 sve sve256 sve512 sve2 sme no-such'\n"
    "print(*sorted(missing_on_aarch64(names.split())))"
)


@pytest.mark.slow
@needs_aarch64
@pytest.mark.parametrize(
    ("processor", "missing"),
    [
        ("cortex-a72", "bf16 dotprod fullfp16 i8mm sme sve sve2 sve256 sve512"),
        ("neoverse-n1", "bf16 i8mm sme sve sve2 sve256 sve512"),
        ("a64fx", "bf16 dotprod i8mm sme sve2"),
        # Whose system has made vectors shorter.
        ("a64fx,sve-default-vector-length=32", "bf16 dotprod i8mm sme sve2 sve512"),
    ],
)
def test_linux_says_what_an_arm_processor_has(processor: str, missing: str) -> None:
    python, environment = aarch64_python()
    environment["QEMU_CPU"] = processor
    process = Process.start(["-c", ASKING], command=python, env=environment)
    with process.cleaned_up():
        ran = process.wait()
    assert (ran.code, ran.out) == (0, f"{missing}\n")
