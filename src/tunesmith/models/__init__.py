"""Models that predict how fast a config is, from numbers that describe it."""

from tunesmith.models.gaussian_process import GaussianProcess

__all__ = ["GaussianProcess"]
