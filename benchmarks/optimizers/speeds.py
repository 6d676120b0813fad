"""How fast the graphs of one unit are: rows of one table of ``irbench run``, all interleaved."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.optimizers.graphs import Speeds, Timed, Unit, file_of, state_of
from benchmarks.optimizers.subjects import EXPORTED, Subject
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.core.row import CellResult
from irbench.store.runs import Store

MEASURED_GRAPHS = (
    *(EXPORTED, "onnxslim", "onnxscript", "onnxscript ort_fusions", "ORT transformers"),
    *("irbench basic", "irbench extended"),
)
"""ONNX Runtime's own levels are not among them: it applies the highest to every row when it loads
the graph, so that the exported one's row is that of its level ``all``."""
_RUNS = "runs"
_FEWEST = 2


def graphs_to_measure(unit: Unit) -> list[str]:
    """Return which of :data:`MEASURED_GRAPHS` answer rightly and are not the same as one before them."""
    return [name for name, measured in measured_as(unit).items() if name == measured]


def measured_as(unit: Unit) -> dict[str, str]:
    """Return which graph is measured for each that answers rightly: the first of the same structure."""
    structures = {graph.name: graph.structure for graph in unit.graphs}
    sound = [name for name in MEASURED_GRAPHS if state_of(unit.errors, name, "ort") == "equal"]
    return {name: next(other for other in sound if structures[other] == structures[name]) for name in sound}


def measure(bench: Workbench, folder: Path, unit: Unit, subject: Subject, budget: str) -> Speeds | str:
    """Measure a unit's graphs on ONNX Runtime and keep the run in its folder; return why that failed otherwise."""
    files = {file_of(folder, name): name for name in graphs_to_measure(unit)}
    if len(files) < _FEWEST:
        return "no graph differs from the exported one"
    sizes = [part for name, size in subject.sizes.items() if name != "batch" for part in ("--shape", f"{name}={size}")]
    shutil.rmtree(folder / _RUNS, ignore_errors=True)
    asked = ("--batch", subject.sizes["batch"], *sizes, "--backends", "ort", "--budget", budget)
    try:
        bench.irbench("run", *files, *asked, "--results", folder / _RUNS, accept=MEASURED)
    except CommandFailed as error:
        return str(error)
    store = Store(folder / _RUNS)
    table = store.load(store.find("latest")).groups[0]
    names = {file.stem: name for file, name in files.items()}
    rows = {names[row.model or table.model]: _timed(row) for row in table.cells}
    return Speeds(table.seconds, table.launches, rows)


def _timed(row: CellResult) -> Timed:
    return Timed(row.state, None if row.latency_ms is None else row.latency_ms.p50, row.speedup)
