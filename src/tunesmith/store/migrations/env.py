"""Alembic runs this for each command. It migrates over the caller's connection."""

from alembic import context

from tunesmith.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite can change a table only by recreating it
)
with context.begin_transaction():
    context.run_migrations()
