"""Of what type the answers of hosts are: a confined process may answer with anything."""

from __future__ import annotations

from functools import cache
from typing import Any

from irbench.worker.field_types import Check, check_of

__all__ = ["check_of_method"]


@cache
def check_of_method(name: str) -> Check:
    """Return whether a value is what a method of a host returns; every value is of one that is not known here."""
    return check_of(_types().get(name, Any))


def _types() -> dict[str, Any]:
    import numpy as np

    from irbench.record import PacedRun, Round, Sustained
    from irbench.worker.cell import Prepared, Warmed
    from irbench.worker.cold_start import FirstAnswer
    from irbench.worker.instance import Share
    from irbench.worker.profiling import ProfiledRun
    from irbench.worker.soak import SoakBlock

    answers = tuple[tuple[Any, ...], ...]
    return {
        "prepare": Prepared,
        "warm_up": Warmed,
        "take_round": Round,
        "take_share": Share,
        "take_paced_share": np.ndarray,
        "tail": np.ndarray,
        "alone": Sustained,
        "paced": PacedRun,
        "answer_again": answers,
        "answer_call": answers,
        "peak_memory_bytes": int | None,
        "private_memory_bytes": int | None,
        "answer": FirstAnswer,
        "files": tuple[str, ...],
        "block": SoakBlock,
        "profile": ProfiledRun,
    }
