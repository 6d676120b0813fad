"""Plans of stored runs, made of the facts that a test is about."""

from __future__ import annotations

from typing import Any

import msgspec

from irbench.core.stored_plan import StoredPlan


def stored_plan(**facts: Any) -> StoredPlan:
    """Return a plan with these facts, as its document in JSON has them, and defaults otherwise."""
    return msgspec.convert(facts, StoredPlan)
