"""The cases by name, in the order of the page."""

from __future__ import annotations

from tunesmith.bench.gevo import exact_kernels, models, sgd, svm
from tunesmith.bench.gevo.case import Case

CASES: dict[str, Case] = {
    case.name: case for case in (svm.CASE, sgd.CASE, *exact_kernels.CASES, *models.CASES)
}
