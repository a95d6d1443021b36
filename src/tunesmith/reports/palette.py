"""The colours of a report, for a light and a dark page.

Those of the series are Okabe and Ito's, which are safe for colour-blind readers, lightened for dark
pages where necessary.
"""

from __future__ import annotations

from typing import Final

# Each colour on a light and on a dark page.
_COLOURS: Final = {
    "page": ("#ffffff", "#12171d"),
    "card": ("#f5f7f9", "#1b222a"),
    "line": ("#dde3e8", "#323c46"),
    "ink": ("#17212b", "#e8edf2"),
    "muted": ("#57646f", "#9fabb6"),
    "accent": ("#00639b", "#6cc0f5"),
    "best": ("#0072b2", "#56b4e9"),
    "trial": ("#7fb8d8", "#4a81a6"),
    "default": ("#b95000", "#f0914a"),
    "invalid": ("#c0392b", "#ff7566"),
    "search": ("#cc79a7", "#d68fb6"),
    "build": ("#e69f00", "#ecb03a"),
    "run": ("#009e73", "#2fbf95"),
    "record": ("#f0e442", "#f3ea6b"),
    "idle": ("#9aa5ae", "#7f8b96"),
    "on phase": ("#10171e", "#0b1015"),
    "peer1": ("#007a59", "#34c79c"),
    "peer2": ("#8f4f7d", "#d99cc4"),
    "peer3": ("#7a6500", "#e3cf57"),
}

LIGHT: Final = {name: light for name, (light, _) in _COLOURS.items()}
DARK: Final = {name: dark for name, (_, dark) in _COLOURS.items()}

SERIES: Final = ("trial", "build", "run", "search", "record")
"""The colours of parts that have no colour of their own, in turn; ``OTHERS`` is that of the rest.
Text on them is in ``on phase``."""

OTHERS: Final = "idle"

PEERS: Final = ("peer1", "peer2", "peer3")
"""The colours of peers, used in turn; each peer also has its own dash."""
