"""What people look at: the HTML report of a run, its progress in the terminal, and tables."""

from tunesmith.reports.model import MeasuredConfig, RunReport, TrialPoint, trial_points
from tunesmith.reports.page import render, write_report

__all__ = [
    "MeasuredConfig",
    "RunReport",
    "TrialPoint",
    "render",
    "trial_points",
    "write_report",
]
