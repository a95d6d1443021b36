"""The programs that tests build networks with."""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.measure.task.portfolio import problems_of
from tunesmith.networks import Network
from tunesmith.networks.build.selection import Choice, Origin
from tunesmith.task import Task


def defaults(network: Network) -> Mapping[Task, Choice]:
    """The default of the first sketch for each task: found without a search."""
    problems = {task: problems_of(task)[0] for task in network.tasks}
    return {
        task: Choice(problem, problem.default, None, Origin.DEFAULT)
        for task, problem in problems.items()
    }
