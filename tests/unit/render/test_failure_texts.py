"""What helps against a failure, in words."""

from __future__ import annotations

from irbench.core.record import Failure
from irbench.render.failure_texts import remedy
from irbench.render.footer import failure_text


def test_a_row_says_that_the_budget_ended_it_and_what_gives_it_longer() -> None:
    ended = Failure("compile", "It gave no answer within 30 s and was ended.", budget_allowed_s=30.0)
    assert failure_text("failed", ended).startswith("failed at compile: It gave no answer within 30 s and was ended.")
    assert failure_text("failed", ended).endswith(
        "The budget allowed it 30 s. If the model is really that slow, give it more: --deadline 60s"
    )


def test_other_failures_have_the_remedy_that_was_stored() -> None:
    assert remedy(Failure("compile", "no such precision", "Ask for fp32.")) == "Ask for fp32."
    assert remedy(Failure("compile", "no such precision")) == ""
