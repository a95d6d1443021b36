"""``tunesmith bench autotvm``: the experiments of AutoTVM's paper, and the product's figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.compare import carry_out_and_write
from tunesmith.cli.output import command_line, print_page, remark
from tunesmith.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tunesmith.bench.autotvm.page import Figures
    from tunesmith.bench.autotvm.parts import Part
    from tunesmith.bench.autotvm.product_row import ProductSettings, Row
    from tunesmith.bench.compare.compare import Comparison
    from tunesmith.bench.compare.runs import Results, Run
    from tunesmith.operators import Operator
    from tunesmith.progress import Progress

PRODUCT, SPEED = "product", "speed"
_QUICK_REPEATS, _QUICK_TRIALS = 2, 96
_RUNS = "models-runs"


def autotvm(
    *,
    part: Annotated[
        str,
        Option(
            help="model, model-replay, model-template, objective, diversity, uncertainty, "
            "transfer, transfer-template, transfer-measured, representation, product, or speed."
        ),
    ],
    output: Annotated[
        Path, Option("-o", "--output", help="Folder for models.md, models.json and pictures.")
    ] = opt.FIGURES,
    data: Annotated[
        Path | None, Option(help="Folder of recorded spaces, or of training sets for product.")
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Minutes: fewer problems, runs, trials.")
    ] = False,
    problem: Annotated[
        list[str] | None, Option(help="Only this problem, or network for product; repeatable.")
    ] = None,
    line: Annotated[
        list[str] | None,
        Option(help="Do the runs of this line alone, beside those that are saved; repeatable."),
    ] = None,
    repeats: Annotated[int | None, Option(help="Runs of each line on each problem.", min=1)] = None,
    trials: Annotated[int | None, Option(help="Trials of a run.", min=1)] = None,
    operators: Annotated[
        int | None, Option(help="product: operators of each network; 2.", min=1)
    ] = None,
    seed: Annotated[
        int | None, Option(help="Seed of the first run, 0; the next has one more.", min=0)
    ] = None,
    fresh: opt.FreshRuns = False,
    as_json: opt.Json = False,
) -> None:
    """Repeat an experiment on learned cost models, or measure what they are worth."""
    from tunesmith.bench.autotvm.experiments import PARTS
    from tunesmith.bench.autotvm.product_row import ProductSettings
    from tunesmith.bench.compare.problems import RECORDED
    from tunesmith.bench.compare.runs import CompareSettings

    if part not in {*PARTS, PRODUCT, SPEED}:
        raise unknown_name("part", part, [*PARTS, PRODUCT, SPEED])
    if quick:
        opt.check_quick(output)
    if part == SPEED:
        _refuse(
            "speed times what it times",
            problem=problem,
            line=line,
            repeats=repeats,
            trials=trials,
            operators=operators,
            seed=seed,
            data=data,
            quick=quick,
            fresh=fresh,
        )
        _speed(output, as_json=as_json)
        return
    if part == PRODUCT:
        _refuse("product has one run of each operator", repeats=repeats, line=line)
        size = ProductSettings(
            trials or (_QUICK_TRIALS if quick else 500), operators or (1 if quick else 2), seed or 0
        )
        _product(size, output, data, problem or [], fresh=fresh, as_json=as_json)
        return
    _refuse("only product has operators of networks", operators=operators)
    chosen = PARTS[part]
    if fresh and problem and chosen.sources and chosen.measured:
        raise UsageError(
            f"--fresh sets aside what all problems of {part} learned from: leave out --problem"
        )
    if quick:
        chosen = replace(chosen, repeats=_QUICK_REPEATS, trials=_QUICK_TRIALS)
    if repeats is not None or trials is not None:
        chosen = replace(chosen, repeats=repeats or chosen.repeats, trials=trials or chosen.trials)
    chosen, left_out = chosen.installed(line or [])
    for name, why in left_out.items():
        remark(f"without {name}: {why}")
    problems = chosen.problems(data or RECORDED, problem or [])
    settings = CompareSettings(chosen.repeats, trials=chosen.trials, seed=seed or 0)
    folder = output / _RUNS / (f"{chosen.folder}-quick" if quick else chosen.folder)
    comparison = chosen.comparison(problems[:1] if quick else problems, settings, folder)
    asked = chosen.runs_of(comparison, line or [])
    _experiment(chosen, comparison, asked, output, fresh=fresh, as_json=as_json)


def _refuse(why: str, **options: object) -> None:
    """Complain of the first of these options that is given."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise UsageError(f"{why}: leave out --{name}")


def _experiment(
    part: Part,
    comparison: Comparison,
    asked: Collection[Run],
    output: Path,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    """Do the runs that are ``asked`` for, and write the figures of all that are saved."""
    from tunesmith.bench.autotvm.figures import part_figures
    from tunesmith.bench.autotvm.page import read_models, write_models
    from tunesmith.bench.pages.figure_files import folder_to_itself

    before = read_models(output)["parts"].get(part.name)

    def write(results: Results) -> tuple[Figures, str]:
        found, pictures = part_figures(part, comparison, results, command_line())
        with folder_to_itself(output):
            figures = read_models(output)  # now: other parts may have been written meanwhile
            figures["parts"][part.name] = found
            return figures, write_models(output, figures, pictures)

    figures, page = carry_out_and_write(comparison, write, fresh=fresh, asked=asked, before=before)
    print_page(figures, page, as_json=as_json, written=output / "models.md")


def _speed(output: Path, *, as_json: bool) -> None:
    from tunesmith.bench.autotvm.page import on_other_machines, read_models, write_models
    from tunesmith.bench.autotvm.speed import measure_speed, split_features
    from tunesmith.bench.pages.figure_files import folder_to_itself

    read_models(output)  # whose complaint is due now
    speeds: list[Mapping[str, Any]] = []
    programs: list[Mapping[str, Any]] = []
    for row in measure_speed():
        remark(f"{row['what']}: {row['seconds']:.2f} s")
        speeds.append(row)
    for row in split_features():
        remark(f"features of a program of {row['sketch']}: {1e3 * row['seconds']:.1f} ms")
        programs.append(row)
    with folder_to_itself(output):
        figures = read_models(output)
        figures["speed"] = [*on_other_machines(figures["speed"]), *speeds]
        figures["program"] = [*on_other_machines(figures.get("program", ())), *programs]
        page = write_models(output, figures, {})
    print_page(figures, page, as_json=as_json, written=output / "models.md")


def _product(
    settings: ProductSettings,
    output: Path,
    data: Path | None,
    names: list[str],
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    from tunesmith.bench.autotvm.page import read_models, write_models
    from tunesmith.bench.autotvm.product import (
        Plan,
        elsewhere,
        measure_product,
        networks_of,
        size_of,
        without,
    )
    from tunesmith.bench.pages.figure_files import folder_to_itself
    from tunesmith.transfer.training_set import read_training_set

    folder = data or Path("data/training")
    files = sorted(folder.glob("*.json.gz"))
    if not files:
        raise UsageError(f"there is no training set in {folder}: name its folder by --data")
    series = [each for path in files for each in read_training_set(path).series]

    def kept(figures: Figures) -> list[Row]:
        """The rows that are not measured anew."""
        return [
            row
            for row in figures["product"]
            if not fresh or size_of(row) != settings.size or (names and row["network"] not in names)
        ]

    known = kept(read_models(output))
    if elsewhere(known, settings):
        raise UsageError(
            "the rows there were measured on another machine, and these would not be comparable: "
            "name another folder by -o, or measure all anew with --fresh and without --problem"
        )

    chosen = names or networks_of(series)
    plan = Plan.of(series, settings)
    rows_planned = plan.rows(chosen, settings, known)

    def watch(network: str, operator: Operator) -> Callable[[Progress], None]:
        remark(f"{network}: {operator.label}")
        return lambda _: None

    def write(new: Sequence[Row]) -> tuple[Figures, str]:
        with folder_to_itself(output):
            figures = read_models(output)  # now: other parts may have been written meanwhile
            figures["product"] = kept(figures)
            for row in new:
                figures["product"] = [*without(figures["product"], row), row]
            figures["product_planned"] = rows_planned
            return figures, write_models(output, figures, {})

    new: list[Row] = []
    for row in measure_product(plan, chosen, settings, known=known, watch=watch):
        new.append(row)
        write(new)
    figures, page = write(new)
    print_page(figures, page, as_json=as_json, written=output / "models.md")
