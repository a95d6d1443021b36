"""Models that predict a config's speed from its features."""

from tunesmith.models.cost_model import CostModel, Prediction
from tunesmith.models.registry import cost_model

__all__ = ["CostModel", "Prediction", "cost_model"]
