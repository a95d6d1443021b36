"""What is compared: tuners with options, and problems, as they are named on the command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.bench.compare.records import record
from tunesmith.bench.compare.code import digest_of, sources_of
from tunesmith.bench.compare.problems import MeasuredProblem, RecordedProblem, choose_problems
from tunesmith.bench.compare.tuners import TunerChoice, choose_tuners, reference_of
from tunesmith.errors import UsageError
from tunesmith.tuners import Genetic, Grid, Random, Search, Tuner

PROGRAMS = (
    "tunesmith.features.program",
    "tunesmith.features.program.context",
    "tunesmith.features.program.vectors",
    "tunesmith.compiler.loop_nest",
)
TRANSFER = (
    "tunesmith.transfer.model",
    "tunesmith.transfer.encoding",
    "tunesmith.bench.compare.recorded_task",
)


def refusal(*texts: str) -> str:
    """Why problems are refused."""
    with pytest.raises(UsageError) as caught:
        choose_problems(texts)
    return str(caught.value)


# -- tuners ---------------------------------------------------------------------------------------


def test_tuners_and_their_options() -> None:
    chosen = choose_tuners(["random", "genetic", " genetic : population=50, elites=2 "])
    assert [each.label for each in chosen] == [
        "random",
        "genetic",
        "genetic:population=50,elites=2",
    ]
    assert [each.tuner for each in chosen] == [
        *(Random(), Genetic(), Genetic(population=50, elites=2))
    ]


def test_tuners_with_multipliers() -> None:
    chosen = choose_tuners(["random", "random*2", " genetic * 3 : population=50", "random×4"])
    assert [(each.label, each.multiplier) for each in chosen] == [
        *(("random", 1), ("random×2", 2), ("genetic×3:population=50", 3), ("random×4", 4))
    ]
    assert chosen[1].tuner == Random()
    assert chosen[2].tuner == Genetic(population=50)


def test_what_tuners_see() -> None:
    chosen = choose_tuners(["auto", "auto+estimates", "auto + model : near=4", "random*2+model"])
    assert [(each.label, each.sees) for each in chosen] == [
        ("auto", "space"),
        ("auto+estimates", "estimates"),
        ("auto+model:near=4", "model"),
        ("random×2+model", "model"),
    ]
    first, second, *_ = (each.identity for each in chosen)
    assert first != second
    assert "sees" not in first


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["auto+modle"], "'modle': did you mean model"),
        ([], "no tuner to compare: name one or more with --tuners"),
        (["genetc"], "unknown tuner 'genetc': did you mean genetic"),
        (["genetic:pop=3"], "unknown genetic option 'pop'"),
        (["genetic:population"], "write population=VALUE"),
        (["genetic:population=1"], "population must be 2 or more"),
        (["grid", "grid"], "tuner 'grid' is given twice: leave one out"),
        (["grid*2", "grid×2"], "tuner 'grid×2' is given twice: leave one out"),
        (
            ["random*1"],
            r"^tuner 'random\*1': the multiplier must be a whole number from 2 to 100, not '1': "
            r"write random\*2$",
        ),
        (["random*"], "from 2 to 100, not ''"),
        (["random*1.5"], "from 2 to 100, not '1.5'"),
        (["random*2*2"], r"from 2 to 100, not '2\*2'"),
        (["random*" + "9" * 5000], "from 2 to 100, not '999"),
        (["*2"], "unknown tuner ''"),
    ],
)
def test_tuners_that_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose_tuners(texts)


def test_the_reference_is_the_genetic_tuner_or_the_first() -> None:
    assert reference_of(["random", "genetic"]) == "genetic"
    assert reference_of(["random", "grid"]) == "random"


def test_an_identity_has_all_options() -> None:
    plain, other = choose_tuners(["genetic", "genetic:population=50"])
    assert plain.identity == TunerChoice("again", Genetic()).identity
    assert plain.identity != other.identity
    assert plain.identity["code"] == other.identity["code"]


def test_code_is_that_of_a_package_as_far_as_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "strange_tuners"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "beside.py").write_text("")
    (package / "deep.py").write_text("import json\n")
    (package / "lazy.py").write_text("from . import deep\n")
    (package / "climb.py").write_text(
        "from tunesmith.tuners import Random\n"
        "class Climb(Random):\n"
        "    def start(self, space, seed):\n"
        "        from strange_tuners import lazy\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import strange_tuners.climb  # type: ignore[import-not-found]

    def code() -> str:
        return digest_of(sources_of(strange_tuners.climb.__name__))

    before = code()
    assert code() == before
    (package / "beside.py").write_text("x = 1\n")
    assert code() == before, "it is not imported"
    (package / "deep.py").write_text("x = 1\n")
    assert code() != before, "it is, by what a method imports"
    for name in [name for name in sys.modules if name.startswith("strange_tuners")]:
        del sys.modules[name]


def test_code_is_that_of_the_whole_package_above_the_tuner_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "curious"
    sources = {
        "__init__.py": "",
        "tuners/__init__.py": "",
        "tuners/climb.py": (
            "from tunesmith.tuners import Random\n"
            "from curious.models import (  # of a (new) kind\n    slow,\n    Fast,\n)\n"
            "class Climb(Random):\n    pass\n"
        ),
        "models/__init__.py": "from .fast import Fast\n",
        "models/fast.py": "class Fast: pass\n",
        "models/slow.py": "def more():\n    from ..space import \\\n        size\n",
        "models/other.py": "",
        "space.py": "import json, curious.sums as sums\nsize = 1\n",
        "sums.py": "",
    }
    for name, text in sources.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import curious.tuners.climb  # type: ignore[import-not-found]

    def code() -> str:
        return digest_of(sources_of(curious.tuners.climb.__name__))

    before = code()
    (package / "models/other.py").write_text("x = 1\n")
    assert code() == before, "it is not imported"
    for name in ("models/__init__", "models/fast", "models/slow", "space", "sums"):
        file = package / f"{name}.py"
        text = file.read_text()
        file.write_text(f"{text}x = 1\n")
        assert code() != before, name
        file.write_text(text)
        assert code() == before
    for name in [name for name in sys.modules if name.partition(".")[0] == "curious"]:
        del sys.modules[name]


PLAIN = """\
class Climb:
    def start(self):
        text = f'''
        # {self}
        '''
        return text
"""
EXPLAINED = '''\
"""What it is."""

# Why.
class Climb:
    """Who it is."""

    def start(self):
        """What it does,

        at length.
        """
        text = f\'\'\'
        # {self}
        \'\'\'
        # How.
        return text
'''


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (EXPLAINED, True),
        (PLAIN.replace("\n", "\n\n", 2), True),
        (PLAIN + "x = 1\n", False),
        (PLAIN + "x = 1; 'and nothing'\n", False),
        (PLAIN.replace("return text", "return 'text'"), False),
        (PLAIN.replace("# {self}", "# {text}"), False),
        (PLAIN.replace("return text", "return self"), False),
        (PLAIN.replace("        return", "    return"), False),
        (PLAIN.replace("return text", "return text  # why"), False),
        (PLAIN + "this is no Python\n", False),
    ],
)
def test_what_explains_code_is_none(changed: str, same: bool) -> None:
    """A run of before counts if nothing but comments, docstrings and empty lines have changed."""
    before, after = (digest_of({"climb": text.encode()}) for text in (PLAIN, changed))
    assert (before == after) is same


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b"x = 1 \\\n+ 2\n", b"x = 1 \\\n\n+ 2\n", False),
        (b"x = 1\r# c\ny = 2\r\n", b"x = 1\ny = 2\n", True),
        (b"a = 1\r# c\nb = 2\n'''t'''\nc = 3\n", b"a = 1\nb = 2\n", False),
        ("# coding: latin-1\n'éé'; x = 1\n".encode("latin-1"), b"# none\nx = 1\n", False),
        (b"\xef\xbb\xbf'''Why.'''\nx = 1\n", b"x = 1\n", True),
        (b"x = '\\d'\n# c\n", b"x = '\\d'\n", True),
    ],
    ids=["continued", "line ends", "a lone return", "encoding", "mark", "odd escape"],
)
def test_code_as_others_write_it(before: bytes, after: bytes, same: bool) -> None:
    assert (digest_of({"climb": before}) == digest_of({"climb": after})) is same


def test_the_code_of_our_tuners_has_the_spaces_and_models_that_they_use() -> None:
    (auto,) = choose_tuners(["auto"])
    names = set(auto.sources)
    assert names >= {
        *("tunesmith.tuners.auto.tuner", "tunesmith.space.space", "tunesmith.features.coordinates"),
        *("tunesmith.models.gaussian_process", "tunesmith.measurement"),
    }
    assert "tunesmith.tuners.nose" not in names
    assert not [name for name in names if name.startswith(("tunesmith.bench", "tunesmith.cli"))]
    theirs = set(sources_of(Local.__module__))
    assert theirs >= {Local.__module__, "tunesmith.tuners.random"}, "what is built on ours"


@pytest.mark.parametrize(
    ("text", "transfer", "more"),
    [
        ("autotvm", None, {"tunesmith.models.boosted_trees", "tunesmith.models.trees"}),
        ("autotvm:model=tree-gru", None, {"tunesmith.models.tree_gru", "tunesmith.models.pytorch"}),
        (
            "autotvm:model=knn,features=loop-context",
            None,
            {"tunesmith.models.knn", *PROGRAMS},
        ),
        ("autotvm:model=knn", "configuration", {"tunesmith.models.boosted_trees", *TRANSFER}),
        ("autotvm:model=knn", "context-relation", {*PROGRAMS, *TRANSFER}),
        ("autotvm:model=knn", "estimates", set(TRANSFER)),
    ],
)
def test_the_code_has_what_the_options_name(text: str, transfer: Any, more: set[str]) -> None:
    (chosen,) = choose_tuners([text])
    names = set(replace(chosen, transfer=transfer).sources)
    assert names >= more
    (plain,) = choose_tuners(["autotvm:model=gaussian-process"])
    known = {*PROGRAMS, *TRANSFER, *(f"tunesmith.models.{name}" for name in ("knn", "tree_gru"))}
    assert not set(plain.sources) & known
    assert not {name for name in names if name.startswith(("tunesmith.sketches", "tunesmith.cli"))}


def test_a_change_of_a_cost_model_is_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    trees, other = "autotvm", "autotvm:model=gaussian-process"
    before = {text: choose_tuners([text])[0].identity for text in (trees, other)}
    read = Path.read_bytes

    def changed(path: Path) -> bytes:
        return read(path) + (b"x = 1\n" if path.name == "boosted_trees.py" else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    after = {text: choose_tuners([text])[0].identity for text in (trees, other)}
    assert before[trees] != after[trees]
    assert before[other] == after[other]


@dataclass(frozen=True)
class Local(Tuner):
    """A tuner of a module that is in no package."""

    name: ClassVar[str] = "local"

    def start(self, space: object, seed: int) -> Search:
        raise NotImplementedError


def test_a_tuner_of_any_module_has_an_identity() -> None:
    code = TunerChoice("local", Local()).identity["code"]
    assert code == TunerChoice("again", Local()).identity["code"]
    assert code != TunerChoice("g", Grid()).identity["code"]


# -- problems -------------------------------------------------------------------------------------


def test_files_are_called_by_their_last_parts(tmp_path: Path) -> None:
    first, second = record(tmp_path, "one"), record(tmp_path, "two")
    (problem,) = choose_problems([str(first)])
    assert isinstance(problem, RecordedProblem)
    assert (problem.label, problem.path) == ("one/gpu", first)
    assert len(problem.recording.configs) == 144
    assert problem.baselines.optimum == pytest.approx(1e-3)
    assert [each.label for each in choose_problems([str(second), str(first)])] == [
        *("two/gpu", "one/gpu")
    ]
    deeper = record(tmp_path / "other", "one")
    assert [each.label for each in choose_problems([str(first), str(deeper)])] == [
        *(f"{tmp_path.name}/one/gpu", "other/one/gpu")
    ]


def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, "one"), record(tmp_path, "two")
    labels = [each.label for each in choose_problems([f"{tmp_path}/*/*.json*"])]
    assert labels == ["one/gpu", "two/gpu"]
    monkeypatch.chdir(tmp_path / "one")
    assert [each.label for each in choose_problems(["../*/*.json.gz"])] == ["one/gpu", "two/gpu"]
    assert choose_problems(["resnet18.C1?"]) == [
        MeasuredProblem(f"resnet18.C1{number}") for number in (0, 1, 2)
    ]


def test_a_workload_is_the_layer_of_that_name() -> None:
    (problem,) = choose_problems(["resnet18.C7"])
    assert isinstance(problem, MeasuredProblem)
    assert problem.label == "resnet18.C7"
    assert problem.task.operator.name == "conv2d"


def test_problems_that_are_refused(tmp_path: Path) -> None:
    path = record(tmp_path)
    text = str(path)
    assert refusal() == "no problem to compare on: name one or more with --problems"
    assert refusal("resnet18.C77").startswith("unknown problem 'resnet18.C77': did you mean")
    assert refusal("/nowhere/at.json.gz") == "problem '/nowhere/at.json.gz': there is no such file"
    assert refusal("gone.json") == "problem 'gone.json': there is no such file"
    assert "is a folder: name its T4 files" in refusal(str(path.parent))
    assert "no file, synthetic space or workload fits" in refusal(f"{tmp_path}/*.gz")
    assert refusal(text, text) == f"problem '{text}' is given twice: leave one out"
    assert "is given twice" in refusal("resnet18.C7", "resnet18.*")


def test_records_that_are_refused(tmp_path: Path) -> None:
    path = record(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    assert refusal(str(path)).startswith(f"{path}: damaged or cut off")
    path = record(tmp_path, "no space")
    (path.parent / "space.T1.json").unlink()
    assert "there is no space.T1.json beside it" in refusal(str(path))
    path = record(tmp_path, "single", kept=lambda config: config["a"] == 1 and config["b"] == 1)
    assert refusal(str(path)).startswith(f"{path}: fewer than two of its configs are valid")


def test_an_identity_follows_the_files(tmp_path: Path) -> None:
    (before,) = choose_problems([str(record(tmp_path))])
    known = before.identity
    (same,) = choose_problems([str(record(tmp_path))])
    assert same.identity == known
    (other,) = choose_problems([str(record(tmp_path, kept=lambda config: config["a"] != 3))])
    assert other.identity != known
