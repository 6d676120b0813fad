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


WIDE = (5.3, 6.0, 10.45, 10.5, 17.0, 17.95)
"""Launches of a row that is about twice as fast as another, with an interval from 1.1 to 3.8."""


def test_a_confirmed_claim_says_which_values_would_have_refuted_it(tmp_path: Path):
    claimed: Levels = {"ort": EVEN, "tf": times(2.75)}
    close, wide = (
        next(item for item in replayed(tmp_path, claimed, again) if item.claim.kind == "speedup")
        for again in (claimed, {"ort": (10.0,) * 6, "tf": tuple(2.09 * value for value in WIDE)})
    )
    assert (close.outcome, wide.outcome) == ("confirmed", "confirmed")
    assert close.detectable == pytest.approx((1 / 2.75 / 1.02, 1 / 2.75 * 1.02), rel=0.01)
    assert wide.again is not None
    value, low, high = wide.again
    assert low is not None
    assert high is not None
    assert wide.detectable == pytest.approx(
        (wide.claim.low / 1.02 * value / high, wide.claim.high * 1.02 * value / low)
    )
    assert wide.detectable is not None
    assert wide.detectable[1] / wide.detectable[0] > 3


def test_what_would_have_refuted_a_claim_is_where_it_is_refuted(tmp_path: Path):
    """The same scatter around values just inside and outside of what is said to be detectable."""
    (kept,) = [item for item in replayed(tmp_path, CLAIMED, CLAIMED) if item.claim.kind == "speedup"]
    assert kept.detectable is not None
    for place, sign in ((0, -1), (1, 1)):
        for beyond, outcome in ((0.999, "confirmed"), (1.001, "refuted")):
            factor = 1 / (kept.detectable[place] * beyond**sign)
            again = replayed(tmp_path, CLAIMED, {"ort": EVEN, "tf": times(factor)})
            assert next(item for item in again if item.claim.kind == "speedup").outcome == outcome


def test_a_second_run_without_an_interval_could_detect_nothing(tmp_path: Path):
    claims = replayed(tmp_path, CLAIMED, {"ort": EVEN[:3], "tf": times(2)[:3]})
    assert {claim.detectable for claim in claims} == {None}
