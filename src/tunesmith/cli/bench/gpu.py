"""``tunesmith bench gpu``: all that is to be known on a GPU, within minutes."""

from __future__ import annotations

import contextlib
import enum
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark, remarks, shown_progress
from tunesmith.cli.task_choice import parse_words
from tunesmith.errors import TunesmithError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tunesmith.operators import Operator
    from tunesmith.progress import Progress

STORE = "gpu.db"
"""Where trials are kept in the folder of the figures, unless ``--store`` says otherwise."""


class Part(enum.Enum):
    """What is done, in this order."""

    SKETCHES = "sketches"
    TUNING = "tuning"
    PEERS = "peers"
    RECORDING = "recording"


def gpu(
    output: Annotated[
        Path, Option("-o", "--output", "--out", help="Folder for gpu.md and gpu.json.")
    ] = opt.FIGURES,
    *,
    seconds: Annotated[float, Option(help="How long the whole takes.")] = 480.0,
    only: Annotated[
        list[Part] | None, Option(help="Only this part; repeatable; default: all parts.")
    ] = None,
    peers: Annotated[
        bool, Option("--peers/--without-peers", help="Compare with cuBLAS and cuDNN.")
    ] = True,
    workload: Annotated[
        list[str] | None,
        Option(
            help="A name, a pattern such as 'resnet18.*', or an operator such as "
            "'matmul --m 512 --n 512 --k 64'; repeatable."
        ),
    ] = None,
    sketch: Annotated[
        list[str] | None, Option(help="Try only this sketch on small operators; repeatable.")
    ] = None,
    configs: Annotated[int, Option(help="Random configs of a sketch on each small operator.")] = 4,
    small: Annotated[
        list[str] | None, Option(help="A small operator to try sketches on; repeatable.")
    ] = None,
    recorded: Annotated[
        str, Option(help="The layer, or operator, whose space is sampled.")
    ] = "resnet18.C12",
    pairs: Annotated[int, Option(help="Rounds in which sides take turns.")] = 25,
    seed: Annotated[int, Option(help="Seed of all that is random.")] = 0,
    store: opt.StoreLocation = None,
    fresh: Annotated[
        bool, Option("--fresh", help="Tune anew: do not look at earlier trials.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Try all sketches on this GPU, tune operators, compare with cuBLAS and cuDNN, record a space.

    All of it within a few minutes; parts that end early leave their time to the others.
    """
    begun = time.monotonic()
    from tunesmith.cuda.devices import gpus
    from tunesmith.target import Target

    gpus()  # complains in fewer words than the next line where there is none
    target = Target("cuda")
    target.check_measurable()
    from tunesmith.bench.gpu.bench import PARTS, GpuBench, GpuSettings
    from tunesmith.bench.gpu.recording import SpaceSample
    from tunesmith.bench.gpu.sketches import SketchCheck
    from tunesmith.bench.gpu.workloads import RECORDED_SKETCH, small_operators
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.compiler.importing import load_compiler
    from tunesmith.store import open_store

    chosen = [part.value for part in only] if only else list(PARTS)
    parts = tuple(part for part in chosen if peers or part != Part.PEERS.value)
    settings = GpuSettings(seconds, parts, configs, pairs, seed, fresh)
    workloads = _workloads(workload or ["*"])
    operators = [_operator(text) for text in small] if small else small_operators()
    make_folder(output)
    load_compiler()  # or the first sketch would, and PyTorch with it
    with open_store(store or str(output / STORE)) as opened:
        runner = GpuBench(
            settings,
            workloads,
            SketchCheck(target, operators, configs, seed, sketch or ()),
            SpaceSample(recorded, _operator(recorded), RECORDED_SKETCH, target, seed),
            output,
            opened,
            _Terminal(),
            whole=not (only or workload),
            begun=begun,
        )
        if not peers:
            runner.leave_out_peers("left out by --without-peers")
        figures, page = runner.run()
    print_page(figures, page, as_json=as_json)
    if runner.failed:
        raise TunesmithError(f"no figures, or not all, for {', '.join(runner.failed)}: see above")


def _workloads(texts: Sequence[str]) -> dict[str, Operator]:
    """Those that names, patterns and operators choose, by name."""
    from tunesmith.bench.gpu.workloads import chosen_workloads

    written = {text: _operator(text) for text in texts if " " in text}
    patterns = [text for text in texts if " " not in text]
    return {**chosen_workloads(patterns), **written}


def _operator(text: str) -> Operator:
    """An operator with its options, as after ``tunesmith tune``, or a layer by its name."""
    from tunesmith.operators import parse_operator, workload

    name, *words = shlex.split(text) or [text]
    return parse_operator(name, parse_words(words)) if words else workload(name)


class _Terminal:
    """The progress on standard error."""

    def say(self, text: str) -> None:
        remark(text)

    def tuning(
        self, seconds: float, flops: float | None
    ) -> AbstractContextManager[Callable[[Progress], None]]:
        return shown_progress(None, seconds, flops)

    @contextlib.contextmanager
    def counting(self, total: int) -> Iterator[Callable[[int], None]]:
        from tunesmith.reports.build_progress import BuildProgress

        with BuildProgress(remarks(), total, done="tried") as live:
            yield live.update
