"""What a session says of itself, in words."""

from __future__ import annotations

import json
from functools import lru_cache

from tunesmith.budget import Stop
from tunesmith.dashboard.text import clean
from tunesmith.errors import TunesmithError
from tunesmith.store import Session

_KNOWN_STOPS = {stop.value: stop.meaning for stop in Stop}


def title_of(session: Session) -> str:
    """The operator in a few words; what is no task of an operator known here goes by its key."""
    return clean(_operator(session)[0] or session.task_key, 120)


def flops_of(session: Session) -> float | None:
    """The operations of one call, None where it is no operator known here."""
    return _operator(session)[1]


def _operator(session: Session) -> tuple[str, float | None]:
    described = session.description.get("operator")
    if not isinstance(described, dict):
        return "", None
    return _of(json.dumps(described, sort_keys=True))


@lru_cache(maxsize=4096)
def _of(described: str) -> tuple[str, float | None]:
    from tunesmith.networks.reporting.brief import brief
    from tunesmith.operators import operator_from_json

    try:
        operator = operator_from_json(json.loads(described))
        return brief(operator), float(operator.flops)
    except (TunesmithError, TypeError, KeyError, AttributeError):  # of another version, or foreign
        return "", None


def device_of(session: Session) -> str:
    return clean(session.device, 80)


def ending_of(session: Session) -> str:
    """Why a run ended, in words; those of a newer version as they are."""
    if session.finished is None:
        return "not finished"
    return clean(_KNOWN_STOPS.get(session.stopped, session.stopped), 60)
