"""The handle of one side of a comparison: a process that times its program when asked."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from tunesmith.bench.timing.line_process import LineProcess

ROUND_SECONDS = 0.05
# Compilers may take minutes of a busy machine; a side that takes longer is given up.
PREPARATION_SECONDS = 180.0
# A round lasts a fraction of a second, or one slow call.
_ANSWER_SECONDS = 60.0
# What libraries read to learn how many threads they may start.
_THREADS = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Side(LineProcess):
    """A process that times its program when asked.

    The process runs a ``module`` of ours that makes the program of the ``description`` (see
    ``serving``); ``cores`` of it is how many threads the process may use, ``environment`` what
    its library reads when it is loaded. It prepares itself while others do; ``patience`` is how
    many seconds ``ready`` waits for it.
    """

    def __init__(
        self,
        module: str,
        description: Mapping[str, Any],
        patience: float = PREPARATION_SECONDS,
    ) -> None:
        threads = dict.fromkeys(_THREADS, str(description["cores"]))
        switches = description.get("environment", {})
        super().__init__(module, {**threads, **switches})
        self.way: str | None = None
        """How its library computes, known after a round; None where it has but one way."""
        self.first = 0.0
        """Seconds of its first call, known once it is ready."""
        self.peak_bytes = 0
        """The most memory that it had used after that call."""
        self._patience = patience
        self._ready = False
        self.say(description)

    def ready(self) -> None:
        """Wait until it is prepared. Raises ``TunesmithError`` if it cannot run its program."""
        if not self._ready:
            answer = self.answer(self._patience)
            self.first, self.peak_bytes = float(answer["first"]), int(answer["peak_bytes"])
            self._ready = True

    def round(self, seconds: float = ROUND_SECONDS) -> float:
        """Mean seconds of a call over about ``seconds``. Raises ``TunesmithError`` as ``ready``."""
        self.ready()
        self.say({"seconds": seconds})
        answer = self.answer(_ANSWER_SECONDS)
        self.way = answer["way"]
        return float(answer["seconds"])

    def stop(self) -> None:
        """Let it do nothing at all until ``go``: threads that wait would burn processor time."""
        self.signal(signal.SIGSTOP)

    def go(self) -> None:
        """End a ``stop``."""
        self.signal(signal.SIGCONT)
