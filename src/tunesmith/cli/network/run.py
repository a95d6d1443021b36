"""``tunesmith network run``: a built network on random inputs, or on arrays from a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.arrays import Inputs, arrays_of
from tunesmith.cli.output import print_json, print_text
from tunesmith.errors import TunesmithError, UsageError, system_reason


def run(
    library: Annotated[Path, Argument(help="What 'network build' wrote.")],
    *,
    inputs: Inputs = None,
    batch: Annotated[
        int | None, Option(help="The batch of random inputs; default: the smallest of the network.")
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", help="Write the results to this .npz.")
    ] = None,
    calls: Annotated[int, Option(help="Calls to time.", min=1)] = 20,
    as_json: opt.Json = False,
) -> None:
    """Call a built network and print how long a call takes: the median."""
    import numpy as np

    from tunesmith.networks import load
    from tunesmith.networks.check import random_inputs
    from tunesmith.whole_file import write_whole

    if inputs and batch is not None:
        raise UsageError("arrays have a batch of their own: leave out --batch, or --input")
    network = load(library)
    described = network.description
    entry = described.entries[0] if batch is None else described.entry(batch)
    given = arrays_of(inputs) if inputs else random_inputs(entry.inputs, network.description.bounds)
    result = network(*given)
    results = result if isinstance(result, tuple) else (result,)
    times = []
    call = network.bind(*given)
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    median = float(np.median(times))
    if output is not None:
        import io

        names = [argument.name for argument in entry.outputs]
        packed = io.BytesIO()
        np.savez(packed, **dict(zip(names, results, strict=True)))
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            write_whole(output, packed.getvalue())
        except OSError as error:
            raise TunesmithError(
                f"cannot write {output}: {system_reason(error)}: name a file in a folder that you "
                "may write to"
            ) from error
    if as_json:
        shapes = [list(each.shape) for each in results]
        print_json({"milliseconds": median * 1e3, "calls": calls, "results": shapes})
        return
    print_text(f"{median * 1e3:.3f} ms a call, the median of {calls}")
    for argument, each in zip(entry.outputs, results, strict=True):
        print_text(f"{argument.name}: {argument.dtype} of shape {tuple(each.shape)}")
