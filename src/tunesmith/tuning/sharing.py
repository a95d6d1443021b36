"""What runs of one task do together at one store: share findings, and repeat no trial."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tunesmith.errors import StoreError
from tunesmith.measurement import Candidate, Measurement
from tunesmith.store import Session
from tunesmith.tuning.branches import Branches
from tunesmith.tuning.clock import RunClock

if TYPE_CHECKING:
    from tunesmith.store import Store
    from tunesmith.store.news import News, NewTrial

# How often a run looks for what others have measured, in seconds, and the least time between two
# looks as a multiple of what the last one took: a slow store must not slow the run down.
_LOOK_EVERY = 1.0
_LOOK_SHARE = 50.0

# A claim is renewed while its run lives. That of a run that died ends after so many seconds, or
# after so many times the longest trial yet: a measurer may be busy with one, and renew nothing.
_CLAIM_SECONDS = 30.0
_CLAIM_TRIALS = 3.0

Propose = Callable[[int], list[Candidate]]


class Sharing:
    """A run's claims to configs, and the news of other runs.

    ``sessions`` is the run's session by sketch; ``news`` has been there since before the run read
    earlier records. ``held`` are proposals that another run has claimed or measured: the search
    does not propose them again, so they are learned of, or measured here when their claims end.

    A store that fails here does not end the run, which goes on alone. If the store does not take
    its next trials either, these are rescued.
    """

    def __init__(
        self,
        store: Store,
        sessions: Mapping[str, Session],
        search: Branches,
        news: News,
        clock: RunClock,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._session = next(iter(sessions.values()))
        self._search = search
        self._news = news
        self._clock = clock
        self._held: dict[Candidate, float] = {}  # until when, by the clock of ``monotonic``
        self._begun = time.monotonic()
        self._longest = 0.0
        self._look_at = time.monotonic() + _LOOK_EVERY
        self._renew_at = math.inf

    @property
    def waiting(self) -> bool:
        """Whether other runs have claimed proposals that they may not come to measure."""
        return any(math.isfinite(until) for until in self._held.values())

    def propose(self, propose: Propose, count: int) -> list[Candidate]:
        """Claim up to ``count`` candidates that no other run has; fewer if fewer are left."""
        now = time.monotonic()
        free = [candidate for candidate, until in self._held.items() if until <= now][:count]
        self._search.put_back(free)
        claimed = self._claim(free)
        while len(claimed) < count and (proposed := propose(count - len(claimed))):
            claimed += self._claim(proposed)
        return claimed

    def _claim(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those of these that are claimed now; the others are held."""
        wanted = [(self._sessions[it.sketch], it.config) for it in candidates]
        with self._clock.bookkeeping():
            try:
                waits = self._store.claim(wanted, self._seconds)
            except StoreError:
                waits = [0.0] * len(wanted)
        now = time.monotonic()
        self._renew_at = min(self._renew_at, now + self._seconds / 3)
        claimed = []
        for candidate, wait in zip(candidates, waits, strict=True):
            if wait == 0:
                self._held.pop(candidate, None)
                claimed.append(candidate)
            else:
                self._held[candidate] = now + wait
                if math.isinf(wait):  # measured, but not read yet
                    self._look_at = now
        self._search.withdraw([each for each in candidates if each in self._held])
        return claimed

    @property
    def _seconds(self) -> float:
        return max(_CLAIM_SECONDS, _CLAIM_TRIALS * self._longest)

    def measured(self, measurements: Sequence[Measurement]) -> None:
        """Take note of this run's own trials. None took longer than the run yet, whatever its
        measurer says: others would wait for claims of weeks."""
        longest = max((it.build_time + it.run_time for it in measurements), default=0.0)
        self._longest = max(self._longest, min(longest, time.monotonic() - self._begun))

    def look(self, *, at_once: bool = False) -> list[Measurement]:
        """What other runs have measured since the last look, each config once.

        That is nothing if the last look was a moment ago, unless ``at_once``.
        """
        now = time.monotonic()
        news: list[NewTrial] = []
        with self._clock.bookkeeping(), contextlib.suppress(StoreError):
            if now >= self._renew_at:
                self._renew_at = now + self._seconds / 3
                self._store.renew_claims(self._session, self._seconds)
            if now >= self._look_at or at_once:
                news = self._news.read(self._session.uid)
                took = time.monotonic() - now
                self._look_at = now + took + max(_LOOK_EVERY, _LOOK_SHARE * took)
        found = []
        for new in news:
            measurement = new.measurement
            known = self._sessions.get(measurement.sketch)
            if known is None or known.sketch_version != new.sketch_version:
                continue
            held = self._held.pop(measurement.candidate, None) is not None
            if held or not self._search.knows(measurement.candidate):
                found.append(measurement.checked())
        return found
