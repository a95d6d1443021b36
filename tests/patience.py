"""How long a test waits for another process before it counts as hanging."""

from __future__ import annotations

PATIENCE = 600.0
"""In seconds. Long enough for a slow machine whose cores are all busy with something else: it ends
a test that hangs, and says nothing about how fast anything is."""
