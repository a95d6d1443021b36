"""How fast a GPU runs just now, and how warm it is, as NVIDIA's management library tells."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_uint, c_void_p
from typing import Any

LIBRARY = "libnvidia-ml.so.1"

# Of nvmlClockType_t and nvmlTemperatureSensors_t.
_MULTIPROCESSORS, _MEMORY = 1, 2
_CHIP = 0


class Clocks:
    """A GPU's clocks and temperature, by its place on the PCI bus; where they can be read."""

    def __init__(self, bus: str, library: str = LIBRARY) -> None:
        self._library: Any = None
        self._device = c_void_p()
        try:
            library_found = ctypes.CDLL(library)
            if (
                library_found.nvmlInit_v2() == 0
                and not library_found.nvmlDeviceGetHandleByPciBusId_v2(
                    c_char_p(bus.encode()), byref(self._device)
                )
            ):
                self._library = library_found
        except (OSError, AttributeError):
            pass  # it is no part of the driver on every machine

    def read(self) -> dict[str, int] | None:
        """``sm_mhz``, ``memory_mhz`` and ``celsius``; None where they cannot be read."""
        if self._library is None:
            return None
        figures = {
            "sm_mhz": self._figure("nvmlDeviceGetClockInfo", _MULTIPROCESSORS),
            "memory_mhz": self._figure("nvmlDeviceGetClockInfo", _MEMORY),
            "celsius": self._figure("nvmlDeviceGetTemperature", _CHIP),
        }
        return {name: figure for name, figure in figures.items() if figure is not None} or None

    def _figure(self, function: str, kind: int) -> int | None:
        value = c_uint()
        code = getattr(self._library, function)(self._device, kind, byref(value))
        return None if code else value.value
