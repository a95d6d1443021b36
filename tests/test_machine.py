"""The fingerprint of a machine, and the versions of libraries."""

from __future__ import annotations

import json
import platform
import socket
from importlib import metadata

import pytest

from tunesmith.machine import cpu_name, fingerprint, read_cpu_info
from tunesmith.store import library_versions, this_machine

_X86 = """processor\t: 0
model name\t: AMD EPYC
cpu family\t: 25
model\t\t: 17
flags\t\t: fpu avx2 fma

processor\t: 1
model name\t: another
"""
_ARM = """processor\t: 0
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


def test_this_machine_is_the_same_each_time() -> None:
    machine = this_machine()
    assert machine == this_machine()
    assert machine is not this_machine()
    assert machine["fingerprint"] == fingerprint(machine)
    assert machine["cores"] >= 1
    assert machine["cpu"]
    assert json.loads(json.dumps(machine)) == machine


def test_no_host_name_in_it() -> None:
    known = {"fingerprint", "architecture", "cpu", "cores", "memory_gib", "isa"}
    assert this_machine().keys() - {"sve_bytes"} == known
    assert socket.gethostname() not in this_machine().values()
    assert platform.node() not in this_machine().values()


def test_device_makes_another_machine() -> None:
    assert this_machine("one GPU")["device"] == "one GPU"
    prints = {this_machine(device)["fingerprint"] for device in (None, "one GPU", "another GPU")}
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("field", "value", "same"), [("memory_gib", 1, True), ("cores", 999, False), ("isa", [], False)]
)
def test_what_decides_speed_decides_the_fingerprint(field: str, value: object, same: bool) -> None:
    machine = this_machine()
    assert (fingerprint({**machine, field: value}) == machine["fingerprint"]) is same


def test_processor_names() -> None:
    assert cpu_name(read_cpu_info(_X86)) == "AMD EPYC (family 25, model 17)"
    assert cpu_name(read_cpu_info(_ARM)) == "Arm implementer 0x41, part 0xd40"
    assert cpu_name(read_cpu_info("")) == ""


def test_versions_of_what_is_installed() -> None:
    versions = library_versions()
    assert versions["python"] == platform.python_version()
    assert versions["numpy"] == metadata.version("numpy")
    versions["numpy"] = "changed"
    assert library_versions()["numpy"] == metadata.version("numpy")


def test_versions_leave_out_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tunesmith.store import versions

    monkeypatch.setattr(versions, "_DISTRIBUTIONS", ("no-such-distribution",))
    assert set(versions._installed.__wrapped__()) == {("python", platform.python_version())}
