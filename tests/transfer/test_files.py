"""Models in files: the same afterwards, and a line for what is none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.transfer.made_up import SIZES, problem_of, series
from tunesmith.errors import UsageError
from tunesmith.transfer.files import VERSION, read_model, write_model
from tunesmith.transfer.model import GlobalModel, learn

pytest.importorskip("xgboost", reason="XGBoost is not installed")


@pytest.fixture(scope="module")
def model() -> GlobalModel:
    return learn([series(size) for size in SIZES], origin={"scope": "here"})


def test_what_is_written_is_read_again(model: GlobalModel, tmp_path: Path) -> None:
    path = tmp_path / "m.json.gz"
    write_model(model, path)
    again = read_model(path)
    problem = problem_of(224)
    configs = problem.space.sample_many(50, np.random.default_rng(0))
    speeds = model.log_speeds(problem, configs)
    np.testing.assert_array_equal(again.log_speeds(problem, configs), speeds)
    assert again.described == model.described
    assert again.sketches == model.sketches


def test_the_same_model_gives_the_same_file(model: GlobalModel, tmp_path: Path) -> None:
    for name in "ab":
        write_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def content(**others: object) -> bytes:
    return gzip.compress(json.dumps({"format": "tunesmith-model", **others}).encode(), mtime=0)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"", "is no model"),
        (b"no gzip", "is no model"),
        (gzip.compress(b"[]", mtime=0), "is no model"),
        (gzip.compress(b'{"format": "other"}', mtime=0), "is no model .*its format is 'other'"),
        (content(version=VERSION), "is no model"),
        (content(version=VERSION + 1), f"is a model of version {VERSION + 1}, not {VERSION}"),
    ],
    ids=["empty", "no gzip", "a list", "another format", "without trees", "another version"],
)
def test_what_is_no_model(broken: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json.gz"
    path.write_bytes(broken)
    with pytest.raises(UsageError, match=reason) as caught:
        read_model(path)
    assert "train it again" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_trees_of_more_columns_than_there_are(model: GlobalModel, tmp_path: Path) -> None:
    path = tmp_path / "m.json.gz"
    write_model(model, path)
    content = json.loads(gzip.decompress(path.read_bytes()))
    content["columns"] = content["columns"][:3]
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(UsageError, match="its trees ask for columns that it does not have"):
        read_model(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file(model: GlobalModel, share: float, tmp_path: Path) -> None:
    path = tmp_path / "m.json.gz"
    write_model(model, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UsageError, match="is no model"):
        read_model(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no model"):
        read_model(tmp_path / "m.json.gz")
