"""Sketches by name, and those to use for a task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from tunesmith.errors import TunesmithError, UsageError, unknown_name
from tunesmith.operators import Operator
from tunesmith.registry import Registry
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target

# In the order in which they are tried. Names begin with the kind of target that they are for.
_PLACES = {
    "cpu_tiled": "cpu.tiled.sketch:CpuTiled",
    "cpu_rows": "cpu.rows.sketch:CpuRows",
    "cpu_staged_rows": "cpu.staged_rows:CpuStagedRows",
    "cpu_elementwise": "cpu.elementwise.sketch:CpuElementwise",
    "cpu_pool": "cpu.pool.sketch:CpuPool",
    "cpu_adaptive_pool": "cpu.adaptive_pool:CpuAdaptivePool",
    "cpu_reduce": "cpu.reduce.sketch:CpuReduce",
    "cpu_embedding": "cpu.embedding:CpuEmbedding",
    "cpu_recurrent": "cpu.recurrent.sketch:CpuRecurrent",
    "cpu_depthwise": "cpu.depthwise.sketch:CpuDepthwise",
    "cpu_direct": "cpu.direct.sketch:CpuDirect",
    "cpu_transpose": "cpu.transpose.sketch:CpuTranspose",
    "cpu_winograd": "cpu.winograd.sketch:CpuWinograd",
    "cpu_gemm": "cpu.gemm.sketch:CpuGemm",
    "cpu_im2col": "cpu.im2col.sketch:CpuIm2col",
    "cpu_gemm_424": "papers.cpu_gemm_424:CpuGemm424",
    "cuda_tiled": "cuda.tiled.sketch:CudaTiled",
    "cuda_rows": "cuda.rows.sketch:CudaRows",
    "cuda_elementwise": "cuda.elementwise:CudaElementwise",
    "cuda_embedding": "cuda.embedding:CudaEmbedding",
    "cuda_recurrent": "cuda.recurrent.sketch:CudaRecurrent",
    "cuda_conv2d_direct": "cuda.conv2d_direct:CudaConv2dDirect",
    "cuda_tensor_gemm": "cuda.mma.gemm_sketch:CudaTensorGemm",
    "cuda_tensor_conv2d": "cuda.mma.conv2d_sketch:CudaTensorConv2d",
    "cuda_wgmma_gemm": "cuda.wgmma.gemm_sketch:CudaWgmmaGemm",
    "cuda_wgmma_conv2d": "cuda.wgmma.conv2d_sketch:CudaWgmmaConv2d",
    "cuda_winograd": "cuda.winograd.sketch:CudaWinograd",
    "cuda_gemm_424": "papers.cuda_gemm_424:CudaGemm424",
    "cuda_matmul_opevo": "papers.cuda_matmul_opevo:CudaMatmulOpEvo",
    "cuda_batch_matmul_opevo": "papers.cuda_batch_matmul_opevo:CudaBatchMatmulOpEvo",
    "cuda_conv2d_opevo": "papers.cuda_conv2d_opevo:CudaConv2dOpEvo",
}
_OURS = {name: f"tunesmith.sketches.{place}" for name, place in _PLACES.items()}


def _made(found: object) -> Sketch | None:
    made = found() if callable(found) else None
    return made if isinstance(made, Sketch) else None


SKETCHES = Registry("sketch", "sketches", _OURS, _made, "a subclass of Sketch")


def sketches() -> dict[str, Sketch]:
    """All sketches by name, in the order in which they are tried: ours, then installed plug-ins.

    Raises like ``Registry.get`` for a plug-in that does not load.
    """
    return {name: SKETCHES.get(name) for name in SKETCHES.names()}


@dataclass(frozen=True)
class SketchDescription:
    """A row of ``tunesmith sketches``: what a sketch is for.

    ``package`` says who brings it. ``version`` is 0 and ``summary`` says why when it cannot be
    loaded.
    """

    name: str
    version: int
    package: str
    summary: str


def describe_sketches() -> list[SketchDescription]:
    """All sketches in the order in which they are tried."""
    return [_describe(name) for name in SKETCHES.names()]


def _describe(name: str) -> SketchDescription:
    package = SKETCHES.package(name)
    try:
        sketch = SKETCHES.get(name)
    except TunesmithError as error:
        return SketchDescription(name, 0, package, str(error))
    summary = " ".join((sketch.__doc__ or "").strip().partition("\n\n")[0].split())
    return SketchDescription(name, sketch.version, package, summary)


def sketch_for(operator: Operator, target: Target, name: str | None = None) -> Sketch:
    """The sketch of that name, or the first one that supports the operator on the target.

    Raises ``UsageError`` for an unknown name, a sketch that cannot schedule the operator and an
    operator that no sketch supports, and like ``Registry.get`` for a plug-in that does not load.
    """
    if name is not None:
        return sketches_for(operator, target, [name])[0]
    for candidate in map(SKETCHES.get, _names_for(target)):
        if candidate.supports(operator, target) and not candidate.only_by_name:
            return candidate
    raise UsageError(f"no sketch can schedule {operator.name} on {target.key}")


def sketches_for(
    operator: Operator,
    target: Target,
    names: Iterable[str] = (),
    without: Iterable[str] = (),
) -> list[Sketch]:
    """The sketches of these names, by default all that support the operator on the target.

    A name may leave out what the target's sketches begin with: ``conv2d_direct`` is
    ``cuda_conv2d_direct`` there. ``without`` are names of sketches to leave out. Those left are in
    the order in which sketches are tried, so the first one is the most general. Left out unless
    they are named are sketches that are ``only_by_name``, and plug-ins that do not load.

    Raises ``UsageError`` where none is left, for an unknown name, and for a named sketch that
    cannot schedule the operator; like ``Registry.get`` for a named one that does not load.
    """
    known = SKETCHES.names()
    named, forbidden = (
        {whole_name(name, target, known) for name in chosen} for chosen in (names, without)
    )
    for name in sorted(named | forbidden):
        if name not in known:
            raise unknown_name("sketch", name, known, listed_by="tunesmith sketches")
    fitting = []
    for name in known if named else _names_for(target):
        if name in forbidden or (named and name not in named):
            continue
        try:
            sketch = SKETCHES.get(name)
        except TunesmithError:
            if name in named or SKETCHES.is_ours(name):
                raise
            continue
        if sketch.supports(operator, target):
            if name in named or not sketch.only_by_name:
                fitting.append(sketch)
        elif name in named:
            raise UsageError(
                f"sketch {name} cannot schedule {operator.name} on {target.key}: "
                f"take {_alternatives(operator, target)}"
            )
    if not fitting:
        left = f" without {', '.join(sorted(forbidden))}: allow one" if forbidden else ""
        raise UsageError(f"no sketch can schedule {operator.name} on {target.key}{left}")
    return fitting


def _names_for(target: Target) -> list[str]:
    """All but those of ours that are for another kind of target: they need not be imported."""
    prefix = f"{target.kind}_"
    return [
        name for name in SKETCHES.names() if name.startswith(prefix) or not SKETCHES.is_ours(name)
    ]


def whole_name(name: str, target: Target, known: Iterable[str]) -> str:
    """The name of a sketch that may leave out what those of a target begin with."""
    whole = f"{target.kind}_{name}"
    return whole if name not in known and whole in known else name


def _alternatives(operator: Operator, target: Target) -> str:
    fitting = []
    for name in _names_for(target):
        with contextlib.suppress(TunesmithError):  # a plug-in that does not load is none
            sketch = SKETCHES.get(name)
            if sketch.supports(operator, target) and not sketch.only_by_name:
                fitting.append(name)
    return " or ".join(fitting) or "another operator, no sketch can"
