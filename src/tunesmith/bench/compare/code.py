"""The code that makes a run: sources, followed by what they import."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

_COMMENT = re.compile(r"#.*|\\\n")
_IMPORT = re.compile(r"\b(?:from[ \t]+([.\w]+)[ \t]+import\b(\s*\([^)]*\)|.*)|import[ \t]+(.*))")
_NAME = re.compile(r"\w+(?:\.\w+)*")

Sources = dict[str, bytes]
"""Of modules by their names."""


def digest_of(sources: Mapping[str, bytes]) -> str:
    """A digest of what sources do: comments and docstrings on lines of their own may change."""
    digest = hashlib.sha256()
    for name, source in sorted(sources.items()):
        digest.update(name.encode() + b"\0" + _doing(source))
    return digest.hexdigest()[:16]


@lru_cache(maxsize=512)
def _doing(source: bytes) -> bytes:
    """The lines that do something: neither empty ones, nor those of comments and of texts that
    stand alone, as docstrings do. All lines of a source that cannot be parsed."""
    try:
        text = importlib.util.decode_source(source)
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return source
    lines = text.encode().split(b"\n")
    idle: set[int] = set()
    texts: set[int] = set()
    for node in ast.walk(tree):
        if _is_text(node) and _has_lines(node, lines):
            idle |= _lines_of(node)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            texts |= _lines_of(node) if node.end_lineno != node.lineno else set()
    texts -= idle
    return b"\n".join(
        line
        for number, line in enumerate(lines, 1)
        if number in texts
        or (number not in idle and line.strip() and not line.lstrip().startswith(b"#"))
        or lines[number - 2].endswith(b"\\")  # an empty one ends a statement then
    )


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether it is a text that nothing is done with."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def _has_lines(node: ast.Expr, lines: Sequence[bytes]) -> bool:
    """Whether nothing else is on its lines."""
    before = lines[node.lineno - 1][: node.col_offset]
    after = lines[(node.end_lineno or 0) - 1][node.end_col_offset :]
    return not before.strip() and not after.strip()


def _lines_of(node: ast.stmt | ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def sources_of(module: str, within: Collection[str] = ()) -> Sources:
    """The sources of a module and of all that it imports, directly or not and wherever in the code,
    of the packages and modules ``within``.

    By default these are its own top-level package and ours, whose spaces and models tuners build
    on.
    """
    followed = within or {module.partition(".")[0], __name__.partition(".")[0]}
    sources: Sources = {}
    waiting, seen = [module], {module}
    while waiting:
        name = waiting.pop()
        file = _file(name)
        if file is not None:
            sources[name] = file.read_bytes()
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            found = set(_imports(sources[name].decode("utf-8", "replace"), package)) - seen
            new = {each for each in found if _is_within(each, followed)}
            waiting += new
            seen |= new
    return sources


def _is_within(name: str, followed: Collection[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in followed)


def _file(name: str) -> Path | None:
    """The source of a module of a package that is imported; None where there is no such module."""
    top, *rest = name.split(".")
    package = sys.modules.get(top)
    folders = getattr(package, "__path__", None)
    if folders is None:  # a module by itself
        file = getattr(package, "__file__", None)
        return Path(file) if file and file.endswith(".py") and not rest else None
    for folder in folders:
        place = Path(folder, *rest)
        for source in (place / "__init__.py", place.with_suffix(".py")):
            if source.is_file():
                return source
    return None


def _imports(source: str, package: str) -> Iterator[str]:
    """The names that may be modules, of all that a source imports.

    Text that only looks like an import gives names that are no modules, or a module too many.
    """
    for origin, names, modules in _IMPORT.findall(_COMMENT.sub(" ", source)):
        if modules:
            yield from _NAME.findall(modules)
            continue
        try:
            base = importlib.util.resolve_name(origin, package)
        except ImportError:  # above the top
            continue
        yield base
        yield from (f"{base}.{name}" for name in _NAME.findall(names))
