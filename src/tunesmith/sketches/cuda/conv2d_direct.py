"""The direct convolution of the AutoTVM and NoSE papers on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tunesmith.operators import Conv2d, Operator
from tunesmith.sketches.cuda.tiled.tiled_sketch import Loops, TiledSketch
from tunesmith.space import Categorical, Ordinal, Parameter
from tunesmith.target import Target


class CudaConv2dDirect(TiledSketch):
    """Convolution in NCHW, channels, rows and columns of the output shared among threads.

    The space is that of the AutoTVM and NoSE papers ("Learning to Optimize Tensor Programs";
    "Evolutionary Algorithm with Non-parametric Surrogate Model for Tensor Program Optimization",
    Table II): output channels, rows and columns are split into blocks, virtual threads, threads
    and elements of a thread, input channels and the window into steps and what is in shared memory
    at a time. A step copies its part of data and weights to shared memory, with padding, and each
    thread adds to sums in registers.
    """

    name: ClassVar[str] = "cuda_conv2d_direct"
    version: ClassVar[int] = 2

    operators = Conv2d
    fixed_loops = Loops({"n": "z", "f": "z", "y": "y", "x": "x"}, whole=frozenset({"n"}))
    fixed_parameters: ClassVar[Sequence[Parameter]] = (
        Ordinal("auto_unroll_max_step", (0, 512, 1500)),
        Categorical("unroll_explicit", (0, 1)),
    )

    def supports(self, operator: Operator, target: Target) -> bool:
        return (
            target.kind == "cuda"
            and isinstance(operator, Conv2d)
            and operator.layout == "NCHW"
            and operator.groups == 1
        )
