"""A profiled cell as a whole: its latency, what its parts add up to, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irbench.profiling.estimates import Estimate
from irbench.profiling.gpu import GpuParts
from irbench.profiling.matching import MatchedBy
from irbench.record import Failure

_COSTLY = 1.3
"""The most that profiling may lengthen an inference for its parts to speak for one that is not profiled."""

_GAP = 0.05
"""The least share of the latency between operators that is worth a word."""


@dataclass(frozen=True)
class CellSummary:
    """A cell as a whole: what its parts add up to.

    Attributes:
        id: Its id.
        label: What tables call it.
        launches: How many launches it has.
        sum_ns: Time of all operators in an inference; ``None`` without a launch, as all figures, and where the runtime
            tells no time of any operator.
        latency_ns: Latency of the profiled calls that count: the mean of the middle half.
        between_ns: The latency less the operators: what lies between them. Below 0 where operators overlap.
        plain_ns: Latency without profiling, in the same launches.
        slowdown: The latency with profiling divided by that without.
        flops: Floating-point operations of an inference, as far as they are known.
        matched: Shares of the time of all operators, by how their nodes were found.
        device: Where it ran.
        uncertainty_ns: By how much the time of each operator may be off, because the runtime's figures are rounded.
        failure: Why there are no figures, or no more.
        gpu: What an inference on a GPU is made of; ``None`` on the CPU.
    """

    id: str
    label: str
    launches: int
    sum_ns: Estimate | None = None
    latency_ns: Estimate | None = None
    between_ns: Estimate | None = None
    plain_ns: Estimate | None = None
    slowdown: Estimate | None = None
    flops: int | None = None
    matched: Mapping[MatchedBy, float] = field(default_factory=dict[MatchedBy, float])
    device: str = "cpu"
    uncertainty_ns: int = 0
    failure: Failure | None = None
    gpu: GpuParts | None = None

    @property
    def confidence(self) -> float | None:
        """Of its intervals; ``None`` where it has too few launches for one."""
        return None if self.latency_ns is None else self.latency_ns.confidence

    @property
    def overlaps(self) -> bool:
        """Whether its operators take longer together than the inference: several ran at the same time."""
        return self.between_ns is not None and self.between_ns.high < 0

    @property
    def is_costly(self) -> bool:
        """Whether profiling lengthens the inference so much that its parts do not speak for one without profiling."""
        return self.slowdown is not None and self.slowdown.value > _COSTLY

    @property
    def cost_is_noise(self) -> bool:
        """Whether profiled inferences seem certainly faster than plain ones, which no recording can cause."""
        return self.slowdown is not None and self.slowdown.confidence is not None and self.slowdown.high < 1

    @property
    def has_gap(self) -> bool:
        """Whether so much of the latency lies between operators that their shares do not speak for the inference."""
        if self.between_ns is None or self.latency_ns is None:
            return False
        return self.between_ns.value > _GAP * self.latency_ns.value
