"""How large rooms may grow: a reader finds a place by the names of folders and files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import tunesmith

PACKAGE = Path(str(tunesmith.__file__)).parent
MOST_AT_THE_TOP = 10
MOST_IN_A_FOLDER = 20


def modules_of_folders() -> Counter[Path]:
    """How many modules each folder of the package holds, its ``__init__`` apart."""
    modules = (path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    return Counter(path.parent.relative_to(PACKAGE) for path in modules)


def test_few_modules_lie_loose() -> None:
    assert modules_of_folders()[Path()] <= MOST_AT_THE_TOP


def test_no_folder_is_a_heap() -> None:
    heaps = {
        str(folder): count
        for folder, count in modules_of_folders().items()
        if count > MOST_IN_A_FOLDER
    }
    assert not heaps, f"more than {MOST_IN_A_FOLDER} modules: make rooms of them"


def test_tests_mirror_the_package() -> None:
    """A test of a room that is not there tests something that has moved."""
    tests = Path(__file__).parent
    of_tests_alone = {"docs", "on_gpus", "tools"}
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    strangers = {
        str(folder)
        for folder in folders
        if folder.parts
        and folder.parts[0] not in of_tests_alone
        and not (PACKAGE / folder).is_dir()
    }
    assert not strangers
