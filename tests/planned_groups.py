"""Groups planned from requests whose artifacts are all there, but those that a test says are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from run_requests import run_request

from irbench.core.record import Failure
from irbench.runner.plan import PlannedGroup, PreparedModel, PreparedRun, plan
from irbench.runner.prepare import compared_together
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import BackendInfo, SizedModel
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec, Workload
from irbench.spi import Description

FAKES = (("fake-a", "cpu"), ("fake-b", "cpu"))
INPUT = TensorSpec("x", "float32", ("batch", 3))
GRAPH = Artifact("onnx", Path("mlp.onnx"), (INPUT,), ())
FRAMEWORK_GRAPH = replace(GRAPH, kind="framework-graph")
MLP = Bundle("mlp", (InputSpec(INPUT),), (GRAPH,))
QUANTISED = replace(MLP, name="quantised", artifacts=(replace(GRAPH, path=Path("quantised.onnx")),))
BOTH = replace(MLP, artifacts=(GRAPH, FRAMEWORK_GRAPH))


def backend_info(name: str) -> BackendInfo:
    """Return what planning knows of a backend: ``original`` runs the framework's own graphs, all others ONNX."""
    original = name == "original"
    kinds = ("framework-graph",) if original else ("onnx",)
    return BackendInfo(kinds, Description(name, f"{name}-runtime", "1.0", is_original=original))


def prepared(request: RunRequest, made: Mapping[str, Artifact | Failure], precision: Any) -> PreparedRun:
    """Return each model at each batch with every artifact, but what ``made`` says of a level."""
    models = [
        SizedModel(Workload(bundle, {"batch": batch}), precision)
        for bundle in request.bundles
        for batch in request.asked.batch or (1,)
    ]
    together = compared_together(request, models)
    tables = (tuple(with_artifacts(model, request, made) for model in table) for table in together)
    own = {
        name: BackendInfo(("onnx",), Description(name, "", None), program)
        for name, program in request.asked.cells.items()
    }
    return PreparedRun({**{name: backend_info(name) for name, _ in request.backends}, **own}, tuple(tables))


def with_artifacts(model: SizedModel, request: RunRequest, made: Mapping[str, Artifact | Failure]) -> PreparedModel:
    artifacts = {
        (exported.label, level): made.get(level, replace(exported, variant="" if level == "none" else level))
        for exported in model.bundle.artifacts
        for level in ("none", *request.variants)
    }
    return PreparedModel(model, artifacts)


def planned(
    bundle: Bundle = MLP,
    made: Mapping[str, Artifact | Failure] | None = None,
    precision: str = "fp32",
    **changes: Any,
) -> tuple[PlannedGroup, ...]:
    request = run_request(**{"bundles": (bundle,), "backends": FAKES, **changes})
    return plan(request, prepared(request, made or {}, precision))


def rows(group: PlannedGroup) -> list[tuple[str, str]]:
    return [(cell.label, cell.load.precision) for cell in group.group.cells]
