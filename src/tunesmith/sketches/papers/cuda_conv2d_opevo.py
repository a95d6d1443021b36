"""The space of the OpEvo paper for convolutions on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tunesmith.sketches.cuda.conv2d_direct import CudaConv2dDirect
from tunesmith.space import Categorical, Ordinal, Parameter


class CudaConv2dOpEvo(CudaConv2dDirect):
    """Only when named: the OpEvo paper's space for ``conv2d``.

    That of ``cuda_conv2d_direct`` but for the lengths of code up to which loops are unrolled
    ("OpEvo: An Evolutionary Method for Tensor Operator Optimization", section 5.3 and appendix
    B.3). It is there to repeat the paper's experiments.
    """

    name: ClassVar[str] = "cuda_conv2d_opevo"
    version: ClassVar[int] = 2
    only_by_name: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, Any]] = {**CudaConv2dDirect.choices, "auto_unroll_max_step": 125}
    fixed_parameters: ClassVar[Sequence[Parameter]] = (
        Ordinal("auto_unroll_max_step", (0, 125, 256)),
        Categorical("unroll_explicit", (0, 1)),
    )
