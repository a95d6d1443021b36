"""Whether weights are still what they were when a graph was compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Weights:
    """The weights among a graph's arguments, as they were.

    A weight has changed if it is in other memory, or if PyTorch has counted another write to it;
    PyTorch counts those of optimisers and of ``load_state_dict``. It does not see writes through
    ``.data``, through NumPy, or to tensors that were made in inference mode.
    """

    places: tuple[int, ...]
    counted: tuple[int, ...]
    addresses: list[int]
    writes: list[int]
    kept: tuple[Any, ...]
    """Their memory, so that no other tensor gets the same addresses."""

    @classmethod
    def of(cls, values: Sequence[Any], places: Sequence[int]) -> Self:
        weights = [values[place] for place in places]
        counted = [place for place in places if not values[place].is_inference()]
        return cls(
            tuple(places),
            tuple(counted),
            [weight.data_ptr() for weight in weights],
            [values[place]._version for place in counted],
            tuple(weight.detach() for weight in weights),
        )

    def are_in(self, values: Sequence[Any]) -> bool:
        """Whether the arguments of a call have these weights."""
        return self.addresses == [values[place].data_ptr() for place in self.places] and (
            self.writes == [values[place]._version for place in self.counted]
        )
