"""Options of a run that cannot be obeyed together."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.api.options import RunOptions
from irbench.errors import IrbenchError

__all__ = ["refuse_excluded"]

_COLD = "cold starts are a run of their own"
_LIMITS = ("--min-accuracy", "--metric")
_EXCLUDED: Mapping[str, Mapping[str, str]] = {
    "--quick": {"--thorough": "one is for speed, the other for precision"},
    "--cold": {
        **dict.fromkeys(
            (
                *("--tail", "--sustain", "--energy", "--pace", "--instances", "--shapes", "--feedback", "--objective"),
                *("--max-latency", *_LIMITS),
            ),
            _COLD,
        ),
        "--cell": "cold starts are measured of backends",
    },
    "--counters": {
        "--cold": _COLD,
        "--instances": "counters are of one process",
        "--shapes": "counters are of one shape",
    },
    "--cell": {
        "--instances": "code of your own starts its own processes",
        **dict.fromkeys(_LIMITS, "accuracy is measured of backends"),
    },
    "--feedback": dict.fromkeys(_LIMITS, "accuracy is that of single calls"),
    "--shapes": {
        **dict.fromkeys(_LIMITS, "accuracy is that of inputs of one shape"),
        "--data": "shapes are measured with generated inputs",
        "--feedback": "a decode loop has one shape",
        "--io bound": "memory is bound to one shape",
    },
}
"""Options that cannot be obeyed together, and why."""
_FIELDS = {"cell": "cells"}
"""What options are called in a request, where that is something else."""


def refuse_excluded(options: RunOptions) -> None:
    """Refuse options that cannot be obeyed together.

    Raises:
        IrbenchError: Two of them were given.
    """
    for option, others in _EXCLUDED.items():
        for other, reason in others.items():
            if _is_asked(options, option) and _is_asked(options, other):
                raise IrbenchError(f"{option} and {other} cannot be combined: {reason}.", hint="Leave one of them out.")


def _is_asked(options: RunOptions, option: str) -> bool:
    name, _, value = option.removeprefix("--").partition(" ")
    name = _FIELDS.get(name, name.replace("-", "_"))
    given = getattr(options, name)
    return given == value if value else bool(given) and given != (1,)
