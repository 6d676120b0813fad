"""The benchmark of busy machines rejects an irbench that claims what is wrong, and one that claims nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from documents import cell, group, speedup

from benchmarks.busy import Outcome, faults, outcome_of
from irbench.core.result import GroupResult, Lead, NoWinner, Winner
from irbench.core.row import Speedup, Verdict

ALL, TIED, WIDE = "all the time", "only in one row's turn", "bursts of 0.3 s, 70 %"
OPEN = Speedup(1.05, low=None, high=None, verdict="undecided", excludes_one=False, all_blocks_value=1.05)


def table(found: Speedup, reason: NoWinner | None = None, *, wins: bool = False) -> GroupResult:
    fast, slow = cell("known-b", speedup=found), cell("known-a")
    lead = Lead(fast.id, slow.id, 1.05, low=found.low, high=found.high, launches=6, reason=reason)
    winner = Winner(fast.id, slow.id, 1.05, 1.04, 1.06) if wins else None
    return replace(group(fast, slow), lead=lead, winner=winner)


def ratio(low: float, high: float, verdict: Verdict) -> Speedup:
    return speedup(1.05, low, high, verdict)


@pytest.mark.parametrize(
    ("found", "reason", "wins", "outcome"),
    [
        (ratio(1.03, 1.07, "faster"), None, True, "decided"),
        (ratio(0.9, 1.2, "undecided"), "undecided", False, "open"),
        (ratio(1.06, 1.2, "faster"), None, True, "wrong"),
        (ratio(0.9, 1.0, "undecided"), "undecided", False, "wrong"),
        (replace(OPEN, verdict="preview"), "preview", False, "no interval"),
        (OPEN, "uneven-load", False, "no interval"),
    ],
)
def test_a_claim_is_right_where_its_interval_holds_the_ratio(
    found: Speedup, reason: NoWinner | None, wins: bool, outcome: Outcome
):
    assert outcome_of(table(found, reason, wins=wins), is_tied=False) == outcome


@pytest.mark.parametrize(
    ("found", "reason", "wins", "outcome"),
    [
        (OPEN, "uneven-load", False, "decided"),
        (replace(OPEN, verdict="preview"), "preview", False, "open"),
        (ratio(1.03, 1.07, "faster"), None, True, "wrong"),
        (ratio(1.03, 1.07, "faster"), "busy", False, "wrong"),
    ],
)
def test_a_load_that_is_tied_must_be_found(found: Speedup, reason: NoWinner | None, wins: bool, outcome: Outcome):
    assert outcome_of(table(found, reason, wins=wins), is_tied=True) == outcome


def right(runs: int = 5) -> dict[str, list[Outcome]]:
    return {ALL: ["decided"] * runs, WIDE: ["open"] * runs, TIED: ["decided"] * runs}


def test_right_claims_have_no_faults_although_wide_intervals_decide_nothing():
    assert list(faults(right())) == []
    assert list(faults({WIDE: ["open"] * 5})) == []
    assert list(faults(right() | {ALL: ["wrong", *["decided"] * 4]})) == []  # one of ten is no surprise


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (right() | {ALL: ["no interval"] * 5, WIDE: ["no interval"] * 5}, "10 of 10 runs beside a load that is not"),
        (right() | {ALL: ["open"] * 5}, "Only 0 of 5 runs beside 'all the time' are decided."),
        (right() | {TIED: ["open"] * 5}, 'Only 0 of 5 runs beside "only in one row\'s turn" are decided.'),
        (right() | {TIED: ["wrong", "wrong", *["decided"] * 3]}, "2 of 5 claims beside a load that is tied are wrong"),
        (right(25) | {WIDE: [*["wrong"] * 6, *["open"] * 19]}, "6 of 50 claims beside a load that is not tied are"),
        ({ALL: [*["wrong"] * 5, *["decided"] * 20]}, "5 of 25 claims beside a load that is not tied are wrong"),
    ],
    ids=["always a preview", "always undecided", "never tied", "winners beside a tied load", "12 %", "20 %"],
)
def test_an_irbench_that_is_wrong_or_says_nothing_does_not_pass(found: Mapping[str, list[Outcome]], said: str):
    told = list(faults(found))
    assert [fault for fault in told if fault.startswith(said)] == told[:1] != []
