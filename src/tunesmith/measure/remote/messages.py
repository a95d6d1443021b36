"""What a host and a device say to each other, by functions of TVM's RPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from tunesmith.operators import Argument
from tunesmith.problem import MeasureSettings

PROTOCOL = 1
"""Changes when hosts and devices of two versions would misunderstand each other."""

ABOUT = "tunesmith.device.about"
PREPARE = "tunesmith.device.prepare"
EXECUTE = "tunesmith.device.execute"
FORGET = "tunesmith.device.forget"
"""Names of the device's functions, which take and return JSON as text."""

REFERENCE = "reference"
"""The name of the file of expected results."""


def input_file(number: int) -> str:
    """The name of an input's file."""
    return f"input{number}"


@dataclass(frozen=True)
class DeviceJob:
    """What a device has to know to run programs and to check what they compute.

    The files of the inputs and, if ``verified``, of the reference, are their bytes.
    """

    inputs: tuple[Argument, ...]
    result: Argument
    tolerance: tuple[float, float]
    cores: int
    settings: MeasureSettings

    @property
    def verified(self) -> bool:
        return self.settings.verify

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json``. Raises ``KeyError`` or ``TypeError`` for anything else."""
        relative, absolute = data["tolerance"]
        return cls(
            tuple(argument_from_json(one) for one in data["inputs"]),
            argument_from_json(data["result"]),
            (float(relative), float(absolute)),
            int(data["cores"]),
            MeasureSettings(**data["settings"]),
        )


def argument_from_json(data: Mapping[str, Any]) -> Argument:
    """From the fields of an ``Argument``."""
    return Argument(str(data["name"]), tuple(data["shape"]), str(data["dtype"]))
