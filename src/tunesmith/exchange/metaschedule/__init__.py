"""Databases of MetaSchedule, TVM's own tuner: records of it, and our schedules for TVM's passes."""

from tunesmith.exchange.metaschedule.best_schedules import (
    BestSchedule,
    BestSchedules,
    best_schedules,
)
from tunesmith.exchange.metaschedule.reading import is_database, read
from tunesmith.exchange.metaschedule.writing import Written, write_database

__all__ = [
    "BestSchedule",
    "BestSchedules",
    "Written",
    "best_schedules",
    "is_database",
    "read",
    "write_database",
]
