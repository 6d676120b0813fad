"""What it costs to keep what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.rows import Finding
from benchmarks.workbench import Workbench
from irbench.core.record import LaunchRecord
from irbench.core.result import RunDocument
from irbench.measure.clock import Stopwatch
from irbench.onnx.probe_graph import matmul
from irbench.store.launch_files import encode_launch
from irbench.store.runs import Store

_COMMITS = 20
_INT64_BYTES = 8


@dataclass(frozen=True)
class Stored:
    """A run as the store gives it back."""

    document: RunDocument
    launches: tuple[LaunchRecord, ...]


def measure(bench: Workbench) -> Iterator[Finding]:
    """Keep the launches of two short runs: of a model with few calls in a round, and of one with hundreds."""
    tiny = matmul(bench.scratch, "fp32").path
    for name, run in (("resnet50", short_run(bench)), ("a tiny model", short_run(bench, tiny))):
        raw = tuple(float(raw_bytes(launch)) for launch in run.launches)
        kept = tuple(float(len(encode_launch(launch))) for launch in run.launches)
        yield Finding("store", f"a launch of {name}", "B", kept, raw, "its samples alone as int64")
        taken = tuple(_commits(bench, run))
        yield Finding("store", f"committing a launch of {name}", "ms", taken, remark="onto the temporary folder's disk")


def raw_bytes(record: LaunchRecord) -> int:
    """Return the size of a launch's samples, issue and completion of each, as plain int64."""
    samples = sum(round_.issue_ns.size + round_.completion_ns.size for cell in record.cells for round_ in cell.rounds)
    return _INT64_BYTES * (samples + sum(cell.tail_ns.size for cell in record.cells))


def short_run(bench: Workbench, model: Path | None = None) -> Stored:
    """Return a preview of a model (ResNet-50 unless given) on two backends, measured once for a workbench."""
    root = bench.scratch / "short" / (model.stem if model else "resnet50")
    if not root.exists():
        bench.irbench(
            "run", model or bench.bundle, "--backends", "ort,openvino", "--quick", "--no-lock", "--results", root
        )
    store = Store(root)
    folder = store.find("latest")
    return Stored(store.load(folder), tuple(store.launches(folder)))


def _commits(bench: Workbench, run: Stored) -> Iterator[float]:
    """Encode and commit launches, each on the disk before the next; yield the milliseconds of each."""
    writer = Store(bench.scratch / "stored").begin(run.document.environment, run.document.plan)
    document = replace(run.document, run_id=writer.document.run_id, created=writer.document.created)
    for number in range(bench.repeats(_COMMITS)):
        watch = Stopwatch()
        writer.add_launch(replace(run.launches[number % len(run.launches)], launch=number))
        writer.commit(document)
        yield watch.elapsed_s * 1e3
