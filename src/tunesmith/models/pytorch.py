"""PyTorch for neural tuners and models, without changes to its global state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tunesmith.errors import MissingDependencyError, one_line


def load_torch(what: str) -> Any:
    """The module ``torch``, which takes a second to import.

    Raises ``MissingDependencyError``; its message says that ``what`` needs PyTorch, and how to
    install it.
    """
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: one of its libraries cannot be loaded
        raise MissingDependencyError(
            f"{what} needs PyTorch, which cannot be imported ({one_line(str(error))}): "
            "install the extra 'neural' (pip install 'tunesmith[neural]')"
        ) from error
    return torch


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Within the block PyTorch uses one thread and tracks gradients; then settings are restored.

    For small networks several threads are slower, and they would disturb measurements.
    """
    threads = torch.get_num_threads()
    if threads != 1:
        torch.set_num_threads(1)
    try:
        with torch.enable_grad():
            yield
    finally:
        if threads != 1:
            torch.set_num_threads(threads)


def generator(torch: Any, rng: np.random.Generator) -> Any:
    """A PyTorch generator seeded from ``rng``, as the global one belongs to the user."""
    return torch.Generator(device="cpu").manual_seed(int(rng.integers(1 << 63)))


def uniform(torch: Any, shape: tuple[int, ...], bound: float, generator: Any) -> Any:
    """Trainable float32 weights, drawn from [-bound, bound]."""
    weights = torch.empty(shape, dtype=torch.float32, device="cpu")
    return weights.uniform_(-bound, bound, generator=generator).requires_grad_()


class Perceptron:
    """A network with one hidden layer of rectified linear units.

    ``sizes`` are the numbers of inputs, hidden units and outputs. Initial ``weights`` are bounded
    by the inverse square root of a layer's inputs.
    """

    def __init__(self, torch: Any, sizes: tuple[int, int, int], generator: Any) -> None:
        inputs, hidden, outputs = sizes
        self._linear = torch.nn.functional.linear
        self.weights = [
            uniform(torch, shape, max(fan_in, 1) ** -0.5, generator)
            for fan_in, shape in (
                (inputs, (hidden, inputs)),
                (inputs, (hidden,)),
                (hidden, (outputs, hidden)),
                (hidden, (outputs,)),
            )
        ]

    def __call__(self, inputs: Any) -> Any:
        """The outputs, shape (batch, outputs), for inputs of shape (batch, inputs)."""
        first, first_bias, second, second_bias = self.weights
        return self._linear(self._linear(inputs, first, first_bias).relu(), second, second_bias)
