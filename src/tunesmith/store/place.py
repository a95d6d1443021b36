"""Resolves a user's location of a store to a URL, a file, and a name for messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import platformdirs
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tunesmith.errors import StoreError, UsageError, system_reason


@dataclass(frozen=True)
class Place:
    """A store's location. ``path`` is its file, None for a server or memory."""

    url: URL
    path: Path | None

    @property
    def in_memory(self) -> bool:
        """Whether it is an SQLite store in memory, which ends with its only connection."""
        return self.path is None and self.url.get_backend_name() == "sqlite"

    @property
    def is_there(self) -> bool:
        """Whether there is something to open: a file, or what is no file.

        Raises `StoreError` where that cannot be told.
        """
        if self.path is None or self.url.query.get("mode") == "memory":
            return True
        try:
            return self.path.exists()
        except OSError as error:  # of a folder that may not be entered, a name that is too long
            raise StoreError(
                f"cannot look at store {self.path}: {system_reason(error)}: choose another place"
            ) from error

    @property
    def read_only(self) -> Place:
        """The same, of which SQLite opens the file for reading alone."""
        if self.path is None or str(self.url.database).startswith("file:"):
            return self
        database = f"file:{quote(str(self.path))}?mode=ro"
        return Place(self.url.set(database=database, query={"uri": "true"}), self.path)

    def missing(self) -> UsageError:
        """The error for reading a store that does not exist."""
        if self.path == default_path():
            return UsageError("nothing is recorded yet: tune something first")
        return UsageError(f"no store at {self.name}: name the one that you tuned into")

    @property
    def name(self) -> str:
        """Its name in messages: the file, or the URL without secrets."""
        if self.path is not None:
            return str(self.path)
        # Options are dropped: they may contain a password.
        return self.url.set(query={}).render_as_string(hide_password=True)


def default_path() -> Path:
    """The default store: a file in the user's data folder."""
    return platformdirs.user_data_path("tunesmith", appauthor=False) / "records.db"


def locate(location: str | Path | None, *, make_folder: bool = True) -> Place:
    """The place of a file, a URL, or None for the default.

    ``make_folder`` creates the folder of a plain file if needed. Raises `UsageError` for an invalid
    location, `StoreError` if the folder cannot be created.
    """
    if isinstance(location, str) and "://" in location:
        return _from_url(location, make_folder)
    if location == "":
        raise UsageError("the store has an empty name: give a file or a database URL")
    return _from_path(_expanded(default_path() if location is None else location), make_folder)


def _expanded(location: str | Path) -> Path:
    """Absolute, so that a change of the working folder does not matter."""
    try:
        return Path(location).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError(
            f"store {location}: there is no such user, whose home '~' could be: give the folder"
        ) from error


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
        # Name the driver: the default depends on SQLAlchemy's version.
        return Place(url.set(drivername="postgresql+psycopg"), None)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return Place(url, None)
    assert url.database is not None
    if url.database.startswith("file:"):  # SQLite's own URI, with options such as mode=ro
        return Place(url, Path(unquote(urlsplit(url.database).path)))
    place = _from_path(_expanded(url.database), make_folder)
    return Place(url.set(database=str(place.path)), place.path)
