"""A listing says in a few words what came of each run."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from documents import document, example

from irbench.render.outcomes import OUTCOME_TEXTS, outcome_text, outcomes_text
from irbench.result import NoWinner
from irbench.store.entries import Outcome
from irbench.store.outcomes import entry_of


def test_there_are_words_for_every_reason_why_nobody_wins():
    assert set(OUTCOME_TEXTS) >= set(get_args(NoWinner))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("winner", "openvino", "ort", 1.1412), "openvino 1.14x ort"),
        (Outcome("winner", "openvino", "ort", 1.1412, unverified=True), "openvino 1.14x ort, not verified"),
        (Outcome("preview", "openvino", "ort", 1.14), "preview: openvino 1.14x ort"),
        (Outcome("busy", "openvino", "ort", 1.14), "machine too busy"),
        (Outcome("only", "ort", p50_ms=37.04), "only ort: 37 ms"),
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
    assert outcome == Outcome("winner", "openvino", "ort", 1.14)
