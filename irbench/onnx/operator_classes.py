"""To which class of work an operator belongs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["OperatorClass"]


class OperatorClass(StrEnum):
    """A class of operators; the values are stored, and their words are written where results are displayed."""

    MATRIX = "matrix"
    """Matrix products and convolutions, attention included."""
    RECURRENT = "recurrent"
    NORMALISATION = "normalisation"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    """Pooling and reductions."""
    MOVEMENT = "movement"
    """Data movement and layout: transposes, copies, gathers, casts and reorders."""
    CONTROL_FLOW = "control-flow"
    OTHER = "other"
    OVERHEAD = "overhead"
    """The runtime's own work, which computes no node."""
