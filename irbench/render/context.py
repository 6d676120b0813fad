"""What words below a table may depend on besides their facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irbench.core.result import GroupResult
from irbench.core.row import row_names
from irbench.notices import Context


def context_of(result: GroupResult, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> Context:
    """Return what words below a table may depend on.

    Args:
        result: The table.
        environment: The machine, from the run's document.
        plan: What was asked for, from the run's document.
    """
    allowed, named = environment.get("cpus_allowed"), plan.get("cpus")
    known = allowed if isinstance(allowed, int) else None
    threads = [cell.requested.all_threads for cell in result.cells]
    used = max((count for count in threads if count is not None), default=0) if None not in threads else None
    return Context(
        names=row_names(result.cells),
        thorough=plan.get("preset") == "thorough",
        has_idle_processors=known is not None and used is not None and 0 < used < known,
        can_add_processors=known is not None and isinstance(named, Sequence) and 0 < len(named) < known,
    )
