"""A process that tunes networks with TVM's MetaSchedule, each for a given time.

It reads JSON lines (``model``, ``target``, ``seconds``, ``seed``, ``folder``), leaves the records
of each in its folder, and answers with a JSON line: the fields of an answer about an operator (see
``tunesmith.bench.peers.metaschedule_process``), how many ``tasks`` the network has, how many of
them have a valid trial (``tasks_tuned``), the ``batch`` that was tried in a round, and in ``spent``
the seconds that the parts of the run took. Importing and fusing the network is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tunesmith.bench.networks.model import ComparedModel
from tunesmith.bench.networks.tvm_default import machine_call
from tunesmith.bench.peers.metaschedule import batch_size
from tunesmith.bench.peers.metaschedule_process import (
    ENDLESS,
    Count,
    equipped,
    serve_runs,
    timed_search,
)
from tunesmith.target import Target

# What a search costs on two cores, about, however many candidates it is to find.
_SEARCH_SECONDS = 10.0
# So many candidates take a fraction of their search. Fewer would waste it.
_LEAST_BATCH = 8
# The parts of a run, by what the names in MetaSchedule's profile begin with.
_PARTS = {
    "searching": "EvoSearch",
    "building": "SendToBuilder",
    "running": "SendToRunner",
    "learning": "MeasureCallback/UpdateCostModel",
}


def metaschedule_network(model: ComparedModel, target: Target) -> Any:
    """The Relax module that is tuned: batch norms folded into convolutions, operations fused.

    MetaSchedule may choose how constant weights lie in memory, as TVM advises for CPUs.
    """
    from tvm.ir.transform import Sequential
    from tvm.relax import transform as passes

    module = model.relax_module()
    with target.to_tvm():
        return Sequential(
            [
                passes.FoldBatchnormToConv2D(),
                passes.FoldConstant(),
                passes.CanonicalizeBindings(),
                passes.DeadCodeElimination(["main"]),
                passes.LegalizeOps(),
                passes.AnnotateTIROpPattern(),
                passes.FoldConstant(),
                passes.FuseOps(),
                passes.FuseTIR(),
                passes.DeadCodeElimination(["main"]),
                passes.AttachAttrLayoutFreeBuffers(),
            ]
        )(module)


def tune_for(described: Mapping[str, Any]) -> dict[str, Any]:
    """Tune a network until the round in which the time is up; see the module."""
    from tvm.s_tir import meta_schedule as ms
    from tvm.s_tir.analysis import estimate_tir_flops
    from tvm.s_tir.meta_schedule import relax_integration as relax

    target, folder = Target(**described["target"]), Path(described["folder"])
    module = metaschedule_network(ComparedModel.from_json(described["model"]), target)
    count = Count()
    equipment = equipped(target, folder, count)
    count.start(described["seconds"])
    with ms.Profiler() as profiler:
        # What ``tune_relax`` does, which searches on one core for each that is not virtual.
        tasks = relax.extract_tasks(module, target.to_tvm())
        flops = [estimate_tir_flops(task.dispatched[0]) for task in tasks]
        batch = first_batch(flops, described["seconds"])
        contexts, weights = relax.extracted_tasks_to_tune_contexts(
            tasks,
            str(folder),
            strategy=timed_search(count),
            num_threads=target.core_count,
            seed=described["seed"],
        )
        ms.tune.tune_tasks(
            tasks=contexts,
            task_weights=weights,
            work_dir=str(folder),
            max_trials_global=ENDLESS,
            num_trials_per_iter=batch,
            **equipment,
        )
    return {
        **count.answer(),
        "tasks": len(tasks),
        "tasks_tuned": len(count.tuned),
        "batch": batch,
        "spent": spent(profiler.get()),
    }


def first_batch(flops: Sequence[float], seconds: float) -> int:
    """How many candidates a round has, so that the first ones of all tasks take half of the time.

    Few trials in all mean that the cost model knows little, but a task that gets none stays without
    a schedule.
    """
    return max(_LEAST_BATCH, batch_size(flops, seconds / 2 - _SEARCH_SECONDS * len(flops)))


def spent(profile: Mapping[str, float]) -> dict[str, float]:
    """The seconds of the parts of a run, of a profile by MetaSchedule; ``other`` is the rest."""
    found = {
        part: sum(
            float(value)
            for name, value in profile.items()
            # ``a/b`` has the time of ``a/b/c``, but ``a`` has no time of its own.
            if name.startswith(prefix) and name.rpartition("/")[0] not in profile
        )
        for part, prefix in _PARTS.items()
    }
    return {**found, "other": float(profile["Total"]) - sum(found.values())}


def metaschedule_call(model: ComparedModel, target: Target, folder: str) -> Callable[[], Any]:
    """A call of the network with the records in a folder, which may lack some of its tasks.

    These get what TVM makes of them by default. The network is run from a library, as it would be
    deployed, which is left in the folder. Raises what TVM raises.
    """
    import tvm
    from tvm import relax
    from tvm.ir.transform import Sequential
    from tvm.relax import transform as passes
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    processor, module = target.to_tvm(), metaschedule_network(model, target)
    with processor, JSONDatabase(work_dir=folder):
        scheduled = Sequential(
            [
                passes.MetaScheduleApplyDatabase(),
                passes.SplitLayoutRewritePreproc(),
                passes.FoldConstant(),  # lays out the weights
                passes.DeadCodeElimination(["main"]),
            ]
        )(module)
        # TVM's default pipeline for CPUs would fuse once more what is fused and scheduled.
        executable = relax.build(scheduled, processor, relax_pipeline="default_build")
    library = str(Path(folder) / "net.so")
    executable.export_library(library)
    return machine_call(tvm.runtime.load_module(library), model, target.core_count)


if __name__ == "__main__":
    serve_runs(tune_for)
