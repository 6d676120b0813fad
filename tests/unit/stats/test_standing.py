"""A cell that never started is told by its reason."""

from __future__ import annotations

import pytest
from launches import even, group

from irbench.record import Failure
from irbench.stats.standing import Admission, decide_standing


@pytest.mark.parametrize(("stage", "state"), [("plan", "not-applicable"), ("optimize", "failed")])
def test_a_cell_without_a_graph_has_failed_unless_none_was_made_for_its_backend(stage: str, state: str) -> None:
    reason = Failure(stage, "the reason")
    standing = decide_standing(group("ort", "other"), even({"ort": [10.0] * 6}), Admission(absent={"other": reason}))
    assert standing.states == {"ort": "ok", "other": state}
    assert standing.failures == {"other": reason}
