"""What a confirmation holds for and against a lead, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import launches
import pytest

from irbench.features.tune.decision import decide
from irbench.features.tune.evidence import (
    deciding_budget_s,
    pair_evidence,
    search_notes,
    whole_search_s,
    with_one_budget,
)
from irbench.features.tune.report import FewSettingsTried, Reservation
from irbench.spec import Goal, Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.notices.table_state import TableState
from irbench.stats.observed import observe
from irbench.stats.winner import find_winner

REFERENCES: Any = {"default": "default", "hint": "hint"}


def state(levels_ms: Mapping[str, Sequence[float]], *, foreign_ns: int = 0, seconds: float = 40.0) -> TableState:
    """Return a table whose rows take these times in each launch, each block disturbed where others computed."""
    group = replace(launches.group(*levels_ms), goal=Goal("fps"))
    records = [
        replace(
            record, blocks=tuple(replace(block, foreign_cpu_ns=foreign_ns) for block in record.blocks), processors=1
        )
        for record in launches.even(levels_ms)
    ]
    observed = observe(group, records, Timing())
    rows: Any = {cell.id: SimpleNamespace(batch=1, fps=None, latency_ms=None) for cell in group.cells}
    eligibility = decide_eligibility(group, records, Admission())
    return TableState(group, records, observed, eligibility, rows, Timing(), "budget", seconds)


def judged(found: TableState) -> Any:
    lead = find_winner(found.launches, found.eligibility.candidates, found.timing)
    evidence = pair_evidence(found, lead)
    decision = decide(lead, found.eligibility.candidates, REFERENCES, evidence, found.timing.within)
    return lead, evidence, decision


NINE_TIMES = {"tuned": [1.0] * 6, "other": [1.01] * 6, "default": [9.0] * 6}


def test_on_a_quiet_machine_nothing_speaks_against_a_lead():
    _, evidence, decision = judged(state(NINE_TIMES))
    assert evidence["default"].doubt is None
    assert decision.conclusion == "better"


def test_a_busy_machine_speaks_against_each_pair_and_every_figure_still_shows_the_lead():
    busy = state(NINE_TIMES, foreign_ns=launches.BLOCK_NS)
    lead, evidence, decision = judged(busy)
    assert evidence["default"].doubt == "busy"
    assert len(evidence["default"].other_figures) == 2
    assert all(figure.low > 2 for figure in evidence["default"].other_figures)
    assert (decision.row, decision.is_confirmed) == ("tuned", False)
    assert deciding_budget_s(busy, lead, decision.reservations, 100.0) is None


def test_a_lead_that_scatters_names_the_budget_that_should_tell():
    wide = state({"tuned": [1.0, 1.1, 0.9, 1.0], "default": [1.15] * 4})
    lead, _, decision = judged(wide)
    assert decision.reservations == (Reservation("interval-includes-1", "default"),)
    budget_s = deciding_budget_s(wide, lead, decision.reservations, 100.0)
    assert budget_s is not None
    assert budget_s > 100 + 40
    assert budget_s % 60 == 0


def test_with_too_few_launches_the_budget_is_that_of_enough():
    few = state({"tuned": [1.0, 1.0], "default": [1.5, 1.5]}, seconds=20.0)
    lead, _, decision = judged(few)
    assert decision.conclusion == "preview"
    budget_s = deciding_budget_s(few, lead, decision.reservations, 100.0)
    assert budget_s is not None
    assert budget_s >= 100 + 4 * 10


def test_a_difference_that_no_launches_would_show_names_no_budget():
    close = state({"tuned": [1.0, 1.6, 0.6, 1.0], "default": [1.001] * 4})
    lead, _, decision = judged(close)
    assert decision.reservations
    assert deciding_budget_s(close, lead, decision.reservations, 100.0) is None


def test_what_is_confirmed_needs_no_budget():
    found = state(NINE_TIMES)
    lead, _, decision = judged(found)
    assert deciding_budget_s(found, lead, decision.reservations, 100.0) is None


def test_a_search_that_ran_out_of_time_with_few_settings_says_what_would_do():
    (note,) = search_notes(5, 180, "budget", search_s=150.0, rest_s=120.0)
    assert note == FewSettingsTried(tried=5, settings=180, enough=40, budget_s=1320.0)


@pytest.mark.parametrize(
    ("tried", "settings", "stopped_by"), [(20, 180, "budget"), (5, 180, "searched"), (6, 6, "budget"), (0, 9, "budget")]
)
def test_a_search_that_tried_enough_says_nothing(tried: int, settings: int, stopped_by: Any):
    assert search_notes(tried, settings, stopped_by, 150.0, 120.0) == ()


def test_more_time_is_the_searchs_first_until_it_has_tried_enough():
    assert whole_search_s(10, 180, "budget", 150.0) == 600.0
    assert whole_search_s(10, 180, "searched", 150.0) == 150.0
    assert whole_search_s(40, 180, "budget", 150.0) == 150.0
    assert whole_search_s(0, 180, "budget", 150.0) == 150.0


def test_one_budget_is_named():
    notes = search_notes(5, 180, "budget", search_s=150.0, rest_s=120.0)
    deciding_s, named = with_one_budget(420.0, notes)
    assert deciding_s == 1320.0
    assert named == notes
    (note,) = with_one_budget(2000.0, notes)[1]
    assert isinstance(note, FewSettingsTried)
    assert note.budget_s == 2000.0
    assert with_one_budget(None, notes) == (None, notes)
    assert with_one_budget(420.0, ()) == (420.0, ())
