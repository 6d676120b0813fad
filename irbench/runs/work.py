"""What rows have to compute, and what this machine attains at most for that, where its peaks are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from irbench.across_runs.differences import fingerprint
from irbench.core import registry
from irbench.cost_model.costs import ModelCost
from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.requests.graph_costs import cost_at
from irbench.roofline import MachinePeaks, are_sound, roof
from irbench.runner.plan import PlannedGroup
from irbench.spec import Artifact, Cell, InferenceWork, Roof, TensorSpec, Workload
from irbench.spec.generation import GenerationArtifact
from irbench.store import bundles
from irbench.store.kept_peaks import kept_peaks
from irbench.system import host

_COUNTED = "onnx"


def with_work(groups: Sequence[PlannedGroup], peaks: MachinePeaks | None) -> tuple[PlannedGroup, ...]:
    """Return the groups with the work of each row on the CPU and its roofs; as they are where no peaks are known.

    Of a row that reads no ONNX, the work is that of the model's ONNX graph.
    """
    if peaks is None:
        return tuple(groups)
    works = _Works(peaks)
    return tuple(works.added_to(group) for group in groups)


class _Works:
    """Counts each graph once, however many rows run it."""

    def __init__(self, peaks: MachinePeaks) -> None:
        self._peaks = peaks
        self._costs: dict[tuple[Path, tuple[TensorSpec, ...]], ModelCost | None] = {}

    def added_to(self, planned: PlannedGroup) -> PlannedGroup:
        """Return a group with the work of each of its rows."""
        group = planned.group
        cells = tuple(replace(cell, work=self._work(cell, group.workload_of(cell))) for cell in group.cells)
        return replace(planned, group=replace(group, cells=cells))

    def _work(self, cell: Cell, workload: Workload) -> InferenceWork | None:
        graph = _graph(cell, workload)
        if graph is None or isinstance(graph, GenerationArtifact) or cell.device != "cpu" or cell.program is not None:
            return None
        cost = self._cost(graph)
        if cost is None or cost.uncounted or not cost.flops:  # of a lower bound, a share would be one too
            return None
        moved = _moved_bytes(cost, graph)
        intensity = cost.flops / moved if moved else math.inf
        roofs = _roofs(intensity, moved, cell.load.all_threads, self._peaks)
        return InferenceWork(cost.flops, moved, roofs, self._peaks.measured, _version(cell.backend, self._peaks))

    def _cost(self, graph: Artifact) -> ModelCost | None:
        key = (graph.path, graph.inputs)
        if key not in self._costs:
            self._costs[key] = _counted(graph)
        return self._costs[key]


def _graph(cell: Cell, workload: Workload) -> Artifact | None:
    if cell.artifact is not None and cell.artifact.kind == _COUNTED:
        return cell.artifact
    exported = workload.bundle.artifact((_COUNTED,))
    if exported is None:
        return None
    return replace(
        exported,
        inputs=tuple(spec.bind(workload.sizes) for spec in exported.inputs),
        outputs=tuple(spec.bind(workload.sizes) for spec in exported.outputs),
    )


def _version(backend: str, peaks: MachinePeaks) -> str | None:
    """Return the version of a backend that peaks were measured with; see :class:`~irbench.spec.InferenceWork`."""
    if not peaks.versions or _COUNTED not in registry.backend(backend).consumes:
        return None
    return peaks.versions.get(backend, "")


def _counted(graph: Artifact) -> ModelCost | None:
    try:
        return cost_at(graph.path, graph.inputs)
    except IrbenchError:
        return None


def _moved_bytes(cost: ModelCost, graph: Artifact) -> int:
    """Return what has to be moved however well operators are fused: each weight that is read, inputs and outputs."""
    weights = min(cost.weight_bytes, cost.total.moved_bytes - cost.activation_bytes)
    return weights + sum(_bytes(spec) for spec in (*graph.inputs, *graph.outputs))


def _bytes(spec: TensorSpec) -> int:
    sizes = [size for size in spec.shape if isinstance(size, int)]
    if len(sizes) < len(spec.shape) or spec.dtype == "string":
        return 0
    return math.prod(sizes) * np.dtype(numpy_dtype(spec.dtype)).itemsize


def _roofs(intensity: float, moved_bytes: int, threads: int | None, peaks: MachinePeaks) -> dict[str, Roof]:
    if threads is None:
        return {}
    roofs = {name: roof(intensity, peaks, name, threads, moved_bytes) for name in peaks.precisions}
    return {name: each for name, each in roofs.items() if each is not None}


def known_peaks() -> MachinePeaks | None:
    """Return what was measured on this machine last; ``None`` where nothing was, or beside other programs."""
    machine = fingerprint(host.describe())
    kept = (kept_peaks(home, machine) for home in bundles.homes())
    return next((peaks for peaks in kept if peaks is not None and are_sound(peaks)), None)
