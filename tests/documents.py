"""Made-up runs and launches: the example of the specification, and everything that can go wrong in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from stored_plans import stored_plan

from irbench.core.record import (
    BlockEvidence,
    CellLaunch,
    Evidence,
    Failure,
    LaunchRecord,
    OutputError,
    Round,
    Sustained,
)
from irbench.core.result import SCHEMA_VERSION, GroupResult, Lead, RunDocument, Winner
from irbench.core.row import CellResult, LatencyMs, PhasesMs, Requested, Speedup, Verdict
from irbench.notices.notes import NativePrecision
from irbench.notices.warnings import BusyMachine

RUN_ID = "01KAJ3WQ4R8Z6M1X0V9T7S5P3N"
ENVIRONMENT = {"physical_cores_allowed": 2, "cpus_allowed": 2, "system": "Linux", "cpu": {"Model name": "A CPU"}}


def speedup(value: float, low: float, high: float, verdict: Verdict = "faster", **changes: Any) -> Speedup:
    """Return a speedup; of a preview the ends are those of the range over its launches."""
    if verdict == "preview":
        found = Speedup(
            value,
            low=None,
            high=None,
            verdict=verdict,
            excludes_one=False,
            all_blocks_value=value,
            all_blocks_verdict=verdict,
        )
        return replace(found, range_low=low, range_high=high, **changes)
    excludes_one = not low <= 1 <= high
    made = Speedup(
        value,
        low=low,
        high=high,
        verdict=verdict,
        excludes_one=excludes_one,
        all_blocks_value=value,
        all_blocks_verdict=verdict,
    )
    return replace(made, **changes)


def cell(backend: str = "ort", p50: float = 37.0, **changes: Any) -> CellResult:
    """Return a healthy row; every field can be given another value."""
    threads, streams = changes.pop("threads", 2), changes.pop("streams", 1)
    precision, device = changes.pop("precision", "fp32"), changes.get("device", "cpu")
    name = backend if device == "cpu" else f"{backend}:{device}"
    label = name if streams == 1 else f"{name} x{streams}"
    fps = changes.pop("fps", 1000 / p50)
    row = CellResult(
        id=f"{label}/{precision}",
        label=label,
        artifact="tf-graph" if backend.startswith("tf") else "onnx",
        backend=backend,
        device=device,
        mode="sync" if streams == 1 else "streams",
        batch=1,
        io="copy",
        requested=Requested(threads, streams, precision),
        effective={"precision": precision, "threads": threads, "streams": streams, "device": device},
        state="ok",
        latency_ms=LatencyMs(p50, p50 * 1.03, None, None, p50 * 0.98, p50 * 1.01, 432, 1),
        fps=fps,
        sustained_fps=None if fps is None else fps * 0.995,
        launch_spread=0.005,
        output_error=OutputError(1e-7, 1e-6, 1.0, 1.0),
        phases_ms=PhasesMs(import_=210, load=90, compile=120, first_inference=80, warm_up=900, ready=500),
        peak_memory_bytes={"load": 200_000_000, "process": 330_000_000},
    )
    return replace(row, **changes)


def failed(backend: str = "ort", **changes: Any) -> CellResult:
    """Return a row without figures."""
    why = Failure("compile", "the process was killed by SIGSEGV", "see logs/ort.log")
    nothing: dict[str, Any] = dict.fromkeys(
        ("latency_ms", "fps", "sustained_fps", "launch_spread", "output_error", "phases_ms", "peak_memory_bytes")
    )
    return cell(backend, **{**nothing, "state": "failed", "failure": why, "effective": {}, **changes})


def group(*cells: CellResult, **changes: Any) -> GroupResult:
    """Return a table of these rows, of which the last is the baseline."""
    table = GroupResult(
        model="resnet50",
        batch=1,
        shapes={"image": (1, 224, 224, 3)},
        baseline=cells[-1].id if cells else None,
        launches=6,
        blocks_per_launch=8,
        blocks_excluded=3,
        blocks_measured=48,
        stopped_by="target",
        preview=False,
        seconds=118.2,
        winner=None,
        cells=cells,
    )
    return replace(table, **changes)


def example() -> GroupResult:
    """Return the table of the specification."""
    openvino = _example_cell(
        "openvino", 32.5, 30.3, 0.004, 2e-6, (300, 90, 380, 80, 900), 340, speedup=speedup(1.31, 1.29, 1.33)
    )
    ort = cell("ort", 37.0, launch_spread=0.007, fps=26.5, speedup=speedup(1.15, 1.13, 1.18))
    tf = _example_cell("tf", 42.7, 23.1, 0.005, 0.0, (900, 900, 0, 4000, 6400), 910)
    slower = speedup(0.89, 0.88, 0.90, "slower")
    xla = _example_cell("tf-xla", 48.0, 20.5, 0.006, 3e-6, (900, 900, 5000, 2000, 9800), 1020, speedup=slower)
    return group(
        openvino,
        ort,
        tf,
        xla,
        baseline=tf.id,
        winner=Winner(openvino.id, ort.id, 1.14, 1.12, 1.16),
        lead=Lead(openvino.id, ort.id, 1.14, low=1.12, high=1.16, launches=6),
        blocks_disturbed=3,
        notes=(NativePrecision(backend="openvino", precision="bf16", measured=("fp32",)),),
    )


def _example_cell(
    backend: str, p50: float, fps: float, spread: float, error: float, phases: tuple[int, ...], mb: int, **changes: Any
) -> CellResult:
    start, load, compiling, first, ready = phases
    return cell(
        backend,
        p50,
        fps=fps,
        launch_spread=spread,
        output_error=OutputError(error / 10, error, 1.0, 1.0),
        phases_ms=PhasesMs(
            import_=start, load=load, compile=compiling, first_inference=first, warm_up=900, ready=ready
        ),
        peak_memory_bytes={"process": mb * 1_000_000},
        **changes,
    )


def document(*groups: GroupResult, **changes: Any) -> RunDocument:
    """Return a finished run of these tables, or of the example; ``plan`` may be facts of one."""
    if isinstance(changes.get("plan"), dict):
        changes["plan"] = stored_plan(**changes["plan"])
    whole = RunDocument(
        schema_version=SCHEMA_VERSION,
        run_id=RUN_ID,
        created="2025-11-21T02:29:01+00:00",
        irbench_version="0.1.0",
        environment=ENVIRONMENT,
        plan=stored_plan(
            models=["resnet50"], timing={"confidence": 0.95}, command=["irbench", "run", "resnet50"], asked={}
        ),
        groups=groups or (example(),),
        complete=True,
    )
    return replace(whole, **changes)


BUSY = BusyMachine(foreign_share=0.3, processors=2)


def disturbed(*cells: CellResult, **changes: Any) -> GroupResult:
    """Return a table with a warning that other programs ran, whose blocks are all part of its figures."""
    return group(*cells, **{"warnings": (BUSY,), "blocks_excluded": 0, "blocks_disturbed": 31, **changes})


def launch(
    number: int = 0, group_number: int = 0, cells: tuple[str, ...] = ("a", "b"), blocks: int = 3
) -> LaunchRecord:
    """Return one launch with plausible rounds."""
    return LaunchRecord(
        group=group_number,
        launch=number,
        cells=tuple(cell_launch(name, blocks, seed=number) for name in cells),
        failures={"c": Failure("import", "no module named x", None)},
        blocks=tuple(BlockEvidence(block, cells, 10**9, 10**6, 0, 0, 53.5) for block in range(blocks)),
        sustained=(Sustained(cells[0], 90, 3 * 10**9),),
        load_average=0.5,
    )


def cell_launch(name: str, blocks: int, seed: int = 0) -> CellLaunch:
    generator = np.random.default_rng(seed)
    return CellLaunch(
        cell=name,
        streams=1,
        calls_per_sample=1,
        rounds=tuple(round_of(block, generator.integers(30_000_000, 34_000_000, 5)) for block in range(blocks)),
        phases_ns={"import": 10**9, "ready": 2 * 10**9},
        peak_memory_bytes={"process": 330_000_000},
        effective={"precision": "fp32", "threads": 2, "streams": 1, "device": "cpu", "spin": True, "share": 0.5},
        output_error=OutputError(1e-7, 1e-6, 1.0, None),
    )


def round_of(block: int, durations_ns: Any) -> Round:
    completion = np.cumsum(np.asarray(durations_ns, np.int64))
    return Round(block, completion - durations_ns, completion, Evidence(int(completion[-1]), 1, 2, 3, 4, 5, 6))
