"""What every sketch offers: a space for a task, and the program of a config."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from tunesmith.errors import InstantiationError, SpaceError, UsageError
from tunesmith.operators import Operator
from tunesmith.space import Config, Space
from tunesmith.target import Target

Known = TypeVar("Known", bound=Operator)


class Sketch(ABC):
    """A way to schedule an operator.

    A sketch has no state. It is found by ``name``. ``version`` changes whenever the space changes
    or the same config yields another program, so that records of different versions never mix.
    ``space``, ``default`` and ``program`` are only called for operators that it ``supports``.
    One that is ``only_by_name`` takes part in a search only if the user names it: it is there to
    repeat an experiment.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    only_by_name: ClassVar[bool] = False

    @abstractmethod
    def supports(self, operator: Operator, target: Target) -> bool:
        """Whether this sketch can schedule the operator there."""

    @abstractmethod
    def space(self, operator: Operator, target: Target) -> Space:
        """All configs."""

    @abstractmethod
    def default(self, operator: Operator, target: Target) -> Config:
        """A reasonable config that no measurement was needed for: the baseline of tuning."""

    @abstractmethod
    def program(self, operator: Operator, target: Target, config: Config) -> Any:
        """The scheduled ``tvm.IRModule``, with a function ``main`` over the operator's arguments
        and its result.

        If the operator has constant weights, there may be a second function, ``prepare``, over the
        weights and a tensor that it lays out, called once; then ``main`` takes that tensor in place
        of the weights.

        Raises ``InstantiationError`` where the config cannot be scheduled.
        """

    def estimate(
        self,
        operator: Operator,  # noqa: ARG002 - for sketches with a model
        target: Target,  # noqa: ARG002
        config: Config,  # noqa: ARG002
    ) -> float | None:
        """About how many seconds a call takes, by a model of the machine; None without a model.

        It is called thousands of times before the first trial, to find good starts. Only the order
        of configs matters, those of other sketches included, and that a call takes well below a
        millisecond.
        """
        return None

    def weight_bytes(
        self,
        operator: Operator,  # noqa: ARG002 - for sketches that lay weights out in several sizes
        target: Target,  # noqa: ARG002
        config: Config,  # noqa: ARG002
    ) -> int | None:
        """The bytes of constant weights as ``prepare`` lays them out, known without the program.

        None: only the program tells. A sketch with layouts of several sizes should know them, so
        that configs with smaller ones are found.
        """
        return None


class ScheduleSketch(Sketch):
    """A sketch whose programs are made step by step by a TVM schedule, which keeps a trace of them.

    Other definitions of the same operator, such as that in a network, can be scheduled alike.
    """

    @abstractmethod
    def schedule(self, operator: Operator, target: Target, config: Config, definition: Any) -> Any:
        """The ``tvm.s_tir.Schedule`` of a config.

        ``definition`` is an unscheduled module whose one function, ``main``, computes the operator:
        ``tir.loop_nest.lower(operator)``, or one that another program makes.

        Raises ``InstantiationError`` where the config cannot be scheduled, and for a definition
        whose loops are not those of the operator.
        """


def known(sketch: Sketch, operator: Operator, kind: type[Known]) -> Known:
    """The operator as one of the class that a sketch is for.

    Raises ``UsageError`` for an operator of another class.
    """
    if isinstance(operator, kind):
        return operator
    raise UsageError(
        f"sketch {sketch.name} is for {kind.name}, not for {operator.name}: take another sketch"
    )


@contextmanager
def instantiating(space: Space, config: Config) -> Iterator[None]:
    """Around the scheduling of a config: what goes wrong becomes an ``InstantiationError``.

    That is a config that is not in the space (of an old record, or made by hand), and a step that
    TVM's schedule refuses.
    """
    from tvm.s_tir.schedule import ScheduleError

    try:
        space.check(config)
        yield
    except SpaceError as error:
        raise InstantiationError(f"the sketch's space has no such config: {error}") from error
    except ScheduleError as error:
        # TVM's message shows the whole program; what matters follows these words.
        reason = str(error).rpartition("Error message:")[2].strip().partition("\n")[0]
        raise InstantiationError(f"TVM cannot schedule this config: {reason}") from error
