"""Output for users: the HTML report of a run, its progress in the terminal, and tables."""

from tunesmith.reports.model import MeasuredConfig, RunReport, SketchShare, TrialPoint, trial_points
from tunesmith.reports.page import render, write_report

__all__ = [
    "MeasuredConfig",
    "RunReport",
    "SketchShare",
    "TrialPoint",
    "render",
    "trial_points",
    "write_report",
]
