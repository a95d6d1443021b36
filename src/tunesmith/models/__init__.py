"""Models that predict a config's speed from its features."""

from tunesmith.models.gaussian_process import GaussianProcess

__all__ = ["GaussianProcess"]
