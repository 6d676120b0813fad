"""A listing says in a few words what came of each run."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from documents import document, example

from irbench.core.result import NoWinner
from irbench.render.outcome_texts import outcome_text, outcomes_text
from irbench.render.verdicts import NO_WINNER_TEXTS
from irbench.store.entries import Outcome
from irbench.store.table_outcomes import entry_of


def test_there_are_words_for_every_reason_why_nobody_wins():
    assert set(NO_WINNER_TEXTS) == set(get_args(NoWinner))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("winner", "openvino", "ort", 1.1412), "openvino 1.14x ort"),
        (Outcome("winner", "openvino", "ort", 1.1412, unverified=True), "openvino 1.14x ort, not verified"),
        (Outcome("preview", "openvino", "ort", 1.14), "preview: openvino 1.14x ort"),
        (Outcome("busy", "openvino", "ort", 1.14), "machine too busy"),
        (Outcome("only", "ort", p50_ms=37.04), "only ort: 37.0 ms"),
        (Outcome("undecided", "openvino", "ort", 1.01), "openvino and ort undecided"),
        (Outcome("undecided", "openvino", "ort", 1.01, p50_ms=28.1), "openvino and ort undecided (openvino 28.1 ms)"),
        (
            Outcome("undecided", "openvino", "ort", 1.01, p50_ms=28.1, fps=284.4, objective="fps"),
            "openvino and ort undecided (openvino 284 FPS)",
        ),
        (Outcome("same", "openvino", "ort", 1.0, p50_ms=28.1), "openvino and ort the same (openvino 28.1 ms)"),
        (Outcome("busy", "openvino", "ort", 1.14, p50_ms=28.1), "machine too busy (openvino 28.1 ms)"),
        (Outcome("busy-winner", "ort", "openvino", 3.4), "ort 3.40x openvino, busy machine"),
        (Outcome("busy-same", "ort", "tf", 1.0, p50_ms=28.1), "ort and tf the same (ort 28.1 ms), busy machine"),
        (Outcome("uneven-load", "ort", "openvino", 3.4, p50_ms=28.1), "machine unevenly busy (ort 28.1 ms)"),
        (Outcome("mismatch"), "mismatch"),
    ],
)
def test_an_outcome_is_said_in_a_few_words(outcome: Outcome, said: str):
    assert outcome_text(outcome) == said


def test_tables_that_came_to_the_same_are_said_once():
    run = document(example(), example(), complete=False)
    assert outcomes_text(entry_of(run, "x")) == "openvino 1.14x ort (incomplete)"


def test_a_winner_of_a_run_from_before_leads_were_stored_is_a_winner():
    (outcome,) = entry_of(document(replace(example(), lead=None)), "x").outcomes
    assert (outcome.kind, outcome.leader, outcome.rival, outcome.ratio) == ("winner", "openvino", "ort", 1.14)


def test_a_leader_has_the_figures_of_its_row():
    (outcome,) = entry_of(document(), "x").outcomes
    leader = next(row for row in example().cells if row.label == outcome.leader)
    assert leader.latency_ms is not None
    assert (outcome.p50_ms, outcome.fps, outcome.objective) == (leader.latency_ms.p50, leader.fps, "latency")
