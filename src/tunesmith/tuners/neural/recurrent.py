"""A recurrent network that writes configs token by token, and its policy gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.features.tokens import Tokens
from tunesmith.features.vectors import Ints, Reals
from tunesmith.models import pytorch


class RecurrentPolicy:
    """An LSTM layer that reads the previous token and scores the next one.

    Each place has its own embedding of tokens and its own output layer. The outputs are added to
    the logarithms of how many values continue with each token (``Tokens.ways``). They start at
    zero, so an untrained policy draws all values uniformly, like random search. Tokens that no
    value continues with are masked.

    ``entropy`` is the weight of the policy's divergence from the untrained one (the
    Kullback-Leibler divergence of each token). Raises ``MissingDependencyError`` without PyTorch;
    its message names the ``tuner``.
    """

    def __init__(
        self,
        tuner: str,
        tokens: Tokens,
        *,
        hidden: int,
        learning_rate: float,
        entropy: float,
        rng: np.random.Generator,
    ) -> None:
        torch = self._torch = pytorch.load_torch(f"tuner '{tuner}'")
        self._tokens = tokens
        self._hidden = hidden
        self._entropy = entropy
        generator = pytorch.generator(torch, rng)
        places, bound = len(tokens), hidden**-0.5
        # Row 0 is read before the first token; then come the tokens of each place.
        rows = 1 + places * tokens.most
        self._embedding = pytorch.uniform(torch, (rows, hidden), bound, generator)
        # Not torch.nn.LSTM, which would draw its initial weights from the user's generator.
        shapes = [(4 * hidden, hidden), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
        self._cell = [pytorch.uniform(torch, shape, bound, generator) for shape in shapes]
        self._output = pytorch.uniform(torch, (places, hidden, tokens.most), 0.0, generator)
        weights = [self._embedding, *self._cell, self._output]
        # With the usual epsilon, 1e-8, rounding errors would cause steps if there is no advantage.
        self._optimizer = torch.optim.Adam(weights, lr=learning_rate, eps=1e-5)

    def draw(self, count: int, rng: np.random.Generator, temperature: float = 1.0) -> Ints:
        """``count`` sentences drawn from the policy, shape (count, places).

        With rising temperature draws approach those of an untrained policy.
        """
        torch = self._torch
        drawn = np.zeros((count, len(self._tokens)), dtype=np.int32)
        with pytorch.one_thread(torch), torch.no_grad():
            state = self._begin(count)
            for place in range(len(self._tokens)):
                state = self._read(drawn, place, state)
                preferences = (state[0] @ self._output[place]).double().numpy() / temperature
                preferences += self._tokens.ways(drawn[:, :place])
                # The Gumbel-max trick: the argmax is a draw from the softmax.
                noise = rng.gumbel(size=preferences.shape)
                drawn[:, place] = (preferences + noise).argmax(axis=1)
        return drawn

    def loss(self, sentences: Ints, advantages: Reals) -> Any:
        """The loss of REINFORCE: a tensor of one number.

        ``sentences`` have shape (batch, places), ``advantages`` (batch,).
        """
        chosen, divergence = self.evaluate(sentences)
        weights = self._torch.from_numpy(advantages.astype(np.float32))
        # Minimising the negative makes sentences with a positive advantage likelier.
        return -(weights * chosen).mean() + self._entropy * divergence.mean()

    def train(self, sentences: Ints, advantages: Reals) -> None:
        """One step of Adam on the loss."""
        with pytorch.one_thread(self._torch):
            loss = self.loss(sentences, advantages)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()

    def evaluate(self, sentences: Ints) -> tuple[Any, Any]:
        """Log-probabilities of sentences, and their divergence from the untrained policy in nats.

        Both have shape (batch,).
        """
        torch = self._torch
        state, outputs, ways = self._begin(len(sentences)), [], []
        for place in range(len(self._tokens)):
            state = self._read(sentences, place, state)
            outputs.append(state[0])
            ways.append(self._tokens.ways(sentences[:, :place]))
        before = torch.from_numpy(np.stack(ways).astype(np.float32))
        logs = (torch.stack(outputs) @ self._output + before).log_softmax(dim=2)
        chosen = logs.gather(2, torch.from_numpy(sentences.T[:, :, None].astype(np.int64)))
        gains = (logs - before.log_softmax(dim=2)).masked_fill(before.isinf(), 0.0)
        return chosen.sum(dim=(0, 2)), (logs.exp() * gains).sum(dim=(0, 2))

    def _begin(self, count: int) -> tuple[Any, Any]:
        """The LSTM's output and cell before the first token, shape (count, hidden) each."""
        zeros = self._torch.zeros((count, self._hidden), dtype=self._torch.float32, device="cpu")
        return zeros, zeros

    def _read(self, sentences: Ints, place: int, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """The output and cell at a place, after the token before it."""
        torch = self._torch
        if place == 0:
            rows = torch.zeros(len(sentences), dtype=torch.int64, device="cpu")
        else:
            tokens = sentences[:, place - 1].astype(np.int64)
            rows = torch.from_numpy(1 + (place - 1) * self._tokens.most + tokens)
        output, cell = torch.lstm_cell(self._embedding[rows], state, *self._cell)
        return output, cell
