"""Runs of cold starts, soaks and loads whose figures are derived from made-up raw times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from documents import ENVIRONMENT, document

from irbench.core.cold_row import CacheState, ColdLaunch, ColdRow, ColdTable
from irbench.core.record import REFUSED, CellLaunch, Failure, LaunchRecord, ServedLoad
from irbench.core.result import RunDocument
from irbench.core.row import Requested
from irbench.core.serving_row import ServingRow, ServingTable
from irbench.core.soak_row import SoakRow, SoakSeries, SoakTable
from irbench.notices import Reference
from irbench.spec import Timing
from irbench.spec.serving import OfferedLoad, ServiceLevel
from irbench.stats.run_modes.cold_start import derive_cold_table
from irbench.stats.run_modes.serving import derive_serving_table
from irbench.stats.run_modes.soak import derive_soak_table

MS = 1_000_000
SHAPES = {"image": (1, 224, 224, 3)}
CRASH = Failure("compile", "It crashed with SIGSEGV.", "Its output is in logs/tf.log")
REFERENCE = Reference("backend", "ort", "ort with optimisations off")


def cold_row(name: str, cache: CacheState, ready_ms: float, resident: float | None, launches: int = 8) -> ColdRow:
    def launch(number: int) -> ColdLaunch:
        scale = ready_ms * MS * (1 + 0.01 * ((number * len(name)) % 7 - 3))
        shares = {"start": 0.05, "import": 0.35, "load": 0.1, "compile": 0.35, "first_inference": 0.15}
        phases = {phase: round(share * scale) for phase, share in shares.items()}
        return ColdLaunch(number, phases, 210 * MS, resident, 135_000_000 if cache == "cold" else 0)

    effective = {"precision": "fp32", "threads": 2, "device": "cpu"}
    made = tuple(map(launch, range(launches)))
    return ColdRow(
        id=name,
        label=name,
        artifact="onnx",
        backend=name,
        device="cpu",
        cache=cache,
        batch=1,
        io="copy",
        requested=Requested(2, 1, "fp32"),
        effective=effective,
        state="ok",
        launches=made,
    )


def cold(launches: int = 8, resident: float | None = 0.03) -> RunDocument:
    failed = replace(cold_row("tf", "cold", 1, None, 0), state="failed", failure=CRASH, effective={})
    rows = (
        cold_row("ort", "cold", 420, resident, launches), cold_row("openvino", "cold", 770, 0.05, launches), failed,
        cold_row("ort", "warm", 240, 1.0, launches), cold_row("openvino", "warm", 430, 1.0, launches),
        replace(failed, cache="warm"),
    )  # fmt: skip
    table = ColdTable(
        model="resnet50",
        batch=1,
        shapes=SHAPES,
        baseline=None,
        rounds=launches,
        preview=True,
        stopped_by="budget",
        seconds=84.0,
        rows=rows,
        verified_against=REFERENCE,
    )
    derived = derive_cold_table(table, "ort", Timing(), allow_mixed=False)
    return replace(document(), groups=(), cold_starts=(derived,), environment=ENVIRONMENT)


def soak_row(name: str, bytes_per_call: float, blocks: int = 120) -> SoakRow:
    numbers = range(1, blocks + 1)
    series = SoakSeries(
        calls=tuple(100 * number for number in numbers),
        elapsed_ns=tuple(500 * MS * number for number in numbers),
        median_ns=tuple(5 * MS + (number * 7919) % 1000 for number in numbers),
        resident_bytes=tuple(
            300_000_000 + int(bytes_per_call * 100 * number) + 4096 * ((number * 5) % 3) for number in numbers
        ),
    )
    effective = {"precision": "fp32", "threads": 2, "device": "cpu"}
    return SoakRow(
        id=name,
        label=name,
        artifact="onnx",
        backend=name,
        device="cpu",
        batch=1,
        io="copy",
        requested=Requested(2, 1, "fp32"),
        effective=effective,
        state="ok",
        series=series,
    )


def soaked(*rows: SoakRow) -> RunDocument:
    table = SoakTable(
        model="resnet50",
        batch=1,
        shapes=SHAPES,
        growth_limit=1000.0,
        confidence=0.95,
        stopped_by="finished",
        rows=rows,
        verified_against=REFERENCE,
    )
    return replace(document(), groups=(), soaks=(derive_soak_table(table),), environment=ENVIRONMENT)


def soak_example() -> RunDocument:
    died = replace(soak_row("tf", 0, 30), state="failed", failure=replace(CRASH, stage="measure"))
    return soaked(soak_row("ort", 12), soak_row("openvino", 5400), died)


def served_cell(name: str, service_ms: float) -> CellLaunch:
    """Return what a cell with one slot and a fixed service time does with requests in regular groups of two."""
    loads: list[ServedLoad] = []
    for rate in (10.0, 40.0):
        count = 600
        due_ns = np.repeat(np.arange(count // 2, dtype=np.int64) * round(2e9 / rate), 2)
        ends_ns = due_ns + np.tile([1, 2], count // 2) * round(service_ms * MS)
        slot = np.zeros(count, np.int64)
        slot[-1] = REFUSED
        answered = slot >= 0
        start_ns = np.where(answered, ends_ns - round(service_ms * MS), 0)
        offered = OfferedLoad("server", count, rate)
        loads.append(ServedLoad(offered, 1, 1, due_ns, start_ns, np.where(answered, ends_ns, 0), slot))
    return CellLaunch(name, 1, 1, (), {}, {}, {}, served=tuple(loads))


def serving_example(launches: int = 6) -> RunDocument:
    rows = tuple(
        ServingRow(
            id=name,
            label=name,
            artifact="onnx",
            backend=name,
            device="cpu",
            batch=1,
            io="copy",
            requested=Requested(2, 1, "fp32"),
            effective={"precision": "fp32", "threads": 2, "device": "cpu"},
            state="ok" if name != "tf" else "failed",
            failure=None if name != "tf" else replace(CRASH, stage="serve"),
        )
        for name in ("ort", "openvino", "tf")
    )
    table = ServingTable(
        model="resnet50",
        batch=1,
        shapes=SHAPES,
        scenario="server",
        level=ServiceLevel(99, 15),
        confidence=0.95,
        seconds=120.0,
        rounds=launches,
        group=0,
        stopped_by="launches",
        rows=rows,
        verified_against=REFERENCE,
    )
    records = [
        LaunchRecord(0, number, (served_cell("ort", 5 + 0.1 * number), served_cell("openvino", 9)), {}, ())
        for number in range(launches)
    ]
    return replace(document(), groups=(), serving=(derive_serving_table(table, records),), environment=ENVIRONMENT)
