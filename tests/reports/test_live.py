from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from tunesmith.measurement import Outcome
from tunesmith.progress import Progress
from tunesmith.reports.display import LINE_EVERY
from tunesmith.reports.live import Limits, LiveProgress, progress_lines, progress_panel
from tunesmith.reports.tables import WIDTH

FLOPS = 231e6
STATE = Progress(
    trials=182,
    valid=146,
    outcomes={
        Outcome.NO_ERROR: 146,
        Outcome.INSTANTIATION_ERROR: 20,
        Outcome.WRONG_ANSWER: 10,
        Outcome.BUILD_TIMEOUT: 6,
    },
    best_seconds=2.01e-3,
    default_seconds=5.77e-3,
    time={"search": 4.0, "build": 70.0, "run": 90.0, "record": 2.0, "idle": 2.0},
    elapsed=168.0,
)
START = Progress(0, 0, {}, None, None, {}, 0.0)
CROWDED = dataclasses.replace(
    STATE, trials=12_345_678, valid=1, outcomes=dict.fromkeys(Outcome, 1_371_742), elapsed=1e7
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _console(*, terminal: bool, width: int = WIDTH) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=terminal, force_interactive=terminal, _environ={}
    )
    return console, file


def _drawn(state: Progress, limits: Limits) -> list[str]:
    console, file = _console(terminal=False)
    console.print(progress_panel(state, limits, FLOPS))
    return file.getvalue().splitlines()


def test_panel_says_all_there_is_to_know() -> None:
    lines = [" ".join(line.split()) for line in _drawn(STATE, Limits(500, None))]
    assert lines[1:] == [
        "trials 182 of 500, 2 min 48 s, about 4 min 54 s left",
        "best 115 GFLOP/s 2.01 ms a call 2.87× faster than the default schedule",
        "invalid 20 %: instantiation error 20, wrong answer 10, build timeout 6",
        "time search 2 % build 42 % run 54 % record 1 % idle 1 %",
    ]


def test_panel_before_the_first_trial() -> None:
    lines = [" ".join(line.split()) for line in _drawn(START, Limits(None, None))]
    assert lines[0] == "trials 0, 0 s"
    assert lines[1] == "best no valid program yet"
    assert lines[2] == "invalid none"


@pytest.mark.parametrize("state", [STATE, START, CROWDED])
@pytest.mark.parametrize("limits", [Limits(500, 3600.0), Limits(None, None), Limits(10**9, 1e9)])
def test_everything_fits_100_columns(state: Progress, limits: Limits) -> None:
    assert all(len(line) <= WIDTH for line in _drawn(state, limits))
    assert all(len(line) <= WIDTH for line in progress_lines(state, limits, FLOPS))


def test_plain_lines() -> None:
    assert progress_lines(STATE, Limits(500, 200.0), FLOPS) == (
        "trial 182 of 500, best 115 GFLOP/s (2.87× default), invalid 20 %, 2 min 48 s, "
        "about 32 s left",
        "  time: search 2 %, build 42 %, run 54 %, record 1 %, idle 1 %; invalid: "
        "instantiation error 20, …",
    )
    valid = dataclasses.replace(STATE, valid=182, outcomes={Outcome.NO_ERROR: 182})
    _, spent = progress_lines(valid, Limits(None, None), FLOPS)
    assert spent == "  time: search 2 %, build 42 %, run 54 %, record 1 %, idle 1 %"


def test_the_most_frequent_failure_comes_first() -> None:
    outcomes = {Outcome.INSTANTIATION_ERROR: 2, Outcome.WRONG_ANSWER: 30}
    state, limits = dataclasses.replace(STATE, outcomes=outcomes), Limits(None, None)
    assert progress_lines(state, limits, FLOPS)[1].endswith("invalid: wrong answer 30, …")
    assert any("wrong answer 30, instantiation error 2" in line for line in _drawn(state, limits))


def test_the_nearer_limit_counts() -> None:
    assert Limits(182 * 2, 1e6).left(STATE) == pytest.approx(168.0)
    assert Limits(10**6, 200.0).left(STATE) == pytest.approx(32.0)
    assert Limits(364, 200.0).spent(STATE) == pytest.approx(0.84)
    assert Limits(10, 10.0).spent(STATE) == 1.0
    assert Limits(None, None).left(STATE) is None


def test_trials_of_a_resumed_run_took_no_time_of_this_one() -> None:
    resumed = dataclasses.replace(START, trials=162)
    assert Limits(202, None, first=resumed).left(STATE) == pytest.approx(168.0)
    assert Limits(202, None, first=STATE).left(STATE) is None


def test_without_a_terminal_there_are_lines_now_and_then_and_the_last_state() -> None:
    console, file = _console(terminal=False)
    clock = Clock()
    with LiveProgress(console, 500, None, FLOPS, clock=clock) as progress:
        for trials in range(1, 13):
            progress.update(dataclasses.replace(STATE, trials=trials))
            clock.now += LINE_EVERY / 5
    shown = re.findall(r"^trial (\d+) of 500", file.getvalue(), re.MULTILINE)
    assert shown == ["1", "6", "11", "12"]
    assert "\x1b" not in file.getvalue()


def test_without_a_terminal_a_narrow_pipe_does_not_break_lines() -> None:
    console, file = _console(terminal=False, width=40)
    with LiveProgress(console, 500, None, FLOPS) as progress:
        progress.update(STATE)
    assert len(file.getvalue().splitlines()) == 2


def test_nothing_is_said_about_a_run_that_never_began() -> None:
    console, file = _console(terminal=False)
    with LiveProgress(console, None, None, None):
        pass
    assert file.getvalue() == ""


def test_a_terminal_keeps_the_last_state_even_when_the_run_fails() -> None:
    console, file = _console(terminal=True)
    clock = Clock()
    with (
        pytest.raises(KeyboardInterrupt),
        LiveProgress(console, 500, None, FLOPS, clock=clock) as progress,
    ):
        progress.update(STATE)
        progress.update(dataclasses.replace(STATE, trials=183))
        raise KeyboardInterrupt
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    assert "182 of 500" in text
    assert "183 of 500" in text.splitlines()[-4]
    assert all(len(line) <= WIDTH for line in text.splitlines())
    assert file.getvalue().count("\x1b[?25l") == file.getvalue().count("\x1b[?25h") == 1


SKETCHES = dataclasses.replace(
    STATE, sketches={"cpu_tiled": 62, "cpu_gemm": 120}, best_sketch="cpu_gemm"
)


def test_the_trials_of_each_sketch_are_shown_where_there_is_a_choice() -> None:
    lines = [" ".join(line.split()) for line in _drawn(SKETCHES, Limits(500, None))]
    assert "sketches cpu_gemm 120 cpu_tiled 62" in lines
    alone = dataclasses.replace(SKETCHES, sketches={"cpu_gemm": 182})
    assert not any("sketches" in line for line in _drawn(alone, Limits(500, None)))


def test_lines_say_which_sketch_is_ahead() -> None:
    first, _ = progress_lines(SKETCHES, Limits(500, None), FLOPS)
    assert "best 115 GFLOP/s by cpu_gemm (2.87× default)" in first


def test_many_sketches_fit() -> None:
    many = dataclasses.replace(
        SKETCHES, sketches={f"a_sketch_with_a_long_name_{number}": 9999 for number in range(20)}
    )
    assert all(len(line) <= WIDTH for line in _drawn(many, Limits(500, None)))
