"""Who says what backends do with a graph and with parts of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.row import CellResult
from irbench.errors import IrbenchError
from irbench.features.reduce.activations import GraphSource
from irbench.features.reduce.cutting import Part
from irbench.features.reduce.decision import Decision
from irbench.features.reduce.files import MODEL_FILE
from irbench.features.reduce.report import BackendFacts, Evidence
from irbench.spec import Artifact, Load, Workload
from irbench.spi import Usage, UsageWriter, UsedModel


@dataclass(frozen=True)
class WholeGraph:
    """What is known of the whole graph.

    Attributes:
        evidence: What the backends do with it.
        source: What parts are cut from; ``None`` where there is no ONNX graph with fixed shapes.
        loads: How each backend was asked to compute, by its address.
    """

    evidence: Evidence
    source: GraphSource | None
    loads: Mapping[BackendAddress, Load] = field(default_factory=dict[BackendAddress, Load])


class Judge(Protocol):
    """Looks at graphs. Each folder that it is given is its own and is gone afterwards."""

    def whole(self, budget_s: float, scratch: Path, /) -> WholeGraph:
        """Look at the whole graph.

        Raises:
            IrbenchError: The model or its inputs are not what can be reduced.
            KeyboardInterrupt: The user ended it.
        """
        ...

    def part(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Return what the backends do with a part, as quickly as that can be decided."""
        ...

    def confirm(self, part: Part, budget_s: float, scratch: Path, /) -> Evidence:
        """Return what they do with the smallest part when it is looked at as closely as the whole graph."""
        ...

    def decide(self, evidence: Evidence, /) -> Decision:
        """Return whether evidence is what was expected; the first one is that of the whole graph."""
        ...


def facts_of(row: CellResult) -> BackendFacts:
    """Return what is kept of a row."""
    described = registry.describe(registry.BACKENDS, row.backend)
    precision = row.effective.get("precision")
    return BackendFacts(
        label=str(BackendAddress(row.backend, row.device)),
        distribution=described.distribution,
        version=described.version,
        precision=None if precision is None else str(precision),
        state=row.state,
        p50_ms=None if row.latency_ms is None else row.latency_ms.p50,
        output_error=row.output_error,
        failure=row.failure,
    )


def graph_source(artifact: Artifact | None, workload: Workload) -> GraphSource | None:
    """Return the graph that is cut; ``None`` where there is none with bound shapes.

    Args:
        artifact: Of a row.
        workload: What the row runs.

    Raises:
        IrbenchError: There are several samples.
    """
    if workload.feeding.count > 1:
        raise IrbenchError(
            f"The data have {workload.feeding.count} samples, and a reduced graph is given one.",
            hint="Give one of them: --data sample.npz",
        )
    if artifact is None or artifact.kind != "onnx":
        return None
    return GraphSource(artifact, workload.bundle, dict(workload.sizes), workload.feeding)


def code_without_irbench(loads: Mapping[BackendAddress, Load]) -> Iterator[tuple[str, Usage]]:
    """Yield each backend that can say it, with Python that runs the reduced graph as it was run."""
    for address, load in loads.items():
        backend = registry.backend(address.name)
        if isinstance(backend, UsageWriter):
            yield str(address), backend.usage(UsedModel(MODEL_FILE), load, address.device)
