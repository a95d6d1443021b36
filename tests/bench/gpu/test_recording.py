"""A layer's space that is recorded on a GPU, without one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tunesmith.bench.gpu import recording
from tunesmith.bench.gpu.recording import FILE, FOLDER, SpaceSample
from tunesmith.errors import TunesmithError
from tunesmith.measurement import Measurement, Outcome
from tunesmith.operators import matmul
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.target import Target


@pytest.mark.parametrize(("count", "found"), [(0, "0 configs"), (1, "1 config"), (3, "3 configs")])
def test_nothing_valid_is_not_a_recording(
    count: int, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = SpaceSample(
        "a product", matmul(m=8, n=8, k=8), "cuda_gemm_424", Target("cuda", arch="sm_90"), 0
    )
    failed = Measurement(Config({"n": 1}), Outcome.BUILD_TIMEOUT), datetime.now(UTC)
    recorded = SimpleNamespace(trials=[failed] * count, result=SimpleNamespace(failure=""))
    monkeypatch.setattr(recording, "record", lambda *_, **__: recorded)
    told = f"^{found} in 14 s, and none that is valid$"
    with open_store("sqlite://") as store, pytest.raises(TunesmithError, match=told):
        sample.write(tmp_path, store, 14.0, lambda _: None)
    assert not (tmp_path / FOLDER / FILE).exists()
