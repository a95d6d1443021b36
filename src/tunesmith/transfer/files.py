"""Models as files: compressed JSON with what they were trained on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tunesmith.errors import UsageError, describe
from tunesmith.models.trees import Trees
from tunesmith.transfer.encoding import Encoding
from tunesmith.transfer.model import GlobalModel
from tunesmith.whole_file import write_whole

FORMAT = "tunesmith-model"
VERSION = 2
"""Changes with the format, and with what the columns of ``Encoding`` mean."""


def write_model(model: GlobalModel, path: Path) -> None:
    """Write a model as a whole, without the one ``below`` it. Raises ``OSError``."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "origin": dict(model.origin),
        "trials": model.trials,
        "tasks": model.tasks,
        "sketches": dict(model.sketches),
        "columns": list(model.encoding.names),
        **model.trees.to_json(),
    }
    text = json.dumps(content, separators=(",", ":"))
    write_whole(path, gzip.compress(text.encode(), 9, mtime=0))


def read_model(path: Path) -> GlobalModel:
    """The inverse of ``write_model``; no model is below it.

    Raises ``UsageError`` for a file that is none, such as a truncated one, or of another version.
    """
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        if content["version"] != VERSION:
            raise UsageError(
                f"{path} is a model of version {content['version']}, not {VERSION}: train it again"
            )
        encoding, trees = Encoding(content["columns"]), Trees.from_json(content)
        if not trees.needs_only(len(encoding.names)):
            raise ValueError("its trees ask for columns that it does not have")
        return GlobalModel(
            encoding,
            trees,
            dict(content["sketches"]),
            int(content["trials"]),
            int(content["tasks"]),
            dict(content["origin"]),
        )
    except UsageError:
        raise
    except Exception as error:  # whatever a broken file leads to
        raise UsageError(f"{path} is no model ({describe(error)}): train it again") from error
