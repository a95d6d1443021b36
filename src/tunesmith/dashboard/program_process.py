"""Builds one program and prints its text: a process, because compilers crash and take memory.

It reads a JSON object from standard input, and prints another one: the ``text``, or an ``error``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from tunesmith.errors import describe


def main() -> None:
    """Answer the one request."""
    request = json.load(sys.stdin)
    try:
        answer = {"text": _text(request)}
    except Exception as error:  # the caller tells of it
        answer = {"error": describe(error)}
    json.dump(answer, sys.stdout)


def _text(request: Mapping[str, Any]) -> str:
    from tunesmith.errors import UsageError
    from tunesmith.measure.task.problem import TaskProblem
    from tunesmith.measure.task.program_text import program_text
    from tunesmith.operators import operator_from_json
    from tunesmith.space import Config
    from tunesmith.target import Target
    from tunesmith.task import Task

    operator = operator_from_json(request["operator"])
    target = Target.from_json(request["target"])
    target.to_json()  # complain of a processor that LLVM does not know: it would abort
    problem = TaskProblem.of(Task(operator, target), request["sketch"])
    version = problem.sketch.version
    if version != request["sketch_version"]:
        raise UsageError(
            f"it was measured with version {request['sketch_version']} of {request['sketch']}; "
            f"this is version {version}, whose programs are others"
        )
    config = Config.from_json(request["config"])
    problem.space.check(config)
    return program_text(problem, config, request["form"])


if __name__ == "__main__":
    main()
