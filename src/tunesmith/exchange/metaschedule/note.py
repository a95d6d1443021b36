"""The records that a trace was made of, as a note in the trace.

It is an annotation of the root block that the next step of the trace takes away: TVM ignores it,
and the program is the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tunesmith.store import Record
from tunesmith.store.plain import plain_record, plain_session, record_of, session_of

_KEY = "tunesmith.records"


def leave_note(schedule: Any, records: Sequence[Record]) -> None:
    """Append records to the trace of a schedule."""
    plain = [{"session": plain_session(it.session), **plain_record(it)} for it in records]
    root = schedule.get_sblock("root")
    schedule.annotate(root, _KEY, json.dumps(plain))
    schedule.unannotate(root, _KEY)


def note_in(instructions: Sequence[Sequence[Any]]) -> tuple[Record, ...]:
    """The records that were left in a trace, given its instructions in JSON.

    Raises what objects that are no records raise.
    """
    for name, inputs, attributes, *_ in instructions:
        if name == "Annotate" and attributes == [_KEY]:
            # TVM puts quotes around a text, and escapes nothing in it.
            plain = json.loads(inputs[1][1:-1])
            return tuple(record_of(each, session_of(each["session"])) for each in plain)
    return ()
