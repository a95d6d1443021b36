"""Whether weights are still what they were when a graph was compiled."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


def addresses_of(values: Sequence[Any], places: Sequence[int]) -> tuple[int, ...]:
    """Where the memory of the weights among a graph's arguments is."""
    return tuple([values[place].data_ptr() for place in places])


@dataclass(frozen=True)
class Weights:
    """The weights among a graph's arguments, as they were.

    A weight has changed if it is in other memory, or if PyTorch has counted another write to it;
    PyTorch counts those of optimisers and of ``load_state_dict``. It does not see writes through
    ``.data``, through NumPy, or to tensors that were made in inference mode.
    """

    places: tuple[int, ...]
    counted: tuple[int, ...]
    addresses: tuple[int, ...]
    writes: list[int]
    kept: tuple[Any, ...]
    """Their memory, so that no other tensor gets the same addresses."""
    tensors: tuple[weakref.ref[Any], ...]

    @classmethod
    def of(cls, values: Sequence[Any], places: Sequence[int]) -> Self:
        weights = [values[place] for place in places]
        counted = [place for place in places if not values[place].is_inference()]
        return cls(
            tuple(places),
            tuple(counted),
            addresses_of(values, places),
            [values[place]._version for place in counted],
            tuple(weight.detach() for weight in weights),
            tuple(map(weakref.ref, weights)),
        )

    def are_unwritten(self, values: Sequence[Any]) -> bool:
        """Whether nothing was written to them since; ``values`` have the same addresses."""
        return self.writes == [values[place]._version for place in self.counted]

    def were_of(self, values: Sequence[Any]) -> bool:
        """Whether the arguments of a call have the same tensors, which may be elsewhere now."""
        return bool(self.places) and all(
            tensor() is values[place]
            for place, tensor in zip(self.places, self.tensors, strict=True)
        )

    @property
    def are_gone(self) -> bool:
        """Whether a tensor is no more, or is elsewhere: no call can have these weights again."""
        return any(
            tensor is None or tensor.data_ptr() != address
            for tensor, address in zip(
                [reference() for reference in self.tensors], self.addresses, strict=True
            )
        )
