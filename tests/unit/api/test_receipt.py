"""A receipt is replayed where the machine, the versions and the models are those that were claimed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from compared_runs import EVEN, MACHINE, store, times
from front_door import irbench

import irbench as api
from irbench.api import receipt as receipts
from irbench.api.measurement import StoredRun
from irbench.api.options import RunOptions
from irbench.api.planned_graphs import ModelChanged
from irbench.errors import IrbenchError
from irbench.store import default_root
from irbench.system import host

CLAIMED = {"ort": EVEN, "tf": times(2)}


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    """Return a receipt of a run in which ort was twice as fast as tf."""
    store(default_root(), CLAIMED, plan={"name": "claimed"})
    api.receipt("claimed", tmp_path / "claim.irb")
    return tmp_path / "claim.irb"


def answering(
    monkeypatch: pytest.MonkeyPatch,
    again: Mapping[str, tuple[float, ...]] | IrbenchError,
    environment: Mapping[str, Any] = MACHINE,
) -> list[RunOptions]:
    """Have measurements answer with these levels on this machine, and return what was asked of them."""
    asked: list[RunOptions] = []

    def measure(options: RunOptions, *_: object, **__: object) -> StoredRun:
        asked.append(options)
        if isinstance(again, IrbenchError):
            raise again
        writer = store(default_root(), again)
        return StoredRun(writer.document, writer.folder)

    monkeypatch.setattr(receipts, "measure", measure)
    monkeypatch.setattr(host, "describe", lambda *_: environment)
    return asked


@pytest.mark.parametrize(
    ("again", "code", "said"),
    [
        (CLAIMED, 0, "Confirmed."),
        ({"ort": EVEN, "tf": times(1.2)}, 1, "Refuted."),
        ({"ort": EVEN[:3], "tf": times(2)[:3]}, 4, "Undecided."),
        ({"xla": EVEN}, 2, "Not comparable."),
    ],
)
def test_the_exit_code_says_what_became_of_the_claims(
    monkeypatch: pytest.MonkeyPatch, claim: Path, again: dict[str, tuple[float, ...]], code: int, said: str
):
    asked = answering(monkeypatch, again)
    called = irbench("replay", claim)
    assert called.code == code, called.err
    assert said in called.out
    assert asked[0].models == ("tiny",)
    assert irbench("replay", claim, "--format", "json").document["outcome"] == said.lower().strip(".").replace(" ", "-")


@pytest.mark.parametrize(
    ("environment", "obstacle"),
    [
        ({**MACHINE, "cpus_allowed": 64}, "other-machine"),
        ({**MACHINE, "distributions": {"onnxruntime": "1.23.0"}}, "other-software"),
    ],
)
def test_another_machine_and_other_versions_are_not_comparable_unless_forced(
    monkeypatch: pytest.MonkeyPatch, claim: Path, environment: dict[str, Any], obstacle: str
):
    asked = answering(monkeypatch, CLAIMED, environment)
    refused = api.replay(claim, progress=None)
    assert refused.result.obstacle is not None
    assert (refused.outcome, refused.result.obstacle.code, asked) == ("not-comparable", obstacle, [])
    assert api.replay(claim, force=True, progress=None).outcome == "confirmed"


def test_a_run_with_confined_workers_is_not_replayed_without_unless_forced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    store(default_root(), CLAIMED, plan={"name": "confined"}, environment={**MACHINE, "confined": True})
    file = tmp_path / "confined.irb"
    api.receipt("confined", file)
    asked = answering(monkeypatch, CLAIMED)
    called = irbench("replay", file)
    assert (called.code, asked) == (2, [])
    said = " ".join(called.out.split())
    assert "Not comparable: its workers were confined, and IRBENCH_CONFINE is not set now: set it to 1" in said
    assert api.replay(file, force=True, progress=None).outcome == "confirmed"
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    assert api.replay(file, progress=None).outcome == "confirmed"


@pytest.mark.parametrize(
    ("error", "obstacle"),
    [(ModelChanged(["tiny"]), "model-changed"), (IrbenchError("there is no file tiny"), "not-repeatable")],
)
def test_what_cannot_be_measured_is_not_comparable_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, claim: Path, error: IrbenchError, obstacle: str
):
    answering(monkeypatch, error)
    found = api.replay(claim, progress=None)
    assert found.result.obstacle is not None
    assert (found.outcome, found.result.obstacle.code) == ("not-comparable", obstacle)
    assert "Not comparable: " in str(found)


CODE: dict[str, Any] = {"kind": "command", "target": "./loop {model}; \x1b[2J"}


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ({"cells": {"mine": CODE}}, "mine=./loop {model}; \\x1b[2J"),
        ({"models": ["net"], "sources": ["package.net:build"]}, "package.net:build"),
    ],
    ids=["rows", "models"],
)
def test_code_of_a_receipt_is_shown_and_runs_only_if_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: dict[str, Any], code: str
):
    store(default_root(), CLAIMED, plan={"name": "coded", **plan})
    file = tmp_path / "coded.irb"
    api.receipt("coded", file)
    asked = answering(monkeypatch, CLAIMED)
    refused = irbench("replay", file, "--force")
    assert (refused.code, asked) == (2, [])
    assert code in refused.out.replace("\n", " ")
    assert "--allow-own-code" in refused.out
    assert irbench("replay", file, "--allow-own-code").code == 0
    assert api.replay(file, allow_own_code=True, progress=None).outcome == "confirmed"


def test_a_model_in_place_of_a_function_needs_no_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    store(default_root(), CLAIMED, plan={"name": "coded", "models": ["net"], "sources": ["package.net:build"]})
    api.receipt("coded", tmp_path / "coded.irb")
    asked = answering(monkeypatch, CLAIMED)
    assert api.replay(tmp_path / "coded.irb", "here/net.onnx", progress=None).outcome == "confirmed"
    assert asked[0].models == ("here/net.onnx",)


def test_models_are_replaced_in_the_order_of_the_plan(monkeypatch: pytest.MonkeyPatch, claim: Path):
    asked = answering(monkeypatch, CLAIMED)
    api.replay(claim, "here/tiny.onnx", progress=None)
    assert asked[0].models == ("here/tiny.onnx",)
    found = api.replay(claim, "a.onnx", "b.onnx", progress=None)
    assert "2 were given" in str(found)


def test_a_changed_receipt_is_an_error_and_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, claim: Path):
    asked = answering(monkeypatch, CLAIMED)
    claim.write_text(claim.read_text().replace("slower", "faster"))
    called = irbench("replay", claim)
    assert (called.code, asked) == (2, [])
    assert "was changed after it was written" in called.err


def test_a_damaged_run_has_no_receipt(tmp_path: Path):
    writer = store(default_root(), CLAIMED, plan={"name": "claimed"})
    next(writer.folder.glob("launch-*")).write_bytes(b"nothing")
    called = irbench("receipt", "claimed", "-o", tmp_path / "claim.irb")
    assert called.code == 2
    assert "checksum does not match" in called.err
    assert not (tmp_path / "claim.irb").exists()


def test_a_run_that_claims_nothing_is_refused_with_a_remedy(tmp_path: Path):
    run = store(default_root(), {"ort": ()}, plan={"name": "empty"})
    for file in run.folder.glob("launch-*.bin"):
        file.unlink()
    with pytest.raises(IrbenchError) as caught:
        api.receipt("empty")
    assert "irbench results" in caught.value.hint


def test_a_receipt_is_shown_where_no_file_is_named(claim: Path):
    called = irbench("receipt", "claimed")
    assert called.code == 0
    assert "tf against ort" in called.out
    assert "slower" in called.out


def test_a_replay_is_measured_as_it_is_asked_for(claim: Path, monkeypatch: pytest.MonkeyPatch):
    asked = answering(monkeypatch, CLAIMED)
    irbench("replay", claim, "--quick", "--budget", "30s", "--no-lock")
    api.replay(claim, progress=None)
    assert [(plan.quick, plan.budget, plan.no_lock) for plan in asked] == [(True, 30.0, True), (False, None, False)]


def test_how_far_apart_intervals_may_lie_is_asked_for(claim: Path, monkeypatch: pytest.MonkeyPatch):
    answering(monkeypatch, {"ort": EVEN, "tf": times(1.5)})
    assert irbench("replay", claim).code == 1
    assert irbench("replay", claim, "--within", "50%").code == 0


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_why_a_claim_does_not_hold_is_whole_at_every_width(claim: Path, monkeypatch: pytest.MonkeyPatch, width: str):
    answering(monkeypatch, {"ort": EVEN, "tf": times(1.2)})
    monkeypatch.setenv("COLUMNS", width)
    shown = irbench("replay", claim).out
    assert "refuted: tf against ort: same verdict, but the intervals do not agree" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= int(width)
    assert len(shown.splitlines()) < 20
