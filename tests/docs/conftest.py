"""Examples run commands as the tests of the command line do."""

from tests.cli.conftest import command

__all__ = ["command"]
