"""Processors that a process may use: those it may run on, and those it has time of."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from tunesmith.compiler import cores
from tunesmith.compiler.cores import cores_of_quota, usable_cores


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"cpu.{name}").write_text(text)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """What lists the groups of the process, of the second version."""
    path = tmp_path / "own"
    path.write_text("0::/pod/container\n")
    return path


def test_the_least_quota_of_a_group_and_those_around_it_counts(tmp_path: Path, own: Path) -> None:
    group(tmp_path / "pod" / "container", max="400000 100000\n")
    group(tmp_path / "pod", max="150000 100000\n")
    group(tmp_path, max="max 100000\n")
    assert cores_of_quota(tmp_path, own) == 1.5


def test_groups_without_a_quota(tmp_path: Path, own: Path) -> None:
    group(tmp_path / "pod" / "container", max="max 100000\n")
    assert cores_of_quota(tmp_path, own) == math.inf
    assert cores_of_quota(tmp_path / "elsewhere", own) == math.inf
    assert cores_of_quota(tmp_path, tmp_path / "none") == math.inf


@pytest.mark.parametrize(("quota", "expected"), [("250000", 2.5), ("-1", math.inf)])
def test_groups_of_the_first_version(quota: str, expected: float, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("4:memory:/a\n3:cpu,cpuacct:/a\n2:cpuset:/a\n")
    group(tmp_path / "memory" / "a", max="100000 100000\n")
    group(tmp_path / "cpu,cpuacct" / "a", cfs_quota_us=f"{quota}\n", cfs_period_us="100000\n")
    assert cores_of_quota(tmp_path, own) == expected


@pytest.mark.parametrize(("quota", "expected"), [(0.5, 1), (1.0, 1), (math.inf, 0), (1e6, 0)])
def test_what_a_process_may_use(
    quota: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than it may run on, and one at least."""
    monkeypatch.setattr(cores, "cores_of_quota", lambda: quota)
    assert usable_cores() == (expected or len(os.sched_getaffinity(0)))
