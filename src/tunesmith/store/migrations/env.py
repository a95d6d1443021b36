"""Run by Alembic for each command: migrates over the connection that the caller hands in."""

from alembic import context

from tunesmith.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table only by making it anew
)
with context.begin_transaction():
    context.run_migrations()
