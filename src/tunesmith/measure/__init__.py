"""Measuring: trials in processes of their own, with outcome classes, timeouts, verification."""

from tunesmith.measure.job import Job
from tunesmith.measure.local import LocalMeasurer
from tunesmith.measure.task_problem import TaskProblem

__all__ = ["Job", "LocalMeasurer", "TaskProblem"]
