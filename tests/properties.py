"""How many examples the tests of properties try, and which.

``make test`` tries a sample, the same one each time, so that a failure comes back by itself. ``make
test-thorough`` loads the profile ``thorough``: ever new examples, and many times as many. Both
print the decorator that brings a failing one back.
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
# A test of a property without a word on how many.
_SAMPLE, _ALL = 30, 1000


def register_profiles() -> None:
    """Make the profiles known to Hypothesis, and load the one of ``make test``."""
    settings.register_profile("seeded", derandomize=True, max_examples=_SAMPLE, **_COMMON)
    settings.register_profile(THOROUGH, derandomize=False, max_examples=_ALL, **_COMMON)
    settings.load_profile("seeded")


def examples(count: int) -> settings:
    """Settings for tests whose examples take long, or must meet rare cases.

    Ten times ``count`` examples in thorough tests, else a quarter of it, but not under
    min(count, 6).
    """
    thorough = settings.get_current_profile_name() == THOROUGH
    return settings(max_examples=10 * count if thorough else min(count, max(6, count // 4)))
