"""Times of the functions inside of a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.networks.choices import defaults
from tests.networks.small import Residual, SeveralResults, random_input, seeded, torch
from tunesmith.networks import CompiledNetwork, Network, from_torch, load
from tunesmith.networks.reporting import profile
from tunesmith.networks.reporting.profile import call_times


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "_SECONDS", 0.1)


@pytest.fixture(scope="module")
def network() -> Network:
    return from_torch(seeded(Residual()), random_input(1, 3, 8, 8))


@pytest.fixture(scope="module")
def built(network: Network) -> CompiledNetwork:
    return network.built(defaults(network))


def test_each_layer_is_a_part_in_its_order(network: Network, built: CompiledNetwork) -> None:
    call = call_times(built)
    layers = [part for part in call.parts if part.covered]
    assert [part.label for part in layers] == [layer.operator.label for layer in network.layers]
    assert [part.flops for part in layers] == [layer.operator.flops for layer in network.layers]
    assert {part.sketch for part in layers} == {
        choice.problem.sketch.name for choice in defaults(network).values()
    }
    assert all(part.seconds > 0 and part.least_seconds for part in layers)
    assert all(part.name.startswith("layer") for part in layers)


def test_what_no_operator_covers_is_timed_by_tvms_names() -> None:
    network = from_torch(seeded(SeveralResults()), random_input(2, 6))
    call = call_times(network.built(defaults(network)), [random_input(2, 6).numpy()])
    rest = [part.name for part in call.parts if not part.covered]
    assert rest
    assert not any(name.startswith(("vm.", "layer")) for name in rest)
    assert len(call.parts) == len(rest) + 1


def test_a_loaded_library_knows_its_layers(built: CompiledNetwork, tmp_path: Path) -> None:
    loaded = load(built.save(tmp_path / "net.so"))
    assert loaded.description.kernels == built.description.kernels
    here, there = call_times(built), call_times(loaded)
    assert [part.label for part in there.parts] == [part.label for part in here.parts]
    assert [part.name for part in there.parts] == [part.name for part in here.parts]


def test_watching_changes_no_result(network: Network, built: CompiledNetwork) -> None:
    data = random_input(1, 3, 8, 8)
    seen: list[tuple[str, bool]] = []

    def watch(_: object, name: str, before: bool, *_others: object) -> int:
        seen.append((str(name), before))
        return 0

    torch.testing.assert_close(built.watched(watch)(data), built(data))
    kernels = [name for name, before in seen if name in built.description.kernels and before]
    assert len(kernels) == len(network.layers)
    events = len(seen)
    assert sum(before for _, before in seen) * 2 == events
    built(data)
    assert len(seen) == events  # the network itself is not watched
