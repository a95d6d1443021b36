"""Attention of PyTorch as products and softmax, of which each is a layer of ours.

TVM's importer ignores ``scale`` and ``enable_gqa``, takes no mask of booleans, and makes of a
masked attention one operation that no operator of ours covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.networks.importing.pytorch_arguments import arguments


def attention(node: Any, importer: Any) -> Any:
    """``softmax(q k^T * scale + mask) v``, of matrices along any leading axes.

    A row of which all is masked gives zeros, as in PyTorch.
    """
    *tensors, mask, dropout, causal, scale, grouped = arguments(
        node, importer, None, 0.0, False, None, False
    )
    if dropout:
        raise ValueError("scaled_dot_product_attention with dropout is not supported")
    return _Attention(importer.block_builder).of(
        tensors, mask, causal=causal, scale=scale, grouped=grouped
    )


class _Attention:
    """Emits the operations with a ``relax.BlockBuilder``."""

    def __init__(self, builder: Any) -> None:
        self._emit = builder.emit

    def of(
        self,
        tensors: Sequence[Any],
        mask: Any | None,
        *,
        causal: bool,
        scale: float | None,
        grouped: bool,
    ) -> Any:
        """The result for queries, keys and values."""
        from tvm import relax

        op, dtype = relax.op, str(tensors[0].ty.dtype)
        query, key, value = self._of_one_batch(tensors, 3 if grouped else 2)
        last = len(_shape(key)) - 2
        turned = self._emit(op.permute_dims(key, [*range(last), last + 1, last]))
        scores = self._product(query, turned)
        factor = 1 / math.sqrt(_shape(query)[-1]) if scale is None else scale
        scores = self._emit(op.multiply(scores, relax.const(factor, dtype)))
        valid = None
        if causal:
            scores = self._emit(op.add(scores, _causal(_shape(scores), dtype)))
        elif mask is not None:
            added, valid = self._added(mask, dtype)
            scores = self._emit(op.add(scores, added))
        found = self._product(self._emit(op.nn.softmax(scores, axis=-1)), value)
        if valid is not None:
            found = self._emit(op.multiply(found, valid))
        if len(_shape(tensors[0])) == 2:
            found = self._shaped(found, _shape(found)[1:])
        return found

    def _of_one_batch(self, tensors: Sequence[Any], own: int) -> list[Any]:
        """The tensors with the same axes before their last ``own`` ones, three in all or more."""
        from tvm import relax

        batch = np.broadcast_shapes(*(_shape(each)[:-own] for each in tensors))
        batch = batch or (1,) * (3 - own)
        found = []
        for each in tensors:
            shape = (*batch, *_shape(each)[-own:])
            if math.prod(shape) == math.prod(_shape(each)):
                found.append(self._shaped(each, shape))
            else:
                found.append(self._emit(relax.op.broadcast_to(each, shape)))
        return found

    def _product(self, left: Any, right: Any) -> Any:
        """Matrices times matrices. Where fewer are on the right, neighbours share one: their rows
        are those of one matrix."""
        from tvm import relax

        given, shared = _shape(left), _shape(right)
        if given[:-2] == shared[:-2]:
            return self._emit(relax.op.matmul(left, right))
        rows = given[-3] * given[-2] // shared[-3]
        joined = self._shaped(left, (*given[:-3], shared[-3], rows, given[-1]))
        found = self._emit(relax.op.matmul(joined, right))
        return self._shaped(found, (*given[:-1], shared[-1]))

    def _added(self, mask: Any, dtype: str) -> tuple[Any, Any]:
        """What is added to the scores, and for each row 0 if all of it is masked, or 1.

        It is finite: softmax of such a row would be no number.
        """
        from tvm import relax

        op, lowest = relax.op, relax.const(_lowest(dtype), dtype)
        if str(mask.ty.dtype) == "bool":
            added, kept = self._emit(op.where(mask, relax.const(0, dtype), lowest)), mask
        else:
            added = self._emit(op.maximum(mask, lowest))
            kept = self._emit(op.greater(mask, relax.const(-math.inf, dtype)))
        return added, self._emit(op.max(self._emit(op.astype(kept, dtype)), -1, keepdims=True))

    def _shaped(self, value: Any, shape: tuple[int, ...]) -> Any:
        from tvm import relax

        return value if _shape(value) == shape else self._emit(relax.op.reshape(value, shape))


def _causal(scores: tuple[int, ...], dtype: str) -> Any:
    """What hides from each token those after it."""
    from tvm import relax

    hidden = np.triu(np.full(scores[-2:], _lowest(dtype), np.float32), 1)
    return relax.const(hidden, dtype)


def _lowest(dtype: str) -> float:
    """A number that makes the exponential of any score 0, and that a score may be added to."""
    from tvm import tirx

    return float(tirx.min_value(dtype).value) / 2


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(int(extent) for extent in value.ty.shape)
