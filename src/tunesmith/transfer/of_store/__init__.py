"""Models of a store's own trials: trained when enough is new, and saved beside the store.

Such a model learns what the shipped model of the same kind of target gets wrong on this machine, so
a few hundred trials are enough for it to be of use.
"""

from tunesmith.transfer.of_store.choice import Transfer, check_transfer, model_for
from tunesmith.transfer.of_store.heard import Tell
from tunesmith.transfer.of_store.saved import folder_of, saved_models, why_stale
from tunesmith.transfer.of_store.scope import Scope
from tunesmith.transfer.of_store.training import held_out_scores, train

__all__ = [
    "Scope",
    "Tell",
    "Transfer",
    "check_transfer",
    "folder_of",
    "held_out_scores",
    "model_for",
    "saved_models",
    "train",
    "why_stale",
]
