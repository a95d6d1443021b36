"""What sketches of products on tensor cores share: which operators they take, and where."""

from __future__ import annotations

from abc import abstractmethod
from typing import cast

from tunesmith.cuda.multiprocessors import capability
from tunesmith.errors import UsageError
from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.cuda.tensor.device import PTX_TYPES
from tunesmith.sketches.cuda.tensor.matrix import Product
from tunesmith.sketches.sketch import Sketch
from tunesmith.target import Target


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
