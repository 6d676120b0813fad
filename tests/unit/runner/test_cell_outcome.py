"""What a row says of a cell that took no further part."""

from __future__ import annotations

import launches
import pytest

from irbench.core.record import Failure, OutputError, Stage
from irbench.core.row import State
from irbench.core.soak_row import SoakRow
from irbench.runner.rounds import CellOutcome, state_of

ERROR = OutputError(0.1, 0.5, 0.9, None)


@pytest.mark.parametrize(
    ("stage", "state"),
    [("verify", "mismatch"), ("plan", "not-applicable"), ("compile", "failed"), ("second answer", "failed")],
)
def test_a_failure_has_the_state_of_its_stage(stage: Stage, state: State) -> None:
    assert state_of(Failure(stage, "why")) == state


def test_who_leaves_keeps_the_error_that_was_measured() -> None:
    outcome = CellOutcome(launches.group("a").cells[0], output_error=ERROR)
    failure = Failure("measure", "It crashed.")
    outcome.leave(failure)
    assert (outcome.state, outcome.failure, outcome.output_error) == ("failed", failure, ERROR)
    row = outcome.row(SoakRow, outcome.state)
    assert (row.id, row.backend, row.artifact, row.failure) == ("a", "a", "", failure)
