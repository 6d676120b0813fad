"""Claims that are measured again: confirmed, refuted or not comparable, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import EVEN, store, times

from irbench.across_runs.checked_runs import read_run
from irbench.features.receipt.replay import CheckedClaim, checked_claims, outcome_of_claims
from irbench.features.receipt.report import Receipt, receipt_of

Levels = dict[str, tuple[float, ...]]
CLAIMED: Levels = {"ort": EVEN, "tf": times(2)}
NOISY = (10.0, 30.0, 9.0, 28.0, 11.0, 40.0)


def receipt(root: Path, levels: Levels) -> Receipt:
    run, _ = read_run(store(root, levels).folder)
    assert run is not None
    return receipt_of(run)


def replayed(root: Path, claimed: Levels, again: Levels, model: str = "tiny") -> tuple[CheckedClaim, ...]:
    return checked_claims(receipt(root, claimed), store(root, again, table={"model": model}).document, 0.02)


@pytest.mark.parametrize(
    ("again", "reason", "outcome"),
    [
        (CLAIMED, "same", "confirmed"),
        ({"ort": times(3), "tf": times(6)}, "same", "confirmed"),
        ({"ort": times(2), "tf": EVEN}, "other-verdict", "refuted"),
        ({"ort": EVEN, "tf": EVEN}, "other-verdict", "refuted"),
        ({"ort": EVEN, "tf": times(3)}, "other-size", "refuted"),
        ({"ort": EVEN, "tf": times(1.5)}, "other-size", "refuted"),
        ({"ort": EVEN[:3], "tf": times(2)[:3]}, "not-decided", "undecided"),
        ({"ort": NOISY, "tf": tuple(reversed(NOISY))}, "not-decided", "undecided"),
        ({"openvino": EVEN, "tvm": times(2)}, "not-measured", "not-comparable"),
    ],
    ids=[
        "the same",
        "the same ratio of slower times",
        "the other way round",
        "no difference",
        "more",
        "less",
        "a preview",
        "noise",
        "other rows",
    ],
)
def test_a_claim_has_the_outcome_that_a_second_measurement_supports(
    tmp_path: Path, again: Levels, reason: str, outcome: str
):
    claims = replayed(tmp_path, CLAIMED, again)
    assert {claim.claim.kind for claim in claims} == {"winner", "speedup"}
    assert {claim.reason for claim in claims} == {reason}
    assert outcome_of_claims(claims) == outcome


def test_a_winner_that_is_only_third_now_is_refuted(tmp_path: Path):
    again = {"ort": times(3), "tf": times(2), "xla": EVEN}
    claims = replayed(tmp_path, {"ort": EVEN, "tf": times(2), "xla": times(3)}, again)
    winner = next(claim for claim in claims if claim.claim.kind == "winner")
    assert (winner.outcome, winner.verdict) == ("refuted", "slower")


def test_one_refuted_claim_refutes_a_receipt(tmp_path: Path):
    claims = replayed(tmp_path, {**CLAIMED, "xla": times(4)}, {**CLAIMED, "xla": times(8)})
    assert {claim.outcome for claim in claims} == {"confirmed", "refuted"}
    assert outcome_of_claims(claims) == "refuted"


def test_a_latency_is_compared_in_milliseconds(tmp_path: Path):
    same, slower = (replayed(tmp_path, {"ort": EVEN}, {"ort": times(factor)}) for factor in (1.01, 1.5))
    assert [claim.outcome for claim in same] == ["confirmed"]
    assert [claim.reason for claim in slower] == ["other-size"]


def test_the_only_model_may_have_another_name_here(tmp_path: Path):
    assert outcome_of_claims(replayed(tmp_path, CLAIMED, CLAIMED, model="elsewhere")) == "confirmed"


def test_nothing_measured_is_not_comparable():
    assert outcome_of_claims(()) == "not-comparable"
