"""A task's kernel: the best that is known of it, without any trial what is thought fastest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tunesmith.errors import UsageError
from tunesmith.measure.task.portfolio import problems_of
from tunesmith.measure.task.problem import TaskProblem
from tunesmith.space import Config
from tunesmith.store import open_store
from tunesmith.store.place import locate
from tunesmith.task import Task
from tunesmith.transfer.favourite import favourite
from tunesmith.transfer.of_store import Tell, Transfer, check_transfer, model_for
from tunesmith.transfer.of_store.heard import LOGGER

if TYPE_CHECKING:
    from tunesmith.kernel.kernel import Kernel
    from tunesmith.store import Store


class Choice(NamedTuple):
    """A config with the problem of its sketch; ``is_measured`` is whether the store has it."""

    problem: TaskProblem
    config: Config
    is_measured: bool


def compile(
    task: Task,
    *,
    store: Store | str | Path | None = None,
    sketch: str | Iterable[str] | None = None,
    transfer: Transfer = True,
) -> Kernel:
    """The kernel of a task: the best that the store knows, by default the user's store.

    Of a task that was never tuned it is the one that the sketches' estimates, corrected by a model
    of other tasks (``transfer``, as in ``tune``), think fastest. That takes about a second, and no
    trial. A store that does not exist knows nothing, and none is created; where it was named, a
    warning is logged. Raises ``UsageError`` for what is no task, a sketch that does not exist or
    fit, and a ``transfer`` that is none or that the store does not have, ``StoreError`` for a store
    that cannot be read, and ``TunesmithError`` if the compiler fails.
    """
    if not isinstance(task, Task):
        raise UsageError(f"a Task can be compiled, not {task!r}")
    names = [sketch] if isinstance(sketch, str) else sketch or ()
    problems = problems_of(task, names)
    with contextlib.ExitStack() as stack:
        if store is None or isinstance(store, str | Path):
            store = _existing(store, stack)
        problem, config, _ = choose(problems, store, transfer=transfer)
    return problem.kernel(config)


def _existing(location: str | Path | None, stack: contextlib.ExitStack) -> Store | None:
    """The store at a location; None if there is none."""
    place = locate(location, make_folder=False)
    if place.is_there:
        return stack.enter_context(open_store(location))
    if location is not None:
        LOGGER.warning(
            "tunesmith: there is no store at %s: what is compiled was not measured", place.name
        )
    return None


def choose(
    problems: Sequence[TaskProblem],
    store: Store | None,
    *,
    transfer: Transfer = True,
    tell: Tell | None = None,
) -> Choice:
    """The best config that a store has of a task with some of its sketches, or the favourite.

    Raises ``UsageError`` for what is no ``Transfer``, and for a name that the store does not have.
    """
    check_transfer(store, transfer)
    by_sketch = {(it.sketch.name, it.sketch.version): it for it in problems}
    record = None if store is None else store.best(problems[0].key, among=by_sketch)
    if record is not None:
        return Choice(by_sketch[record.sketch, record.sketch_version], record.config, True)
    target, key = problems[0].task.target, problems[0].key
    model = model_for(store, target, transfer, tell, key=key)
    return Choice(*favourite(problems, model), False)
