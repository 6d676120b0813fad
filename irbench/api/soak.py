"""``irbench.soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, TypedDict, Unpack, cast

from irbench.api import values
from irbench.api.input_values import Data
from irbench.api.measurement import measure
from irbench.api.options import RUN_READERS, Readers, RunOptions, read_keywords
from irbench.api.progress import ProgressOption, reporting
from irbench.api.results import Interrupted, Run
from irbench.api.run import refuse_loaded_models
from irbench.errors import IrbenchError
from irbench.spec import SoakPlan

__all__ = ["SoakKeywords", "soak", "soak_plan"]


class SoakKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.soak` that :func:`irbench.run` has too, and which mean the same there.

    ``None`` is the default of each; :class:`irbench.RunKeywords` says what they are.
    """

    all: bool | None
    imports: str | Iterable[str] | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    streams: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: str | None
    seed: int | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None
    name: str | None
    note: str | None


def soak(
    *models: str | PathLike[str],
    duration: str | float | timedelta | None = None,
    calls: int | None = None,
    growth_limit: float | None = None,
    progress: ProgressOption = "auto",
    **options: Unpack[SoakKeywords],
) -> Run:
    """Call each row for a long time, one after the other, and say whether its memory grows.

    Args:
        models: As :func:`irbench.run` takes them.
        duration: For how long each row is called: ``"2m"`` or seconds; a minute by default.
        calls: How many calls of each row there are, in place of a duration.
        growth_limit: Bytes per call from which on growth matters; 1000 by default.
        progress: As :func:`irbench.run` takes it.
        options: Those of :class:`irbench.RunKeywords` that say what is called and how.

    Returns:
        The run; its ``soaks`` hold the tables.

    Raises:
        IrbenchError: The call or the plan is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    refuse_loaded_models(models)
    asked = read_keywords("soak", {"duration": duration, "calls": calls, "growth_limit": growth_limit}, _OWN_READERS)
    plan = soak_plan(asked.get("duration"), asked.get("calls"), asked.get("growth_limit"))
    shared = {name: RUN_READERS[name] for name in SoakKeywords.__annotations__}
    read = read_keywords("soak", cast("Mapping[str, Any]", options), shared)
    with reporting(progress) as reporter:
        stored = measure(RunOptions(models=tuple(map(str, models)), **read), reporter, plan)
    found = Run(stored.document, stored.folder)
    if found.interrupted:
        raise Interrupted(f"what was measured is stored: irbench.load({found.id!r})", found)
    return found


def soak_plan(duration_s: float | None, calls: int | None, growth_limit: float | None) -> SoakPlan:
    """Return what was asked for, with defaults.

    Raises:
        IrbenchError: Both a duration and a number of calls were given.
    """
    if duration_s is not None and calls is not None:
        raise IrbenchError("A duration and a number of calls cannot be combined.", hint="Give --for or --calls.")
    usual = SoakPlan()
    return SoakPlan(
        seconds=usual.seconds if duration_s is None else duration_s,
        calls=calls,
        growth_limit=usual.growth_limit if growth_limit is None else growth_limit,
    )


def _positive(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"{value!r} is not a number above 0")
    return float(value)


_OWN_READERS: Readers = {
    "duration": ('"2m", or 120', values.duration_s),
    "calls": ("10000", values.count),
    "growth_limit": ("1000", _positive),
}
