"""The network that all sides of a comparison run, as their processes are told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from tunesmith.errors import UsageError, last_line
from tunesmith.networks.graph import Array

# Newer formats of ONNX bring nothing that these networks need.
_OPSET = 17


@dataclass(frozen=True)
class ComparedModel:
    """A network of the ``zoo``, by name, or of a ``file``; the other is None.

    ``inputs`` is an .npz file with the arrays that all sides are given, ``onnx`` is the network as
    an ONNX file, None if there is none: then ``why_no_onnx`` says why.
    """

    zoo: str | None
    file: str | None
    batch: int
    inputs: str = ""
    onnx: str | None = None
    why_no_onnx: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Self:
        return cls(**described)

    @property
    def is_torch(self) -> bool:
        """Whether PyTorch has it."""
        return self.file is None or Path(self.file).suffix == ".pt2"

    def arrays(self) -> dict[str, Array]:
        """The inputs by name, in order."""
        with np.load(self.inputs) as saved:
            return {name: saved[name] for name in saved.files}

    def torch_module(self, device: str = "cpu") -> Any:
        """The ``torch.nn.Module``, for inference on a device of PyTorch."""
        if self.file is not None:
            from torch.export.passes import move_to_device_pass

            from tunesmith.networks.importing.pytorch import read_program

            # Its operations name the device that it was exported on, too.
            return move_to_device_pass(read_program(self.file), device).module()
        from tunesmith.networks.zoo import ZOO

        assert self.zoo is not None
        return ZOO.get(self.zoo).model().to(device)

    def relax_module(self) -> Any:
        """TVM's import of it, with its weights as constants."""
        if not self.is_torch:
            from tunesmith.networks.importing import onnx

            return onnx.module_of(onnx.read_model(str(self.file)), self.batch)
        import torch

        from tunesmith.networks.importing import pytorch

        if self.file is not None:
            program = pytorch.read_program(self.file)
            return pytorch.module_of(pytorch.specialised(program, self.batch), recurrent=False)
        tensors = [torch.from_numpy(array) for array in self.arrays().values()]
        return pytorch.module_of(pytorch.exported(self.torch_module(), tensors), recurrent=False)


def write_onnx(model: ComparedModel, path: Path) -> str:
    """Write a network of PyTorch as ONNX; returns why that cannot be, or nothing."""
    import contextlib
    import io
    import warnings

    import torch

    tensors = tuple(torch.from_numpy(array) for array in model.arrays().values())
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                model.torch_module(),
                tensors,
                str(path),
                opset_version=_OPSET,
                input_names=list(model.arrays()),
                dynamo=False,
            )
    except Exception as error:
        return f"PyTorch cannot export the network to ONNX: {last_line(error)}"
    return ""


def described_model(zoo: str | None, file: Path | None, batch: int) -> ComparedModel:
    """Raises ``UsageError`` unless there is one of both."""
    if (zoo is None) == (file is None):
        raise UsageError("compare a network of the zoo or of a file, one of both")
    return ComparedModel(zoo, None if file is None else str(file.resolve()), batch)
