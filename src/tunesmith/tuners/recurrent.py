"""A recurrent network that writes configs token by token, and its policy gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.tuners import neural
from tunesmith.tuners.tokens import Tokens
from tunesmith.tuners.vectors import Ints

Reals = npt.NDArray[np.float64]


class RecurrentPolicy:
    """One layer of LSTM: it reads the token before, and prefers some of those that may follow.

    Each place has an embedding of its tokens and an output layer of its own. The outputs are added
    to the logarithms of how many values begin with each token. As they start at zero, an untrained
    policy draws all values of a parameter evenly, as random search does.

    ``entropy`` weighs how far the policy is from the untrained one (the Kullback-Leibler divergence
    of each token). Raises ``MissingDependencyError`` without PyTorch; ``tuner`` is who says so.
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
        torch = self._torch = neural.load_torch(tuner)
        self._tokens = tokens
        self._hidden = hidden
        self._entropy = entropy
        generator = neural.generator(torch, rng)
        places, bound = len(tokens), hidden**-0.5
        # Row 0 is read before the first token; then come the tokens of each place.
        rows = 1 + places * tokens.most
        self._embedding = neural.uniform(torch, (rows, hidden), bound, generator)
        # Made without initial weights: those would be drawn from the user's generator.
        self._lstm = torch.nn.utils.skip_init(
            torch.nn.LSTM, hidden, hidden, batch_first=True, device="cpu", dtype=torch.float32
        )
        with torch.no_grad():
            for weights in self._lstm.parameters():
                weights.uniform_(-bound, bound, generator=generator)
        self._output = neural.uniform(torch, (places, hidden, tokens.most), 0.0, generator)
        weights = [self._embedding, *self._lstm.parameters(), self._output]
        self._optimizer = torch.optim.Adam(weights, lr=learning_rate)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """So many sentences, drawn from the policy, shape (count, places)."""
        torch = self._torch
        drawn = np.zeros((count, len(self._tokens)), dtype=np.int32)
        with neural.one_thread(torch), torch.no_grad():
            output = cell = torch.zeros((count, self._hidden), dtype=torch.float32, device="cpu")
            for place in range(len(self._tokens)):
                inputs = self._embedding[self._rows(drawn, place)]
                output, cell = torch.lstm_cell(inputs, (output, cell), *self._lstm.parameters())
                preferences = (output @ self._output[place]).double().numpy()
                preferences += self._tokens.ways(drawn[:, :place])
                # The largest after Gumbel noise is a draw from the softmax.
                noise = rng.gumbel(size=preferences.shape)
                drawn[:, place] = (preferences + noise).argmax(axis=1)
        return drawn

    def log_probabilities(self, sentences: Ints) -> Reals:
        """The logarithm of how likely each sentence is to be drawn, shape (batch,)."""
        with neural.one_thread(self._torch):
            chosen, _ = self._evaluate(sentences)
            logs: Reals = chosen.detach().double().numpy()
        return logs

    def train(self, sentences: Ints, advantages: Reals) -> None:
        """One step of Adam by REINFORCE: sentences of positive advantage become likelier.

        ``sentences`` have shape (batch, places), ``advantages`` (batch,).
        """
        torch = self._torch
        with neural.one_thread(torch):
            chosen, divergence = self._evaluate(sentences)
            weights = torch.from_numpy(advantages.astype(np.float32))
            # The loss is minimised, so the minus makes what has an advantage likelier.
            loss = -(weights * chosen).mean() + self._entropy * divergence.mean()
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()

    def _evaluate(self, sentences: Ints) -> tuple[Any, Any]:
        """Log-probabilities, and the divergence from the untrained policy on the way, in nats.

        Both have shape (batch,).
        """
        torch = self._torch
        places = range(len(self._tokens))
        rows = torch.stack([self._rows(sentences, place) for place in places], dim=1)
        outputs, _ = self._lstm(self._embedding[rows])
        ways = np.stack([self._tokens.ways(sentences[:, :place]) for place in places], axis=1)
        before = torch.from_numpy(ways.astype(np.float32))
        logs = (torch.einsum("bph,pht->bpt", outputs, self._output) + before).log_softmax(dim=2)
        chosen = logs.gather(2, torch.from_numpy(sentences.astype(np.int64))[:, :, None])
        gains = (logs - before.log_softmax(dim=2)).masked_fill(before.isinf(), 0.0)
        return chosen.sum(dim=(1, 2)), (logs.exp() * gains).sum(dim=(1, 2))

    def _rows(self, sentences: Ints, place: int) -> Any:
        """The rows of the embedding that are read before a place, shape (batch,)."""
        if place == 0:
            return self._torch.zeros(len(sentences), dtype=self._torch.int64, device="cpu")
        tokens = sentences[:, place - 1].astype(np.int64)
        return self._torch.from_numpy(1 + (place - 1) * self._tokens.most + tokens)
