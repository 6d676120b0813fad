"""The names of exported columns: the path of a field becomes a name that ends with its unit."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES: Mapping[str, tuple[str, str]] = {
    "requested": ("", ""),
    "latency_ms": ("", "_ms"),
    "phases_ms": ("", "_ms"),
    "paced_ms": ("paced", "_ms"),
    "ready_ms": ("ready", "_ms"),
    "p50_over_launches": ("p50", "_ms"),
    "p90_over_launches": ("p90", "_ms"),
    "new_shape_over_launches": ("new_shape", "_ms"),
    "paced_p50_over_launches": ("paced_p50", "_ms"),
    "paced_p90_over_launches": ("paced_p90", "_ms"),
    "fps_over_launches": ("fps", ""),
    "sustained_over_launches": ("sustained_fps", ""),
    "energy_over_launches": ("energy_per_inference", "_j"),
    "energy_above_idle_over_launches": ("energy_above_idle_per_inference", "_j"),
    "output_error": ("output", ""),
    "memory": ("memory", ""),
    "drift": ("latency_drift", ""),
}
"""What the names of a compound field's parts begin and end with; others begin with the field's own name."""

_PARTS = {"value": "over_launches", "all_blocks_value": "all_blocks"}
"""Parts of the intervals of figures over launches."""

_NAMES: Mapping[str, str] = {
    "id": "cell",
    "requested.threads": "threads_requested",
    "requested.precision": "precision_requested",
    "failure.message": "failure",
    "environment.label": "environment",
    "paced_ms.pace": "pace_ms",
    "paced_ms.late": "paced_late_calls",
    "paced_ms.count": "paced_calls",
    "failure.hint": "hint",
    "latency_ms.count": "samples",
    "latency_ms.calls_per_sample": "calls_per_sample",
    "launches_measured": "launches",
    "speedup.value": "speedup",
    "speedup.verdict": "verdict",
    "speedup.all_blocks_verdict": "verdict_all_blocks",
    "speedup.all_blocks_value": "speedup_all_blocks",
    "speedup.reason": "speedup_mark",
    "accuracy.value": "accuracy",
    "accuracy.limit.limit": "accuracy_limit",
    "accuracy.limit.bound": "accuracy_bound",
    "accuracy.limit.function": "accuracy_metric",
    "energy.joules": "energy_per_inference_j",
    "energy.joules_above_idle": "energy_above_idle_per_inference_j",
    "energy.watts": "power_w",
    "energy.idle_watts": "idle_power_w",
    "energy.watts_by_domain": "power_by_domain_w",
    "private_memory_bytes": "private_memory_by_phase_bytes",
    "output_error.max_abs": "max_abs_error",
    "output_error.max_rel": "max_rel_error",
    "output_error.top1_agreement": "top1_agreement",
    "ready_ms.value": "ready_ms",
    "memory.bytes_per_call": "memory_growth_bytes_per_call",
    "memory.low": "memory_growth_low_bytes_per_call",
    "memory.high": "memory_growth_high_bytes_per_call",
    "drift.value": "latency_drift",
    "seconds": "called_s",
}


def column_name(path: str) -> str:
    """Return the name of a field's column: ``latency_ms.p50`` is ``p50_ms``."""
    if path in _NAMES:
        return _NAMES[path]
    before, _, last = path.rpartition(".")
    begin, end = _PREFIXES.get(before, (before.replace(".", "_"), ""))
    part = (_PARTS.get(last, last) if before.endswith(("_over_launches", "ready_ms")) else last).removesuffix("_")
    return "_".join(filter(None, (begin, part))) + end
