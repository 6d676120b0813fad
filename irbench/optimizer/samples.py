"""Generate any number of different seeded inputs, for calibration and for the cost of a conversion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from irbench.feeds import POOL, generate, lay_out
from irbench.spec import BATCH, Artifact, Bundle
from irbench.spi import Feed

__all__ = ["CALIBRATION", "EVALUATION", "Samples"]

EVALUATION = 0
CALIBRATION = 1 << 20
"""Where the seeds of inputs begin, above the model's own. The two kinds share no seed: no graph is judged on the inputs
that it was calibrated on."""


@dataclass(frozen=True)
class Samples:
    """Inputs of a graph, batch by batch.

    Attributes:
        artifact: The graph.
        bundle: Its model.
        bound: A size for every dynamic dimension; that of the batch counts only where it is bound in the graph.
        min_count: The least number of different inputs.
        first_seed: :data:`EVALUATION` or :data:`CALIBRATION`.
    """

    artifact: Artifact
    bundle: Bundle
    bound: Mapping[str, int]
    min_count: int
    first_seed: int

    @property
    def sizes(self) -> Mapping[str, int]:
        """A size for every dynamic dimension: with as many different inputs in a batch as there can be."""
        return {**self.bound, BATCH: POOL} if self._is_dynamic else self.bound

    @property
    def count(self) -> int:
        """How many different inputs there are."""
        return self._batches * self._different

    def feeds(self, artifact: Artifact) -> Iterator[Feed]:
        """Yield the inputs as ``artifact``, the graph or one made from it, takes them; the same ones each time."""
        for batch in range(self._batches):
            seed = self.bundle.seed + self.first_seed + batch
            yield lay_out(generate(self.bundle.inputs, self.sizes, seed), artifact)

    @property
    def _is_dynamic(self) -> bool:
        return any(BATCH in spec.shape for spec in self.artifact.inputs)

    @property
    def _different(self) -> int:
        """Return how many different inputs a batch holds."""
        drawn_one_by_one = any(spec.tensor.shape[:1] == (BATCH,) for spec in self.bundle.inputs)
        return min(self.sizes[BATCH], POOL) if drawn_one_by_one else 1

    @property
    def _batches(self) -> int:
        return math.ceil(self.min_count / self._different)
