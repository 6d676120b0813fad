"""What is known of a cell that is measured alone, until it becomes a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from irbench.record import Failure, OutputError, Stage
from irbench.row import Requested, State
from irbench.spec import Cell, Io, Scalar


class RowFacts(TypedDict):
    """The fields that rows of cold starts and of soaks have in common."""

    id: str
    label: str
    artifact: str
    backend: str
    device: str
    batch: int
    io: Io
    requested: Requested
    effective: Mapping[str, Scalar]
    failure: Failure | None
    output_error: OutputError | None


@dataclass
class CellOutcome:
    """A cell and what became of it so far.

    Attributes:
        cell: It.
        effective: What the runtime read back.
        output_error: How far its outputs are from the reference.
        failure: Why it has no figures, or no more of them.
        state: What became of it.
    """

    cell: Cell
    effective: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    output_error: OutputError | None = None
    failure: Failure | None = None
    state: State = "interrupted"

    def leave(self, failure: Failure, output_error: OutputError | None = None) -> None:
        """Take no further part; what was measured stays."""
        self.failure, self.output_error = failure, output_error or self.output_error
        self.state = state_of(failure)

    def facts(self) -> RowFacts:
        """Return what its row says besides its state and its figures."""
        cell = self.cell
        return {
            "id": cell.id,
            "label": cell.label,
            "artifact": "" if cell.artifact is None else cell.artifact.label,
            "backend": cell.backend,
            "device": cell.device,
            "batch": cell.load.batch,
            "io": cell.io,
            "requested": Requested(cell.load.threads, cell.load.streams, cell.load.precision),
            "effective": self.effective,
            "failure": self.failure,
            "output_error": self.output_error,
        }


_STATES: Mapping[Stage, State] = {"verify": "mismatch", "plan": "not-applicable"}


def state_of(failure: Failure) -> State:
    """Return the state of a row that has a failure."""
    return _STATES.get(failure.stage, "failed")
