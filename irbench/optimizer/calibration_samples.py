"""Inputs for calibration and for the cost of a conversion: any number of seeded ones, or those of given data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from irbench.core.feeds import POOL, lay_out, logical_inputs
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import BATCH, Artifact, Bundle, Distribution, Feeding
from irbench.spec.feeding import RANGES
from irbench.spi import Array, Feed

EVALUATION = 0
CALIBRATION = 1 << 20
"""Where the seeds of inputs begin, above the model's own. The two kinds share no seed: no graph is judged on the inputs
that it was calibrated on."""

_SCALES: tuple[Distribution, ...] = ("uniform", "symmetric", "normal")
"""What pixels and other measurements are usually brought to before a network; bytes are left to whom they are named by,
because a network that was trained on another scale answers nothing useful to them."""
_DECLARED_AS = {ends: name for name, ends in RANGES.items()}


@dataclass(frozen=True)
class CheckInputs:
    """Inputs that a user gave for checks and calibration.

    Attributes:
        sizes: A size for every dynamic dimension, as the samples have them; empty without samples.
    """

    feeding: Feeding
    sizes: Mapping[str, int]


GENERATED = CheckInputs(Feeding(), {})
"""Nothing was given."""


def drawn_from(drawn: Distribution | None, inputs: CheckInputs | None) -> CheckInputs | None:
    """Return inputs whose generated floats are drawn from a distribution; as they are for ``None``."""
    if drawn is None:
        return inputs
    inputs = inputs or GENERATED
    return replace(inputs, feeding=replace(inputs.feeding, drawn=drawn))


def halves(feeding: Feeding) -> tuple[Feeding, Feeding]:
    """Return one of each two samples for calibration, and the others to judge the result on; a single one is both.

    Which one follows the Thue-Morse sequence, so that no order of classes that repeats itself puts one class into one
    half alone.
    """
    first, second = (
        tuple(sample for place, sample in enumerate(feeding.samples) if place.bit_count() % 2 == half)
        for half in (0, 1)
    )
    return replace(feeding, samples=first), replace(feeding, samples=second or first)


@dataclass(frozen=True)
class CheckSamples:
    """Inputs of a graph, batch by batch.

    Attributes:
        bound: A size for every dynamic dimension; that of the batch counts only where it is bound in the graph.
        min_count: The least number of different inputs; of given samples so many are used where there are more.
        first_seed: :data:`EVALUATION` or :data:`CALIBRATION`.
        feeding: Samples that take the place of generated inputs, and constants.
    """

    artifact: Artifact
    bundle: Bundle
    bound: Mapping[str, int]
    min_count: int
    first_seed: int
    feeding: Feeding = field(default_factory=Feeding)

    @property
    def sizes(self) -> Mapping[str, int]:
        """A size for every dynamic dimension: with as many different inputs in a batch as there can be."""
        return {**self.bound, BATCH: POOL} if self._is_dynamic and not self.feeding.samples else self.bound

    @property
    def count(self) -> int:
        """How many different inputs there are."""
        return self._batches * self._different

    def feeds(self, artifact: Artifact) -> Iterator[Feed]:
        """Yield the inputs as ``artifact``, the graph or one made from it, takes them; the same ones each time."""
        for inputs in self.logical_inputs():
            yield lay_out(inputs, artifact)

    def logical_inputs(self) -> Iterator[tuple[Array, ...]]:
        """Yield the inputs as the model has them, batch by batch."""
        for batch in range(self._batches):
            seeded = replace(self.feeding, seed=self.bundle.seed + self.first_seed + batch)
            yield logical_inputs(self.bundle.inputs, self.sizes, seeded, batch)

    @property
    def generated_ranges(self) -> Mapping[str, tuple[float, float]]:
        """Between what floats are declared to lie that neither data nor constants give, by input; masks are none."""
        brought = {*self.feeding.values, *(self.feeding.sha256 if self.feeding.samples else ())}
        floats = (spec for spec in self.bundle.inputs if not spec.is_mask and _is_float(spec.tensor.dtype))
        return {spec.tensor.name: (spec.low, spec.high) for spec in floats if spec.tensor.name not in brought}

    @property
    def _is_dynamic(self) -> bool:
        return any(BATCH in spec.shape for spec in self.artifact.inputs)

    @property
    def _different(self) -> int:
        drawn_one_by_one = any(spec.tensor.shape[:1] == (BATCH,) for spec in self.bundle.inputs)
        most = self.sizes[BATCH] if self.feeding.samples else POOL
        return min(self.sizes[BATCH], most) if drawn_one_by_one else 1

    @property
    def _batches(self) -> int:
        batches = math.ceil(self.min_count / self._different)
        return min(batches, len(self.feeding.samples)) if self.feeding.samples else batches


def other_distributions(samples: CheckSamples) -> tuple[Distribution, ...]:
    """Return how generated floats may be distributed in use instead: the scales that images are brought to."""
    ranges = {*samples.generated_ranges.values()}
    own = _DECLARED_AS.get(next(iter(ranges)), "declared") if len(ranges) == 1 else "declared"
    drawn = own if samples.feeding.drawn == "declared" else samples.feeding.drawn
    return tuple(other for other in _SCALES if other != drawn) if ranges else ()


def _is_float(element_type: str) -> bool:
    return numpy_dtype(element_type).kind == "f" or "float" in element_type
