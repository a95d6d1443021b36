"""Which operators another library is not compared for, and why: in one line, None where it is."""

from __future__ import annotations

from tunesmith.operators import (
    AdaptivePool2d,
    BatchMatmul,
    Conv2d,
    Conv2dTranspose,
    Dense,
    DepthwiseConv2d,
    Elementwise,
    Embedding,
    LayerNorm,
    Matmul,
    Operator,
    Pool2d,
    ProductOperator,
    RecurrentOperator,
    Reduce,
    Softmax,
)

_CELLS = "no library has cells alone, to which the products of the inputs are given"


def plain(operator: Operator) -> str | None:
    """What holds for the peers that know float32 and images in NCHW alone."""
    if operator.dtype != "float32":
        return f"not compared for {operator.dtype}"
    if isinstance(operator, RecurrentOperator):
        return _CELLS
    if _has_post_ops(operator):
        return "not compared with post-ops"
    if getattr(operator, "layout", "NCHW") != "NCHW":
        return "not compared for NHWC"
    return None


def onednn(operator: Operator) -> str | None:
    """Why oneDNN, as PyTorch offers it, cannot compute an operator on plain data."""
    if isinstance(operator, AdaptivePool2d | Reduce | Embedding):
        return f"PyTorch has no entry point to oneDNN for {operator.name}"
    if isinstance(operator, BatchMatmul) and operator.transpose != "NN":
        return "for float32 batches PyTorch has a grouped convolution of it alone: none transposed"
    if isinstance(operator, LayerNorm):
        return "PyTorch has no entry point to its layer normalisation"
    if isinstance(operator, ProductOperator):
        of_matrices = isinstance(operator, Matmul | BatchMatmul | Dense)
        if not of_matrices and not operator.constant_weights:
            return "no constant weights that it could lay out beforehand"
        if operator.residual:
            return "not compared with a residual"
    return _mean_in_ceil_mode(operator) or compiled(operator)


def onednn_blocked(operator: Operator) -> str | None:
    """The same on data in a layout of its own."""
    if isinstance(operator, Matmul | BatchMatmul | Dense):
        return "matrices have no blocked format"
    if isinstance(operator, Softmax | LayerNorm):
        return "rows have no blocked format"
    return onednn(operator)


def numpy(operator: Operator) -> str | None:
    """Why NumPy cannot, or not sensibly."""
    if isinstance(operator, DepthwiseConv2d) or getattr(operator, "groups", 1) != 1:
        return "NumPy has no matrix product for grouped convolutions"
    if isinstance(operator, Conv2dTranspose):
        return "NumPy has no one matrix product for transposed convolutions"
    if isinstance(operator, AdaptivePool2d):
        return "NumPy has no windows of several sizes"
    return plain(operator)


def onnx(operator: Operator) -> str | None:
    """Why a model in ONNX cannot, or not by the same rules in each runtime."""
    if isinstance(operator, AdaptivePool2d):
        return "ONNX has no adaptive pooling"
    if isinstance(operator, Reduce) and operator.kind == "sum":
        return "not compared for sums: means take as long"
    return _mean_in_ceil_mode(operator) or plain(operator)


def compiled(operator: Operator) -> str | None:
    """Why ``torch.compile`` cannot."""
    return _padding_of_torch(operator) or plain(operator)


def torch(operator: Operator) -> str | None:
    """Why PyTorch cannot."""
    if operator.dtype == "int8":
        return f"PyTorch has no {operator.name} of int8 that adds up in int32"
    if isinstance(operator, RecurrentOperator):
        return _CELLS
    if _has_post_ops(operator):
        return "not compared with post-ops"
    return _padding_of_torch(operator)


def _mean_in_ceil_mode(operator: Operator) -> str | None:
    if isinstance(operator, Pool2d) and operator.ceil_mode and operator.kind == "avg":
        return "not compared for means in ceil mode, which libraries divide by different rules"
    return None


def _padding_of_torch(operator: Operator) -> str | None:
    if not isinstance(operator, Conv2d | DepthwiseConv2d | Pool2d):
        return None
    if len(operator.padding) > 2:
        return "PyTorch has no padding that differs on opposite sides"
    both = zip(operator.padding, operator.kernel, strict=True)
    if isinstance(operator, Pool2d) and any(2 * padding > taps for padding, taps in both):
        return "PyTorch pads windows of pooling by half of their size at the most"
    return None


def _has_post_ops(operator: Operator) -> bool:
    return isinstance(operator, ProductOperator | Elementwise) and bool(operator.post_ops)
