"""Command lines as problems, with real processes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.measure.command.commands import (
    NUMBER,
    ONE,
    QUICK,
    SPACE,
    TWO,
    measure,
    measurer_of,
    printing,
    python,
)
from tunesmith.errors import SpaceError, UsageError
from tunesmith.measure.command.measurer import CommandProblem
from tunesmith.measurement import Outcome
from tunesmith.problem import Measurer, MeasureSettings, Problem
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Space
from tunesmith.testing.trials import candidates

# --- Costs


def test_the_cost_is_the_wall_clock_of_the_run(tmp_path: Path) -> None:
    build, run = python("import time; time.sleep(0.2)"), python("import time; time.sleep(0.05)")
    measurement = measure(tmp_path, f"{build} && {run}")
    assert measurement.outcome is Outcome.NO_ERROR
    assert measurement.build_time >= 0.2
    assert measurement.run_seconds == (measurement.run_time,)
    assert measurement.seconds >= 0.05


def test_a_regular_expression_finds_the_last_cost(tmp_path: Path) -> None:
    measurement = measure(
        tmp_path, python("print('cost 9'); print('cost {n}e-3')"), TWO, parse=NUMBER
    )
    assert measurement.run_seconds == (0.002,)
    assert measurement.run_time > 0.0


def test_a_function_reads_the_cost(tmp_path: Path) -> None:
    measurement = measure(
        tmp_path, printing("1 2 4"), parse=lambda text: sum(map(float, text.split()))
    )
    assert measurement.run_seconds == (7.0,)


def broken(text: str) -> float:
    raise LookupError("no\nline")


@pytest.mark.parametrize(
    ("text", "parse", "message"),
    [
        ("hello", NUMBER, r"nothing in the output matches 'cost (\S+)'"),
        ("", NUMBER, r"nothing in the output matches 'cost (\S+)'"),
        ("cost high", NUMBER, "the output has 'high', not a number"),
        ("cost nan", NUMBER, "the cost is nan, not a positive finite number"),
        ("cost -1", NUMBER, "the cost is -1.0, not a positive finite number"),
        ("hello", float, "parse failed: ValueError: could not convert string to float: 'hello\\n'"),
        ("hello", broken, "parse failed: LookupError: no line"),
        ("hello", lambda text: None, "the cost is None, not a number"),
    ],
)
def test_output_without_a_cost_is_a_wrong_answer(
    tmp_path: Path, text: str, parse: Any, message: str
) -> None:
    measurement = measure(tmp_path, printing(text), parse=parse)
    assert measurement.outcome is Outcome.WRONG_ANSWER
    assert measurement.message == message
    assert measurement.run_seconds == ()


def test_output_that_is_no_text_can_still_hold_the_cost(
    tmp_path: Path,
) -> None:
    program = r"import os; os.write(1, b'\xff\xfe\ncost 3\n')"
    assert measure(tmp_path, python(program), parse=NUMBER).run_seconds == (3.0,)


# --- Failures


def test_a_failing_build(tmp_path: Path) -> None:
    failing = python("import sys; print('first', file=sys.stderr); sys.exit('bad option {n}')")
    measurement = measure(tmp_path, f"{failing} && {python('open(chr(120), chr(119))')}")
    assert measurement.outcome is Outcome.COMPILE_HOST
    assert measurement.message == "exit status 1: bad option 1"
    assert measurement.build_time > 0.0
    assert measurement.run_time == 0.0


def test_no_stage_runs_after_a_failed_one(tmp_path: Path) -> None:
    measure(tmp_path, f"false && {python('open(chr(120), chr(119))')}")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_run(tmp_path: Path) -> None:
    measurement = measure(tmp_path, f"true && {python('raise SystemExit(3)')}")
    assert measurement.outcome is Outcome.RUNTIME_DEVICE
    assert measurement.message == "exit status 3"


def test_a_crash_names_the_signal(tmp_path: Path) -> None:
    measurement = measure(tmp_path, python("import os; os.kill(os.getpid(), 11)"))
    assert measurement.outcome is Outcome.RUNTIME_DEVICE
    assert measurement.message == "killed by SIGSEGV"


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("true && ./a.out", Outcome.RUNTIME_DEVICE),
        ("true && ./a.out && true", Outcome.COMPILE_HOST),
    ],
)
def test_a_program_that_is_not_there(tmp_path: Path, command: str, outcome: Outcome) -> None:
    measurement = measure(tmp_path, command)
    assert (measurement.outcome, measurement.message) == (outcome, "No such file or directory")


def test_a_value_that_no_argument_can_hold(tmp_path: Path) -> None:
    space = Space([Categorical("word", ("a\0b", "c"))])
    measurer = CommandProblem(space, "echo {word}", cwd=tmp_path).measurer(QUICK)
    with measurer:
        measurer.submit(candidates([Config({"word": "a\0b"}), Config({"word": "c"})]))
        [bad], [good] = measurer.collect(0.0), measurer.collect(0.0)
    assert (bad.outcome, bad.message) == (Outcome.RUNTIME_DEVICE, "embedded null byte")
    assert good.valid


def test_a_field_without_a_value_makes_no_command(tmp_path: Path) -> None:
    space = Space([Categorical("pair", ((1, 2), (1,)))])
    with CommandProblem(space, "echo {pair[1]}", cwd=tmp_path).measurer(QUICK) as measurer:
        measurer.submit(candidates([Config({"pair": (1,)})]))
        [measurement] = measurer.collect(0.0)
    assert measurement.outcome is Outcome.INSTANTIATION_ERROR
    assert measurement.message == "pair is (1,): it has no [1]"


# --- Arguments, shell, environment


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("word", ["; touch x", "$(touch x)"])
def test_a_value_is_no_code(tmp_path: Path, word: str, shell: bool) -> None:
    program = "import sys; print('cost', len(sys.argv), repr(sys.argv[1]))"
    heard: list[str] = []

    def parse(text: str) -> float:
        heard.append(text.strip())
        return 1.0

    command = f"{python(program)} {{word}}"
    config = Config({"n": 1, "word": word})
    assert measure(tmp_path, command, config, parse=parse, shell=shell).valid
    assert heard == [f"cost 2 {word!r}"]
    assert list(tmp_path.iterdir()) == []


def test_a_shell_runs_pipes_and_a_build_of_its_own(tmp_path: Path) -> None:
    measurement = measure(
        tmp_path, "cat made | sed s/x/cost/", build="echo x {n} > made", shell=True, parse=NUMBER
    )
    assert measurement.run_seconds == (1.0,)
    assert measurement.build_time > 0.0
    assert (tmp_path / "made").read_text() == "x 1\n"


def test_a_failing_shell_build(tmp_path: Path) -> None:
    measurement = measure(tmp_path, "true", build="true | false", shell=True)
    assert measurement.outcome is Outcome.COMPILE_HOST


def test_build_stages_come_first_without_a_shell_too(tmp_path: Path) -> None:
    measurement = measure(
        tmp_path,
        python("print(open('f').read())"),
        build=python("open('f', 'w').write('cost {n}')"),
        parse=NUMBER,
    )
    assert measurement.run_seconds == (1.0,)


def test_a_variable_is_a_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="env: N must be a text, not 4"):
        CommandProblem(SPACE, "true", cwd=tmp_path, env={"N": 4})  # type: ignore[dict-item]


def test_the_environment_is_ours_with_additions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "1")
    program = "import os; print('cost', int(os.environ['OURS']) + int(os.environ['THEIRS']))"
    assert measure(tmp_path, python(program), env={"THEIRS": "2"}, parse=NUMBER).run_seconds == (
        3.0,
    )


def test_the_directory_is_the_current_one_of_construction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = CommandProblem(SPACE, "touch made")
    monkeypatch.chdir("/")
    with problem.measurer(QUICK) as measurer:
        measurer.submit(candidates([ONE]))
        assert [m.valid for m in measurer.collect(0.0)] == [True]
    assert (tmp_path / "made").exists()


# --- Repeats, cutting off, play-offs

COUNTER = """
import os
calls = int(open("calls").read()) + 1 if os.path.exists("calls") else 1
print(calls, file=open("calls", "w"))
print("cost", {n} * 100 + calls)
"""


def test_the_run_is_repeated_and_the_build_is_not(tmp_path: Path) -> None:
    measurer = measurer_of(tmp_path, python(COUNTER), build="rm -f calls", parse=NUMBER)
    with measurer:
        measurer.submit(candidates([ONE]))
        [measurement] = measurer.collect(0.0)
    assert measurement.run_seconds == (101.0, 102.0, 103.0)
    assert not measurement.cut_off


def test_the_hopeless_are_run_once(tmp_path: Path) -> None:
    measurer = measurer_of(tmp_path, printing("cost {n}"), parse=NUMBER)
    six, seven = (Config({"n": n, "word": "plain"}) for n in (6, 7))
    with measurer:
        measurer.submit(candidates([seven, TWO, six, seven]))
        first, best, bearable, hopeless = (measurer.collect(0.0)[0] for _ in range(4))
    assert [m.cut_off for m in (first, best, bearable, hopeless)] == [False, False, False, True]
    assert [len(m.run_seconds) for m in (first, best, bearable, hopeless)] == [3, 3, 3, 1]


def test_a_play_off_takes_turns_and_builds_each_time(tmp_path: Path) -> None:
    command = python("print('cost', open('built').read())")
    build = python("print({n}, file=open('built', 'w')); print({n}, file=open('log', 'a'))")
    measurer = measurer_of(tmp_path, command, build=build, parse=NUMBER)
    with measurer:
        first, second = measurer.play_off(candidates([ONE, TWO]), rounds=3)
    assert first.run_seconds == (1.0, 1.0, 1.0)
    assert second.run_seconds == (2.0, 2.0, 2.0)
    assert (tmp_path / "log").read_text().split() == ["1", "2"] * 3


def test_time_is_build_run_or_idle(tmp_path: Path) -> None:
    with measurer_of(tmp_path, "sleep 0.05 && sleep 0.1") as measurer:
        measurer.submit(candidates([ONE]))
        [measurement] = measurer.collect(0.0)
    split = measurer.time_split()
    assert split["build"] >= measurement.build_time
    assert split["run"] >= measurement.run_time
    assert set(split) == {"build", "run", "idle"}


# --- The problem


def test_it_is_a_problem_with_a_measurer(tmp_path: Path) -> None:
    problem: Problem = CommandProblem(SPACE, "true", cwd=tmp_path, default=TWO)
    measurer: Measurer = problem.measurer(MeasureSettings())
    assert (measurer.batch, measurer.pending, problem.flops) == (1, 0, None)
    assert problem.finalists == 3
    assert problem.default == TWO


def test_the_key_is_of_all_that_changes_the_cost(tmp_path: Path) -> None:
    def key(command: str = "echo {n}", space: Space = SPACE, **options: Any) -> str:
        return CommandProblem(space, command, **{"cwd": tmp_path, **options}).key

    keys = [
        key(),
        key("echo {n} {word}"),
        key(space=Space([Ordinal("n", (1, 2))])),
        key(build="true"),
        key(shell=True),
        key(parse=NUMBER),
        key(parse=broken),
        key(env={"A": "1"}),
        key(cwd="/"),
        key(name="mine"),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == key()
    assert keys[0].startswith("command:echo:")
    assert key(name="mine", cwd="/") == key(name="mine")


def test_the_description_is_json_ready(tmp_path: Path) -> None:
    described = CommandProblem(SPACE, "echo {n}", cwd=tmp_path, parse=broken).describe()
    assert described["command"] == "echo {n}"
    assert described["parse"] == "broken"
    assert described["space"] == SPACE.to_json()


@pytest.mark.parametrize(
    ("command", "options", "reason"),
    [
        ("no-such-program {n}", {}, "cannot run 'no-such-program': no such program"),
        ("./a.out", {}, "cannot run './a.out'"),
        ("echo {m}", {}, "unknown field 'm'"),
        ("echo {n} | cat", {}, "needs a shell"),
        ("true", {"build": "nowhere"}, "cannot run 'nowhere'"),
        ("true", {"cwd": "/no/such/place"}, "the directory /no/such/place does not exist"),
        ("true", {"parse": "("}, "is not a regular expression"),
        ("true", {"parse": r"\d+"}, "has 0 groups: put one around the number"),
        ("true", {"parse": r"(\d)(\d)"}, "has 2 groups"),
        ("true", {"env": {"PATH": "/nowhere"}}, "cannot run 'true'"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    tmp_path: Path, command: str, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError) as caught:
        CommandProblem(SPACE, command, **{"cwd": tmp_path, **options})
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_default_outside_the_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="not in the space"):
        CommandProblem(SPACE, "true", cwd=tmp_path, default=Config({"n": 1}))


# --- The real thing

SOURCE = r"""
#include <stdio.h>
int main(void) {
    double sum = 0.0;
    for (int i = 0; i < 1000; i += STEP) sum += i;
    printf("step %d: cost %g\n", STEP, sum / TILE);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_c_program_is_compiled_and_run(tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(SOURCE)
    space = Space([Ordinal("level", (0, 2)), Ordinal("step", (1, 2)), Factorization("tile", 8, 2)])
    command = "cc -O{level} -DSTEP={step} -DTILE={tile[0]} loop.c -o loop && ./loop"
    problem = CommandProblem(space, command, cwd=tmp_path, parse=NUMBER)
    with problem.measurer(QUICK) as measurer:
        measurer.submit(
            candidates(
                [
                    Config({"level": 2, "step": 1, "tile": (1, 8)}),
                    Config({"level": 0, "step": 2, "tile": (2, 4)}),
                ]
            )
        )
        [fast], [slow] = measurer.collect(0.0), measurer.collect(0.0)
    assert (fast.message, fast.run_seconds) == ("", (499500.0,))
    assert (slow.message, slow.run_seconds) == ("", (124750.0,))
    assert fast.build_time > 0.0


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_c_program_that_does_not_compile(tmp_path: Path) -> None:
    measurement = measure(tmp_path, "cc -o out missing{n}.c && ./out")
    assert measurement.outcome is Outcome.COMPILE_HOST
    assert measurement.message.startswith("exit status 1: ")
