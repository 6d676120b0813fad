"""Reference outputs that say little: nearly any answer of a backend agrees with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from irbench.notices.warnings import Degeneracy
from irbench.output_check import LEAST_LARGEST, is_exact
from irbench.spi import Array


@dataclass(frozen=True)
class DegenerateOutput:
    """One output of the reference that cannot tell a right answer from a wrong one.

    Attributes:
        output: Its place among the outputs, from 0.
        values: What all of them are.
        largest: The largest absolute value; ``None`` where none is finite.
    """

    output: int
    values: Degeneracy
    largest: float | None


def degenerate_outputs(reference: Sequence[Array], scale: float = 1.0) -> Iterator[DegenerateOutput]:
    """Yield the float outputs that say little for these inputs.

    Args:
        reference: What backends are compared with.
        scale: As in :func:`irbench.output_check.compare`.
    """
    for place, output in enumerate(map(np.asarray, reference)):
        if output.size and not is_exact(output.dtype):
            yield from _degenerate(place, output, scale)


def _degenerate(place: int, output: Array, scale: float) -> Iterator[DegenerateOutput]:
    values = output.astype(np.complex128 if output.dtype.kind == "c" else np.float64).ravel()
    finite = values[np.isfinite(values)]
    if not finite.size:
        yield DegenerateOutput(place, "not-finite", None)
        return
    largest = float(np.abs(finite).max())
    if largest == 0:
        yield DegenerateOutput(place, "zero", largest)
    elif largest < LEAST_LARGEST * scale:
        yield DegenerateOutput(place, "tiny", largest)
    elif finite.size > 1 and bool((finite == finite[0]).all()):
        yield DegenerateOutput(place, "constant", largest)
