"""Which instructions a network's code may use, and whether this machine's processor has them."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from tunesmith.errors import TunesmithError
from tunesmith.networks.description import Description
from tunesmith.target import Target, host_instructions, instructions


def needed_instructions(processor: str, triple: str | None = None) -> list[str]:
    """The instruction sets that a network compiled for a processor may use.

    No program of ours uses AMX, which many virtual machines hide.
    """
    return sorted(name for name in instructions(processor, triple) if not name.startswith("amx"))


def missing_instructions(processor: str, triple: str | None = None) -> set[str]:
    """What code that is compiled for a processor may use, and this machine's processor lacks."""
    return set(needed_instructions(processor, triple)) - host_instructions()


def runs_here(target: Target) -> bool:
    """Whether this machine's processor runs what is compiled for a target's."""
    if target.architecture != platform.machine():
        return False
    return not missing_instructions(target.processor, target.triple)


def check_processor(description: Description) -> None:
    """Raises ``TunesmithError`` if this machine's processor is another one, or lacks an instruction
    that the network needs, which would kill the process."""
    if description.target.architecture != platform.machine():
        raise TunesmithError(
            f"the network is for {description.triple}: save it, and load it on such a machine"
        )
    check_missing(description, missing_instructions(description.processor, description.triple))


def check_missing(description: Description, missing: Iterable[str]) -> None:
    """Raises ``TunesmithError`` if any instruction is missing."""
    names = ", ".join(sorted(missing))
    if names:
        raise TunesmithError(
            f"the network was compiled for {description.processor} and needs {names}, which this "
            "processor lacks: compile it here"
        )
