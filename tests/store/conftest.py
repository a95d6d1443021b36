"""Where the stores under test are: files, and databases of a real PostgreSQL server."""

from __future__ import annotations

from tests.servers import administrator, location, postgresql_location, postgresql_server

__all__ = ["administrator", "location", "postgresql_location", "postgresql_server"]
