"""What helps against a failure."""

from __future__ import annotations

from irbench.record import Failure

__all__ = ["remedy"]


def remedy(failure: Failure) -> str:
    """Return what helps against a failure; an empty text where nobody knows."""
    if failure.budget_allowed_s is None:
        return failure.hint or ""
    longer = f"--deadline {2 * failure.budget_allowed_s:.0f}s"
    return f"The budget left no more time. If the model is really that slow, give it more: {longer}"
