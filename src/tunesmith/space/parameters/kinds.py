"""The kinds of parameters in JSON."""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.errors import SpaceError
from tunesmith.space.parameters.categorical import Categorical
from tunesmith.space.parameters.factorization import Factorization
from tunesmith.space.parameters.ordinal import Ordinal
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.parameters.permutation import Permutation
from tunesmith.space.value import quote

KINDS: dict[str, type[Parameter]] = {
    kind.kind: kind for kind in (Factorization, Permutation, Ordinal, Categorical)
}


def parameter_from_json(obj: object) -> Parameter:
    """The inverse of ``Parameter.to_json``. Raises SpaceError for an unknown kind."""
    if not isinstance(obj, Mapping):
        raise SpaceError(f"{quote(obj)} is not a parameter: give an object with a 'kind'")
    kind = obj.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpaceError(
            f"parameter {quote(obj.get('name'))} is of unknown kind {quote(kind)}: "
            f"known: {', '.join(KINDS)}"
        )
    return KINDS[kind].from_json(obj)
