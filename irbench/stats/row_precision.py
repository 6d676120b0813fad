"""In which precision a row computes, and whether somebody named it: what decides which rows are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_LEFT_TO_THE_RUNTIME = "native"


@dataclass(frozen=True)
class RowPrecision:
    """The precision of a row, as it was asked for and as its runtime reported it.

    Attributes:
        asked: What its session was opened with: that of ``--precision`` or of a conversion, that of the graph where
            nobody asked for one, or ``native``.
        graph: The narrowest that its ONNX graph holds; empty where nobody looked, or where there is no such graph.
        computed: What its runtime computes in.
    """

    asked: str
    graph: str
    computed: str

    @property
    def named(self) -> str:
        """What the user named for the row: by an option, or by a file; ``native`` alone leaves it to what is held."""
        return self.graph if self.asked == _LEFT_TO_THE_RUNTIME else self.asked

    def is_comparable(self, baseline: RowPrecision) -> bool:
        """Whether a speedup over ``baseline`` answers what was asked.

        It does where both compute in one precision, or each in the one that was named for it: who names an fp32 and an
        int8 file asks for their comparison. What a runtime chose by itself nobody asked for.
        """
        return self.computed == baseline.computed or (self._is_as_named and baseline._is_as_named)

    @property
    def _is_as_named(self) -> bool:
        return self.computed == self.named


def compares_all(precisions: Sequence[str] | None, *, allow_mixed: bool) -> bool:
    """Whether rows are compared whatever precisions their runtimes chose by themselves.

    They are with ``--allow-mixed``, and where ``native`` was named beside another precision: what runtimes choose is
    then what was asked about, and each other row computes in the one that was named for it.

    Args:
        precisions: Those of ``--precision``; ``None`` without it.
        allow_mixed: Whether ``--allow-mixed`` was given.
    """
    return allow_mixed or (precisions is not None and _LEFT_TO_THE_RUNTIME in precisions and len(set(precisions)) > 1)
