"""The room stays light: every command imports it."""

from __future__ import annotations

import subprocess
import sys


def test_importing_spaces_imports_no_heavy_library() -> None:
    heavy = {"tvm", "torch", "sqlalchemy", "plotly", "scipy"}
    code = "import sys, tunesmith.space; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert not loaded & heavy
