"""Top-Down, level 1: into what the slots of a processor's pipeline go.

perf computes the shares itself where it knows the processor (the metric groups ``TopdownL1`` of Intel and Arm and
``PipelineL1`` of AMD). Where it is too old, irbench counts the events of the published formulas:

- Intel, from Sandy Bridge on: A. Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture", ISPASS
  2014, by the kernel's events ``topdown-total-slots`` and so on.
- Intel, from Ice Lake on: the processor's own counter of the four shares, by the kernel's events ``topdown-retiring``
  and so on; they are relative to each other.
- AMD Zen 4 and 5: the Processor Programming Reference, pipeline utilisation; 6 and 8 dispatch slots in each cycle.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.perf_events.perf_output import PerfReading, matching_names, of_kind

LEVEL_1 = ("retiring", "frontend_bound", "bad_speculation", "backend_bound")
"""The shares of slots that every processor tells."""
SHARES = (*LEVEL_1, "smt_contention")
"""Shares of slots: what was useful, and what was lost; the last one is told by AMD alone."""

TopdownMethod: TypeAlias = Literal["perf", "intel-shares", "intel-slots", "amd-zen4", "amd-zen5"]
"""Whose formula the shares are of: perf's own, or a published one."""
TOPDOWN_TEXTS: Mapping[TopdownMethod, str] = {
    "perf": "shares of slots: metrics of perf",
    "intel-shares": "shares of slots: the processor's own counters, because this perf has no metrics for it",
    "intel-slots": "shares of slots: formulas of Yasin (ISPASS 2014), because this perf has no metrics for it",
    "amd-zen4": "shares of slots: formulas of AMD's reference for Zen 4, because this perf has no metrics for it",
    "amd-zen5": "shares of slots: formulas of AMD's reference for Zen 5, because this perf has no metrics for it",
}

_METRIC_GROUPS = ("TopdownL1", "PipelineL1")
_INTEL_SHARES = ("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound")
_INTEL_SLOTS = (
    "topdown-total-slots",
    "topdown-slots-issued",
    "topdown-slots-retired",
    "topdown-fetch-bubbles",
    "topdown-recovery-bubbles",
)
_AMD = {
    "ls_not_halted_cyc": "event=0x76",
    "de_no_ops_from_frontend": "event=0x1a0,umask=0x1",
    "de_backend_stalls": "event=0x1a0,umask=0x1e",
    "de_smt_contention": "event=0x1a0,umask=0x60",
    "de_src_op_disp": "event=0xaa,umask=0x7",
    "ex_ret_ops": "event=0xc1",
}
_WIDTHS: Mapping[str, int] = {"amd-zen4": 6, "amd-zen5": 8}
_OF_KIND = re.compile(r"(?P<kind>\w+)/(?P<name>[^/]+)/")
_ZEN4_MODELS = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))


@dataclass(frozen=True)
class Processor:
    """What the kernel tells of the processor and its counters.

    Attributes:
        vendor: ``GenuineIntel``, ``AuthenticAMD``; empty where it is unknown.
        model: As in ``/proc/cpuinfo``.
        events: Names of the kernel's own events of it.
        is_hybrid: Whether it has several kinds of cores, each with counters of its own.
    """

    vendor: str = ""
    family: int = 0
    model: int = 0
    has_pmu: bool = False
    events: frozenset[str] = frozenset()
    is_hybrid: bool = False


def metric_group_in(listing: str) -> str | None:
    """Return the group of level 1 that ``perf list metricgroup`` names; ``None`` where it has none."""
    names = {line.strip().partition(":")[0] for line in listing.splitlines()}
    return next((group for group in _METRIC_GROUPS if group in names), None)


def fitting_method(processor: Processor) -> TopdownMethod | None:
    """Return the published formula that fits a processor; ``None`` where there is none.

    They are for one kind of core: slots of two kinds cannot be added up.
    """
    if processor.is_hybrid:
        return None
    if processor.events.issuperset(_INTEL_SHARES):
        return "intel-shares"
    if processor.events.issuperset(_INTEL_SLOTS):
        return "intel-slots"
    if processor.vendor != "AuthenticAMD" or not processor.has_pmu:
        return None
    if processor.family == 0x1A:
        return "amd-zen5"
    is_zen4 = processor.family == 0x19 and any(processor.model in models for models in _ZEN4_MODELS)
    return "amd-zen4" if is_zen4 else None


def events_of_method(method: TopdownMethod) -> tuple[str, ...]:
    """Return the events of a published formula as perf is asked for them; none for perf's own."""
    if method == "intel-shares":
        return _INTEL_SHARES
    if method == "intel-slots":
        return _INTEL_SLOTS
    if method in _WIDTHS:
        return tuple(f"cpu/{code},name={name}/" for name, code in _AMD.items())
    return ()


def is_grouped(method: TopdownMethod) -> bool:
    """Whether the events of a formula must be on counters at the same time."""
    return method != "perf"


def shares_of(reading: PerfReading, method: TopdownMethod) -> dict[str, float]:
    """Return the shares of slots, from 0 to 1, by their names in :data:`SHARES`; empty where they were not counted.

    Of a processor with several kinds of cores, the names are those of :func:`irbench.perf_events.perf_output.of_kind`.
    """
    if method == "perf":
        return _of_perf(reading)
    counts = _values(reading, _AMD if method in _WIDTHS else events_of_method(method))
    if method == "intel-shares":
        return _of_intel_shares(counts)
    if method == "intel-slots":
        return _of_intel_slots(counts)
    return _of_amd(counts, _WIDTHS[method])


def _values(reading: PerfReading, events: Collection[str]) -> dict[str, float]:
    """Return what the events of a formula came to, without those that have no count."""
    counts = {event: reading.count(matching_names(event, reading.events)) for event in events}
    return {event: count.value for event, count in counts.items() if count.value is not None}


def shares_named(reading: PerfReading) -> frozenset[str]:
    """Return which shares of slots perf named among its metrics, whether or not they have a value."""
    return frozenset(share for _, share in map(_kind_and_metric, reading.metrics) if share in SHARES)


def kind_and_share(name: str) -> tuple[str, str]:
    """Return the kind of core that the name of a share of slots begins with, and the share.

    The kind is empty where there is one alone, and of names that are not names of shares.
    """
    kind, share = _split(name)
    return (kind, share) if share in SHARES else ("", name)


def _split(name: str) -> tuple[str, str]:
    match = _OF_KIND.fullmatch(name)
    return (match["kind"], match["name"]) if match else ("", name)


def _kind_and_metric(reported: str) -> tuple[str, str]:
    """Return the kind of core of a metric of perf, and its name as all vendors have it: ``tma_retiring`` is one."""
    kind, name = _split(reported)
    return kind, re.sub(r"^tma_", "", name.casefold())


def _of_perf(reading: PerfReading) -> dict[str, float]:
    shares: dict[tuple[str, int], float] = {}
    for reported, (value, unit) in reading.metrics.items():
        kind, name = _kind_and_metric(reported)
        if name in SHARES and value is not None:
            shares[kind, SHARES.index(name)] = value / 100 if "%" in unit else value
    return {of_kind(SHARES[place], kind): shares[kind, place] for kind, place in sorted(shares)}


def _of_intel_shares(counts: Mapping[str, float]) -> dict[str, float]:
    parts = dict(
        zip(("retiring", "bad_speculation", "frontend_bound", "backend_bound"), _INTEL_SHARES[1:], strict=True)
    )
    if not _all_in(parts.values(), counts):
        return {}
    whole = sum(counts[event] for event in parts.values())
    return {name: counts[parts[name]] / whole for name in SHARES if name in parts} if whole else {}


def _of_intel_slots(counts: Mapping[str, float]) -> dict[str, float]:
    if not _all_in(_INTEL_SLOTS, counts) or not counts["topdown-total-slots"]:
        return {}
    slots, issued, retired, fetch, recovery = (counts[event] for event in _INTEL_SLOTS)
    retiring, frontend = retired / slots, fetch / slots
    bad = (issued - retired + recovery) / slots
    return {
        "retiring": retiring,
        "frontend_bound": frontend,
        "bad_speculation": bad,
        "backend_bound": max(0.0, 1 - retiring - frontend - bad),
    }


def _of_amd(counts: Mapping[str, float], width: int) -> dict[str, float]:
    if not _all_in(_AMD, counts) or not counts["ls_not_halted_cyc"]:
        return {}
    slots = width * counts["ls_not_halted_cyc"]
    return {
        "retiring": counts["ex_ret_ops"] / slots,
        "frontend_bound": counts["de_no_ops_from_frontend"] / slots,
        "bad_speculation": max(0.0, counts["de_src_op_disp"] - counts["ex_ret_ops"]) / slots,
        "backend_bound": counts["de_backend_stalls"] / slots,
        "smt_contention": counts["de_smt_contention"] / slots,
    }


def _all_in(names: Collection[str], counts: Mapping[str, float]) -> bool:
    return all(name in counts for name in names)
