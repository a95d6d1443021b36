"""A plug-in of pytest: sweeps, which take many minutes and are only run when they are asked for.

``pytest -m thorough`` runs them; ``--sweep-scale 0.02`` makes them short, to see that they work.
With ``--sweep-log FILE`` those that have passed are written to a file, and left out the next time:
so an interrupted one goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_SCALE = "--sweep-scale"
_LOG = "--sweep-log"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        _SCALE, type=float, default=1.0, help="the share of each sweep that is done (0.02)"
    )
    parser.addoption(_LOG, type=Path, help="the file of sweeps that have passed")


def share_of(count: int, config: pytest.Config, least: int = 1) -> int:
    """How many of so many are asked for."""
    scale: float = config.getoption(_SCALE)
    return max(least, round(count * scale))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the sweeps where they are not asked for, and those that have passed."""
    if "thorough" in config.option.markexpr:
        log: Path | None = config.getoption(_LOG)
        passed = log.read_text(encoding="utf-8").splitlines() if log and log.is_file() else []
        left_out = [item for item in items if item.nodeid in set(passed)]
    else:
        left_out = [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


class _Log:
    """Writes down what has passed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(report.nodeid + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist report to the process that started them, which alone writes."""
    log: Path | None = config.getoption(_LOG)
    if log is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Log(log), "sweep-log")
