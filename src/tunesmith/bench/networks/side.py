"""One side of a comparison of networks: a process that holds one and times calls of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.timing.serving import serve


def _prepared(described: Mapping[str, Any]) -> tuple[Callable[[], object], int]:
    model = ComparedModel.from_json(described["model"])
    if described["kind"] == "ours":
        return _ours(model, described["library"]), 1
    if described["kind"] == "metaschedule":
        return _metaschedule(model, described), 1
    from tunesmith.bench.networks.peers import network_peers

    device = {"device": described["device"]} if "device" in described else {}
    return network_peers()[described["peer"]].call(model, described["cores"], **device), 1


def _ours(model: ComparedModel, library: str) -> Callable[[], object]:
    """A call of a network that was built and saved, its inputs bound; on a GPU they are there."""
    from tunesmith.networks import load

    return load(library).bind(*model.arrays().values())


def _metaschedule(model: ComparedModel, described: Mapping[str, Any]) -> Callable[[], object]:
    """A call of a network that MetaSchedule tuned."""
    from tunesmith.bench.networks.metaschedule_process import metaschedule_call
    from tunesmith.target import Target

    return metaschedule_call(model, Target(**described["target"]), described["folder"])


if __name__ == "__main__":
    serve(_prepared)
