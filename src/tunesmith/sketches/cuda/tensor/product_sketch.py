"""What sketches of products on tensor cores share: which operators they take, and where."""

from __future__ import annotations

from abc import abstractmethod
from typing import cast

from tunesmith.cuda.multiprocessors import capability
from tunesmith.errors import UsageError
from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches import emit
from tunesmith.sketches.cuda.tensor.device import PTX_TYPES
from tunesmith.sketches.cuda.tensor.matrix import Product
from tunesmith.sketches.sketch import Sketch
from tunesmith.space import Constraint
from tunesmith.target import Target

_SPLITS = (1, 2, 4, 8, 16)
# Terms of a sum that are worth a block of their own, and the launch that adds up what all have.
_SPLIT_TERMS = 512


class ProductSketch(Sketch):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32."""

    @abstractmethod
    def multiplies(self, operator: Operator) -> bool:
        """Whether the operator is a product that this sketch knows."""

    @abstractmethod
    def product(self, operator: ProductOperator) -> Product:
        """The product that an operator is."""

    @abstractmethod
    def has_instructions(self, capability: int) -> bool:
        """Whether GPUs of this compute capability, such as 90, have what the programs need."""

    def supports(self, operator: Operator, target: Target) -> bool:
        return (
            target.kind == "cuda"
            and operator.dtype in PTX_TYPES
            and self.multiplies(operator)
            and self._runs_on(target)
        )

    def known(self, operator: Operator) -> ProductOperator:
        """The operator as a product. Raises ``UsageError`` for one that is none."""
        if not self.multiplies(operator):
            raise UsageError(f"sketch {self.name} does not know {operator.name}")
        return cast(ProductOperator, operator)

    def _runs_on(self, target: Target) -> bool:
        try:
            return self.has_instructions(capability(target.gpu_arch))
        except UsageError:  # there is no GPU, and none is named
            return False


def splits_of(product: Product, least_block_k: int) -> tuple[int, ...]:
    """How many blocks may share a sum, whose stretches are that long at the least."""
    stretches = emit.tile_count(product.depth, least_block_k)
    return tuple(splits for splits in _SPLITS if splits <= stretches)


def enough_stretches(product: Product) -> Constraint:
    """Each of the blocks that share a sum has a stretch of it."""
    return Constraint(f"(splits - 1) * block_k < {product.depth}")


def default_splits(product: Product, tiles: int, enough: int) -> int:
    """The fewest blocks for a sum that make enough of them, or the most that are worth it."""
    possible = [
        splits for splits in _SPLITS if splits == 1 or splits * _SPLIT_TERMS <= product.depth
    ]
    return next((splits for splits in possible if splits * tiles >= enough), possible[-1])
