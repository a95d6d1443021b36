"""The networks of ``bench gpu``: real ones on a CPU, and what becomes of their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.gpu.figures import figures
from tunesmith.bench.gpu.networks import NetworkRuns
from tunesmith.bench.gpu.page import gpu_page
from tunesmith.errors import UsageError
from tunesmith.store import open_store
from tunesmith.target import Target


def test_figures_without_networks_have_no_part_about_them() -> None:
    assert "## Networks" not in gpu_page({**figures(), "figures": []})


def test_a_network_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="unknown network 'resnet': did you mean"):
        NetworkRuns(Target(), ["resnet"])


@pytest.mark.slow
def test_a_row_of_a_real_network(tmp_path: Path) -> None:
    """On a CPU, of which all is the same but where the arrays are."""
    pytest.importorskip("torch", reason="networks of the zoo need PyTorch")
    runs = NetworkRuns(Target(), peers=("pytorch",), rounds=3, device="cpu")
    said: list[str] = []
    with open_store(tmp_path / "t.db") as store:
        row = runs.row("dqn", store, 0.0, said.append)
    assert (row["network"], row["tasks"], row["stored_tasks"]) == ("dqn", 5, 0)
    assert row["relative_error"] < 1e-5
    assert row["milliseconds"] > 0
    assert row["peers"]["pytorch"]["milliseconds"] > 0
    assert (row["missing"], row["tuning_seconds"]) == ({}, 0.0)
    assert said[0] == "dqn: building ..."
