"""Variants that crash, hang, leave, hoard memory: each costs itself alone."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from tests.evolve.subjects import WordsSubject
from tests.patience import PATIENCE
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.pool import EvaluationPool, EvaluationSettings
from tunesmith.measurement import Outcome

SETTINGS = EvaluationSettings(timeout=20.0, memory_limit=1 << 30, workers=2)


def evaluated(*texts: str, settings: EvaluationSettings = SETTINGS) -> list[Evaluation]:
    """What comes of texts, evaluated side by side."""
    with EvaluationPool(WordsSubject("a b"), settings) as pool:
        found: dict[int, Evaluation] = {}
        waiting = list(enumerate(texts))
        while waiting or pool.busy:
            while waiting and pool.free:
                number, text = waiting.pop(0)
                pool.submit(number, text, limit=1.0)
            found.update(pool.answers(1.0))
        return [found[number] for number in range(len(texts))]


def test_bad_ones_cost_themselves_alone() -> None:
    crashed, left, raised, hoarded, fine = evaluated("crash", "leave", "raise", "hoard", "a")
    assert crashed == Evaluation(Outcome.RUNTIME_DEVICE, message="killed by SIGSEGV")
    assert left.message == "it ended the process with exit status 3"
    assert raised.message == "ValueError: of its own"
    assert hoarded.message == "out of memory (limit 1024 MiB)"
    assert fine == Evaluation(Outcome.NO_ERROR, 2 / 3, 2 / 3, 0.0)


@pytest.mark.alone
def test_one_that_hangs_is_ended_while_others_go_on() -> None:
    begun = time.monotonic()
    hanging, *others = evaluated(
        "hang", *["a"] * 5, settings=EvaluationSettings(timeout=1.0, workers=2)
    )
    assert hanging == Evaluation(Outcome.RUN_TIMEOUT, message="not done after 1 s")
    assert all(each.ran for each in others)
    assert time.monotonic() - begun < 30


@pytest.mark.alone
def test_one_that_loops_is_ended_by_its_processor_time() -> None:
    """One that waits, as on a busy machine, takes none."""
    settings = EvaluationSettings(timeout=3.0, workers=2)
    with EvaluationPool(WordsSubject("a b"), settings) as pool:
        pool.processor_timeout = 0.5
        pool.submit(0, "loop", limit=1.0)
        pool.submit(1, "hang", limit=1.0)
        found: dict[int, Evaluation] = {}
        while pool.busy:
            found.update(pool.answers(1.0))
        assert pool.evaluate("a", limit=1.0).ratio == 2 / 3
    looping, hanging = found[0], found[1]
    assert looping == Evaluation(
        Outcome.RUN_TIMEOUT, message="not done after 0.5 s of processor time"
    )
    assert hanging == Evaluation(Outcome.RUN_TIMEOUT, message="not done after 3 s")


def test_tests_held_out_are_others() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        assert pool.evaluate("a", limit=1.0).ratio == 2 / 3
        assert pool.evaluate("a", limit=1.0, heldout=True).ratio == 2.5 / 3


def answer_of(pool: EvaluationPool, text: str, *, limit: float = 1.0) -> Evaluation:
    """What comes of a text that is evaluated as the search does it."""
    pool.submit(1, text, limit=limit)
    while pool.busy:
        for _, found in pool.answers(1.0):
            return found
    raise AssertionError


def test_the_same_machine_code_is_run_once() -> None:
    """Words with a capital letter are no part of it, and would take time."""
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        first, same = answer_of(pool, "a"), answer_of(pool, "a Noise")
        assert (first.ratio, first.repeated) == (2 / 3, False)
        assert (same.ratio, same.repeated) == (2 / 3, True)
        assert first.code == same.code != ""
        again = pool.evaluate("a Noise", limit=1.0)
        assert (again.ratio, again.repeated) == (3 / 3, False)
        heldout = pool.evaluate("a Noise", limit=1.0, heldout=True)
        assert (heldout.ratio, heldout.repeated) == (3.5 / 3, False)
        other = answer_of(pool, "b Noise")
        assert (other.ratio, other.repeated) == (3 / 3, False)


def test_what_was_not_tested_to_the_end_is_run_again() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        assert answer_of(pool, "a", limit=0.5).ratio == 2 / 3
        assert answer_of(pool, "a Noise", limit=0.7).ratio == 3 / 3
        lower = answer_of(pool, "a More Noise", limit=0.6)
        assert (lower.ratio, lower.repeated) == (3 / 3, True)


def test_what_failed_is_run_again() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        for _ in range(2):
            assert answer_of(pool, "raise").message == "ValueError: of its own"


def test_a_subject_that_cannot_be_built() -> None:
    with pytest.raises(TunesmithError, match=r"^it cannot be built$"):
        EvaluationPool(WordsSubject("unbuildable"), SETTINGS)


def test_an_original_that_fails_its_tests() -> None:
    with pytest.raises(TunesmithError, match=r"^the original fails its tests: ValueError: cannot"):
        EvaluationPool(WordsSubject("unprepared"), SETTINGS)
    with pytest.raises(TunesmithError, match=r"^the original fails its tests: killed by SIGSEGV"):
        EvaluationPool(WordsSubject("unready"), SETTINGS)


def test_what_was_given_up_answers_nobody() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        pool.submit(7, "a b", limit=1.0)
        assert pool.evaluate("a", limit=1.0).ratio == 2 / 3
        pool.forget()
        assert not pool.busy


def test_a_large_subject_comes_in_parts() -> None:
    words = " ".join(f"word{number}" for number in range(200_000))
    with EvaluationPool(WordsSubject(words), SETTINGS) as pool:
        assert pool.evaluate(words, limit=1.0).ratio == 1.0


def test_a_server_that_is_killed_is_one_line() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        pool.submit(1, "hang", limit=1.0)
        os.kill(pool._server._process.pid, 9)
        with pytest.raises(TunesmithError, match="the process that evaluates variants ended"):
            while True:
                list(pool.answers(1.0))


def test_nothing_stays_behind() -> None:
    with EvaluationPool(WordsSubject("a b"), SETTINGS) as pool:
        pool.submit(1, "hang", limit=1.0)
        server = pool._server._process.pid
        deadline = time.monotonic() + PATIENCE
        while not _children(server) and time.monotonic() < deadline:
            time.sleep(0.05)
        (child,) = _children(server)
    deadline = time.monotonic() + PATIENCE
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(child)


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"timeout": 0.0}, "timeout must be positive, not 0"),
        ({"memory_limit": 0}, "memory_limit must be positive, not 0"),
        ({"workers": 0}, "at least one worker is needed, not 0"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, float], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        EvaluationSettings(**settings)  # type: ignore[arg-type]


def test_evaluations_come_back_as_they_were() -> None:
    for each in (
        Evaluation(Outcome.NO_ERROR, 0.5, 1e-6, 0.0),
        Evaluation(Outcome.RUN_TIMEOUT, message="not done after 1 s"),
    ):
        assert Evaluation.from_json(each.to_json()) == each
    assert Evaluation(Outcome.NO_ERROR).to_json()["error"] is None
    assert math.isinf(Evaluation(Outcome.RUNTIME_DEVICE).ratio)
