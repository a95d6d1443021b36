"""Numbers as text for users: three significant digits, a unit, thousands separators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tunesmith.measurement import Outcome

NOTHING = "–"
"""Shown where there is no number."""

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_FLOP_UNITS = (
    (1e15, "PFLOP/s"),
    (1e12, "TFLOP/s"),
    (1e9, "GFLOP/s"),
    (1e6, "MFLOP/s"),
    (1e3, "kFLOP/s"),
    (1.0, "FLOP/s"),
)
_CALL_UNITS = ((1e9, "G calls/s"), (1e6, "M calls/s"), (1.0, "calls/s"))

_DIGITS = 3


def number(value: float) -> str:
    """Three significant digits, or more if the integer part has more: 0.0123, 1.20, 115, 12,345."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    # Rounding may add a digit: 9.996 is 10.0, not 10.00.
    decimals = _DIGITS - 1 - math.floor(math.log10(abs(round(value, decimals))))
    return f"{value:,.{max(decimals, 0)}f}"


def count(value: int) -> str:
    """A whole number with thousands separators."""
    return f"{value:,}"


def counted(value: int, thing: str) -> str:
    """A number of things: 1 trial, 2,000 trials."""
    return f"{count(value)} {thing}{'' if value == 1 else 's'}"


def seconds(value: float | None) -> str:
    """The time of one call in a suitable unit: 12.3 ns, 321 µs, 1.00 ms, 2.50 s."""
    if value is None or not math.isfinite(value):
        return NOTHING
    least = _TIME_UNITS[-1] if value else _TIME_UNITS[0]
    size, name = next((unit for unit in _TIME_UNITS if _rounded(value / unit[0]) >= 1), least)
    return f"{number(value / size)} {name}"


def duration(value: float) -> str:
    """Wall-clock seconds: 0.4 s, 48 s, 2 min 05 s, 1 h 02 min, 3 d 04 h."""
    if not math.isfinite(value):
        return NOTHING
    if 0 < value < 9.95:
        return f"{value:.1f} s" if value >= 0.05 else "<0.1 s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(value / 60)
    if minutes < 1440:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(value / 3600)
    return f"{count(hours // 24)} d {hours % 24:02d} h"


def share(part: float, whole: float) -> str:
    """A share in percent: 12 %; <1 % and >99 % if it would round to 0 % or 100 % but is not."""
    if not whole > 0:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return "<1 %"
    if 99.5 <= percent < 100:
        return ">99 %"
    return f"{percent:.0f} %"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent with ``digits`` decimals: 12.3 %."""
    return NOTHING if share is None else f"{decimal(100 * share, digits)} %"


def percent_with_error(share: float, error: float, runs: int) -> str:
    """A share and its standard error over so many runs, in percent, for a column that says so:
    93.4 ± 1.2. A single run has no error."""
    return f"{100 * share:.1f}" + (f" ± {100 * error:.1f}" if runs > 1 else "")


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with ``digits`` decimals, for a column: 1,234.50."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def decimal_with_error(value: float | None, error: float | None) -> str:
    """A number and its standard error with two decimals each: 0.93 ± 0.02."""
    return NOTHING if value is None else f"{decimal(value)} ± {decimal(error)}"


def gain(baseline: float | None, value: float | None) -> str:
    """The speedup over the baseline, both in seconds: 2.87×."""
    if baseline is None or value is None or not (math.isfinite(baseline) and 0 < value < math.inf):
        return NOTHING
    return f"{number(baseline / value)}×"


def faster_than(baseline: float, value: float, name: str) -> str:
    """The speedup in words: 2.87× faster (or slower) than ``name``, or as fast as ``name``."""
    ratio = baseline / value
    if number(max(ratio, 1 / ratio)) == number(1):
        return f"as fast as {name}"
    return f"{number(max(ratio, 1 / ratio))}× {'faster' if ratio > 1 else 'slower'} than {name}"


def outcome_name(outcome: Outcome) -> str:
    """The outcome in words: valid, wrong answer, build timeout."""
    return "valid" if outcome is Outcome.NO_ERROR else outcome.name.lower().replace("_", " ")


def config_value(value: object) -> str:
    """A config's value as text: the parts of a tuple with commas, booleans as in JSON."""
    if isinstance(value, tuple | list):
        return f"({', '.join(config_value(part) for part in value)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def listed(values: Mapping[str, object]) -> str:
    """Names and values: ``kind = llvm, num-cores = 2``; what is not set is left out."""
    given = {name: value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} = {config_value(value)}" for name, value in given.items())


@dataclass(frozen=True, slots=True)
class SpeedUnit:
    """The common unit of a column or an axis.

    ``flops`` are the operations of one call; if that is None, speeds are in calls per second.
    """

    flops: float | None
    size: float
    name: str

    @classmethod
    def suiting(cls, flops: float | None, times: Sequence[float | None]) -> Self:
        """The unit in which the fastest of ``times`` (seconds per call) is between 1 and 1000."""
        work = flops or 1.0
        valid = [time for time in times if time is not None and 0 < time < math.inf]
        fastest = max((work / time for time in valid), default=1e9 if flops else 1.0)
        units = _FLOP_UNITS if flops else _CALL_UNITS
        size, name = next((unit for unit in units if _rounded(fastest / unit[0]) >= 1), units[-1])
        return cls(flops, size, name)

    def value(self, time: float | None) -> float | None:
        """The speed of a call of ``time`` seconds in this unit; None if it has none."""
        if time is None or not 0 < time < math.inf:
            return None
        return (self.flops or 1.0) / time / self.size

    def amount(self, time: float | None) -> str:
        """The speed without the unit's name, for a column with the unit in its head."""
        value = self.value(time)
        return NOTHING if value is None else number(value)


def speed(time: float | None, flops: float | None) -> str:
    """The speed of a call of ``time`` seconds: 115 GFLOP/s, or 3,120 calls/s without ``flops``."""
    unit = SpeedUnit.suiting(flops, [time])
    amount = unit.amount(time)
    return amount if amount == NOTHING else f"{amount} {unit.name}"


def _rounded(value: float) -> float:
    """``value`` as rounded for display, so that 999.7 µs becomes 1.00 ms and not 1,000 µs."""
    return float(f"{value:.{_DIGITS - 1}e}")
