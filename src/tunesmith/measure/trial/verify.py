"""Compares outputs with the reference in NumPy, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Elements compared at a time, to bound the memory of float64 copies.
_BLOCK = 1 << 20


def find_mismatch(output: Array, reference: Array, relative: float, absolute: float) -> str | None:
    """What is wrong with ``output`` in one line; None if it is right.

    An element is right if ``|output - reference| <= absolute + relative * |reference|``, if it
    equals the reference (infinities), or if both are NaN. Types may differ only in precision.
    """
    if output.shape != reference.shape:
        return f"the output has shape {output.shape} instead of {reference.shape}"
    outputs, references = output.reshape(-1), reference.reshape(-1)
    wrong = undefined = 0
    largest, worst = -1.0, 0
    for start in range(0, outputs.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        error = _errors(outputs[block], references[block], relative, absolute)
        bad = ~np.isnan(error)
        if not bad.any():
            continue
        wrong += int(np.count_nonzero(bad))
        nowhere = np.isnan(outputs[block].astype(np.float64)) & bad
        undefined += int(np.count_nonzero(nowhere))
        finite = np.where(bad & ~nowhere, error, -1.0)
        place = int(np.argmax(finite))
        if finite[place] > largest:
            largest, worst = float(finite[place]), start + place
    if wrong == 0:
        return None
    text = f"{wrong} of {outputs.size} elements wrong"
    if undefined:
        text += f", {undefined} of them NaN or never written"
    if largest >= 0.0:
        index = tuple(int(i) for i in np.unravel_index(worst, output.shape))
        text += f", the largest error {largest:.3g} at {index}"
    return text


def _errors(output: Array, reference: Array, relative: float, absolute: float) -> Array:
    """The absolute errors of wrong elements, infinite if undefined, and NaN for right ones."""
    actual, expected = output.astype(np.float64), reference.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(actual - expected)
        right = error <= absolute + relative * np.abs(expected)
    # An infinite bound would accept anything: infinities are right only if they are equal.
    right &= np.isfinite(expected) & np.isfinite(actual)
    right |= actual == expected
    right |= np.isnan(actual) & np.isnan(expected)
    error[np.isnan(error)] = np.inf
    error[right] = np.nan
    return error


def poison_like(reference: Array) -> Array:
    """The initial content of an output, wrong in every element.

    It is NaN for floats and the complement of each element for integers. So it shows if a program
    does not write elements, or adds to uninitialised ones.
    """
    if np.issubdtype(reference.dtype, np.integer) or reference.dtype == np.bool_:
        return np.invert(reference)
    return np.full_like(reference, np.nan)
