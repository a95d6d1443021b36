"""What tells problems apart in a store: a description, and a short digest of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tunesmith.errors import SpaceError
from tunesmith.space import Space


def identify(space: Space) -> Mapping[str, Any]:
    """A space as JSON; of a constraint that is a Python function only its label remains."""
    try:
        return space.to_json()
    except SpaceError:
        return {
            "parameters": [parameter.to_json() for parameter in space.parameters],
            "constraints": [str(constraint) for constraint in space.constraints],
        }


def digest(identity: object) -> str:
    """16 hexadecimal digits that identify something JSON-ready, the same in every process."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
