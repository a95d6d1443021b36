"""Printing: results on standard output, progress and remarks on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from tunesmith.progress import Progress

T = TypeVar("T")

WIDTH = 100


def print_json(value: object) -> None:
    """One JSON object and nothing else."""
    print(json.dumps(value, default=_plain))


def print_text(text: str) -> None:
    """Text on standard output, as it is."""
    console().print(text, soft_wrap=True, markup=False)


def print_page(figures: object, page: str, *, as_json: bool, written: Path | None = None) -> None:
    """The figures, or the page that is made of them and where it is ``written``."""
    if as_json:
        print_json(figures)
        return
    print_text(page)
    if written is not None:
        print_text(f"page: {written}")


def check_page(path: Path | None) -> None:
    """Complain before an hour of work of a page that could not be written after it; None is no
    page. Raises ``UsageError``."""
    if path is None:
        return
    folder = path.absolute().parent
    while not folder.exists():  # it will be made
        folder = folder.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            f"cannot write the report to {path}: name a file in a folder that you may write to"
        )


def console() -> Console:
    """Standard output; never wider than our tables."""
    return _console(stderr=False)


def remarks() -> Console:
    """Standard error."""
    return _console(stderr=True)


def remark(text: str) -> None:
    """A line on standard error, as it is."""
    sys.stderr.write(text + "\n")


@contextlib.contextmanager
def shown_progress(
    trials: int | None, seconds: float | None, flops: float | None
) -> Iterator[Callable[[Progress], None]]:
    """Takes the progress of a run with such a budget, and shows it on standard error.

    ``flops`` are the operations of one call; each is None where there is none.
    """
    from tunesmith.reports.live import LiveProgress

    with LiveProgress(remarks(), trials, seconds, flops) as live:
        yield live.update


@contextlib.contextmanager
def counted_progress(
    what: str, total: int | None = None
) -> Iterator[Callable[[Iterable[T]], Iterator[T]]]:
    """Counts what passes, of ``total`` if that is known, and shows it on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = remarks()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        number = bar.add_task(what, total=total)

        def counted(items: Iterable[T]) -> Iterator[T]:
            for item in items:
                yield item
                bar.advance(number)

        yield counted


@contextlib.contextmanager
def counted_steps(what: str) -> Iterator[Callable[[int, int], None]]:
    """Takes how many of how many are done, and shows it on a terminal until all are."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = remarks()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    number = bar.add_task(what)

    def counted(done: int, total: int) -> None:
        bar.start()
        bar.update(number, completed=done, total=total)
        if done >= total:
            bar.stop()

    try:
        yield counted
    finally:
        bar.stop()


def command_line(store: str | None = None, name: str = "") -> str:
    """The command line of this process, quoted for a shell.

    If ``store`` is a database's URL, the store's ``name``, which has no secrets, stands for it.
    """
    words = sys.argv[1:]
    if store is not None and "://" in store:
        words = [word.replace(store, name) for word in words]
    return shlex.join(["tunesmith", *words])


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    fits = made.is_terminal and made.width <= WIDTH
    return made if fits else Console(stderr=stderr, highlight=False, width=WIDTH)


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "to_json"):
        return value.to_json()
    raise TypeError(f"{type(value).__name__} has no place in JSON")
