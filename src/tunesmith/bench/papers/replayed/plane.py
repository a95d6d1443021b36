"""Which configs G-BFS and N-A2C visit in a space of two parameters, as a picture.

"Compiler-Level Matrix Multiplication Optimization for Deep Learning", figures 5c and 6c, on a
random function as there: a sum of hills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tunesmith.bench.pages.charts import new_figure, styled, svg_texts
from tunesmith.bench.pages.templates import markdown, table
from tunesmith.bench.papers.estimate import Estimate
from tunesmith.measurement import Measurement, Outcome
from tunesmith.reports import format as fmt
from tunesmith.space import Ordinal, Space
from tunesmith.tuners import tuner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

PART = "plane"

TUNERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "G-BFS": ("gbfs", {"start_at": "random"}),
    "N-A2C": ("na2c", {"start_at": "random"}),
    "random": ("random", {}),
}
"""Those that search it, with their options; there is no untiled config to start at."""

_PICTURE = f"search-replay-{PART}-visited.svg"


@dataclass(frozen=True)
class PlaneSettings:
    """``side`` values of each of two parameters, ``hills`` on them, ``trials`` of a search, and so
    many ``functions``, of which the first is drawn."""

    side: int = 48
    hills: int = 12
    trials: int = 250
    functions: int = 24
    seed: int = 0


def rewards(settings: PlaneSettings, number: int) -> Floats:
    """The calls per second of every config of a random function, shape (side, side): from 1 / 10 to
    1."""
    rng = np.random.default_rng([settings.seed, number])
    along = np.arange(settings.side)
    x, y = np.meshgrid(along, along, indexing="ij")
    total = np.zeros((settings.side, settings.side))
    for height, at_x, at_y, width in zip(
        rng.uniform(0.3, 1.0, settings.hills),
        *rng.uniform(0, settings.side, (2, settings.hills)),
        rng.uniform(0.06, 0.2, settings.hills) * settings.side,
        strict=True,
    ):
        total += height * np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / (2 * width**2))
    low, high = total.min(), total.max()
    found: Floats = 0.1 + 0.9 * (total - low) / (high - low)
    return found


def visited(name: str, speeds: Floats, settings: PlaneSettings, seed: int) -> list[tuple[int, int]]:
    """The configs that a tuner of ``TUNERS`` visits, in order. Each is measured before the next."""
    known, options = TUNERS[name]
    along = tuple(range(settings.side))
    space = Space([Ordinal("x", along), Ordinal("y", along)])
    search = tuner(known, **options).start(space, seed)
    places: list[tuple[int, int]] = []
    for _ in range(settings.trials):
        for config in search.propose(1):
            place = (int(str(config["x"])), int(str(config["y"])))
            places.append(place)
            seconds = 1.0 / float(speeds[place])
            search.observe([Measurement(config, Outcome.NO_ERROR, (seconds,))])
    return places


def plane_data(settings: PlaneSettings) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures, which are JSON-ready, and the picture by the name of its file.

    Figures have the ``settings``, and ``tuners``, a row for each: the mean ``best`` over the
    functions as a share of the optimum, with its ``error``, and in what share of them the optimum
    itself was ``found``.

    Raises ``MissingDependencyError`` where a tuner needs what is not installed.
    """
    functions = [rewards(settings, number) for number in range(settings.functions)]
    ways: dict[str, list[tuple[int, int]]] = {}
    rows = []
    for name in TUNERS:
        bests = []
        for number, speeds in enumerate(functions):
            way = visited(name, speeds, settings, settings.seed + number)
            ways.setdefault(name, way)
            bests.append(max(float(speeds[place]) for place in way))
        best = Estimate.mean(bests)
        rows.append(
            {
                "tuner": name,
                "best": best.value,
                "error": best.error,
                "found": float(np.mean(np.isclose(bests, 1.0))),
            }
        )
    pictures = svg_texts({_PICTURE: lambda: _drawn(functions[0], ways)})
    figures = {
        "settings": asdict(settings),
        "tuners": rows,
        "pictures": {"visited": _PICTURE} if pictures else {},
    }
    return figures, pictures


def section(data: Mapping[str, Any]) -> str:
    """Its part of the page."""
    settings = data["settings"]
    rows = [
        [
            row["tuner"],
            fmt.percent_with_error(row["best"], row["error"], settings["functions"]),
            fmt.percent(row["found"], 0),
        ]
        for row in data["tuners"]
    ]
    return markdown(
        "papers/replayed/plane.md.jinja",
        settings=settings,
        share=settings["trials"] / settings["side"] ** 2,
        pictures=data["pictures"],
        found=table(("tuner", "best", "optimum found"), rows),
    )


@styled
def _drawn(speeds: Floats, ways: Mapping[str, Sequence[tuple[int, int]]]) -> Figure:
    """The function, and over it what each visited: the later, the lighter."""
    figure = new_figure(3.6)
    panels = figure.subplots(1, len(ways), sharey=True, squeeze=False)[0]
    for axes, (name, way) in zip(panels, ways.items(), strict=True):
        axes.imshow(speeds.T, origin="lower", cmap="Greys_r", alpha=0.75, interpolation="nearest")
        x, y = np.array(way).T
        dots = axes.scatter(x, y, c=np.arange(len(way)), cmap="plasma", s=7, linewidths=0)
        axes.plot(*way[0], marker="s", color="#009e73", markersize=6, linestyle="none")
        best = np.unravel_index(int(np.argmax(speeds)), speeds.shape)
        axes.plot(*best, marker="*", color="#d55e00", markersize=11, linestyle="none")
        axes.grid(visible=False)
        axes.set_title(name)
    figure.colorbar(dots, ax=list(panels), label="trial", shrink=0.8)
    return figure
