"""Who takes part in the papers' experiments, on what, and how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.compare.records import install_faulty
from tunesmith.bench.compare.measured import measure_run
from tunesmith.bench.compare.tuners import choose_tuners
from tunesmith.bench.papers import gbfs, nose, opevo
from tunesmith.bench.papers.experiment import SearchExperiment, take_part
from tunesmith.bench.papers.problem import SearchProblem
from tunesmith.budget import Budget
from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.operators import BatchMatmul, Conv2d, matmul
from tunesmith.store import open_store
from tunesmith.tuners import Random

# As few as a machine of two cores makes.
TRIALS_A_SECOND = 4

EXPERIMENTS = [nose.EXPERIMENT, opevo.EXPERIMENT, gbfs.EXPERIMENT]


def sizes(experiment: SearchExperiment) -> dict[str, tuple[int | None, int | None]]:
    """The size of each workload's space, and the trials of a run."""
    problems = experiment.problems(experiment.full)
    return {problem.label: (problem.size, problem.trials) for problem in problems}


# -- what is searched -----------------------------------------------------------------------------


def test_the_spaces_of_gbfs_are_those_of_the_paper() -> None:
    assert sizes(gbfs.EXPERIMENT) == {
        "matmul.512": (484_000, 484),
        "matmul.1024": (899_756, 900),
        "matmul.2048": (1_589_952, 1_590),
    }


def test_nose_searches_the_test_layers() -> None:
    assert list(sizes(nose.EXPERIMENT)) == [f"resnet18.C{i}" for i in range(3, 11)]


def test_opevo_has_batches_that_fit() -> None:
    problems = {p.label: p for p in opevo.EXPERIMENT.problems(opevo.EXPERIMENT.full)}
    assert list(problems) == [
        *("opevo.MM1", "opevo.MM2", "opevo.MM3"),
        *("opevo.BMM.NN.b60", "opevo.BMM.TN.b60", "opevo.BMM.NT.b60"),
        *("opevo.C1.n2", "opevo.C2.n2"),
    ]
    batched, image = problems["opevo.BMM.NT.b60"].operator, problems["opevo.C2.n2"].operator
    assert isinstance(batched, BatchMatmul)
    assert (batched.b, batched.m, batched.transpose) == (60, 128, "NT")
    assert isinstance(image, Conv2d)
    assert (image.n, image.co) == (2, 192)


def test_who_takes_part_and_how_often() -> None:
    full, other = nose.EXPERIMENT.full, opevo.EXPERIMENT.full
    assert full.tuners == ("nose", "genetic", "autotvm")
    assert (full.repeats, full.seconds, full.trials) == (4, 110.0, None)
    assert other.tuners == ("opevo", "gbfs", "na2c", "autotvm")
    assert (other.repeats, other.seconds, other.trials) == (5, None, 512)


def test_all_runs_of_a_workload_come_before_those_of_the_next() -> None:
    """What is not complete has to be measured anew on another machine."""
    settings = nose.EXPERIMENT.full.changed(workloads=("resnet18.C[34]",), repeats=2)
    tuners = choose_tuners(["nose", "genetic"])
    runs = nose.EXPERIMENT.comparison(settings, tuners, Path("out")).runs()
    assert [(run.problem.label, run.repeat, run.tuner.label) for run in runs] == [
        (f"resnet18.C{number}", repeat, label)
        for number in (3, 4)
        for repeat in (0, 1)
        for label in ("nose", "genetic")
    ]


def test_limits_leave_time_for_the_trials() -> None:
    full, quick = opevo.EXPERIMENT.full, gbfs.EXPERIMENT.quick
    assert (full.seconds, full.trials) == (None, 512)
    for problem in gbfs.EXPERIMENT.problems(quick):
        assert problem.trials is not None and quick.seconds is not None
        assert quick.seconds * TRIALS_A_SECOND >= problem.trials


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_quick_is_a_part_of_the_whole(experiment: SearchExperiment) -> None:
    quick, full = experiment.quick, experiment.full
    assert set(quick.workloads) < set(full.workloads)
    names = {text.partition(":")[0] for text in full.tuners}
    assert {text.partition(":")[0] for text in quick.tuners} <= names
    assert quick.sketch == full.sketch
    assert quick.repeats >= 3, "so that there is an error to speak of"
    there, _ = take_part(quick.tuners)
    runs = len(there) * len(quick.workloads) * quick.repeats
    assert quick.seconds is not None
    assert runs * quick.seconds <= 25 * 60
    assert experiment.settings(quick=True) == quick
    assert experiment.settings(quick=False) == full


def test_what_is_given_takes_the_place_of_what_a_paper_has() -> None:
    settings = gbfs.EXPERIMENT.full.changed(
        workloads=("matmul.*",), tuners=(), repeats=3, seconds=None, trials=7, seed=0
    )
    assert (settings.repeats, settings.trials, settings.seconds) == (3, 7, 300.0)
    assert settings.tuners == gbfs.EXPERIMENT.full.tuners
    problems = gbfs.EXPERIMENT.problems(settings)
    assert [problem.label for problem in problems] == [
        *("matmul.512", "matmul.1024", "matmul.2048"),
    ]
    comparison = gbfs.EXPERIMENT.comparison(settings, choose_tuners(["random"]), Path("out"))
    assert comparison.limits(problems[0]) == (300.0, 7)
    full = gbfs.EXPERIMENT.full
    comparison = gbfs.EXPERIMENT.comparison(full, choose_tuners(["random"]), Path("out"))
    assert comparison.limits(problems[0]) == (300.0, 484)


def test_unknown_workloads_and_sketches() -> None:
    experiment = nose.EXPERIMENT
    with pytest.raises(
        UsageError, match=r"unknown workload of bench nose 'resnet18\.C13': did you"
    ):
        experiment.problems(experiment.full.changed(workloads=("resnet18.C13",)))
    with pytest.raises(UsageError, match="sketch cpu_gemm_424 cannot schedule conv2d"):
        experiment.problems(experiment.full.changed(sketch="cpu_gemm_424"))
    with pytest.raises(UsageError, match="repeats must be 1 or more, not 0"):
        settings = experiment.full.changed(repeats=0)
        experiment.comparison(settings, choose_tuners(["random"]), Path("out"))


def test_a_workload_that_is_named_twice_is_there_once() -> None:
    settings = nose.EXPERIMENT.full.changed(workloads=("resnet18.C5", "resnet18.C[45]"))
    problems = nose.EXPERIMENT.problems(settings)
    assert [problem.label for problem in problems] == ["resnet18.C5", "resnet18.C4"]


def test_runs_of_another_space_are_other_runs() -> None:
    operator = matmul(m=64, n=64, k=64)
    tiled, gemm = (SearchProblem("x", operator, sketch) for sketch in ("cpu_tiled", "cpu_gemm_424"))
    assert tiled.identity != gemm.identity
    assert tiled.identity == SearchProblem("y", operator, "cpu_tiled", 0.5).identity


def test_a_run_begins_with_what_its_tuner_proposes(tmp_path: Path) -> None:
    problem = SearchProblem("x", matmul(m=16, n=16, k=16), "cpu_tiled")
    store = str(tmp_path / "tuning.db")
    trace = measure_run(
        problem.tuned, Random(), Budget(trials=4), seed=3, store=store, watch=lambda _: None
    )
    assert trace.trials == 4
    (view,) = problem.views()
    with open_store(store) as opened:
        tried = {record.config for record in opened.records(problem.tuned.key)}
    assert tried == set(Random().start_on(view, 3).propose(4))


# -- who searches ---------------------------------------------------------------------------------


def test_a_tuner_must_exist() -> None:
    with pytest.raises(UsageError, match="unknown tuner 'rendom': did you mean random"):
        take_part(["random", "rendom"])
    with pytest.raises(UsageError, match="unknown opevo option 'r'"):
        take_part(["opevo:r=1"])
    with pytest.raises(UsageError, match="tuner 'random' is given twice"):
        take_part(["random", "random"])


def test_a_tuner_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install_faulty(tmp_path))
    there, left_out = take_part(["gone", "grid"])
    assert [choice.label for choice in there] == ["grid"]
    assert "tuner 'gone' (faulty_tuner:Gone) cannot be imported" in left_out["gone"]
    with pytest.raises(MissingDependencyError, match=r"no tuner is left: tuner 'gone'"):
        take_part(["gone"])


def test_what_a_tuner_lacks_may_show_only_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise MissingDependencyError("tuner 'random' needs a die: buy one")

    monkeypatch.setattr(Random, "start", start)
    there, left_out = take_part(["random", "grid"])
    assert [choice.label for choice in there] == ["grid"]
    assert left_out == {"random": "tuner 'random' needs a die: buy one"}
