"""``tunesmith network compare``: a network against other runtimes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NOTHING_KNOWN, NetworkChoice, knows
from tunesmith.cli.output import print_json, print_text, remark, remarks
from tunesmith.errors import UsageError


def compare(
    choice: NetworkChoice,
    *,
    store: opt.StoreLocation = None,
    rounds: Annotated[int, Option(help="Rounds in which all take turns.", min=3)] = 15,
    tvm: Annotated[bool, Option(help="TVM's default pipeline, too, which is slow.")] = True,
    as_json: opt.Json = False,
) -> None:
    """Compare a network with other runtimes, each in a process of its own, in turn."""
    from tunesmith.bench.networks.comparison import OURS, compare, prepared_model
    from tunesmith.bench.networks.model import described_model
    from tunesmith.cli.network.progress import BuildLines
    from tunesmith.store import open_store

    if len(choice.batches or ()) > 1:
        raise UsageError("one batch is compared at a time: give one --batch")
    choice.check_runs_here("the comparison")
    choice.check_measurable()
    if choice.target == "cuda" and choice.model is not None and choice.model.suffix == ".onnx":
        raise UsageError(
            "on a GPU networks are compared with PyTorch, which reads no ONNX: give a .pt2 file"
        )
    network = choice.network()
    model = described_model(choice.zoo, choice.model, *(network.batches or (1,)))
    with open_store(store) as opened, BuildLines(remarks()) as lines:
        compiled = network.build(opened, progress=lines.update, say=lines.print)
        known = knows(opened, network)
    if not known:
        remark(NOTHING_KNOWN)
    with tempfile.TemporaryDirectory(prefix="tunesmith-compare-") as folder:
        library = compiled.save(Path(folder) / "net.so")
        with prepared_model(model, network.example(), network.target.kind) as prepared:
            found = compare(
                prepared,
                {OURS: library},
                network.target,
                rounds=rounds,
                slow=tvm,
                say=remark,
            ).to_json()
    if as_json:
        print_json({**found, "relative_error": compiled.relative_error})
        return
    from tunesmith.bench.networks.table import comparison_table

    print_text(comparison_table(found))
