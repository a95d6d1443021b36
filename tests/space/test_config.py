"""Configs: equality, hashing, keys and JSON."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

from tests.space.strategies import configs
from tunesmith.errors import SpaceError
from tunesmith.space import Config


def test_order_does_not_matter() -> None:
    a, b = Config({"a": 1, "b": (2, 4)}), Config({"b": (2, 4), "a": 1})
    assert a == b
    assert hash(a) == hash(b)
    assert a.key == b.key == '{"a":1,"b":[2,4]}'
    assert a != Config({"a": 1})
    assert a == {"b": (2, 4), "a": 1}
    assert a != 3


def test_it_is_a_mapping_that_cannot_be_changed() -> None:
    config = Config({"m": (2, 4), "unroll": 16})
    assert dict(config) == {"m": (2, 4), "unroll": 16}
    assert list(config) == ["m", "unroll"]
    assert "m" in config
    assert len(config) == 2
    with pytest.raises(TypeError):
        config["m"] = (1, 8)  # type: ignore[index]
    with pytest.raises(AttributeError):
        config.extra = 1  # type: ignore[attr-defined]


def test_replace_makes_another_config() -> None:
    config = Config({"m": (2, 4), "self": 16})
    changed = config.replace(m=[4, 2])
    assert changed == Config({"m": (4, 2), "self": 16})
    assert config["m"] == (2, 4)
    assert config.replace(self=1)["self"] == 1
    with pytest.raises(SpaceError, match="no parameter 'n' to replace"):
        config.replace(n=1)


@given(configs())
def test_json_and_pickle_round_trips(config: Config) -> None:
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert Config.from_json(json.loads(config.key)) == config
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert hash(again) == hash(config)


def test_a_pickled_config_hashes_right_in_another_process() -> None:
    config = Config({"layout": "NCHW", "m": (2, 4)})
    hash(config)
    code = (
        "import pickle, sys; from tunesmith.space import Config;"
        "read = pickle.load(sys.stdin.buffer);"
        "print(read in {Config({'layout': 'NCHW', 'm': (2, 4)})})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(config),
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "12345", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == b"True"


def test_lists_and_numpy_scalars_become_plain_values() -> None:
    config = Config({"m": [np.int64(2), 4], "x": np.float64(0.5), "f": np.bool_(True), "z": -0.0})
    assert config == Config({"m": (2, 4), "x": 0.5, "f": True, "z": 0.0})
    assert config.key == '{"f":true,"m":[2,4],"x":0.5,"z":0.0}'
    assert [type(part) for part in config["m"]] == [int, int]  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [None, {}, [[1]], object(), float("nan"), float("inf"), {1}])
def test_values_that_are_refused(value: object) -> None:
    with pytest.raises(SpaceError, match="config: 'x'") as caught:
        Config({"x": value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("obj", [None, 3, "x", [1], [["a", 1]]])
def test_json_that_is_refused(obj: object) -> None:
    with pytest.raises(SpaceError, match="not a JSON object"):
        Config.from_json(obj)


def test_names_are_text() -> None:
    with pytest.raises(SpaceError, match="1 is not a parameter's name"):
        Config({1: 2})  # type: ignore[dict-item]
