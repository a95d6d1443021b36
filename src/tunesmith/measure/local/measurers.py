"""Measuring on this machine, as a choice among others: what ``tune`` does unless told otherwise."""

from __future__ import annotations

from typing import Self

from tunesmith.measure.local.measurer import LocalMeasurer
from tunesmith.measure.local.server_process import ServerProcess
from tunesmith.measure.trial.job import Job


class LocalMeasurers:
    """``Measurers`` of this machine.

    A ``with`` block starts a server, which loads the compiler while the caller finds out what to
    measure. The first measurer takes it over, and when that is closed the next one does; it ends
    with the block.
    """

    def __init__(self) -> None:
        self._spare: ServerProcess | None = None
        self._job: Job | None = None
        self._lasts = False

    def __enter__(self) -> Self:
        self._spare, self._job, self._lasts = ServerProcess(), None, True
        return self

    def __exit__(self, *_: object) -> None:
        self._lasts = False
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.stop()

    def prepare(self, job: Job) -> None:
        """Let the server get ready for the next measurer's job. Raises like ``Job.to_text``."""
        if self._spare is not None and self._job is None:
            self._spare.prepare(job)
            self._job = job

    def measurer(self, job: Job) -> LocalMeasurer:
        """A measurer for a job. Raises like ``LocalMeasurer``."""
        if self._spare is not None and not self._spare.alive:
            self._spare.stop()
            self._spare, self._job = None, None
        self.prepare(job)
        if self._spare is None or job != self._job:
            return LocalMeasurer(job, keep=self._keep)
        spare, self._spare = self._spare, None
        return LocalMeasurer(job, spare, self._keep)

    def _keep(self, server: ServerProcess) -> None:
        """Keep the server of a measurer that was closed, unless there is one, or the block has
        ended."""
        if self._spare is None and self._lasts:
            self._spare, self._job = server, None
        else:
            server.stop()
