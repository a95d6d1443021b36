"""Models that predict a config's speed from its features."""

from tunesmith.models.cost_model import CostModel, Prediction
from tunesmith.models.gaussian_process import GaussianProcess
from tunesmith.models.registry import cost_model

__all__ = ["CostModel", "GaussianProcess", "Prediction", "cost_model"]
