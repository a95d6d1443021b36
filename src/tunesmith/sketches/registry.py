"""Sketches by name, and those to use for a task."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators import Operator
from tunesmith.sketches.cpu.depthwise.sketch import CpuDepthwise
from tunesmith.sketches.cpu.direct.sketch import CpuDirect
from tunesmith.sketches.cpu.gemm.sketch import CpuGemm
from tunesmith.sketches.cpu.im2col.sketch import CpuIm2col
from tunesmith.sketches.cpu.pool.sketch import CpuPool
from tunesmith.sketches.cpu.rows.sketch import CpuRows
from tunesmith.sketches.cpu.staged_rows import CpuStagedRows
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.sketches.cpu.transpose.sketch import CpuTranspose
from tunesmith.sketches.cpu.winograd.sketch import CpuWinograd
from tunesmith.sketches.cuda.conv2d_direct import CudaConv2dDirect
from tunesmith.sketches.cuda.mma.conv2d_sketch import CudaTensorConv2d
from tunesmith.sketches.cuda.mma.gemm_sketch import CudaTensorGemm
from tunesmith.sketches.cuda.rows.sketch import CudaRows
from tunesmith.sketches.cuda.tiled.sketch import CudaTiled
from tunesmith.sketches.cuda.wgmma.conv2d_sketch import CudaWgmmaConv2d
from tunesmith.sketches.cuda.wgmma.gemm_sketch import CudaWgmmaGemm
from tunesmith.sketches.cuda.winograd.sketch import CudaWinograd
from tunesmith.sketches.papers.cpu_gemm_424 import CpuGemm424
from tunesmith.sketches.papers.cuda_batch_matmul_opevo import CudaBatchMatmulOpEvo
from tunesmith.sketches.papers.cuda_conv2d_opevo import CudaConv2dOpEvo
from tunesmith.sketches.papers.cuda_gemm_424 import CudaGemm424
from tunesmith.sketches.papers.cuda_matmul_opevo import CudaMatmulOpEvo
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target

ENTRY_POINT_GROUP = "tunesmith.sketches"

_OURS: dict[str, Sketch] = {
    sketch.name: sketch
    for sketch in (
        CpuTiled(),
        CpuRows(),
        CpuStagedRows(),
        CpuPool(),
        CpuDepthwise(),
        CpuDirect(),
        CpuTranspose(),
        CpuWinograd(),
        CpuGemm(),
        CpuIm2col(),
        CpuGemm424(),
        CudaTiled(),
        CudaRows(),
        CudaConv2dDirect(),
        CudaTensorGemm(),
        CudaTensorConv2d(),
        CudaWgmmaGemm(),
        CudaWgmmaConv2d(),
        CudaWinograd(),
        CudaGemm424(),
        CudaMatmulOpEvo(),
        CudaBatchMatmulOpEvo(),
        CudaConv2dOpEvo(),
    )
}


@cache
def _plug_ins() -> dict[str, EntryPoint]:
    """What other packages registered; a name of ours always means ours."""
    found = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {name: point for name, point in found.items() if name not in _OURS}


@cache
def _load(name: str) -> Sketch:
    if name in _OURS:
        return _OURS[name]
    point = _plug_ins()[name]
    try:
        loaded = point.load()()
    except Exception as error:  # a stranger's module may fail in any way
        reason = " ".join(str(error).split())
        raise UsageError(f"sketch '{name}' ({point.value}) does not load: {reason}") from error
    if not isinstance(loaded, Sketch):
        raise UsageError(f"sketch '{name}' ({point.value}) is no subclass of Sketch")
    return loaded


def _names() -> Iterator[str]:
    yield from _OURS
    yield from sorted(_plug_ins())


def sketches() -> dict[str, Sketch]:
    """All sketches by name, in the order in which they are tried: ours, then installed plug-ins.

    Raises ``UsageError`` for a plug-in that does not load.
    """
    return {name: _load(name) for name in _names()}


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
    return [_describe(name) for name in _names()]


def _describe(name: str) -> SketchDescription:
    point = None if name in _OURS else _plug_ins()[name]
    package = point.dist.name if point is not None and point.dist else "tunesmith"
    try:
        sketch = _load(name)
    except UsageError as error:
        return SketchDescription(name, 0, package, str(error))
    summary = " ".join((sketch.__doc__ or "").strip().partition("\n\n")[0].split())
    return SketchDescription(name, sketch.version, package, summary)


def sketch_for(operator: Operator, target: Target, name: str | None = None) -> Sketch:
    """The sketch of that name, or the first one that supports the operator on the target.

    Raises ``UsageError`` for an unknown name, a sketch that cannot schedule the operator, an
    operator that no sketch supports, and a plug-in that does not load.
    """
    if name is not None:
        return sketches_for(operator, target, [name])[0]
    for candidate in map(_load, _names()):
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
    cannot schedule the operator or does not load.
    """
    known = list(_names())
    named, forbidden = (
        {_whole_name(name, target, known) for name in chosen} for chosen in (names, without)
    )
    for name in sorted(named | forbidden):
        if name not in known:
            raise unknown_name("sketch", name, known, listed_by="tunesmith sketches")
    fitting = []
    for name in known:
        if name in forbidden or (named and name not in named):
            continue
        try:
            sketch = _load(name)
        except UsageError:
            if name in named:
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


def _whole_name(name: str, target: Target, known: Container[str]) -> str:
    whole = f"{target.kind}_{name}"
    return whole if name not in known and whole in known else name


def _alternatives(operator: Operator, target: Target) -> str:
    fitting = (
        name
        for name, it in sketches().items()
        if it.supports(operator, target) and not it.only_by_name
    )
    return " or ".join(fitting) or "another operator, no sketch can"
