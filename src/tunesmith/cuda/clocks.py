"""A GPU's clock rates and temperature, from NVIDIA's management library (NVML)."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import byref, c_char_p, c_uint, c_void_p
from typing import Any

from tunesmith.measurement import DeviceState

LIBRARY = "libnvidia-ml.so.1"

# Values of nvmlClockType_t and nvmlTemperatureSensors_t.
_MULTIPROCESSORS, _MEMORY = 1, 2
_CHIP = 0


class Clocks:
    """Reads the clocks and temperature of the GPU with a PCI bus ID, if NVML is installed."""

    def __init__(self, bus: str, library: str = LIBRARY) -> None:
        self._library: Any = None
        self._device = c_void_p()
        with contextlib.suppress(OSError, AttributeError):  # not every machine has NVML
            found = ctypes.CDLL(library)
            place = c_char_p(bus.encode())
            if not (
                found.nvmlInit_v2()
                or found.nvmlDeviceGetHandleByPciBusId_v2(place, byref(self._device))
            ):
                self._library = found

    def read(self) -> DeviceState | None:
        """Their present values; None if none can be read."""
        state = DeviceState(
            sm_mhz=self._figure("nvmlDeviceGetClockInfo", _MULTIPROCESSORS),
            memory_mhz=self._figure("nvmlDeviceGetClockInfo", _MEMORY),
            celsius=self._figure("nvmlDeviceGetTemperature", _CHIP),
        )
        return None if state == DeviceState() else state

    def _figure(self, function: str, kind: int) -> int | None:
        if self._library is None:
            return None
        value = c_uint()
        code = getattr(self._library, function)(self._device, kind, byref(value))
        return None if code else value.value
