"""What went wrong, and what helps."""

from __future__ import annotations

from irbench.core.record import Failure


def remedy(failure: Failure) -> str:
    """Return what helps against a failure; an empty text where nobody knows."""
    if failure.budget_allowed_s is None:
        return failure.hint or ""
    allowed_s = failure.budget_allowed_s
    longer = f"--deadline {2 * allowed_s:.0f}s"
    return f"The budget allowed it {allowed_s:.0f} s. If the model is really that slow, give it more: {longer}"


def failure_sentence(failure: Failure) -> str:
    """Return what went wrong, and what helps where that is known."""
    return f"{failure.message.rstrip('.')}. {remedy(failure)}".rstrip()
