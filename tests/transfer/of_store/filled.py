"""Trials for a store, and models as a test sees them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.transfer.made_up import SIZES, TARGET, add_trials
from tunesmith.store import Store
from tunesmith.target import Target
from tunesmith.transfer.of_store import Scope

HERE = Scope(TARGET)
"""Trials for the target that the tasks of a test have."""

OTHER = Target(mcpu="haswell", cores=2)
"""Of another processor than the tasks of a test."""


def fill(store: Store, target: Target = TARGET, machine: Mapping[str, Any] | None = None) -> None:
    for size in SIZES:
        add_trials(store, size, target=target, machine=machine)


def change(path: Path, **values: Any) -> None:
    found = json.loads(gzip.decompress(path.read_bytes()))
    found["origin"].update(values)
    path.write_bytes(gzip.compress(json.dumps(found).encode()))


def scope_of(model: Any) -> str | None:
    return None if model is None else model.described["scope"]
