"""Made-up peaks of a machine with four cores."""

from __future__ import annotations

from irbench.measure.bandwidth import ACCESSES
from irbench.roofline import Bandwidth, ComputePeak, MachinePeaks

_GFLOP_PER_S = {"fp32": 150.0, "bf16": 300.0, "int8": 600.0}
_GB_PER_S = {"L1d": 300.0, "L2": 80.0, "L3": 20.0, "memory": 10.0}
_CAPACITY_BYTES = {"L1d": 48 << 10, "L2": 2 << 20, "L3": 36 << 20}
_RATIOS = {"read": 1.0, "copy": 0.9, "add": 0.8}


def compute(precision: str, threads: int) -> ComputePeak:
    rate = _GFLOP_PER_S[precision] * threads
    backend = "openvino" if precision == "bf16" else "ort"
    return ComputePeak(precision, threads, rate, 0.97 * rate, 1.02 * rate, backend, 1024, 6, 0.95)


def bandwidth(level: str, threads: int, access: str) -> Bandwidth:
    rate = _GB_PER_S[level] * _RATIOS[access] * (threads if level in ("L1d", "L2") else 2 if threads > 1 else 1)
    private = threads if level in ("L1d", "L2") else 1
    capacity = None if level == "memory" else _CAPACITY_BYTES[level] * private
    working_set = 144 << 20 if capacity is None else capacity // 2
    assert access in ACCESSES
    return Bandwidth(level, threads, access, rate, 0.95 * rate, 1.04 * rate, working_set, capacity, 0.95)


def peaks(machine: str = "0123456789ab") -> MachinePeaks:
    return MachinePeaks(
        machine=machine,
        measured="2026-01-31T14:05:00+00:00",
        command="irbench doctor --peak",
        irbench_version="0.1.0",
        run_id="01KAJ3WQ4R8Z6M1X0V9T7S5P3N",
        compute=tuple(compute(precision, threads) for precision in _GFLOP_PER_S for threads in (1, 4)),
        bandwidth=tuple(
            bandwidth(level, threads, access) for threads in (1, 4) for level in _GB_PER_S for access in ACCESSES
        ),
    )
