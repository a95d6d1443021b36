"""What sketches of products on tensor cores share: which operators they take, and where."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar, cast

from tunesmith.cuda.multiprocessors import capability
from tunesmith.errors import UsageError
from tunesmith.operators import Operator, ProductOperator
from tunesmith.sketches.cuda.estimates.block_work import bytes_of_tensors
from tunesmith.sketches.cuda.estimates.gpu import Gpu, estimated
from tunesmith.sketches.cuda.limits import arch_of, shared_bytes_of
from tunesmith.sketches.cuda.mma.block_tile import TileUse
from tunesmith.sketches.cuda.mma.device import PTX_TYPES
from tunesmith.sketches.cuda.mma.matrix import Product
from tunesmith.sketches.cuda.mma.product_program import Multiplication, product_program
from tunesmith.sketches.sketch import Sketch, instantiating
from tunesmith.sketches.tir import emit
from tunesmith.space import Config, Constraint, Ordinal, Parameter, Space
from tunesmith.target import Target

Use = TypeVar("Use", bound=TileUse)

_GROUPS, _DEFAULT_GROUP = (1, 2, 4, 8, 16), 8
_SPLITS = (1, 2, 4, 8, 16)
# Enough blocks to keep the multiprocessors of a large GPU busy.
_ENOUGH_BLOCKS = 128
# The least terms of a sum that is worth a second launch, and of a block's part of it.
_LONG_SUM, _SPLIT_TERMS = 2048, 256


class ProductSketch(Sketch, Generic[Use]):
    """Multiplies matrices of 16-bit elements on tensor cores, with sums in float32.

    Each block has a tile of the result, whose sums its warps keep in registers. K tiles of the
    operands are copied to shared memory, several ahead of the one that is multiplied.

    ``Use`` is what a config says: the tile of a block, and its resources. A subclass has the sizes
    of tiles, the parameters of warps and stages (``warps``) with their ``conditions``, and the code
    that multiplies. ``default_tiles`` are ``block_m``, ``block_n`` and the arguments of
    ``default_warps``, which returns values of ``warps``.
    """

    block_m: ClassVar[tuple[int, ...]]
    block_n: ClassVar[tuple[int, ...]]
    block_k: ClassVar[tuple[int, ...]]
    warps: ClassVar[tuple[Parameter, ...]]
    conditions: ClassVar[tuple[str, ...]]
    default_tiles: ClassVar[tuple[tuple[int, ...], ...]]
    default_block_k: ClassVar[int]
    multiplication: ClassVar[type[Multiplication]]

    @abstractmethod
    def multiplies(self, operator: Operator) -> bool:
        """Whether the operator is a product that this sketch knows."""

    @abstractmethod
    def product(self, operator: ProductOperator) -> Product:
        """The product that an operator is."""

    @abstractmethod
    def has_instructions(self, capability: int) -> bool:
        """Whether GPUs of this compute capability, such as 90, have what the programs need."""

    @abstractmethod
    def use(self, product: Product, settings: Mapping[str, Any]) -> Use:
        """What a config says."""

    @abstractmethod
    def default_warps(self, block_m: int, block_n: int, *warps: int) -> dict[str, Any]:
        """The values of ``warps`` for a tile of the default."""

    @abstractmethod
    def seconds(self, use: Use, gpu: Gpu, compulsory_bytes: float) -> float:
        """The seconds of a call, which reads and writes at least ``compulsory_bytes``."""

    def space(self, operator: Operator, target: Target) -> Space:
        product = self.product(self.known(operator))
        most = shared_bytes_of(target.gpu_arch)
        k_tiles = emit.tile_count(product.depth, self.block_k[0])
        return Space(
            [
                Ordinal("block_m", _sizes(self.block_m, product.rows)),
                Ordinal("block_n", _sizes(self.block_n, product.columns)),
                Ordinal("block_k", self.block_k),
                *self.warps,
                Ordinal("group", _GROUPS),
                Ordinal("splits", tuple(splits for splits in _SPLITS if splits <= k_tiles)),
            ],
            [
                *map(Constraint, self.conditions),
                Constraint(f"stages * block_k * (block_m + block_n) * 2 <= {most}"),
                # Each of the blocks that share a sum has a k tile of it.
                Constraint(f"(splits - 1) * block_k < {product.depth}"),
            ],
        )

    def default(self, operator: Operator, target: Target) -> Config:
        product, most = self.product(self.known(operator)), shared_bytes_of(target.gpu_arch)
        uses = ((config, self.use(product, config)) for config in self._defaults(product))
        return _default_of([each for each in uses if each[1].allowed(most)])

    def _defaults(self, product: Product) -> Iterator[dict[str, Any]]:
        """Configs without splits that may be the default, the largest tiles first."""
        rows = _sizes(self.block_m, product.rows)[-1]
        columns = _sizes(self.block_n, product.columns)[-1]
        for block_m, block_n, *warps in self.default_tiles:
            m, n = min(block_m, rows), min(block_n, columns)
            yield {
                "block_m": m,
                "block_n": n,
                "block_k": self.default_block_k,
                **self.default_warps(m, n, *warps),
                "group": _DEFAULT_GROUP,
                "splits": 1,
            }

    def estimate(self, operator: Operator, target: Target, config: Config) -> float | None:
        def seconds(gpu: Gpu) -> float:
            use = self._checked(operator, target, config)
            return self.seconds(use, gpu, bytes_of_tensors(operator))

        return estimated(target, seconds)

    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        with instantiating(self.space(operator, target), config):
            use = self._checked(operator, target, config)
            return product_program(self.known(operator), use, self.multiplication)

    def _checked(self, operator: Operator, target: Target, config: Config) -> Use:
        """What a config says. Raises ``InstantiationError`` where it exceeds the limits."""
        use = self.use(self.product(self.known(operator)), config)
        use.check(shared_bytes_of(target.gpu_arch))
        return use

    def supports(self, operator: Operator, target: Target) -> bool:
        known = operator.dtype in PTX_TYPES and self.multiplies(operator)
        arch = arch_of(target) if known and target.kind == "cuda" else None
        return arch is not None and self.has_instructions(capability(arch))

    def known(self, operator: Operator) -> ProductOperator:
        """The operator as a product. Raises ``UsageError`` for one that is none."""
        if not self.multiplies(operator):
            raise UsageError(f"sketch {self.name} does not know {operator.name}")
        return cast(ProductOperator, operator)


def _sizes(sizes: tuple[int, ...], extent: int) -> tuple[int, ...]:
    """The sizes of tiles that are not twice as large as the result, and the smallest one."""
    return tuple(size for size in sizes if size == sizes[0] or size < 2 * extent)


def _default_of(fitting: Sequence[tuple[dict[str, Any], TileUse]]) -> Config:
    """Of configs without splits, the largest tiles first, the first one that has enough blocks. If
    none has, the first that has with the fewest splits; failing that, the last one with as many
    splits as are worth it."""
    splits = _worth_splits(fitting[0][1].product)
    whole = ((config, use, 1) for config, use in fitting)
    shared = ((config, use, count) for config, use in fitting for count in splits)
    last = (*fitting[-1], splits[-1])
    choices = chain(whole, shared)
    found = next((each for each in choices if each[1].tiles * each[2] >= _ENOUGH_BLOCKS), last)
    return Config(found[0] | {"splits": found[2]})


def _worth_splits(product: Product) -> tuple[int, ...]:
    if product.depth < _LONG_SUM:
        return (1,)
    return tuple(splits for splits in _SPLITS if splits * _SPLIT_TERMS <= product.depth)
