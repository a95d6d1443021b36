"""What runs on a node of a cluster, in a process of Ray: it measures as on a machine of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tunesmith.errors import TunesmithError
from tunesmith.measure.cluster.kind import NodeKind, Role
from tunesmith.measure.local.build_result import BuildResult
from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.measurers import LocalMeasurers
from tunesmith.measure.trial.job import Job
from tunesmith.measurement import Candidate, Measurement

# How long a turn lasts if nothing ends; in seconds. What the host wants next waits for so long.
_TURN = 0.5


@dataclass(frozen=True)
class Work:
    """A candidate to measure, with its machine code if another node has built it."""

    candidate: Candidate
    library: bytes | None = None


@dataclass(frozen=True)
class Built:
    """What came of a build, and the machine code if it has succeeded."""

    result: BuildResult
    library: bytes | None = None


@dataclass(frozen=True)
class Turn:
    """What has ended on a node, how many candidates it likes to have in hand, and what its time
    has been spent on since it began the job; see ``Measurer``."""

    measurements: Sequence[Measurement]
    batch: int
    split: Mapping[str, float]


class NodeWorker:
    """The worker of a node, which does one call after another.

    Trials run in processes of a ``LocalMeasurer``, so none can harm this one. Methods raise
    ``TunesmithError`` where the node cannot be used.
    """

    def __init__(self) -> None:
        self._measurers: LocalMeasurers | None = None
        self._measurer: LocalMeasurer | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._libraries = 0
        self._shipped: dict[Candidate, list[str]] = {}

    def join(self, version: str, describe: Callable[[], NodeKind]) -> NodeKind:
        """What kind of machine this is. Raises ``TunesmithError`` for another version."""
        own = own_version()
        if own != version:
            raise TunesmithError(
                f"it has tunesmith {own}, and this machine {version}: install the same on both"
            )
        return describe()

    def start(self, job: str, role: Role) -> None:
        """Begin a job, and give up the one before."""
        self.stop()
        if role is Role.BUILD:
            from tunesmith.compiler.libraries import check_linker

            check_linker("machine code for other nodes")
        if self._measurers is None:
            self._measurers = LocalMeasurers().__enter__()
            self._folder = tempfile.TemporaryDirectory(prefix="tunesmith-")
        self._measurer = self._measurers.measurer(Job.from_text(job))

    def turn(self, works: Sequence[Work], best: float) -> Turn:
        """Take these candidates in hand, too, and wait until some have been measured."""
        measurer = self._the_measurer
        libraries = ["" if one.library is None else self._written(one.library) for one in works]
        for work, library in zip(works, libraries, strict=True):
            if library:
                self._shipped.setdefault(work.candidate, []).append(library)
        measurer.submit([work.candidate for work in works], best, libraries)
        found = measurer.collect(_TURN)
        for measurement in found:
            self._remove(measurement.candidate)
        return Turn(found, measurer.batch, measurer.time_split())

    def build(self, candidates: Sequence[Candidate]) -> Sequence[Built]:
        """Build all of these."""
        libraries = [self._new_path() for _ in candidates]
        left = list(zip(candidates, libraries, strict=True))
        found = []
        for result in self._the_measurer.build(candidates, libraries):
            # Equal candidates have equal machine code.
            pair = next(pair for pair in left if pair[0] == result.candidate)
            left.remove(pair)
            found.append(Built(result, _read(Path(pair[1])) if result.built else None))
        return found

    def play_off(self, candidates: Sequence[Candidate], rounds: int) -> Sequence[Measurement]:
        """As in ``Measurer``."""
        return self._the_measurer.play_off(candidates, rounds)

    def cancel(self) -> None:
        """As in ``Measurer``."""
        if self._measurer is not None:
            self._measurer.cancel()
        self._remove(*self._shipped)

    def stop(self) -> None:
        """End the job. The measuring server stays, for the next one."""
        if self._measurer is not None:
            self._measurer.close()
            self._measurer = None
        self._remove(*self._shipped)

    def close(self) -> None:
        """End everything that this has begun."""
        self.stop()
        if self._measurers is not None:
            self._measurers.__exit__()
            self._measurers = None
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def _the_measurer(self) -> LocalMeasurer:
        assert self._measurer is not None, "a job was started before"
        return self._measurer

    def _written(self, library: bytes) -> str:
        path = self._new_path()
        Path(path).write_bytes(library)
        return path

    def _remove(self, *candidates: Candidate) -> None:
        """Remove the machine code that was sent for candidates."""
        for candidate in candidates:
            for path in self._shipped.pop(candidate, ()):
                Path(path).unlink(missing_ok=True)

    def _new_path(self) -> str:
        assert self._folder is not None
        self._libraries += 1
        return str(Path(self._folder.name) / f"{self._libraries}.so")


def own_version() -> str:
    """The version of Tunesmith on this machine."""
    from importlib import metadata

    try:
        return metadata.version("tunesmith")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "without a version"


def _read(library: Path) -> bytes:
    content = library.read_bytes()
    library.unlink()
    return content
