"""Keeps what a run measures: in the store, and if that fails, in memory and in a rescue file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tunesmith.budget import Stop
from tunesmith.errors import StoreError
from tunesmith.measurement import Measurement
from tunesmith.store import Record, Session, rescue

if TYPE_CHECKING:
    from tunesmith.store import Store


class Recorder:
    """The records of one session. ``failure`` says why the store took no more, if it did not.

    ``by_sketch`` is the session as the records of each sketch see it.
    """

    def __init__(self, store: Store, session: Session, by_sketch: Mapping[str, Session]) -> None:
        self.session = session
        self.failure = ""
        self.by_sketch = by_sketch
        self._store = store
        self._unsaved: list[Record] = []

    def save(self, measurements: Sequence[Measurement], *, play_off: bool = False) -> None:
        """Store measurements of candidates in one transaction.

        Raises ``StoreError``; they are kept then, beside what was not saved before.
        """
        before = self._unsaved
        records = [self._record(measurement, play_off) for measurement in measurements]
        self._unsaved = [*before, *records]
        self._store.add(records)
        self._unsaved = before

    def _record(self, measurement: Measurement, play_off: bool) -> Record:
        return self.by_sketch[measurement.sketch].record(measurement, play_off=play_off)

    def close(self, stop: Stop, time_split: Mapping[str, float]) -> Path | None:
        """Note how the run ended. Returns the file that holds what the store did not take."""
        try:
            if self._unsaved:  # Ctrl-C came in between, or there may be room by now
                self._store.merge(self._unsaved)
                self._unsaved = []
            self._store.finish_session(self.session, stopped=stop.value, time_split=time_split)
        except StoreError as error:
            self.failure = self.failure or str(error)
        if not self._unsaved:
            return None
        try:
            return rescue(self._unsaved, self._store.folder)
        except StoreError as error:  # the result in memory is all that is left: return it
            self.failure = f"{self.failure}; {error}"
            return None
