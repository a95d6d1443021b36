"""The colours of a report, for a light and a dark page.

Those of the series are Okabe and Ito's, which are safe for colour-blind readers, lightened for dark
pages where necessary.
"""

from __future__ import annotations

from typing import Final

LIGHT: Final = {
    "page": "#ffffff",
    "card": "#f5f7f9",
    "line": "#dde3e8",
    "ink": "#17212b",
    "muted": "#57646f",
    "accent": "#00639b",
    "best": "#0072b2",
    "trial": "#7fb8d8",
    "default": "#b95000",
    "invalid": "#c0392b",
    "search": "#cc79a7",
    "build": "#e69f00",
    "run": "#009e73",
    "record": "#f0e442",
    "idle": "#9aa5ae",
    "on phase": "#10171e",
    "peer1": "#007a59",
    "peer2": "#8f4f7d",
    "peer3": "#7a6500",
}

DARK: Final = {
    "page": "#12171d",
    "card": "#1b222a",
    "line": "#323c46",
    "ink": "#e8edf2",
    "muted": "#9fabb6",
    "accent": "#6cc0f5",
    "best": "#56b4e9",
    "trial": "#4a81a6",
    "default": "#f0914a",
    "invalid": "#ff7566",
    "search": "#d68fb6",
    "build": "#ecb03a",
    "run": "#2fbf95",
    "record": "#f3ea6b",
    "idle": "#7f8b96",
    "on phase": "#0b1015",
    "peer1": "#34c79c",
    "peer2": "#d99cc4",
    "peer3": "#e3cf57",
}

PEERS: Final = ("peer1", "peer2", "peer3")
"""The colours of peers, used in turn; each peer also has its own dash."""
