"""What MetaSchedule's workers build, and a builder that keeps its workers from batch to batch.

MetaSchedule's own builder starts new workers for each batch, which import TVM anew, and its own
build imports all tensor intrinsics. Workers find these functions by importing this module.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# MetaSchedule's own.
_TIMEOUT_SECONDS = 30.0


def compile_scheduled(module: Any, target: Any) -> Any:
    """Compile a scheduled module. ``main`` takes constant weights in the schedule's own layout."""
    import tvm
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return tvm.tirx.build(RemoveWeightLayoutRewriteBlock(True)(module), target)


def build(module: Any, target: Any) -> str:
    """In a worker: compile a scheduled module into a file, and return the file's path."""
    from tvm.s_tir.meta_schedule.builder.local_builder import default_export

    path: str = default_export(compile_scheduled(module, target))
    return path


def keep_pytorch_out(folder: Path) -> None:
    """Workers started from now on have no PyTorch, as in our trials: TVM would import it."""
    blocked = folder / "blocked"
    blocked.mkdir()
    (blocked / "torch.py").write_text("raise ImportError\n")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(blocked), *filter(None, [os.environ.get("PYTHONPATH")])]
    )


def make_builder(workers: int) -> Any:
    """A builder for MetaSchedule, with so many workers."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder
    from tvm.support.popen_pool import PopenPoolExecutor, StatusKind

    pool = PopenPoolExecutor(max_workers=workers, timeout=_TIMEOUT_SECONDS)

    @derived_object
    class KeepingBuilder(PyBuilder):  # type: ignore[misc]
        def build(self, inputs: Sequence[Any]) -> list[Any]:
            jobs = [(item.mod, item.target) for item in inputs]
            built = pool.map_with_error_catching(lambda job: build(*job), jobs)
            return [
                BuilderResult(result.value, None)
                if result.status == StatusKind.COMPLETE
                else BuilderResult(None, f"{type(result.value).__name__}: {result.value}")
                for result in built
            ]

    return KeepingBuilder()
