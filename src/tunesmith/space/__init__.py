"""Parameters with neighbourhoods and distances, spaces with constraints, and configs."""

from tunesmith.space.config import Config
from tunesmith.space.constraint import Constraint
from tunesmith.space.parameters.categorical import Categorical
from tunesmith.space.parameters.choice import Choice
from tunesmith.space.parameters.factorization import Factorization
from tunesmith.space.parameters.ordinal import Ordinal
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.parameters.permutation import Permutation
from tunesmith.space.space import Space
from tunesmith.space.t1 import read_t1
from tunesmith.space.t1_writer import t1_text
from tunesmith.space.value import Value

__all__ = [
    "Categorical",
    "Choice",
    "Config",
    "Constraint",
    "Factorization",
    "Ordinal",
    "Parameter",
    "Permutation",
    "Space",
    "Value",
    "read_t1",
    "t1_text",
]
