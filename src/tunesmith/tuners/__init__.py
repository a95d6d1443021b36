"""Search algorithms with an ask-and-tell interface. They do not know TVM."""

from tunesmith.tuners.genetic import Genetic
from tunesmith.tuners.grid import Grid
from tunesmith.tuners.options import Option
from tunesmith.tuners.random import Random
from tunesmith.tuners.registry import (
    TunerDescription,
    describe_tuners,
    parse_options,
    tuner,
    tuner_names,
)
from tunesmith.tuners.tuner import Search, Tuner, fitness, option
from tunesmith.tuners.view import View

__all__ = [
    "Genetic",
    "Grid",
    "Option",
    "Random",
    "Search",
    "Tuner",
    "TunerDescription",
    "View",
    "describe_tuners",
    "fitness",
    "option",
    "parse_options",
    "tuner",
    "tuner_names",
]
