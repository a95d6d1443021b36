"""Tests for processors of both kinds: 16 vector registers of 256 bits, and 32 of 512."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from tunesmith.testing.processors import cpu_target_parameters, cpu_targets

each_target = pytest.mark.parametrize("target", cpu_target_parameters())
"""The test runs for each processor whose code this machine can run."""

any_target = st.sampled_from(cpu_targets())
"""One of them, for tests of properties."""
