"""A store for those who watch: summaries of many records, and nothing that writes."""

from __future__ import annotations

from collections.abc import Sequence

from tunesmith.store import aggregates, queries
from tunesmith.store.aggregates import Evaluated, Series, Stretch, Tally, Trial
from tunesmith.store.reading import Reader
from tunesmith.store.record import Record, Session


class Overview(Reader):
    """A `Reader` that also summarises; ``open_overview`` makes it.

    The ids are those of the database: those of records grow in the order in which they are stored.
    """

    @property
    def stores_in_order(self) -> bool:
        """Whether a record appears only after all with lower ids."""
        return self._database.dialect == "sqlite"  # elsewhere several transactions write at a time

    def state(self) -> tuple[int, ...]:
        """Numbers of which one changes with whatever is written: quick."""
        return self._database.read(aggregates.state)

    def tallies(self, after: int, until: int) -> list[Tally]:
        """Those of the records with ids above ``after``, up to ``until``."""
        return self._database.read(lambda it: aggregates.tallies(it, after, until))

    def stretches(self, session: int, first: int, ids: int) -> list[Stretch]:
        """A run's trials from the id ``first`` on, those of so many ``ids`` together."""
        return self._database.read(lambda it: aggregates.stretches(it, session, first, ids))

    def evaluated(self, after: int) -> list[Evaluated]:
        """Those of the evaluations with ids above ``after``."""
        return self._database.read(lambda it: aggregates.evaluated(it, after))

    def spread(self, series: int, step: int) -> list[Trial]:
        """The trials of a series whose id divides by ``step``: evenly spread over its time."""
        return self._database.read(lambda it: aggregates.spread(it, series, step))

    def fastest(self, series: int, most: int) -> list[Trial]:
        """The fastest trials of a series, at most so many."""
        return self._database.read(lambda it: aggregates.fastest(it, series, most))

    def last_failures(self, series: Sequence[int], most: int) -> list[Trial]:
        """Those trials among the last ``most`` of these series that failed, newest first."""
        return self._database.read(lambda it: aggregates.last_failures(it, series, most))

    def all_series(self, after: int = 0) -> list[Series]:
        """Those with ids above ``after``."""
        return self._database.read(lambda it: aggregates.all_series(it, after))

    def sessions_by_id(self, after: int, known: set[int]) -> dict[int, Session]:
        """The sessions with ids above ``after``, and those that have ended of the ``known`` ones,
        by their ids."""
        return self._database.read(lambda it: aggregates.sessions_by_id(it, after, known))

    def best_of(self, series: Sequence[int]) -> Record | None:
        """The best record of these series, as `best` finds it."""
        return self._database.read(lambda it: queries.best(it, series))

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._database.close()
