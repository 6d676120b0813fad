"""A graph of a chain, and a judge who says which of its parts show a difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from documents import speedup

from irbench.core.record import Failure
from irbench.features.reduce.cutting import GraphOutline, GraphPart, GraphSource, OutlineNode
from irbench.features.reduce.expectation import SlowerThan
from irbench.features.reduce.judge import GraphDecision, WholeGraph
from irbench.features.reduce.report import (
    BackendFacts,
    GraphEvidence,
    Verdict,
)
from irbench.spec import Artifact, Bundle, Feeding

SLOWER = SlowerThan("fake-a", "fake-b", 1.5)
SOURCE = GraphSource(Artifact("onnx", Path("whole.onnx"), (), ()), Bundle("whole", (), ()), {}, Feeding())
CHAIN = GraphOutline(
    nodes=tuple(OutlineNode(f"n{place}", "Relu", "", (f"v{place}",), (f"v{place + 1}",)) for place in range(8)),
    inputs=("v0",),
    outputs=("v8",),
    weights=frozenset(),
)


def evidence(verdict: str) -> GraphEvidence:
    """Return evidence that says what is decided from it."""
    found = {"shows": speedup(2.0, 1.9, 2.1), "absent": speedup(1.0, 0.9, 1.1), "undecided": speedup(1.5, 1.0, 2.0)}
    rows = tuple(BackendFacts(name, "irbench-fake", "1.0", "fp32", "ok", 1.0) for name in SLOWER.backends)
    return GraphEvidence(rows, found.get(verdict))


class Judge:
    """Sees the difference where some nodes are.

    Args:
        needed: Places of these nodes.
        whole: What the whole graph shows.
        confirmed: What each part shows when it is looked at again.
        stop_at: Which part is interrupted, counted from 1; 0 for none.
        untold: What a part without the needed nodes shows.
    """

    def __init__(
        self,
        needed: set[int],
        whole: Verdict = "shows",
        confirmed: Callable[[set[int]], Verdict] = lambda _: "shows",
        stop_at: int = 0,
        untold: Callable[[set[int]], Verdict] = lambda _: "absent",
    ) -> None:
        self.needed = needed
        self._whole = whole
        self._confirmed = confirmed
        self._stop_at = stop_at
        self._untold = untold
        self.seen = 0
        self.whole_budget_s = 0.0

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        self.whole_budget_s = budget_s
        return WholeGraph(evidence(self._whole), SOURCE)

    def part(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        self.seen += 1
        if self.seen == self._stop_at:
            raise KeyboardInterrupt
        kept = kept_in(part)
        return evidence("shows" if self.needed <= kept else self._untold(kept))

    def confirm(self, part: GraphPart, budget_s: float, scratch: Path, /) -> GraphEvidence:
        return evidence(self._confirmed(kept_in(part)))

    def decide(self, found: GraphEvidence, /) -> GraphDecision:
        for verdict in ("shows", "absent", "undecided"):
            if found.speedup == evidence(verdict).speedup:
                return GraphDecision(verdict)  # type: ignore[arg-type]
        return GraphDecision("other", Failure("run", "it crashed"))


def kept_in(part: GraphPart) -> set[int]:
    return set(map(int, part.model.read_text().split()))
