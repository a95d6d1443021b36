"""Tuners by name, their options, and plug-ins of other packages."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from tests.plug_ins import offer
from tunesmith.errors import MissingDependencyError, TunesmithError, UsageError
from tunesmith.space import Space
from tunesmith.tuners import (
    Genetic,
    Grid,
    Random,
    Search,
    Tuner,
    describe_tuners,
    option,
    parse_options,
    tuner,
    tuner_names,
)


@dataclass(frozen=True)
class Plugin(Tuner):
    """A stranger's tuner.

    With a longer story.
    """

    name: ClassVar[str] = "plugin"

    mode: Literal["fast", "slow"] = option("fast", "how")
    greedy: bool = option(False, "whether")
    depth: int | None = None
    rate: float = 0.5

    def start(self, space: Space, seed: int) -> Search:
        return Random().start(space, seed)


no_tuner = types.SimpleNamespace()


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes installed packages offer these tuners."""

    return lambda **places: offer(monkeypatch, "tunesmith.tuners", places)


def one_line(error: TunesmithError) -> str:
    text = str(error)
    assert "\n" not in text
    return text


# --- By name


def test_the_built_in_tuners() -> None:
    assert {"random", "grid", "genetic"} <= set(tuner_names())
    assert tuner("random") == Random()
    assert tuner("grid") == Grid()
    assert tuner("genetic", population=50, mutation=1) == Genetic(population=50, mutation=1.0)


def test_each_built_in_tuner_is_registered_under_its_own_name() -> None:
    assert all(tuner(name).name == name for name in ("random", "grid", "genetic"))


def test_an_unknown_tuner_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        tuner("genetik")
    assert one_line(caught.value) == "unknown tuner 'genetik': did you mean genetic?"


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        tuner("genetic", populaton=50)
    assert "did you mean population" in one_line(caught.value)
    assert "genetic" in str(caught.value)


def test_a_tuner_without_options_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        tuner("random", depth=1)
    assert one_line(caught.value) == "tuner 'random' has no options, so it cannot take 'depth'"


@pytest.mark.parametrize("value", [0, "50", 2.5, None, True])
def test_a_wrong_value_is_one_line(value: object) -> None:
    with pytest.raises(UsageError) as caught:
        tuner("genetic", population=value)
    assert "tuner 'genetic'" in one_line(caught.value)
    assert "population" in str(caught.value)


# --- Options from text


def test_options_from_text_have_their_types() -> None:
    parsed = parse_options("genetic", ["population=50", "mutation = 0.25"])
    assert parsed == {"population": 50, "mutation": 0.25}
    assert tuner("genetic", **parsed) == Genetic(population=50, mutation=0.25)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("population", "tuner option 'population' has no value: write population=VALUE"),
        ("population=many", "tuner 'genetic': option population must be int, not 'many'"),
        ("population=", "tuner 'genetic': option population must be int, not ''"),
        ("popularity=3", "did you mean population"),
    ],
)
def test_bad_texts_are_one_line(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options("genetic", [text])
    assert reason in one_line(caught.value)


def test_options_of_every_type(plug_in: Callable[..., None]) -> None:
    plug_in(plugin=f"{__name__}:Plugin")
    texts = ["mode=slow", "greedy=yes", "depth=none", "rate=2"]
    parsed = parse_options("plugin", texts)
    assert parsed == {"mode": "slow", "greedy": True, "depth": None, "rate": 2.0}
    assert parse_options("plugin", ["greedy=off", "depth=3"]) == {"greedy": False, "depth": 3}
    for text in ("mode=medium", "greedy=perhaps", "depth=deep", "rate=high"):
        with pytest.raises(UsageError, match="must be"):
            parse_options("plugin", [text])


# --- Plug-ins


def test_a_plug_in_is_found_by_its_name(plug_in: Callable[..., None]) -> None:
    plug_in(plugin=f"{__name__}:Plugin")
    assert tuner("plugin", greedy=True) == Plugin(greedy=True)
    assert "plugin" in tuner_names()
    with pytest.raises(UsageError, match="mode must be 'fast' or 'slow', not 'medium'"):
        tuner("plugin", mode="medium")


def test_a_plug_in_does_not_replace_a_built_in_tuner(plug_in: Callable[..., None]) -> None:
    plug_in(random=f"{__name__}:Plugin")
    assert tuner("random") == Random()
    assert [row.summary for row in describe_tuners() if row.name == "random"] != [
        "A stranger's tuner."
    ]


@pytest.mark.parametrize("target", ["tunesmith.nowhere:Tuner", "tunesmith.errors:Nothing"])
def test_a_plug_in_that_cannot_be_imported(plug_in: Callable[..., None], target: str) -> None:
    plug_in(broken=target)
    with pytest.raises(MissingDependencyError) as caught:
        tuner("broken")
    assert "tuner 'broken'" in one_line(caught.value)
    [row] = [row for row in describe_tuners() if row.name == "broken"]
    assert row.summary == str(caught.value)


@pytest.mark.parametrize("target", [f"{__name__}:no_tuner", "pathlib:Path"])
def test_a_plug_in_that_is_no_tuner(plug_in: Callable[..., None], target: str) -> None:
    plug_in(odd=target)
    with pytest.raises(UsageError) as caught:
        tuner("odd")
    assert "is no tuner" in one_line(caught.value)


# --- Descriptions


def test_descriptions_give_options_with_defaults_and_meaning() -> None:
    rows = {row.name: row for row in describe_tuners()}
    assert rows["random"].options == ()
    assert rows["genetic"].package == "tunesmith"
    assert rows["genetic"].summary.startswith("AutoTVM's genetic algorithm")
    options = [(o.name, o.type_name, o.default) for o in rows["genetic"].options]
    assert options == [("population", "int", 100), ("elites", "int", 3), ("mutation", "float", 0.1)]
    assert all(option.meaning for option in rows["genetic"].options)
    assert [row.name for row in describe_tuners()] == sorted(rows)


def test_descriptions_put_types_in_words(plug_in: Callable[..., None]) -> None:
    plug_in(plugin=f"{__name__}:Plugin")
    [row] = [row for row in describe_tuners() if row.name == "plugin"]
    names = {option.name: option.type_name for option in row.options}
    assert names == {
        "mode": "'fast' or 'slow'",
        "greedy": "bool",
        "depth": "int or none",
        "rate": "float",
    }
