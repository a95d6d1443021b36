"""Programs of text that do what they say, for tests of the processes that evaluate them."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError
from tunesmith.evolve.edit import Edit, Edits
from tunesmith.evolve.evaluation.evaluation import Evaluation
from tunesmith.evolve.evaluation.subject import Built
from tunesmith.measurement import Outcome


class Words:
    """A program is a line of words. Each edit deletes one of them, or does nothing."""

    def __init__(self, text: str) -> None:
        self._words = text.split()

    @property
    def digest(self) -> str:
        return " ".join(self._words)

    def apply(self, edits: Edits) -> str:
        gone = {int(edit.target) for edit in edits}
        return " ".join(word for n, word in enumerate(self._words) if n not in gone)

    def draw(self, edits: Edits, random: random.Random) -> Edit:
        number = random.randrange(len(self._words))
        return Edit("delete", str(number), seed=random.getrandbits(16))

    def describe(self, edits: Edits) -> list[str]:
        return [f"delete {self._words[int(edit.target)]}" for edit in edits]

    def difference(self, edits: Edits) -> list[str]:
        return [f"-{self._words[int(edit.target)]}" for edit in edits]


@dataclass(frozen=True)
class WordsSubject:
    """Evaluates words: the time is their number, the error is the share of ``needed`` ones that are
    gone, and a quarter for each word that ``spoils``. Some words do harm, and ``unseen`` is
    needed by what is held out alone."""

    text: str
    name: str = "words"
    digest: str = "of words"
    endings: tuple[str, ...] = (".txt",)
    threads: int = 1

    @property
    def representation(self) -> Words:
        return Words(self.text)

    def evaluator(self) -> WordsEvaluator:
        if "unbuildable" in self.text:
            raise TunesmithError("it cannot be built")
        return WordsEvaluator(self.text.split())

    def callable(self, text: str) -> Callable[..., Any]:
        return lambda: text

    def save(self, text: str, path: Path) -> None:
        path.write_text(text)


class WordsEvaluator:
    def __init__(self, original: list[str]) -> None:
        self._original = original

    def prepare(self) -> str:
        if "unprepared" in self._original:
            raise ValueError("cannot be prepared")
        if "unready" in self._original:
            os.kill(os.getpid(), signal.SIGSEGV)
        return "ready"

    def build(self, text: str) -> Built:
        """Words with a capital letter change nothing for the machine."""
        heard = " ".join(word for word in text.split() if not word.istitle())
        return Built(text, hashlib.sha256(heard.encode()).hexdigest())

    def evaluate(self, built: Built, prepared: Any, *, heldout: bool, limit: float) -> Evaluation:
        assert prepared == "ready"
        words = built.program.split()
        if "crash" in words:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "hang" in words:
            time.sleep(60)
        while "loop" in words:
            pass
        if "leave" in words:
            os._exit(3)
        if "raise" in words:
            raise ValueError("of its own")
        if "hoard" in words:
            bytearray(1 << 33)
        needed = [word for word in self._original if word.startswith("needed")]
        lost = sum(word not in words for word in needed) / max(1, len(needed))
        lost += 0.25 * sum(word.startswith("spoils") for word in words)
        if heldout and "unseen" in self._original:
            lost += "unseen" not in words
        own = 0.25 * sum(word.startswith("spoils") for word in self._original)
        ratio = (len(words) + 1.0 + 0.5 * heldout) / (len(self._original) + 1.0)
        return Evaluation(Outcome.NO_ERROR, ratio, ratio, lost, original_error=own)
