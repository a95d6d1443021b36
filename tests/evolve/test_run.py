"""Whole runs: from a program and its tests to a front that holds what it says."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.kernels import WASTEFUL
from tests.evolve.subjects import WordsSubject
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.evaluation.harness import Tests
from tunesmith.evolve.evaluation.pool import EvaluationPool
from tunesmith.evolve.run import State, evolve
from tunesmith.store import open_store

pytest.importorskip("deap", reason="DEAP is not installed")

WORDS = "needed1 a b crash needed2 d e raise g needed3"
SEARCH = ts.evolve.SearchSettings(population=12, looks=1)
EVALUATION = ts.evolve.EvaluationSettings(timeout=20.0, workers=2)


class WordsProgram:
    """Words as something to evolve: its tests are part of it."""

    def __init__(self, text: str = WORDS) -> None:
        self._subject = WordsSubject(text)

    def subject(self, tests: Tests) -> WordsSubject:
        return replace(self._subject, digest=f"{self._subject.text} {tests.digest}")


# What is not harmful from the start: deleting it is what makes the rest run.
GOOD = "needed1 a b c needed2 d e f g needed3"


def run(**settings: Any) -> ts.evolve.Front:
    chosen = {"budget": Budget(trials=150), "error": 0.0, "search": SEARCH, **settings}
    return evolve(WordsProgram(GOOD), [()], evaluation=EVALUATION, **chosen)


def test_the_front_is_what_is_left_of_the_search() -> None:
    states: list[State] = []
    front = run(error=1.0, progress=states.append)
    assert front.stopped == "trials"
    assert 150 <= front.evaluations < 200
    fastest, *_, slowest = front
    assert slowest.error == 0.0
    assert fastest.speedup > slowest.speedup > 2
    for point in front:
        assert point.text == point()
        assert point.speedup == pytest.approx(11 / (len(point.text.split()) + 1))
        assert point.heldout_ratio == pytest.approx(point.ratio + 0.5 / 11)
        assert len(point.edits) == 10 - len(point.text.split()), "the others are dropped"
    searching = [state for state in states if not state.doing]
    assert [state.number for state in searching] == list(range(len(searching)))
    assert states[-1].generation == front.history[-1]
    first, second, *_ = states[len(searching) :]
    assert first.doing == "evaluating the front again"
    assert second.doing.startswith("looking closer at program 1 of ")
    assert front.outcomes["NO_ERROR"] > 100


def test_with_time_alone_nothing_may_be_wrong() -> None:
    front = run(objectives=("time",), error=1.0)
    assert [point.error for point in front] == [0.0]
    assert front.outcomes["too wrong"] > 0


def test_the_original_may_have_an_error_of_its_own() -> None:
    """As with 1 - accuracy: what is allowed comes on top of it, and less is a gain."""
    program = WordsProgram("needed1 a spoils1 spoils2 needed2")
    front = evolve(
        program, [()], evaluation=EVALUATION, search=SEARCH, error=0.0, budget=Budget(trials=60)
    )
    assert front[0].error == 0.5, "as wrong as the original, for another reason"
    assert front[-1].text == "needed1 needed2"
    assert front[-1].error == 0.0
    assert front.stopped == "exhausted", "there are but 32 programs"


def test_what_was_lucky_once_is_not_on_the_front(tmp_path: Path) -> None:
    front = run(store=tmp_path / "records.db", search=replace(SEARCH, looks=3), error=1.0)
    with open_store(tmp_path / "records.db") as store:
        (task,) = store.tasks()
        found = store.evaluations(task.key)
    best = min(found, key=lambda each: each.ratio)
    assert best.ratio == pytest.approx(front[0].ratio)
    assert sum(each.program == best.program for each in found) >= 3


def test_what_holds_on_the_tests_alone_is_not_exact() -> None:
    """Without ``unseen`` the words are wrong on what is held out: the next best ones count."""
    words = WordsProgram("needed1 a unseen b")
    (point,) = evolve(
        words,
        [()],
        evaluation=EVALUATION,
        search=SEARCH,
        objectives=("time",),
        budget=Budget(trials=60),
    )
    assert point.text == "needed1 unseen"


def test_another_run_goes_on_from_there(tmp_path: Path) -> None:
    place = tmp_path / "records.db"
    first = run(store=place)
    again = run(store=place, budget=Budget(trials=5))
    assert again.evaluations <= 15, "what was known is not evaluated again"
    assert (first.earlier, again.earlier) == (0, first.evaluations)
    assert again[0].speedup >= first[0].speedup
    with open_store(place) as store:
        (task,) = {each.key for each in store.tasks()} or {""}
        assert task.startswith("evolve:words:")
        kept = store.evaluations(task)
        assert len(kept) == first.evaluations + again.evaluations
        assert [session.stopped for session in store.sessions(task)] == ["trials", "trials"]
        other = evolve(
            WordsProgram(GOOD), [(1,)], store=store, search=SEARCH, budget=Budget(trials=20)
        )
        assert other.evaluations >= 20, "other tests are another subject"
        fresh = run(store=store, fresh=True)
        assert fresh.evaluations >= 150, "it knows nothing of what was before"
        assert len(store.evaluations(task)) == len(kept) + fresh.evaluations


def test_ctrl_c_keeps_the_front(tmp_path: Path) -> None:
    def interrupt(state: State) -> None:
        if state.number == 3 and not state.doing:
            raise KeyboardInterrupt

    front = run(progress=interrupt, store=tmp_path / "records.db", budget=Budget(seconds=600))
    assert front.stopped == "interrupted"
    assert len(front) == 1
    assert front[0].speedup > 1
    with open_store(tmp_path / "records.db") as store:
        (task,) = store.tasks()
        assert len(store.evaluations(task.key)) == front.evaluations


def test_an_error_that_is_always_the_same_is_told_of() -> None:
    harmless = evolve(
        WordsProgram("a b c d e f g"),
        [()],
        heldout=[()],
        evaluation=EVALUATION,
        search=SEARCH,
        budget=Budget(trials=60),
    )
    (doubt,) = harmless.doubts
    assert re.match(r"each of \d+ different programs has the same error: do the tests", doubt)
    assert not run(error=1.0, heldout=[()]).doubts
    assert not run(error=0.0, heldout=[()]).doubts, "some were too wrong"


def test_without_tests_held_out_a_doubt_says_so() -> None:
    (doubt,) = run(error=1.0).doubts
    assert doubt.startswith("no test is held out")


@pytest.mark.parametrize("moment", [5, 40, 75])
def test_ctrl_c_amid_an_evaluation(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being evaluated then is nobody's any more."""
    answers = EvaluationPool.answers
    count = itertools.count()

    def interrupted(pool: EvaluationPool, timeout: float) -> Any:
        for answer in answers(pool, timeout):
            if next(count) == moment:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(EvaluationPool, "answers", interrupted)
    front = run(error=1.0, budget=Budget(seconds=600))
    assert front.stopped == "interrupted"


def test_dependences_are_looked_for_where_asked() -> None:
    (point,) = run(ablation=True)
    assert point.dependences == []
    (point,) = run()
    assert point.dependences is None


def test_a_point_is_written_to_a_file(tmp_path: Path) -> None:
    (point,) = run()
    point.save(tmp_path / "words.txt")
    assert (tmp_path / "words.txt").read_text() == point.text
    with pytest.raises(UsageError, match=r"cannot write .*: No such file or directory"):
        point.save(tmp_path / "nowhere" / "words.txt")


# -- bad input ------------------------------------------------------------------------------------


def test_an_original_that_fails_its_tests() -> None:
    with pytest.raises(TunesmithError, match=r"^the original fails its tests: ValueError: of its"):
        evolve(WordsProgram("a raise"), [()])


def test_no_valid_edit() -> None:
    with pytest.raises(TunesmithError, match="no random edit leaves the program valid"):
        evolve(
            WordsProgram("needed1 needed2"),
            [()],
            error=0.0,
            search=ts.evolve.SearchSettings(population=4, tries=3),
        )


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"objectives": ("time", "size")}, "unknown objective 'size': there are time and error"),
        ({"objectives": ("error",)}, "time must be among the objectives"),
        ({"error": -1.0}, "error must be 0 or more, not -1"),
        ({"error": float("nan")}, "error must be 0 or more, not nan"),
        ({"metric": "relativ"}, "unknown error 'relativ'"),
    ],
)
def test_requests_that_make_no_sense(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(**settings)


# -- LLVM-IR --------------------------------------------------------------------------------------


def test_waste_is_deleted_from_llvm_code() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    size = 20_000
    x, y = np.ones(1, np.float32), np.zeros(size, np.float32)
    front = ts.evolve(  # type: ignore[operator] # which no checker knows of modules
        ts.evolve.LLVMKernel(WASTEFUL, "kernel"),
        [(x, y, size)],
        heldout=[(np.full(1, 2, np.float32), y[:5000].copy(), 5000)],
        objectives=("time",),
        budget=Budget(trials=150),
        search=ts.evolve.SearchSettings(population=6, first_edits=1),
        evaluation=EVALUATION,
    )
    assert front[0].speedup > 1.5
    assert front[0].error == front[0].heldout_error == 0.0
    assert any(line.startswith("-") and "@waste" in line for line in front[0].difference)
    out = y.copy()
    front[0](x, out, size)
    assert out[0] == 2.0


def test_the_original_is_the_faster_one_of_two_builds() -> None:
    """A slow original would make a gain of every variant."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    test = np.ones(1, np.float32), np.zeros(20_000, np.float32), 20_000
    slow = ts.evolve.LLVMKernel(WASTEFUL, "kernel").subject(Tests.of([test]))
    text = slow.representation.apply([])
    fast = re.sub(r"^ *(?:tail )?call [^\n]*@waste.*\n", "", text, flags=re.MULTILINE)
    assert fast != text
    for other, least in ((text, 0.3), (fast, 1.5)):
        with EvaluationPool(replace(slow, other=other), EVALUATION) as pool:
            assert pool.evaluate(text, limit=0.0).ratio > least
    with EvaluationPool(replace(slow, other=fast), EVALUATION) as pool:
        assert pool.evaluate(fast, limit=0.0).ratio < 1.5


def test_two_runs_of_the_original_that_differ() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    calls = itertools.count()

    def unsteady(kernel: Any) -> float:
        kernel(np.ones(1, np.float32), np.zeros(10, np.float32), 10)
        return float(next(calls))

    with pytest.raises(TunesmithError, match="two runs of the original differ by 1: make the"):
        evolve(ts.evolve.LLVMKernel(WASTEFUL, "kernel"), [unsteady], metric="absolute")
    with pytest.raises(TunesmithError, match="two runs of the original differ by 1: make the"):
        evolve(
            ts.evolve.LLVMKernel(WASTEFUL, "kernel"),
            [unsteady],
            metric=lambda outputs, _: float(outputs[0]),
        )


# -- Numba ----------------------------------------------------------------------------------------


def scaled(x: Any, y: Any, by: float) -> int:
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * by
    return len(x)


def test_a_numba_function_is_called_as_it_was() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.arange(60, dtype=np.float64).reshape(6, 10)
    subject = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert subject.name == "scaled"
    function = subject.callable(subject.representation.apply([]))
    y = np.zeros_like(x)
    assert function(x, y, 2.5) == 6
    assert (y == x * 2.5).all()
    for wrong in (x.astype(np.float32), np.asfortranarray(x), x[0], x[:, ::2], 3.0):
        with pytest.raises(UsageError, match="argument 1 must be an array of float64 with 2 dim"):
            function(wrong, y, 2.5)
    with pytest.raises(UsageError, match="the kernel takes 3 arguments, not 2"):
        function(x, y)
    (words,) = subject.representation.describe([subject.representation.draw([], random.Random(0))])
    first = scaled.__code__.co_firstlineno
    (line,) = set(re.findall(r"\(line (\d+)\)", words)) or {"0"}
    assert first < int(line) <= first + 4, "edits are told with lines of the source"
    again = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert again.digest == subject.digest, "runs can go on"


def test_numba_itself_is_what_variants_are_compared_with() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.arange(6.0).reshape(2, 3)
    subject = ts.evolve.NumbaKernel(scaled).subject(Tests.of([(x, np.zeros_like(x), 2.5)]))
    assert subject.other is not None
    assert "@scaled(" in subject.other


def test_what_numba_cannot_compile_is_one_line() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    x = np.zeros(3)
    with pytest.raises(UsageError, match=r"Numba cannot compile <?lambda"):
        ts.evolve.NumbaKernel(lambda x: open("a")).subject(Tests.of([(x,)]))  # noqa: SIM115, PTH123
    with pytest.raises(UsageError, match="no test is a tuple of arguments"):
        ts.evolve.NumbaKernel(scaled).subject(Tests.of([lambda kernel: 0]))
    with pytest.raises(UsageError, match="a kernel takes arrays and numbers, not a UniTuple"):
        ts.evolve.NumbaKernel(lambda x: (x[0], x[1])).subject(Tests.of([(x,)]))
