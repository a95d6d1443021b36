"""``tunesmith network example``: what programs in C and C++ need to run built networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import print_json, print_text


def example(
    output: Annotated[Path, Option("-o", "--output", help="The folder to write.")],
    *,
    as_json: opt.Json = False,
) -> None:
    """Write a folder with all that is needed to run networks from C and C++, and examples."""
    from tunesmith.networks.c_interface.folder import flags, write_folder

    files = write_folder(output)
    if as_json:
        print_json({"files": list(map(str, files)), "flags": flags(output)})
        return
    print_text(f"{output}: headers, TVM's runtime libraries, examples in C and C++, and a Makefile")
    print_text(f"build and run them: make -C {output} && {output}/example-c net.so")
    print_text(f"flags for other programs: {' '.join(flags(output))}")
