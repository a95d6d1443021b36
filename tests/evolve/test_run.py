"""Evolution of whole programs: of words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tunesmith as ts
import tunesmith.evolve
from tests.evolve.words import EVALUATION, GOOD, SEARCH, WordsProgram, run
from tunesmith.budget import Budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.evolve.run import State, evolve
from tunesmith.store import open_store

pytest.importorskip("deap", reason="DEAP is not installed")


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
