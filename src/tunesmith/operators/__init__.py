"""Tensor operators: shapes, types, FLOPs, NumPy references and TE definitions.

from tunesmith.operators import conv2d

layer = conv2d(ci=128, h=28, w=28, co=256, kernel=1, stride=2)
inputs = layer.make_inputs(seed=0)
expected = layer.reference(*inputs)
"""

from tunesmith.operators._base.arithmetic import TvmArithmetic
from tunesmith.operators._base.element_types import element_bits
from tunesmith.operators._base.epilogue import Epilogue, ProductOperator
from tunesmith.operators._base.operator import Argument, Operator, WeightedOperator
from tunesmith.operators._base.options import (
    ChoiceOption,
    FlagOption,
    IntegerOption,
    NumberOption,
    Option,
    Padding,
    PaddingOption,
    PairOption,
    as_option,
)
from tunesmith.operators._base.post_op import AppliedPostOp, Operand, PostOp
from tunesmith.operators._base.post_ops import POST_OPS, post_ops
from tunesmith.operators._base.text import (
    OperatorDescription,
    OptionDescription,
    describe_operators,
    parse_operator,
)
from tunesmith.operators._base.window import sides
from tunesmith.operators._conv2d import Conv2d
from tunesmith.operators._conv2d_transpose import Conv2dTranspose
from tunesmith.operators._depthwise_conv2d import DepthwiseConv2d
from tunesmith.operators._elementwise import Elementwise
from tunesmith.operators._embedding import Embedding
from tunesmith.operators._layer_norm import LayerNorm
from tunesmith.operators._matrix_products import BatchMatmul, Dense, Matmul
from tunesmith.operators._pool2d import AdaptivePool2d, Pool2d
from tunesmith.operators._recurrent import Gru, Lstm, RecurrentOperator
from tunesmith.operators._reduce import Reduce
from tunesmith.operators._registry import (
    MATRIX_PRODUCTS,
    operator,
    operator_class,
    operator_from_json,
    operator_names,
)
from tunesmith.operators._softmax import Softmax
from tunesmith.operators._workloads import workload, workload_names

# Lower-case aliases: constructing an operator reads like a function call.
matmul = Matmul
batch_matmul = BatchMatmul
dense = Dense
conv2d = Conv2d
depthwise_conv2d = DepthwiseConv2d
conv2d_transpose = Conv2dTranspose
pool2d = Pool2d
adaptive_pool2d = AdaptivePool2d
reduce = Reduce
softmax = Softmax
layer_norm = LayerNorm
elementwise = Elementwise
embedding = Embedding
lstm = Lstm
gru = Gru

__all__ = [
    "MATRIX_PRODUCTS",
    "POST_OPS",
    "AdaptivePool2d",
    "AppliedPostOp",
    "Argument",
    "BatchMatmul",
    "ChoiceOption",
    "Conv2d",
    "Conv2dTranspose",
    "Dense",
    "DepthwiseConv2d",
    "Elementwise",
    "Embedding",
    "Epilogue",
    "FlagOption",
    "Gru",
    "IntegerOption",
    "LayerNorm",
    "Lstm",
    "Matmul",
    "NumberOption",
    "Operand",
    "Operator",
    "OperatorDescription",
    "Option",
    "OptionDescription",
    "Padding",
    "PaddingOption",
    "PairOption",
    "Pool2d",
    "PostOp",
    "ProductOperator",
    "RecurrentOperator",
    "Reduce",
    "Softmax",
    "TvmArithmetic",
    "WeightedOperator",
    "adaptive_pool2d",
    "as_option",
    "batch_matmul",
    "conv2d",
    "conv2d_transpose",
    "dense",
    "depthwise_conv2d",
    "describe_operators",
    "element_bits",
    "elementwise",
    "embedding",
    "gru",
    "layer_norm",
    "lstm",
    "matmul",
    "operator",
    "operator_class",
    "operator_from_json",
    "operator_names",
    "parse_operator",
    "pool2d",
    "post_ops",
    "reduce",
    "sides",
    "softmax",
    "workload",
    "workload_names",
]
