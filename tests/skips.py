"""A plug-in of pytest: says at the end what was skipped, where and why."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the skips by reason; nothing if there were none."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports:
        return
    places: dict[str, Counter[str]] = {}
    for report in reports:
        places.setdefault(_reason(report), Counter())[report.nodeid.partition("::")[0]] += 1
    terminalreporter.section("what was skipped", cyan=True)
    for reason, files in sorted(places.items(), key=lambda item: -item[1].total()):
        terminalreporter.line(f"{files.total()} because: {reason}")
        for file, count in sorted(files.items()):
            terminalreporter.line(f"    {count} in {file}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    # A skip's report holds file, line and message; a whole file's is one report.
    message = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = " ".join(message.split()).removeprefix("Skipped: ")
    return "no reason was given" if reason in ("", "Skipped", "unconditional skip") else reason
