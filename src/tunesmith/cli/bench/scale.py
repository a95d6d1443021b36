"""``tunesmith bench scale``: the loop with more devices than there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_page, remark
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_TUNERS = "auto,random,genetic,opevo"
_SAY_EVERY = 10.0


def scale(
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for scale.md, scale.json, scale-busy.svg.")
    ] = opt.FIGURES,
    *,
    devices: Annotated[
        str, Option(help="Numbers of simulated devices, such as 1,10.")
    ] = "1,10,100,1000,10000",
    tuners: Annotated[str, Option(help="Tuners, such as auto,random.")] = _TUNERS,
    seconds: Annotated[float, Option(help="Least length of a run, by the simulated clock.")] = 30.0,
    trials: Annotated[int, Option(help="Least trials of a run.")] = 1000,
    store: Annotated[
        str | None, Option("--store", help="Keep the records here; default: a file for each run.")
    ] = None,
    batches: Annotated[
        str, Option(help="Sizes of batches whose quality is compared; empty: leave that out.")
    ] = "1,8,64,256,1000",
    batch_trials: Annotated[int, Option(help="Trials of each of these runs.")] = 2000,
    repeats: Annotated[int, Option(help="Runs with each size.")] = 5,
    recorded: Annotated[Path, Option(help="The recorded space that is searched.")] = Path(
        "data/replay/gemm/zen5.json.gz"
    ),
    seed: Annotated[int, Option(help="Seed of the first run.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Simulate up to 10,000 devices: how many are busy, how soon they find a good config."""
    from tunesmith.bench.pages.figure_files import make_folder
    from tunesmith.bench.pages.provenance import origin_now
    from tunesmith.bench.scale.batches import BatchSettings, measure_batches
    from tunesmith.bench.scale.goal import GoalSettings, measure_goal
    from tunesmith.bench.scale.page import scale_figures, write_scale
    from tunesmith.bench.scale.throughput import ThroughputSettings, measure_throughput
    from tunesmith.measure.recorded.recording import load_recording
    from tunesmith.tuners import tuner as tuner_by_name

    if seed < 0:
        raise UsageError(f"the seed is {seed}: give 0 or more")
    settings = ThroughputSettings(_numbers("--devices", devices), seconds, trials, seed)
    sizes = BatchSettings(_numbers("--batches", batches), batch_trials, repeats, seed)
    few = tuple(count for count in settings.devices if count <= batch_trials)
    goal = GoalSettings(few, batch_trials, repeats, seed)
    algorithms = [tuner_by_name(name.strip()) for name in tuners.split(",")]
    recording = load_recording(recorded)
    make_folder(output)
    origin = origin_now()
    about = {
        **{"devices": list(settings.devices), "seconds": seconds, "trials": trials, "seed": seed},
        **{"batches": list(sizes.batches), "batch_trials": batch_trials, "repeats": repeats},
        **{"store": store is not None, "recorded": str(recorded)},
    }
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []

    def write() -> tuple[dict[str, Any], str]:
        figures = scale_figures(origin, about, rows, goals, compared)
        return figures, write_scale(output, figures)

    for algorithm in algorithms:
        for count in settings.devices:
            said = f"{algorithm.name}, {count} devices"
            remark(f"{said} ...")
            rows.append(measure_throughput(algorithm, count, settings, store, _watcher(said)))
            write()
    for algorithm in algorithms:
        for count in goal.devices:
            remark(f"{algorithm.name}, {count} devices, to 95 % of the best ...")
            goals.append(measure_goal(algorithm, count, goal, recording))
            write()
    if sizes.batches:
        compared = measure_batches(tuner_by_name("auto"), sizes, recorded, remark)
    figures, page = write()
    print_page(figures, page, as_json=as_json)


def _numbers(option: str, text: str) -> tuple[int, ...]:
    """The numbers of a list with commas. Raises ``UsageError`` for anything else."""
    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise UsageError(f"{option} must be whole numbers such as 1,10, not '{text}'") from None


def _watcher(said: str) -> Callable[[float, int], None]:
    """Says from time to time how far a run is."""
    last = 0.0

    def watch(seconds: float, trials: int) -> None:
        nonlocal last
        import time

        now = time.monotonic()
        last = last or now
        if now - last >= _SAY_EVERY:
            last = now
            remark(f"{said}: {seconds:.0f} s simulated, {trials:,} trials")

    return watch
