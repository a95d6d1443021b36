"""A plug-in of pytest: Ctrl-C reaches the processes under test, however the tests were started.

A shell without job control (a script's, say) starts what it puts in the background with SIGINT
ignored, and every process further down inherits that.
"""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Heed SIGINT again, and with us all that we start from here on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
