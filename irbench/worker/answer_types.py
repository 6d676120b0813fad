"""What the answers of hosts are, in type and in shape: a confined process may answer with anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from irbench.worker.field_types import Check, check_of

if TYPE_CHECKING:
    from irbench.record import PacedRun, Round, Sustained
    from irbench.worker.cell import Warmed
    from irbench.worker.profiling import ProfiledRun
    from irbench.worker.soak import SoakBlock


@cache
def check_of_method(name: str) -> Check:
    """Return whether a value is what a method of a host returns; every value is of one that is not known here."""
    has_type, is_sound = check_of(_types().get(name, Any)), _SOUND.get(name)
    return has_type if is_sound is None else lambda value: has_type(value) and is_sound(value)


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


def _are_times(array: Any, columns: int | None = None) -> bool:
    """Whether an array holds times in nanoseconds, at least one: int64 along one axis, or of so many columns."""
    axes = () if columns is None else (columns,)
    return bool(array.dtype == "int64" and array.ndim == 1 + len(axes) and array.shape[1:] == axes and array.size)


def _are_pairs(run: Round | PacedRun) -> bool:
    return _are_times(run.issue_ns) and _are_times(run.completion_ns) and run.issue_ns.size == run.completion_ns.size


def _is_round(round_: Round) -> bool:
    if not _are_pairs(round_):
        return False
    completion_ns = round_.completion_ns
    return bool((completion_ns[1:] >= completion_ns[:-1]).all() and completion_ns[-1] > 0)


def _is_warm_up(warmed: Warmed) -> bool:
    times_ns = (warmed.call_ns, warmed.completion_ns)
    return all(math.isfinite(time_ns) and time_ns > 0 for time_ns in times_ns) and warmed.calls_per_sample > 0


def _is_paced(run: PacedRun) -> bool:
    return _are_pairs(run) and run.pace_ns > 0 and run.concurrency > 0


def _is_sustained(run: Sustained) -> bool:
    return run.completions > 0 and run.wall_ns > 0


def _is_block(block: SoakBlock) -> bool:
    return block.calls > 0 and block.wall_ns > 0 and block.median_ns > 0


def _is_profile(run: ProfiledRun) -> bool:
    inferences = len(run.latency_ns)
    return inferences > 0 and len(run.copies_ns) in (0, inferences)


_SOUND: Mapping[str, Check] = {
    "prepare": lambda prepared: math.isfinite(prepared.first_inference_s) and prepared.first_inference_s >= 0,
    "warm_up": _is_warm_up,
    "take_round": _is_round,
    "take_share": lambda share: _are_times(share.times_ns, columns=2),
    "take_paced_share": lambda times_ns: _are_times(times_ns, columns=3),
    "tail": _are_times,
    "alone": _is_sustained,
    "paced": _is_paced,
    "block": _is_block,
    "profile": _is_profile,
}
"""By method, what else holds for its answer: whoever derives figures from it relies on that."""
