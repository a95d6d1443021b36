"""The schema and its migrations, over each kind of database."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from tunesmith.measurement import DeviceState
from tunesmith.store import open_store, upgrade
from tunesmith.store.database import Database
from tunesmith.store.place import locate
from tunesmith.store.schema import REVISION, VERSION_TABLE, metadata
from tunesmith.testing.store import begin, trial

_MIGRATIONS = Path(upgrade.__file__).parent / "migrations"
_COMPILED = shutil.ignore_patterns("__pycache__")  # other tests may be writing there


def _head() -> str | None:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    head: str | None = ScriptDirectory.from_config(config).get_current_head()
    return head


def _read(location: str, work: object) -> object:
    database = Database(locate(location), patience=10.0)
    try:
        return database.read(work)  # type: ignore[arg-type]
    finally:
        database.close()


def _change(location: str, statement: str) -> None:
    database = Database(locate(location), patience=10.0)
    try:
        database.write(lambda connection: connection.execute(text(statement)))
    finally:
        database.close()


def test_revision_is_the_newest_migration() -> None:
    assert _head() == REVISION


def test_migrations_yield_exactly_the_schema(location: str) -> None:
    open_store(location).close()

    def differences(connection: Connection) -> object:
        options = {"version_table": VERSION_TABLE, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    assert _read(location, differences) == []


def test_constraints_have_the_names_of_the_schema(location: str, tmp_path: Path) -> None:
    """Which no comparison of Alembic's looks at, and later migrations refer to."""
    open_store(location).close()

    def names(connection: Connection) -> object:
        look = inspect(connection)
        return {
            table: (
                look.get_pk_constraint(table)["name"],
                {it["name"] for it in look.get_foreign_keys(table)},
                {it["name"] for it in look.get_unique_constraints(table)},
                {it["name"] for it in look.get_indexes(table) if "duplicates_constraint" not in it},
            )
            for table in metadata.tables
        }

    direct = create_engine(f"sqlite:///{tmp_path / 'direct.db'}")
    metadata.create_all(direct)
    with direct.connect() as connection:
        assert _read(location, names) == names(connection)
    direct.dispose()


def test_filled_store_is_migrated_and_keeps_its_records(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(location) as store:
        store.append(begin(store), [trial(1, 1.0)])
    newer = tmp_path / "100% newer" / "migrations"
    shutil.copytree(_MIGRATIONS, newer, ignore=_COMPILED)
    (newer / "versions" / "0005_note.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        "revision, down_revision = '0005', '0004'\n"
        "def upgrade():\n"
        "    with op.batch_alter_table('sessions') as table:\n"
        "        table.add_column(sa.Column('note', sa.Text))\n"
    )
    monkeypatch.setattr(upgrade, "_MIGRATIONS", newer)
    monkeypatch.setattr(upgrade, "REVISION", "0005")
    with open_store(location) as store:
        assert [it.measurement for it in store.records("matmul")] == [trial(1, 1.0)]

    def columns(connection: Connection) -> object:
        return [it["name"] for it in inspect(connection).get_columns("sessions")]

    assert "note" in _read(location, columns)  # type: ignore[operator]
    assert _read(location, lambda it: upgrade.stored_revision(it, "")) == "0005"


def test_a_store_from_before_gpus_is_migrated(location: str) -> None:
    with open_store(location) as store:
        store.append(begin(store), [trial(1, 1.0)])
    _change(location, "DROP TABLE claims")
    _change(location, "DROP TABLE evaluations")
    _change(location, "ALTER TABLE records DROP COLUMN device_state")
    _change(location, f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
    state = DeviceState(sm_mhz=1980, celsius=41)
    with open_store(location) as store:
        store.append(begin(store), [replace(trial(2, 2.0), device_state=state)])
        assert [it.measurement.device_state for it in store.records("matmul")] == [None, state]


def test_failed_migration_leaves_the_store_as_it_was(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "migrations"
    shutil.copytree(_MIGRATIONS, broken, ignore=_COMPILED)
    (broken / "versions" / "0005_broken.py").write_text(
        "from alembic import op\n"
        "revision, down_revision = '0005', '0004'\n"
        "def upgrade():\n"
        "    op.drop_table('records')\n"
        "    raise RuntimeError('half way')\n"
    )
    with open_store(location) as store:
        store.append(begin(store), [trial(1, 1.0)])
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "_MIGRATIONS", broken)
        patch.setattr(upgrade, "REVISION", "0005")
        with pytest.raises(RuntimeError, match="half way"):
            open_store(location)
    with open_store(location) as store:
        assert store.count("matmul") == 1


def _loaded(script: str, *arguments: str) -> set[str]:
    """Which modules a new process has loaded after a script."""
    command = [sys.executable, "-c", f"import sys\n{script}\nprint(*sys.modules)", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_room_loads_no_database_library() -> None:
    loaded = _loaded("import tunesmith.store")
    assert "tunesmith.store.rescue" in loaded
    assert not loaded & {"sqlalchemy", "alembic", "numpy", "psutil", "platformdirs"}


def test_opening_a_current_store_loads_no_alembic(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    open_store(path).close()
    script = "from tunesmith.store import open_store; open_store(sys.argv[1]).close()"
    loaded = _loaded(script, str(path))
    assert "sqlalchemy" in loaded
    assert "alembic" not in loaded
