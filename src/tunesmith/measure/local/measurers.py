"""Measuring on this machine, as a choice among others: what ``tune`` does unless told otherwise."""

from __future__ import annotations

from typing import Self

from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.server_process import ServerProcess
from tunesmith.measure.trial.job import Job


class LocalMeasurers:
    """``Measurers`` of this machine.

    A ``with`` block starts a server, which loads the compiler while the caller finds out what to
    measure; the first measurer takes it over, and it ends with the block if there was none.
    """

    def __init__(self) -> None:
        self._early: ServerProcess | None = None
        self._job: Job | None = None

    def __enter__(self) -> Self:
        self._early, self._job = ServerProcess(), None
        return self

    def __exit__(self, *_: object) -> None:
        early, self._early = self._early, None
        if early is not None:
            early.stop(grace=0.0)

    def prepare(self, job: Job) -> None:
        """Let the server get ready for the next measurer's job. Raises like ``Job.to_text``."""
        if self._early is not None and self._job is None:
            self._early.prepare(job)
            self._job = job

    def measurer(self, job: Job) -> LocalMeasurer:
        """A measurer for a job. Raises like ``LocalMeasurer``."""
        self.prepare(job)
        if self._early is None or job != self._job:
            return LocalMeasurer(job)
        early, self._early = self._early, None
        return LocalMeasurer(job, early)
