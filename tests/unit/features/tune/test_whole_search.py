"""How long whole searches take, preparation and confirmation included, on made machines with virtual time."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tuning_budget import MODELS, POLICIES, Machine, Model, search
from tests.simulation.regimes import REGIMES

BUDGET_S = 180.0
USUAL = MODELS["resnet50"]
BUSY = Model(*({row: 3 * value for row, value in times.items()} for times in (USUAL.call_ms, USUAL.ready_s)))


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", [USUAL, BUSY, MODELS["bert_mini"]], ids=["usual", "busy", "quick"])
@pytest.mark.parametrize("prepared_s", [0.0, 60.0])
def test_a_search_with_its_preparation_and_confirmation_ends_within_its_budget(
    model: Model, prepared_s: float, seed: int
) -> None:
    machine = Machine(model, REGIMES["bursts"], np.random.default_rng(seed), clock_s=prepared_s)
    found = search(machine, POLICIES["`irbench tune`"], BUDGET_S, seed)
    assert found.seconds <= 1.1 * BUDGET_S
    assert found.launches >= 1


def test_a_small_budget_is_kept_by_trying_fewer_settings() -> None:
    tried = {}
    for budget_s in (20.0, 60.0):
        machine = Machine(USUAL, REGIMES["quiet"], np.random.default_rng(0))
        found = search(machine, POLICIES["`irbench tune`"], budget_s, 0)
        assert found.seconds <= 1.1 * budget_s
        tried[budget_s] = found.seen
    assert tried[20.0] < tried[60.0]
