"""AutoTVM: simulated annealing on a learned cost model."""

from tunesmith.tuners.autotvm.tuner import AutoTVM

__all__ = ["AutoTVM"]
