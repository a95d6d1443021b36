"""A row of a real network, as ``bench networks`` measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tunesmith.bench.networks import comparison
from tunesmith.bench.networks.bench import UNTUNED, NetworkBench, NetworkSettings
from tunesmith.bench.networks.peers import network_peers
from tunesmith.bench.networks.workloads import NetworkWorkload
from tunesmith.networks import from_torch
from tunesmith.networks.zoo import ZOO
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.testing.trials import measured


@contextmanager
def watch() -> Iterator[Callable[[Any], None]]:
    yield lambda _: None


@pytest.mark.slow
def test_a_row_of_a_real_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside two runtimes; the test of ``network compare`` has them all."""
    pytest.importorskip("torch", reason="networks of the zoo need PyTorch")
    known = network_peers()
    few = {name: known[name] for name in ("pytorch", "onnxruntime")}
    monkeypatch.setattr(comparison, "network_peers", lambda kind="cpu": few)
    said: list[str] = []
    settings = NetworkSettings(seconds=0, rounds=3, slow=False)
    with open_store(tmp_path / "t.db") as store:
        bench = NetworkBench(settings, store, said.append, watch)
        row = bench.row(NetworkWorkload("dqn"), None)
        assert row is not None
        assert bench.row(NetworkWorkload("dqn"), row) is None, "it has its figures"
    assert (row["network"], row["tasks"], row["tuning_seconds"]) == ("dqn", 5, 0.0)
    assert row["relative_error"] < 1e-5
    assert row["milliseconds"] > 0
    assert row["peers"]["pytorch"]["ratio"] > 0
    assert row["builds"][UNTUNED]["best_peer"]["ratio"] > 0
    assert 0 < row["where"]["runtime_share"] < 1
    assert said[0] == "dqn: building with the model's picks ..."
    assert said[-1].startswith("dqn: ")
    assert "times as fast as" in said[-1]


def test_the_seconds_of_a_row_count_only_with_their_records(tmp_path: Path) -> None:
    """A row that is measured again with an empty store was not tuned for twice the time."""
    pytest.importorskip("torch", reason="networks of the zoo need PyTorch")
    zoo = ZOO.get("dqn")
    network = from_torch(zoo.model(), zoo.example(1))
    known = {"tuning_seconds": 600.0}
    with open_store(tmp_path / "t.db") as store:
        bench = NetworkBench(NetworkSettings(), store, print, watch)
        assert bench._tuned_before(network, known) == 0.0
        key = next(iter(network.tasks)).key
        session = store.begin_session(key, tuner="random", seed=0)
        store.append(session, [measured(Config.from_values({"x": 1}), 1.0)])
        assert bench._tuned_before(network, known) == 600.0
        assert bench._tuned_before(network, None) == 0.0
