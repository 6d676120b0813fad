"""The note that a quantised graph was calibrated on generated values."""

from __future__ import annotations

from irbench.notices import Note
from irbench.optimizer.lineage import Lineage


def calibration_note(model: str, lineage: Lineage) -> Note | None:
    """Return a note where ranges of activations were found on floats that were generated, ``None`` elsewhere."""
    agreement = lineage.agreement
    if agreement is None or agreement.calibrated_on is None or not agreement.ranges:
        return None
    worst = agreement.worst_elsewhere
    error = None if worst is None else worst.error
    is_worse = worst is not None and (error is None or error.max_rel > agreement.error.max_rel)
    return Note(
        "calibrated-on-generated",
        {
            "model": model,
            "variant": lineage.recipe.name,
            "ranges": {name: list(ends) for name, ends in agreement.ranges.items()},
            "drawn": agreement.drawn,
            "max_rel": agreement.error.max_rel,
            "worst": worst.drawn if worst is not None and is_worse else None,
            "worst_max_rel": error.max_rel if error is not None and is_worse else None,
        },
    )
