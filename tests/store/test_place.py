"""How a location is understood, and how messages name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunesmith.errors import UsageError
from tunesmith.store import open_store
from tunesmith.store.place import locate
from tunesmith.testing.store import begin, trial


def test_default_is_in_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with open_store() as store:
        assert store.name == str(tmp_path / "tunesmith" / "records.db")
        assert store.folder == tmp_path / "tunesmith"
    assert (tmp_path / "tunesmith" / "records.db").exists()


def test_relative_path_is_fixed_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for location in ("a/one.db", "sqlite:///a/one.db", Path("a/one.db")):
        place = locate(location)
        assert place.path == tmp_path / "a" / "one.db"
        assert place.url.database == str(tmp_path / "a" / "one.db")
        assert place.name == str(tmp_path / "a" / "one.db")


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/records.db").path == tmp_path / "records.db"


def test_store_in_memory() -> None:
    with open_store("sqlite://") as store:
        store.append(begin(store), [trial(1, 1.0)])
        assert store.count("matmul") == 1
        assert store.folder is None


def test_name_of_a_server_has_no_secrets() -> None:
    place = locate("postgresql://ann:secret@host:5432/db?password=secret&sslmode=require")
    assert place.name == "postgresql+psycopg://ann:***@host:5432/db"
    assert place.url.query["sslmode"] == "require"
    assert place.path is None


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "the store has an empty name"),
        ("://nothing", "the store's URL cannot be read"),
        ("postgresql://host:port/db", "the store's URL cannot be read"),
        ("nosuch://host/db", "no such kind of database: use sqlite or postgresql"),
        ("mysql://host/db", "no such kind of database: use sqlite or postgresql"),
        ("sqlite://tuning.db", "cannot be used: write it like sqlite:///FILE, or the file alone"),
        ("sqlite:///x.db?timeout=abc", "cannot be used: write it like sqlite:///FILE"),
        ("~nobody-at-all/x.db", "there is no such user, whose home '~' could be"),
    ],
)
def test_location_that_makes_no_sense(location: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        open_store(location)
    assert "\n" not in str(raised.value)
