"""``tunesmith models``: what was learned of a store's trials, for tasks that it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.existing_store import existing_store
from tunesmith.cli.output import console, print_json, print_text, remark
from tunesmith.errors import (
    StoreError,
    TunesmithError,
    UsageError,
    describe,
    system_reason,
    unknown_name,
)

if TYPE_CHECKING:
    from tunesmith.store import Store
    from tunesmith.transfer.of_store import Scope


@dataclass(frozen=True, kw_only=True)
class TaughtOptions:
    """Which of a store's trials a model learns from."""

    target: Annotated[
        str, Option("--target", help="Trials for this kind of target; all: for any.")
    ] = "cpu"
    mcpu: opt.Processor = None
    arch: opt.Architecture = None
    triple: opt.Triple = None
    operator: Annotated[
        list[str] | None, Option("--operator", help="Only trials of this operator; repeatable.")
    ] = None
    sketch: opt.SketchNames = None

    def scope(self) -> Scope:
        """What to learn from. Raises ``UsageError`` for names that do not exist."""
        from tunesmith.operators import operator_class
        from tunesmith.sketches.registry import SKETCHES, whole_name
        from tunesmith.target import Target
        from tunesmith.transfer.of_store import Scope

        for name in self.operator or ():
            operator_class(name)
        if self.target != "all":
            chosen = Target(self.target, self.mcpu, arch=self.arch, triple=self.triple)
        elif self.mcpu or self.arch or self.triple:
            raise UsageError("all targets have no --mcpu, --arch or --triple: leave it out")
        else:
            chosen = None
        sketches = self.sketch or []
        if chosen is not None:
            sketches = [whole_name(name, chosen, SKETCHES.names()) for name in sketches]
        for name in sketches:
            SKETCHES.get(name)
        if chosen is not None:
            chosen.to_json()  # which complains of a processor that nobody knows
        return Scope(chosen, tuple(self.operator or ()), tuple(sketches))


def list_(*, store: opt.StoreLocation = None, as_json: opt.Json = False) -> None:
    """List the models of a store, and those that ship."""
    from tunesmith.reports.models import models_table
    from tunesmith.transfer.listing import listed

    with existing_store(store) as opened:
        found = listed(opened)
    if as_json:
        print_json({"models": [each.to_json() for each in found]})
    else:
        console().print(models_table([each.to_json() for each in found]))


def train(
    *,
    store: opt.StoreLocation = None,
    taught: TaughtOptions,
    as_json: opt.Json = False,
) -> None:
    """Learn from the trials of a store now; without this, a run does when enough is new."""
    from tunesmith.store import open_store
    from tunesmith.transfer.of_store import train as trained

    scope = taught.scope()
    with open_store(store, create=False) as opened, _teaching(opened):
        if opened.file is None:
            raise UsageError(
                f"{opened.name} has no file beside which a model could be: a run that needs one "
                "trains it, and keeps it until it ends"
            )
        model = trained(opened, scope, remark)
    if as_json:
        print_json({"scope": scope.name, "trials": model.trials, "tasks": model.tasks})
    else:
        print_text(f"{scope.name}: learned from {model.trials:,} trials of {model.tasks} tasks")


@contextmanager
def _teaching(store: Store) -> Iterator[None]:
    """Complains in a line of whatever goes wrong, such as a record that is damaged."""
    try:
        yield
    except TunesmithError:
        raise
    except Exception as error:
        raise UsageError(f"{store.name} cannot teach a model ({describe(error)})") from error


def score(
    *,
    store: opt.StoreLocation = None,
    taught: TaughtOptions,
    as_json: opt.Json = False,
) -> None:
    """Say how good models are on tasks of a store that they have not learned from."""
    from tunesmith.reports.models import scores_table
    from tunesmith.store import open_store
    from tunesmith.transfer.of_store import held_out_scores

    scope = taught.scope()
    with open_store(store, create=False) as opened, _teaching(opened):
        rows = held_out_scores(opened, scope, remark)
    if as_json:
        print_json(rows)
        return
    console().print(scores_table(rows))
    if not any(each["tasks"] for each in rows.values()):
        remark("no task has enough valid trials to compare their order: tune more")


def remove(
    names: Annotated[list[str] | None, Argument(help="Models by name; none: all.")] = None,
    *,
    store: opt.StoreLocation = None,
) -> None:
    """Remove models of a store; its trials stay, and a run learns from them anew."""
    from tunesmith.store import open_store
    from tunesmith.transfer.of_store import saved_models

    with open_store(store, create=False) as opened:
        saved = saved_models(opened)
        for name in names or saved:
            if name not in saved:
                raise unknown_name("model", name, saved, listed_by="tunesmith models list")
        for name in names or saved:
            try:
                saved[name].unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(
                    f"{saved[name]} cannot be removed ({system_reason(error)})"
                ) from error
            print_text(f"removed {saved[name]}")
    if not saved:
        print_text(f"{opened.name} has no models")
