"""From what a user gives as a location to where the store is and how messages name it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import platformdirs
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tunesmith.errors import StoreError, UsageError


@dataclass(frozen=True)
class Place:
    """Where a store is. ``path`` is its file, None if it has none (a server, memory)."""

    url: URL
    path: Path | None

    @property
    def in_memory(self) -> bool:
        """Whether the store is SQLite's, but in no file: it ends with its only connection."""
        return self.path is None and self.url.get_backend_name() == "sqlite"

    def missing(self) -> UsageError:
        """The error for whoever wants to read a store that is not there."""
        if self.path == default_path():
            return UsageError("nothing is recorded yet: tune something first")
        return UsageError(f"no store at {self.name}: name the one that you tuned into")

    @property
    def name(self) -> str:
        """How messages name it: a file, or a URL without its secrets."""
        if self.path is not None:
            return str(self.path)
        # Options are dropped because a password may hide among them.
        return self.url.set(query={}).render_as_string(hide_password=True)


def default_path() -> Path:
    """The store of a user who names none."""
    return platformdirs.user_data_path("tunesmith", appauthor=False) / "records.db"


def locate(location: str | Path | None, *, make_folder: bool = True) -> Place:
    """The place of a file, a URL, or None for the default.

    ``make_folder`` makes the folder of a plain file if there is none.

    Raises `UsageError` for a location that is no URL, `StoreError` if the folder cannot be made.
    """
    if isinstance(location, str) and "://" in location:
        return _from_url(location, make_folder)
    if location == "":
        raise UsageError("the store has an empty name: give a file or a database URL")
    # Made absolute, so that the store stays where it is when the working folder changes.
    path = (default_path() if location is None else Path(location)).expanduser().absolute()
    return _from_path(path, make_folder)


def _from_path(path: Path, make_folder: bool) -> Place:
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of store {path} cannot be made ({error.strerror}): choose another place"
        ) from error
    return Place(URL.create("sqlite", database=str(path)), path)


def _from_url(text: str, make_folder: bool) -> Place:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            "the store's URL cannot be read: write it like postgresql://user@host/database"
        ) from error
    if url.drivername in ("postgres", "postgresql"):
        # Named explicitly: which driver is the default depends on SQLAlchemy's version.
        return Place(url.set(drivername="postgresql+psycopg"), None)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return Place(url, None)
    assert url.database is not None
    if url.database.startswith("file:"):  # SQLite's own URI, with options such as mode=ro
        return Place(url, Path(unquote(urlsplit(url.database).path)))
    place = _from_path(Path(url.database).expanduser().absolute(), make_folder)
    return Place(url.set(database=str(place.path)), place.path)
