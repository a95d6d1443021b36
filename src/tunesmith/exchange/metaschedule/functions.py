"""What the functions of a database are, found in worker processes: a broken file may crash TVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import InstantiationError, one_line
from tunesmith.exchange.metaschedule.definitions import (
    definitions,
    lay_out_once,
    same_function,
)
from tunesmith.exchange.metaschedule.note import note_in
from tunesmith.exchange.metaschedule.recognition import recognized
from tunesmith.measure.processes.pool import FailedCall, WorkerPool
from tunesmith.operators import Operator, operator_from_json
from tunesmith.sketches.registry import SKETCHES
from tunesmith.sketches.sketch import ScheduleSketch
from tunesmith.sketches.tir.weights import has_constant_weights
from tunesmith.store import Record
from tunesmith.target import Target

# Seconds for a function and its traces with notes; one takes some milliseconds.
_PATIENCE = 120.0


@dataclass(frozen=True)
class Found:
    """What a function is: an operator in JSON, or ``refused``, why it is none.

    ``kept`` are the numbers of those traces that make the program of their note.
    """

    operator: Mapping[str, Any] | None = None
    refused: str = ""
    kept: frozenset[int] = field(default_factory=frozenset)


@dataclass
class Question:
    """A function's line in a database, and what is asked of it.

    ``traces`` are those with a note, numbered. ``others`` says whether there are traces without
    one, so that the operator must be found.
    """

    line: Any
    traces: list[tuple[int, Any]] = field(default_factory=list)
    others: bool = False


def look_at(questions: Mapping[int, Question]) -> Iterator[tuple[int, Found]]:
    """What the functions of a database are, by number, as they are found."""
    numbers = list(questions)
    calls = [(questions[number],) for number in numbers]
    with WorkerPool(min(len(calls), usable_cores()), _PATIENCE) as pool:
        for place, result in pool.map(_look_at, calls):
            failed = isinstance(result, FailedCall)
            yield numbers[place], Found(refused=_unreadable(result)) if failed else result


def _unreadable(call: FailedCall) -> str:
    return f"TVM cannot read the function: {call.reason}"


def _look_at(question: Question) -> Found:
    from tvm.s_tir.meta_schedule.database import Workload

    module = Workload.from_json(question.line).mod
    kept = frozenset(it for it, trace in question.traces if _keeps_its_note(module, trace))
    if not question.others:
        return Found(kept=kept)
    operator = recognized(module)
    if operator is None:
        return Found(refused=f"function {_name(module)} is none of an operator here", kept=kept)
    return Found(operator.to_json(), kept=kept)


def _name(module: Any) -> str:
    """What a function computes, by its last stage."""
    from tvm.s_tir import Schedule

    schedule = Schedule(module)
    (*_, last) = schedule.get_child_blocks(schedule.get_sblock("root"))
    return one_line(str(schedule.get(last).name_hint))


def _keeps_its_note(module: Any, trace: Any) -> bool:
    """Whether a trace makes the program of the record that it has as a note."""
    from tvm.s_tir import Schedule, Trace

    try:
        *_, record = note_in(trace[0])
        operator = operator_from_json(record.description["operator"])
        if not any(same_function(module["main"], it["main"]) for it in definitions(operator)):
            return False
        schedule = Schedule(module)
        Trace.apply_json_to_schedule(trace, schedule)
        return same_function(schedule.mod["main"], _program(operator, record, module))
    except Exception:  # whatever a broken note leads to
        return False


def _program(operator: Operator, record: Record, module: Any) -> Any:
    """The program of a record for a function of its operator."""
    sketch = SKETCHES.get(record.sketch)
    if not isinstance(sketch, ScheduleSketch) or sketch.version != record.sketch_version:
        raise InstantiationError(f"there is no sketch {record.sketch} of that version")
    target = Target.from_json(record.target)
    schedule = sketch.schedule(operator, target, record.config, module)
    if has_constant_weights(operator):
        lay_out_once(schedule)
    return schedule.mod["main"]
