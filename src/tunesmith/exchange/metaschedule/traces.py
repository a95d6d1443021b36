"""A trace of MetaSchedule as a sketch and a config.

What it calls a design space is a list of instructions; some of them make decisions. The list before
its postprocessing is the sketch, the decisions are the config. Postprocessing follows from both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.space import Config

_PREFIX = "meta_schedule."


@dataclass(frozen=True)
class Sketched:
    """The sketch's ``instructions`` and its name, and the config of a trace."""

    sketch: str
    instructions: Sequence[Any]
    config: Config


def sketched(trace: Sequence[Any]) -> Sketched:
    """The parts of a trace in JSON. Raises what objects that are none raise."""
    instructions, decisions = trace
    names = [instruction[0] for instruction in instructions]
    end = names.index("EnterPostproc") if "EnterPostproc" in names else len(names)
    chosen: dict[str, Any] = {}
    for place, made in decisions:
        if place >= end:
            continue
        name, value = _decision(instructions[:end], place, made)
        number = sum(known.partition("#")[0] == name for known in chosen)
        chosen[f"{name}#{number + 1}" if number else name] = value
    before = instructions[:end]
    digest = hashlib.sha256(json.dumps(before).encode()).hexdigest()[:8]
    return Sketched(f"metaschedule:{digest}", before, Config(chosen))


def _decision(instructions: Sequence[Any], place: int, value: Any) -> tuple[str, Any]:
    """The name of a decision, and what was decided."""
    kind, inputs, attributes, outputs = instructions[place]
    if kind == "SamplePerfectTile":
        return f"tile_{_loop(instructions[:place], inputs[0])}", tuple(map(int, value))
    if kind == "SampleCategorical":
        return _use(instructions[place:], outputs[0]), attributes[0][value]
    if kind == "SampleComputeLocation":
        return f"location_{_block(instructions[:place], inputs[0])}", int(value)
    plain = tuple(value) if isinstance(value, list) else value
    return kind, plain


def _loop(before: Sequence[Any], loop: str) -> str:
    """A loop as its block and its number there."""
    for kind, inputs, _, outputs in before:
        if kind == "GetLoops" and loop in outputs:
            return f"{_block(before, inputs[0])}_{outputs.index(loop)}"
    return loop


def _block(before: Sequence[Any], block: str) -> str:
    """The name of a block, or the variable that stands for it."""
    made: Mapping[str, str] = {
        outputs[0]: attributes[0] for kind, _, attributes, outputs in before if kind == "GetSBlock"
    }
    return made.get(block, block)


def _use(after: Sequence[Any], variable: str) -> str:
    """What a variable is for: the annotation that gets it."""
    for kind, inputs, attributes, _ in after:
        if kind == "Annotate" and variable in inputs:
            return str(attributes[0]).removeprefix(_PREFIX)
    return "choice"
