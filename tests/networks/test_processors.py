"""Which processors run a network's code."""

from __future__ import annotations

import platform

from tunesmith.networks.processors import needed_instructions, runs_here
from tunesmith.target import TRIPLES, Target


def test_this_machine_runs_its_own_code_and_no_other_platforms() -> None:
    assert runs_here(Target())
    for triple in TRIPLES:
        ours = triple.startswith(platform.machine())
        assert runs_here(Target(triple=triple)) == ours


def test_processors_need_more_or_less() -> None:
    aarch64 = "aarch64-linux-gnu"
    assert needed_instructions("generic", aarch64) == ["neon"]
    assert needed_instructions("cortex-a72", aarch64) == ["neon"]
    assert {"dotprod", "fullfp16", "sve", "sve256"} <= set(
        needed_instructions("neoverse-v1", aarch64)
    )
