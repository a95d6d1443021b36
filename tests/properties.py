"""How many examples the tests of properties try, and which.

``make test`` tries the same ones each time, so that a failure comes back by itself. ``make
test-thorough`` loads the profile ``thorough``: ever new examples, and ten times as many. Both print
the decorator that brings a failing one back.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

# How long an example takes says more of the machine than of the code.
_COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
THOROUGH = "thorough"


def register_profiles() -> None:
    """Make the profiles known to Hypothesis, and load the one of ``make test``."""
    settings.register_profile("seeded", derandomize=True, **_COMMON)
    settings.register_profile(THOROUGH, derandomize=False, max_examples=1000, **_COMMON)
    settings.load_profile("seeded")


def examples(count: int) -> settings:
    """So many examples, in thorough tests ten times as many: for tests that build or run."""
    thorough = settings.get_current_profile_name() == THOROUGH
    return settings(max_examples=10 * count if thorough else count)
