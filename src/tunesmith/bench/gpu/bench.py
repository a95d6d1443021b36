"""``tunesmith bench gpu``: all that is to be known on a GPU, within minutes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tunesmith.bench.gpu.facts import gpu_facts, read_clocks
from tunesmith.bench.gpu.files import DATA, Figures, read_gpu, write_gpu
from tunesmith.bench.gpu.peers import GpuPeers
from tunesmith.bench.gpu.recording import SpaceSample
from tunesmith.bench.gpu.sketches import SketchCheck
from tunesmith.bench.gpu.tuning import tuned_fields
from tunesmith.bench.pages.provenance import origin_now, together
from tunesmith.bench.timing.gpu_time import Deadline, TimePlan
from tunesmith.budget import Stop
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.operators import Operator
from tunesmith.progress import Progress
from tunesmith.reports import format as fmt
from tunesmith.store import Store

PARTS: Mapping[str, float] = {"sketches": 3.0, "tuning": 10.0, "peers": 4.0, "recording": 3.0}
"""What is done, in this order, with the weights by which the parts share the time."""

NO_TIME = "no time was left"

# For what comes after the last part.
_SPARE = 4.0
# Less is no tuning: a measurer takes some seconds to get ready.
_LEAST_TUNING = 8.0
# Nor is a comparison or a recording begun with less than this.
_LEAST = 2.0


class Screen(Protocol):
    """Where the progress is shown."""

    def say(self, text: str) -> None:
        """A line."""
        ...

    def tuning(
        self, seconds: float, flops: float | None
    ) -> AbstractContextManager[Callable[[Progress], None]]:
        """Around a run of so many seconds; the function takes its latest state."""
        ...

    def counting(self, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Around so many things; the function takes how many are done."""
        ...


@dataclass(frozen=True)
class GpuSettings:
    """How long the whole may take, in seconds; which of the parts are done; how many random configs
    of each sketch are tried on an operator; how often the sides of a comparison take turns.

    With ``fresh`` tuning does not look at earlier trials. ``device`` is where PyTorch computes.
    Raises ``UsageError`` for a value that makes no sense.
    """

    seconds: float = 480.0
    parts: Sequence[str] = tuple(PARTS)
    samples: int = 4
    pairs: int = 25
    seed: int = 0
    fresh: bool = False
    device: str = "cuda"

    def __post_init__(self) -> None:
        for name in ("seconds", "pairs"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)}")
        if self.samples < 0 or self.seed < 0:
            raise UsageError("configs and seed must be 0 or more")


@dataclass
class GpuBench:
    """Measures the parts one after the other, and writes the files after each thing measured.

    ``whole`` says that nothing of an earlier run in the ``folder`` is to stay. The time counts from
    ``begun`` on, by ``time.monotonic``. A part that fails costs itself alone, for time on a GPU is
    dear; ``failed`` has the reasons.
    """

    settings: GpuSettings
    workloads: Mapping[str, Operator]
    check: SketchCheck
    sample: SpaceSample
    folder: Path
    store: Store
    screen: Screen
    whole: bool = True
    begun: float = field(default_factory=time.monotonic)
    failed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._figures = self._begin()
        self._rows: dict[str, dict[str, Any]] = {
            row["workload"]: row for row in self._figures["rows"]
        }

    def run(self) -> tuple[Figures, str]:
        """All parts. Returns the figures and the page.

        Raises ``KeyboardInterrupt`` if Ctrl-C ended it; what was measured until then is written.
        """
        parts = [part for part in PARTS if part in self.settings.parts]
        weights = {part: PARTS[part] for part in parts}
        late = time.monotonic() - self.begun
        plan = TimePlan(max(0.0, self.settings.seconds - late - _SPARE), weights)
        steps = {
            "sketches": self._sketches,
            "tuning": self._tuning,
            "peers": self._peers,
            "recording": self._recording,
        }
        for part in parts:
            begun = plan.spent
            try:
                steps[part](plan.begin(part))
            except Exception as error:
                self.failed[part] = self._told(error, f"{part}: ")
            self._figures["parts"][part] = {
                "seconds": plan.spent - begun,
                "failed": self.failed.get(part),
            }
            self._write()
        return self._write()

    def _begin(self) -> Figures:
        """What the files hold before anything is measured.

        Raises ``TunesmithError`` for figures of another machine that would stay.
        """
        fresh: Figures = {
            "gpu": gpu_facts(),
            **together([origin_now()]),
            "settings": asdict(self.settings),
            "parts": {},
            "libraries": {"missing": None, "versions": {}},
            "sketches": [],
            "rows": [],
            "recording": None,
        }
        known = None if self.whole else read_gpu(self.folder)
        if known is None:
            return fresh
        names = [(each["gpu"]["name"], each["machine"]["fingerprint"]) for each in (known, fresh)]
        if names[0] != names[1]:
            raise TunesmithError(
                f"{self.folder / DATA} holds figures of another machine ({names[0][0]}): name "
                "another folder with --output, or measure all anew (without --only and --workload)"
            )
        kept = ("parts", "libraries", "sketches", "rows", "recording")
        return fresh | {name: known[name] for name in kept if name in known}

    def _write(self) -> tuple[Figures, str]:
        return write_gpu(self.folder, {**self._figures, "rows": list(self._rows.values())})

    # -- the parts -------------------------------------------------------------------------------

    def _told(self, error: Exception, where: str = "") -> str:
        """What went wrong, in one line that is shown, too."""
        kind = "" if isinstance(error, TunesmithError) else f"{type(error).__name__}: "
        reason = kind + " ".join(str(error).split())
        self.screen.say(where + reason)
        return reason

    def _sketches(self, deadline: Deadline) -> None:
        total = self.check.planned
        self.screen.say(f"sketches: {total} small operators ...")
        with self.screen.counting(total) as done:

            def took(count: int) -> None:
                done(count)
                self._figures["sketches"] = self.check.rows()
                self._write()

            self.check.run(deadline, took)
        self._figures["sketches"] = self.check.rows()

    def _tuning(self, deadline: Deadline) -> None:
        for place, (name, operator) in enumerate(self.workloads.items()):
            seconds = max(_LEAST_TUNING, deadline.share(len(self.workloads) - place))
            row = {
                "workload": name,
                "operator": operator.to_json(),
                "origin": origin_now(settings={"seconds": seconds, "seed": self.settings.seed}),
                "comparison": {"missing": "not asked for"},
            }
            if deadline.left < _LEAST_TUNING:
                row["tuning"], stop = {"missing": NO_TIME}, Stop.SECONDS
            else:
                self.screen.say(f"{name}: tuning for {seconds:.0f} s ...")
                row["tuning"], stop = self._tuned(operator, seconds)
            self._rows[name] = row
            self._write()
            if stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt

    def _tuned(self, operator: Operator, seconds: float) -> tuple[dict[str, Any], Stop]:
        with self.screen.tuning(seconds, float(operator.flops)) as watch:
            try:
                fields, stop = tuned_fields(
                    operator,
                    self.check.target,
                    self.store,
                    seconds,
                    seed=self.settings.seed,
                    fresh=self.settings.fresh,
                    watch=watch,
                )
            except Exception as error:
                return {"missing": self._told(error)}, Stop.FAILED
        return {**fields, "clocks": read_clocks()}, stop

    def _peers(self, deadline: Deadline) -> None:
        if not self._rows.keys() & self.workloads.keys():
            raise TunesmithError(
                "nothing was tuned that could be compared: do not leave out tuning"
            )
        self.screen.say("peers: PyTorch gets ready ...")
        try:
            with contextlib.closing(GpuPeers(self.settings.device)) as peers:
                self._figures["libraries"] = {"missing": None, "versions": peers.versions()}
                for name, operator in self.workloads.items():
                    if name in self._rows:
                        self._rows[name]["comparison"] = self._compared(
                            peers, name, operator, deadline
                        )
                        self._write()
        except MissingDependencyError as error:
            self.leave_out_peers(str(error))

    def leave_out_peers(self, reason: str) -> None:
        """Say that there is nothing to compare with."""
        self.screen.say(f"no comparison: {reason}")
        self._figures["libraries"] = {"missing": reason, "versions": {}}
        for name in self.workloads:
            if name in self._rows:
                self._rows[name]["comparison"] = {"missing": reason}

    def _compared(
        self, peers: GpuPeers, name: str, operator: Operator, deadline: Deadline
    ) -> dict[str, Any]:
        found = self._rows[name]["tuning"]
        if "sketch" not in found:
            return {"missing": "there is nothing of ours"}
        if deadline.left < _LEAST:
            return {"missing": NO_TIME}
        try:
            compared = peers.compare(operator, found, self.settings.pairs)
        except Exception as error:
            return {"missing": self._told(error, f"{name}: ")}
        library = compared["library"]
        self.screen.say(
            f"{name}: {fmt.speed(compared['seconds'], operator.flops)}, {compared['ratio']:.2f} "
            f"times as fast as {library['name']} ({library['way']})"
        )
        return compared

    def _recording(self, deadline: Deadline) -> None:
        seconds = deadline.left
        if seconds < _LEAST:
            raise TunesmithError(NO_TIME)
        self.screen.say(f"recording {self.sample.layer} for {seconds:.0f} s ...")
        with self.screen.tuning(seconds, float(self.sample.operator.flops)) as watch:
            written, stop = self.sample.write(self.folder, self.store, seconds, watch)
        self._figures["recording"] = written
        if stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
