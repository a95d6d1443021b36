"""Operators: tensor computations with their shapes and types, FLOPs, references, definitions.

from tunesmith.operators import conv2d

layer = conv2d(ci=128, h=28, w=28, co=256, kernel=1, stride=2)
inputs = layer.make_inputs(seed=0)
expected = layer.reference(*inputs)
"""

from tunesmith.operators._conv2d import Conv2d
from tunesmith.operators._epilogue import Epilogue, ProductOperator
from tunesmith.operators._matmul import Matmul
from tunesmith.operators._operator import Argument, Operator
from tunesmith.operators._registry import operator, operator_from_json, operator_names
from tunesmith.operators._workloads import workload, workload_names

conv2d = Conv2d
matmul = Matmul

__all__ = [
    "Argument",
    "Conv2d",
    "Epilogue",
    "Matmul",
    "Operator",
    "ProductOperator",
    "conv2d",
    "matmul",
    "operator",
    "operator_from_json",
    "operator_names",
    "workload",
    "workload_names",
]
