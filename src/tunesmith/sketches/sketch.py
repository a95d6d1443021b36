"""What every sketch offers: a space for a task, and the program of a config."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tunesmith.operators import Operator
from tunesmith.space import Config, Space
from tunesmith.target import Target


class Sketch(ABC):
    """A way to schedule an operator.

    A sketch has no state: it is found by ``name``, and ``version`` changes whenever the same config
    would yield another program or the space changes, so that records of different versions never
    mix.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    @abstractmethod
    def supports(self, operator: Operator, target: Target) -> bool:
        """Whether this sketch can schedule the operator there."""

    @abstractmethod
    def space(self, operator: Operator, target: Target) -> Space:
        """All configs. Needs no TVM."""

    @abstractmethod
    def default(self, operator: Operator, target: Target) -> Config:
        """The config that a careful person writes down without trying: what tuning has to beat."""

    @abstractmethod
    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        """The scheduled ``tvm.IRModule``, with one function ``main`` over the operator's arguments
        and its result.

        Raises ``InstantiationError`` where the config cannot be scheduled.
        """
