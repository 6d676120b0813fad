"""A receipt is replayed where the machine, the versions and the models are those that were claimed."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from compared_runs import EVEN, MACHINE, store, times
from front_door import irbench

import irbench as api
from irbench.errors import IrbenchError
from irbench.features.receipt import run as receipts
from irbench.options.run import RunOptions
from irbench.runs.measurement import StoredRun
from irbench.runs.planned_graphs import ModelChanged
from irbench.store.folders import default_root
from irbench.system import host

CLAIMED = {"ort": EVEN, "tf": times(2)}


def receipt_of(root: Path, name: str, levels_ms: Mapping[str, tuple[float, ...]], *, busy: bool) -> Path:
    """Store a run, and return its receipt."""
    store(default_root(), levels_ms, plan={"name": name}, busy=busy)
    api.receipt(name, root / f"{name}.irb")
    return root / f"{name}.irb"


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    """Return a receipt of a run in which ort was twice as fast as tf."""
    return receipt_of(tmp_path, "claimed", CLAIMED, busy=False)


def test_a_receipt_of_a_format_before_is_refused_and_asks_to_be_made_again(claim: Path):
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "format": 1}))
    called = irbench("replay", claim)
    assert called.code == 2
    said = " ".join(called.err.split())
    assert "is of format 1, which this irbench does not read (it reads format 2)." in said
    assert "irbench receipt RUN -o claim.irb" in said


def answering(
    monkeypatch: pytest.MonkeyPatch,
    again: Mapping[str, tuple[float, ...]] | IrbenchError,
    environment: Mapping[str, Any] = MACHINE,
    *,
    busy: bool = False,
) -> list[RunOptions]:
    """Have measurements answer with these levels on this machine, busy or not, and return what was asked of them."""
    asked: list[RunOptions] = []

    def measure(options: RunOptions, *_: object, **__: object) -> StoredRun:
        asked.append(options)
        if isinstance(again, IrbenchError):
            raise again
        writer = store(default_root(), again, busy=busy)
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
        ({"asked": {"imports": ["./evil.py"]}}, "./evil.py"),
        ({"options": {"openvino": {"CACHE_DIR": "cache"}}}, "openvino.CACHE_DIR=cache"),
        ({"alternatives": {"openvino": [{}, {"CONFIG_FILE": "gpu.xml"}]}}, "openvino.CONFIG_FILE=gpu.xml"),
        ({"options": {"openvino": {"ANOTHER": "/home/you"}}}, "openvino.ANOTHER=/home/you"),
    ],
    ids=["rows", "models", "modules", "folders", "varied", "unknown"],
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


def test_claims_of_a_busy_machine_say_so_in_the_file_and_on_the_screen(tmp_path: Path):
    file = receipt_of(tmp_path, "busy", CLAIMED, busy=True)
    (claim,) = json.loads(file.read_text())["claims"]
    against = claim["reservations"]
    assert (claim["condition"], against["no_winner"]) == ("busy", "busy")
    assert (against["blocks_disturbed"], against["blocks_measured"], against["launches"]) == (30, 30, 6)
    assert [warning["code"] for warning in against["warnings"]] == ["few-clean-blocks"]
    shown = " ".join(irbench("receipt", "busy").out.split())
    assert "30 of 30 blocks were disturbed: this holds on the machine as busy as it was" in shown
    assert "The run called no row the fastest: the machine was too busy." in shown
    assert "warning: 6 launches had fewer than 4 undisturbed blocks" in shown


def test_what_a_run_leaves_open_is_no_claim_and_is_named(tmp_path: Path):
    noisy = (10.0, 30.0, 9.0, 28.0, 11.0, 40.0)
    receipt_of(tmp_path, "open", {**CLAIMED, "xla": noisy}, busy=False)
    assert "Nothing is claimed of xla (undecided)." in " ".join(irbench("receipt", "open").out.split())


def test_a_warning_about_another_row_is_no_warning_of_a_claim(tmp_path: Path):
    slow = (*EVEN[:5], 14.0)
    file = receipt_of(tmp_path, "named", {"ort": EVEN, "tf": times(2), "xla": tuple(3 * v for v in slow)}, busy=False)
    claims = {claim["row"]["backend"]: claim for claim in json.loads(file.read_text())["claims"]}
    codes = {name: {item["code"] for item in claim["reservations"]["warnings"]} for name, claim in claims.items()}
    assert "slow-launches" in codes["xla"]
    assert "slow-launches" not in codes["tf"]
    assert "warning: 1 of 6 launches of xla was" in irbench("receipt", "named").out


@pytest.mark.parametrize(
    ("claimed_busy", "again_busy", "again", "outcome", "reason"),
    [
        (True, False, 1.15, "undecided", "other-condition"),
        (False, True, 1.15, "undecided", "other-condition"),
        (True, True, 1.15, "undecided", "other-load"),
        (True, False, 2.0, "confirmed", "same"),
        (False, False, 1.15, "refuted", "other-size"),
    ],
)
def test_another_ratio_under_another_load_refutes_nothing(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    claimed_busy: bool,
    again_busy: bool,
    again: float,
    outcome: str,
    reason: str,
):
    file = receipt_of(tmp_path, "claimed", CLAIMED, busy=claimed_busy)
    answering(monkeypatch, {"ort": EVEN, "tf": times(again)}, busy=again_busy)
    called = irbench("replay", file, "--format", "json")
    checked = next(item for item in called.document["claims"] if item["claim"]["kind"] == "speedup")
    assert (checked["outcome"], checked["reason"]) == (outcome, reason)
    assert checked["condition"] == ("busy" if again_busy else None)
    said = " ".join(irbench("replay", file).out.split())
    assert ("The run of the receipt: 30 of 30 blocks were disturbed" in said) is claimed_busy
    assert ("The second run: 30 of 30 blocks were disturbed" in said) is again_busy


@pytest.mark.parametrize(
    "where",
    [(), ("claims", 0), ("claims", 0, "row"), ("claims", 0, "reservations"), ("environment",), ("graphs",)],
    ids=str,
)
def test_a_key_that_was_added_anywhere_is_a_changed_receipt(
    monkeypatch: pytest.MonkeyPatch, claim: Path, where: tuple[str | int, ...]
):
    asked = answering(monkeypatch, CLAIMED)
    document = json.loads(claim.read_text())
    changed = functools.reduce(operator.getitem, where, document)
    if isinstance(changed, list):
        changed.append({"model": "x", "files": {"sha256": "", "size_bytes": 0, "more": 1}})
    else:
        changed["reviewed_by"] = "somebody"
    claim.write_text(json.dumps(document))
    called = irbench("replay", claim)
    assert (called.code, asked) == (2, [])
    assert "was changed after it was written" in called.err or "is damaged" in called.err


def test_a_key_that_stands_twice_is_a_changed_receipt(monkeypatch: pytest.MonkeyPatch, claim: Path):
    asked = answering(monkeypatch, CLAIMED)
    claim.write_text(claim.read_text().replace('"verdict": "slower"', '"verdict": "faster", "verdict": "slower"'))
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
