"""What is known of a cell that is measured alone, until it becomes a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irbench.core.record import Failure, OutputError, Stage
from irbench.core.row import Row, State, row_of
from irbench.spec import Cell, Scalar


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

    def row(self, kind: type[Row], state: State, **figures: Any) -> Row:
        """Return its row of a table, in a state and with figures."""
        what = {"effective": self.effective, "failure": self.failure, "output_error": self.output_error}
        return row_of(kind, self.cell, state=state, **what, **figures)


_STATES: Mapping[Stage, State] = {"verify": "mismatch", "plan": "not-applicable"}


def state_of(failure: Failure) -> State:
    """Return the state of a row that has a failure."""
    return _STATES.get(failure.stage, "failed")
