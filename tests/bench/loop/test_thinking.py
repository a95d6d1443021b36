"""How tuners' thinking is timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from tunesmith.bench.loop import thinking
from tunesmith.bench.loop.thinking import conv2d_space, thinking_ms
from tunesmith.space import Config, Space
from tunesmith.tuners import Tuner
from tunesmith.tuners.random import RandomSearch


@dataclass(frozen=True)
class Slow(Tuner):
    """Takes four milliseconds for a proposal and one for an observation."""

    name: ClassVar[str] = "slow"
    clock: ClassVar[list[float]] = [0.0]

    def start(self, space: Space, seed: int) -> SlowSearch:
        return SlowSearch(space, seed)


class SlowSearch(RandomSearch):
    def next_config(self) -> Config | None:
        Slow.clock[0] += 4e-3
        return super().next_config()

    def learn(self, measurement: object) -> None:
        Slow.clock[0] += 1e-3


def test_proposing_and_observing_count_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    distance = Space.distance

    def slow_distance(space: Space, a: Config, b: Config) -> int:
        Slow.clock[0] += 1.0  # measuring is none of the tuner's business
        return distance(space, a, b)

    monkeypatch.setattr(Space, "distance", slow_distance)
    monkeypatch.setattr("time.process_time", lambda: Slow.clock[0])
    for batch in (8, 1):
        taken = thinking_ms(Slow(), observations=20, configs=12, batch=batch)
        assert taken == pytest.approx(5.0)


def test_the_space_is_the_papers() -> None:
    assert conv2d_space().size == 36_864_000


def test_it_prints_two_lines_for_each_tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["thinking", "random", "nose", "--observations", "16"])
    thinking.main()
    lines = capsys.readouterr().out.splitlines()
    batches = [f"{name}, {batch} at a time" for name in ("random", "nose") for batch in (8, 1)]
    assert [line.split(":")[0] for line in lines] == batches
    assert all(line.endswith(" ms") for line in lines)
