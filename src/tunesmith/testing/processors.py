"""The processors that sketches for CPUs are tested for: those whose code this machine can run.

What holds for 32 vector registers of 512 bits may not for 16 of 256 bits, and the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from tunesmith.target import Target, instructions

# Code for it runs wherever there is AVX2.
_AVX2 = Target(mcpu="haswell")


@cache
def cpu_targets() -> Sequence[Target]:
    """This machine's processor, and where that has AVX-512 one with AVX2 alone (imports TVM)."""
    here = Target()
    return (here, _AVX2) if "avx512f" in here.instructions else (here,)


def cpu_target_parameters() -> list[Any]:
    """The same as parameters of a test, by the instructions they have; AVX-512 is skipped where
    this machine has none."""
    named = {_name(target): target for target in cpu_targets()}
    missing = pytest.mark.skip(reason="this processor has no AVX-512")
    parameters = [pytest.param(target, id=name) for name, target in named.items()]
    if "avx512" not in named:
        parameters.append(pytest.param(None, id="avx512", marks=missing))
    return parameters


def _name(target: Target) -> str:
    known = instructions(target.processor)
    names = {"avx512f": "avx512", "avx2": "avx2"}
    return next((name for needed, name in names.items() if needed in known), target.processor)
