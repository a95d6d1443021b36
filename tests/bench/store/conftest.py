"""A real PostgreSQL server, where there is one."""

from __future__ import annotations

from tests.servers import postgresql_server

__all__ = ["postgresql_server"]
