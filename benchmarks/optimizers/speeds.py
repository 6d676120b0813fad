"""How fast the graphs of one unit are: rows of one table of ``irbench run``, all interleaved."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.optimizers.graphs import Unit, file_of, state_of
from benchmarks.optimizers.subjects import EXPORTED, Subject
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.store.runs import Store

MEASURED_GRAPHS = (
    *(EXPORTED, "onnxslim", "onnxscript", "onnxscript ort_fusions", "ORT transformers"),
    *("irbench basic", "irbench extended"),
)
"""ONNX Runtime's own levels are not among them: it applies the highest to every row when it loads
the graph, so that the exported one's row is that of its level ``all``."""
_RUNS = "runs"
_FEWEST = 2


@dataclass(frozen=True)
class Speeds:
    """One table.

    Attributes:
        table: It; the exported graph is its baseline.
        names: The graph of each row, by the row's id.
        confidence: Of its intervals.
    """

    table: GroupResult
    names: dict[str, str]


def graphs_to_measure(unit: Unit) -> list[str]:
    """Return which of :data:`MEASURED_GRAPHS` answer rightly and are not the same as one before them."""
    return [name for name, measured in measured_as(unit).items() if name == measured]


def measured_as(unit: Unit) -> dict[str, str]:
    """Return which graph is measured for each that answers rightly: the first of the same structure."""
    structures = {graph.name: graph.structure for graph in unit.graphs}
    sound = [name for name in MEASURED_GRAPHS if state_of(unit.errors, name, "ort") == "equal"]
    return {name: next(other for other in sound if structures[other] == structures[name]) for name in sound}


def measure(bench: Workbench, folder: Path, unit: Unit, subject: Subject, budget: str) -> str:
    """Measure a unit's graphs on ONNX Runtime and keep the run in its folder; return why that failed."""
    files = [file_of(folder, name) for name in graphs_to_measure(unit)]
    if len(files) < _FEWEST:
        return "no graph differs from the exported one"
    sizes = [part for name, size in subject.sizes.items() if name != "batch" for part in ("--shape", f"{name}={size}")]
    shutil.rmtree(folder / _RUNS, ignore_errors=True)
    asked = ("--batch", subject.sizes["batch"], *sizes, "--backends", "ort", "--budget", budget)
    try:
        bench.irbench("run", *files, *asked, "--results", folder / _RUNS, accept=MEASURED)
    except CommandFailed as error:
        return str(error)
    return ""


def stored_speeds(folder: Path) -> Speeds | None:
    """Return what :func:`measure` kept; ``None`` where there is nothing."""
    if not (folder / _RUNS).is_dir():
        return None
    store = Store(folder / _RUNS)
    try:
        table = store.load(store.find("latest")).groups[0]
    except IrbenchError:
        return None
    files = {file_of(folder, name).stem: name for name in MEASURED_GRAPHS}
    return Speeds(table, {row.id: files[row.model or table.model] for row in table.cells})
