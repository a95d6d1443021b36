"""Bayesian optimisation over neighbours of the best configs and random ones: the default."""

from tunesmith.tuners.auto.tuner import Auto

__all__ = ["Auto"]
