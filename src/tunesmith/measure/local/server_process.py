"""The client's end of a measuring server: starts it, talks to it, gets rid of it."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

from tunesmith.measure.processes.spawned import FAREWELL, SpawnedProcess
from tunesmith.measure.trial.job import Job


class ServerProcess(SpawnedProcess):
    """A running server, which loads the compiler and then waits for a job, and after it for others.

    ``started`` tells whether it has got so far as to take requests for its job. ``module`` is what
    it runs, with these ``arguments``.
    """

    def __init__(self, module: str = "tunesmith.measure.local.server", *arguments: str) -> None:
        self.started = False
        # For what compilers leave behind when they are killed. This process and the server both
        # remove it: either may end last.
        self._scratch = tempfile.mkdtemp(prefix="tunesmith-")
        try:
            super().__init__(
                module,
                self._scratch,
                *arguments,
                environment={"TMPDIR": self._scratch},
            )
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    @classmethod
    def with_job(cls, job: Job, *run: str) -> ServerProcess:
        """A new server for a job, that does ``run`` as its module and arguments if given.

        Raises like ``Job.to_text``.
        """
        text = job.to_text()
        server = cls(*run)
        server._give(text)
        return server

    def prepare(self, job: Job) -> None:
        """Let it get ready for a job; it gives up the one before. Raises like ``Job.to_text``."""
        self._give(job.to_text())

    def _give(self, job: str) -> None:
        self.started = False
        self.send({"kind": "job", "job": job})

    def receive(self, timeout: float) -> list[dict[str, Any]]:
        """As in ``SpawnedProcess``, without messages about an earlier job."""
        found = []
        for message in super().receive(timeout):
            self.started = self.started or message["kind"] == "started"
            if self.started or message["kind"] == "failed":
                found.append(message)
        return found

    def stop(self, grace: float = FAREWELL) -> str:
        """End the server with all its trials. Returns the last line that it printed.

        It has so many seconds to end by itself, none before it has started: then it has no trials,
        and may be busy for long.
        """
        try:
            return super().stop(grace if self.started else 0.0)
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)
