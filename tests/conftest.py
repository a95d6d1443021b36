"""Options and fixtures of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.properties import register_profiles

_UPDATE = "--update-golden"

register_profiles()

# Ray reads them once, when it is imported, by whichever test. Without a token it would write one
# into the user's folder.
os.environ["RAY_AUTH_MODE"] = "token"
os.environ.setdefault("RAY_AUTH_TOKEN", uuid.uuid4().hex)

# What a shell says to colour, to pytest and to git is not for the processes that tests start.
for _name in (
    *("FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "PYTEST_ADDOPTS"),
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"),
    *("GIT_PREFIX", "SETUPTOOLS_SCM_PRETEND_VERSION"),
):
    os.environ.pop(_name, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        _UPDATE, action="store_true", help="re-write the golden files with what the code gives now"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests, so that no core waits for another at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """The thousands of tests themselves are no garbage: whoever collects it need not look at them
    again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Machine code that tests compile is kept for the tests that follow, and not for the user.

    What the emulated GPU runs is kept for the tests of all workers.
    """
    everybodys = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        everybodys = everybodys.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        # Tests that start pytest have set it already.
        kept = os.environ.get("TUNESMITH_EMULATED_KEPT", str(everybodys / "emulated"))
        patch.setenv("TUNESMITH_EMULATED_KEPT", kept)
        yield


@pytest.fixture(autouse=True)
def _pytorch_is_left_as_it_was() -> Iterator[None]:
    """A test that turned gradients off, or weights into constants, would break others, in whichever
    order they run."""
    yield
    torch = sys.modules.get("torch")
    inductor: Any = sys.modules.get("torch._inductor.config")
    if torch is not None and not torch.is_grad_enabled():
        torch.set_grad_enabled(True)
        pytest.fail("it has left PyTorch's gradients turned off")
    if inductor is not None and inductor.freezing:
        inductor.freezing = False
        pytest.fail("it has left PyTorch's compiler freezing weights")


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Fails unless a file holds just this text; with ``--update-golden`` writes it there."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption(_UPDATE):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no golden file {path.name}: run pytest with {_UPDATE}"
        assert text == path.read_text(encoding="utf-8"), (
            f"{path.name} would change: if it should, run pytest with {_UPDATE} and read the diff"
        )

    return check


@pytest.fixture(scope="session")
def c_compiler() -> str:
    """The path of a C compiler."""
    for name in ("gcc", "clang", "cc"):
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip("no C compiler on this machine (gcc, clang)")
