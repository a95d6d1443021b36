"""``tunesmith bench gpu``: what becomes of the parts, with parts that are not real."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.bench.gpu.figures import GPU, compared, sketch_row, tuning
from tunesmith.bench.gpu import bench as gpu_bench
from tunesmith.bench.gpu.bench import NO_TIME, PARTS, GpuBench, GpuSettings
from tunesmith.bench.gpu.files import DATA
from tunesmith.bench.gpu.tuning import Pace
from tunesmith.bench.timing.gpu_time import Deadline
from tunesmith.budget import Stop
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.operators import Operator, matmul
from tunesmith.progress import Progress
from tunesmith.target import Target

WORKLOADS: dict[str, Operator] = {
    "matmul.1024": matmul(m=1024, n=1024, k=1024),
    "small": matmul(m=8, n=8, k=8),
}


@dataclass
class Screen:
    """Remembers what is said."""

    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    @contextlib.contextmanager
    def tuning(self, seconds: float, flops: float | None) -> Iterator[Callable[[Progress], None]]:
        yield lambda _: None

    @contextlib.contextmanager
    def counting(self, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda _: None


@dataclass
class Check:
    """Stands in for the check of sketches."""

    target: Target = field(default_factory=lambda: Target("cuda", arch="sm_90"))
    planned: int = 2
    error: Exception | None = None

    def rows(self) -> list[dict[str, Any]]:
        return [sketch_row("cuda_tiled", NO_ERROR=3)]

    def run(self, deadline: Deadline, done: Callable[[int], None]) -> None:
        done(1)
        if self.error is not None:
            raise self.error


@dataclass
class Sample:
    """Stands in for the recording."""

    stop: Stop = Stop.SECONDS
    layer: str = "resnet18.C12"
    operator: Operator = WORKLOADS["small"]

    def write(self, *_: Any) -> tuple[dict[str, Any], Stop]:
        return {
            "layer": self.layer, "sketch": "s", "file": "f", "configs": 3, "space_size": 9,
            "outcomes": {"NO_ERROR": 3}, "seconds": 1.0, "best_seconds": 1e-4,
        }, self.stop  # fmt: skip


class Peers:
    """Stands in for both sides."""

    missing: str | None = None

    def __init__(self, device: str) -> None:
        assert device == "cuda"

    def close(self) -> None:
        pass

    def versions(self) -> dict[str, str]:
        if self.missing is not None:
            raise MissingDependencyError(self.missing)
        return {"torch": "1"}

    def compare(self, operator: Operator, found: Any, rounds: int) -> dict[str, Any]:
        if operator == WORKLOADS["small"]:
            raise TunesmithError("PyTorch's failed: it is too small")
        return compared(1.5)


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_bench, "gpu_facts", lambda: GPU)
    monkeypatch.setattr(gpu_bench, "read_clocks", lambda: None)
    monkeypatch.setattr(gpu_bench, "GpuPeers", Peers)
    monkeypatch.setattr(gpu_bench, "tuned_fields", lambda *_, **__: (tuning(), Stop.SECONDS))


def bench(folder: Path, **given: Any) -> GpuBench:
    """A bench without anything real; settings and fields by their names."""
    known = {name: given.pop(name) for name in tuple(given) if hasattr(GpuSettings(), name)}
    stood_in: Any = {"check": Check(), "sample": Sample(), "store": None, "screen": Screen()}
    return GpuBench(GpuSettings(**known), WORKLOADS, folder=folder, **{**stood_in, **given})


def written(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / DATA).read_text(encoding="utf-8"))
    return figures


def rows_of(figures: dict[str, Any]) -> dict[str, Any]:
    return {row["workload"]: row for row in figures["rows"]}


def test_all_parts_are_in_the_files(tmp_path: Path) -> None:
    runner = bench(tmp_path)
    figures, page = runner.run()
    assert json.loads(json.dumps(figures)) == written(tmp_path)
    assert runner.failed == {}
    assert list(figures["parts"]) == list(PARTS)
    assert figures["sketches"][0]["sketch"] == "cuda_tiled"
    rows = rows_of(figures)
    assert rows["matmul.1024"]["comparison"]["ratio"] == 1.5
    assert rows["small"]["comparison"] == {"missing": "PyTorch's failed: it is too small"}
    assert figures["recording"]["configs"] == 3
    assert figures["libraries"] == {"missing": None, "versions": {"torch": "1"}}
    assert "PyTorch's failed: it is too small" in page


@pytest.mark.parametrize(
    ("error", "told"),
    [(TunesmithError("it broke"), "it broke"), (ValueError("a\nb"), "ValueError: a b")],
)
def test_a_part_that_fails_does_not_stop_the_others(
    tmp_path: Path, error: Exception, told: str
) -> None:
    runner = bench(tmp_path, check=Check(error=error))
    figures, page = runner.run()
    assert runner.failed == {"sketches": told}
    assert figures["parts"]["sketches"]["failed"] == told
    assert figures["sketches"], "what it had measured stays"
    assert f"**sketches: {told}**" in page
    assert rows_of(figures)["matmul.1024"]["comparison"]["ratio"] == 1.5


def test_without_peers_there_is_a_reason_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Peers, "missing", "PyTorch is without CUDA")
    screen = Screen()
    runner = bench(tmp_path, screen=screen)
    figures, page = runner.run()
    assert runner.failed == {}
    assert "no comparison: PyTorch is without CUDA" in screen.said
    assert "**Not compared: PyTorch is without CUDA.**" in page
    comparisons = [row["comparison"] for row in figures["rows"]]
    assert comparisons == [{"missing": "PyTorch is without CUDA"}] * 2


def test_what_there_is_no_time_for_says_so(tmp_path: Path) -> None:
    figures, page = bench(tmp_path, seconds=5.0).run()
    assert [row["tuning"] for row in figures["rows"]] == [{"missing": NO_TIME}] * 2
    assert figures["parts"]["recording"]["failed"] == NO_TIME
    assert f"not tuned: matmul.1024, small: {NO_TIME}" in page


def test_each_workload_has_an_equal_share_of_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def tuned(*arguments: Any, **_: Any) -> tuple[dict[str, Any], Stop]:
        given.append(arguments[3])
        return tuning(), Stop.SECONDS

    monkeypatch.setattr(gpu_bench, "tuned_fields", tuned)
    bench(tmp_path, parts=("tuning",), seconds=104.0).run()
    assert given == [pytest.approx(50.0, abs=5.0), pytest.approx(100.0, abs=5.0)]


def test_an_interrupted_run_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_bench, "tuned_fields", lambda *_, **__: (tuning(), Stop.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        bench(tmp_path).run()
    figures = written(tmp_path)
    assert figures["sketches"]
    assert list(rows_of(figures)) == ["matmul.1024"]
    assert figures["recording"] is None


def test_parts_that_are_left_out_keep_their_figures(tmp_path: Path) -> None:
    bench(tmp_path, parts=("sketches", "tuning")).run()
    assert "ratio" not in rows_of(written(tmp_path))["matmul.1024"]["comparison"]
    figures, _ = bench(tmp_path, parts=("peers",), whole=False).run()
    assert rows_of(figures)["matmul.1024"]["comparison"]["ratio"] == 1.5
    assert figures["sketches"]
    assert list(figures["parts"]) == ["sketches", "tuning", "peers"]
    figures, _ = bench(tmp_path, parts=("recording",)).run()
    assert not figures["rows"], "a whole run begins anew"


def test_there_is_nothing_to_compare_before_tuning(tmp_path: Path) -> None:
    runner = bench(tmp_path, parts=("peers",), whole=False)
    runner.run()
    assert "nothing was tuned" in runner.failed["peers"]


def test_figures_of_another_gpu_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench(tmp_path).run()
    monkeypatch.setattr(gpu_bench, "gpu_facts", lambda: {**GPU, "name": "Other GPU"})
    with pytest.raises(TunesmithError, match=r"figures of another machine \(NVIDIA H100"):
        bench(tmp_path, whole=False)
    bench(tmp_path).run()
    assert written(tmp_path)["gpu"]["name"] == "Other GPU"


@pytest.mark.parametrize("given", [{"seconds": 0.0}, {"pairs": 0}, {"samples": -1}, {"seed": -1}])
def test_settings_that_make_no_sense(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        GpuSettings(**given)


# --- The pace of tuning


def state(trials: int, elapsed: float, run: float) -> Progress:
    time = {"search": 0.0, "build": 0.0, "run": run, "record": 0.0, "idle": 0.0}
    return Progress(trials, trials // 2, {}, None, None, time, elapsed)


def test_the_pace_counts_from_the_first_result_on() -> None:
    pace = Pace()
    for each in (state(10, 0.2, 0.0), state(12, 4.0, 0.5), state(32, 8.0, 3.5)):
        pace.update(each)
    assert pace.fields() == {
        "start_seconds": 4.0,
        "trials_per_second": 5.0,
        "valid_per_second": 2.5,
        "gpu_idle": pytest.approx(0.25),
    }


def test_there_is_no_pace_of_a_single_result() -> None:
    pace = Pace()
    pace.update(state(0, 0.2, 0.0))
    pace.update(state(2, 4.0, 0.5))
    assert set(pace.fields().values()) == {None}
