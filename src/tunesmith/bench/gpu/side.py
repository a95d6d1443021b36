"""One side of a comparison on a GPU: a process that loads one program after the other and times it.

It reads JSON lines from standard input: first which side it is (``side``: ``ours`` or ``torch``,
and ``device``), then ``{"load": program}`` and ``{"seconds": s}`` for a round of what was loaded,
and answers each with a JSON line: that of a round says the ``way`` in which the library computes,
where it has several. It ends with its input, and with the process that started it, whose number is
its argument. Only one side is at work at a time, for each waits for its turn.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tunesmith.errors import describe
from tunesmith.measure.processes.containment import die_with

# Ways are compared before the first round: the best of so many short ones each.
_TRIED = 3
_TRIED_SECONDS = 0.01


class _Side(Protocol):
    @property
    def versions(self) -> Mapping[str, str]: ...

    @property
    def way(self) -> str | None:
        """In which way it computes, known after a round; None where there is but one."""
        ...

    def load(self, described: Mapping[str, Any]) -> None:
        """Take another program, maybe while the other side does the same."""
        ...

    def round(self, seconds: float) -> float:
        """Mean seconds of a call in a round of about so many."""
        ...


class OurSide:
    """Configs of sketches, built and run as in tuning."""

    versions: Mapping[str, str] = {}
    way = None

    def __init__(self, _: Mapping[str, Any]) -> None:
        from tunesmith.compiler.importing import load_compiler
        from tunesmith.cuda.driver import driver
        from tunesmith.cuda.gpu import Gpu

        load_compiler()
        self._gpu = Gpu(driver(), 0)
        self._loaded: Any = None

    def load(self, described: Mapping[str, Any]) -> None:
        from tunesmith.bench.gpu.kernel import GpuKernel

        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None
        self._loaded = GpuKernel(self._gpu, described)

    def round(self, seconds: float) -> float:
        return float(self._loaded.seconds(seconds))


class TorchSide:
    """PyTorch's operators, each in its fastest way."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        from tunesmith.bench.peers.torch_gpu import GpuTimer, HostTimer, Timer, use_full_precision

        self._device = described["device"]
        self._timer: Timer = GpuTimer() if self._device == "cuda" else HostTimer()
        use_full_precision()
        self._calls: Mapping[str, Callable[[], object]] = {}
        self._ways: dict[str, Callable[[float], float]] = {}
        self.way: str | None = None

    @property
    def versions(self) -> Mapping[str, str]:
        return self._timer.versions

    def load(self, described: Mapping[str, Any]) -> None:
        from tunesmith.bench.peers.torch_gpu import torch_ways
        from tunesmith.operators import operator_from_json

        self._ways.clear()
        self.way = None
        operator = operator_from_json(described["operator"])
        self._calls = torch_ways(operator, operator.make_inputs(seed=0), self._device)

    def _record(self) -> None:
        """Have cuDNN choose its algorithms, for which the GPU has to be its own."""
        failed: Exception | None = None
        for name, call in self._calls.items():
            try:
                self._ways[name] = self._timer.recorded(call)
            except Exception as error:  # one way is enough
                failed = error
        if not self._ways:
            assert failed is not None
            raise failed

    def round(self, seconds: float) -> float:
        if self.way is None:  # the first round, in which the other side stands still
            self._record()
            best = {
                name: min(timed(_TRIED_SECONDS) for _ in range(_TRIED))
                for name, timed in self._ways.items()
            }
            self.way = min(best, key=best.__getitem__)
            self._ways = {self.way: self._ways[self.way]}
        return self._ways[self.way](seconds)


_SIDES: Mapping[str, type[OurSide | TorchSide]] = {"ours": OurSide, "torch": TorchSide}


def main() -> None:
    die_with(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # what a library prints is no answer

        def answer(message: Mapping[str, Any]) -> None:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

        described = json.loads(sys.stdin.readline())
        try:
            side: _Side = _SIDES[described["side"]](described)
            answer({"versions": dict(side.versions)})
        except Exception as error:
            answer({"error": describe(error)})
            return
        for line in sys.stdin:
            command = json.loads(line)
            try:
                if "load" in command:
                    side.load(command["load"])
                    answer({"loaded": True})
                else:
                    answer({"seconds": side.round(command["seconds"]), "way": side.way})
            except Exception as error:
                answer({"error": describe(error)})


if __name__ == "__main__":
    main()
