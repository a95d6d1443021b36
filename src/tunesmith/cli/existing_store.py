"""The store of a command that can do without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tunesmith.store import Store


@contextmanager
def existing_store(location: str | None) -> Iterator[Store | None]:
    """The store; None if it is the user's, and there is none yet.

    Raises ``UsageError`` for a named one that does not exist, and else like ``open_store``.
    """
    from tunesmith.store import open_store
    from tunesmith.store.place import locate

    if location is None and not locate(None, make_folder=False).is_there:
        yield None
        return
    with open_store(location, create=False) as store:
        yield store
