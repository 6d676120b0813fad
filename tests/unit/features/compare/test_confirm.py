"""A regression is measured again before anybody is alarmed, where that is possible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from compared_runs import EVEN, MACHINE, store, times

import irbench
from irbench.errors import IrbenchError
from irbench.features.compare import confirm as confirmation
from irbench.features.compare.confirmed_regressions import Confirmation
from irbench.options.run import RunOptions
from irbench.runs.measurement import StoredRun
from irbench.runs.planned_graphs import ModelChanged
from irbench.store.folders import default_root
from irbench.system import host


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunOptions]:
    """Be the machine of the stored runs, and keep what is asked of measurements."""
    monkeypatch.setattr(host, "describe", lambda *_: MACHINE)
    return []


def confirmed(
    monkeypatch: pytest.MonkeyPatch,
    asked: list[RunOptions],
    again: Mapping[str, Sequence[float]] | IrbenchError,
    *,
    environment: Mapping[str, Any] = MACHINE,
    plan: Mapping[str, Any] | None = None,
) -> Confirmation:
    """Compare a run with one that is half as fast, and answer what is measured then."""
    root = default_root()
    store(root, {"ort": EVEN}, plan={"name": "before"}, environment=environment)
    store(root, {"ort": times(2)}, plan={"name": "after", **(plan or {})}, environment=environment)

    def measure(options: RunOptions, *_: object, **__: object) -> StoredRun:
        asked.append(options)
        if isinstance(again, IrbenchError):
            raise again
        writer = store(root, again)
        return StoredRun(writer.document, writer.folder)

    monkeypatch.setattr(confirmation, "measure", measure)
    found = irbench.compare("before", "after", fail_on="p50>5%", confirm=True, progress=None)
    assert found.confirmation is not None
    assert found.regressed is (found.confirmation.outcome in ("confirmed", "not-possible"))
    return found.confirmation


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        (times(2), "confirmed"),
        (EVEN, "not-confirmed"),
        (times(1.03), "not-confirmed"),
        (times(2)[:2], "undecided"),
    ],
    ids=["slow again", "as before", "hardly slower", "too few launches"],
)
def test_a_second_measurement_decides(
    monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions], again: Sequence[float], outcome: str
):
    found = confirmed(monkeypatch, asked, {"ort": again})
    assert (found.outcome, found.method) == (outcome, "new")
    assert asked[0].models == ("tiny",)


def test_a_row_that_did_not_run_again_decides_nothing(monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions]):
    assert confirmed(monkeypatch, asked, {"tf": EVEN}).outcome == "undecided"


def test_without_a_regression_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions]):
    store(default_root(), {"ort": EVEN}, plan={"name": "before"})
    store(default_root(), {"ort": EVEN}, plan={"name": "after"})
    monkeypatch.setattr(confirmation, "measure", lambda *_: pytest.fail("it was measured"))
    assert irbench.compare("before", "after", confirm=True, progress=None).confirmation is None


@pytest.mark.parametrize(
    ("obstacle", "again", "facts"),
    [
        ("other-machine", IrbenchError("nothing is measured"), {"environment": {**MACHINE, "cpus_allowed": 99}}),
        (
            "other-software",
            IrbenchError("nothing is measured"),
            {"environment": {**MACHINE, "distributions": {"onnxruntime": "1.0"}}},
        ),
        ("other-confinement", IrbenchError("nothing is measured"), {"environment": {**MACHINE, "confined": True}}),
        ("model-changed", ModelChanged(["tiny"]), {}),
        ("not-repeatable", IrbenchError("the model is gone"), {}),
    ],
)
def test_what_cannot_be_measured_again_is_an_alarm_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions], obstacle: str, again: IrbenchError, facts: dict[str, Any]
):
    found = confirmed(monkeypatch, asked, again, **facts)
    assert found.obstacle is not None
    assert (found.outcome, found.obstacle.code) == ("not-possible", obstacle)
    assert bool(asked) is (not facts)


def test_a_plan_that_cannot_be_repeated_is_no_error(monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions]):
    found = confirmed(monkeypatch, asked, {"ort": EVEN}, plan={"data_in_memory": 2})
    assert found.obstacle is not None
    assert found.obstacle.code == "not-repeatable"


def test_models_are_measured_side_by_side_whether_or_not_their_outputs_differ(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "describe", lambda *_: MACHINE)
    root, asked = default_root(), []
    store(root, {"ort": EVEN}, plan={"name": "before", "models": ["old"]}, table={"model": "old"})
    store(root, {"ort": times(2)}, plan={"name": "after", "models": ["new"]}, table={"model": "new"})

    def measure(options: RunOptions, *_: object, side_by_side: bool, **__: object) -> StoredRun:
        asked.append((options.models, side_by_side))
        writer = store(root, {"ort": times(2)}, table={"model": "new"})
        return StoredRun(writer.document, writer.folder)

    monkeypatch.setattr(confirmation, "measure", measure)
    irbench.compare("before", "after", fail_on="p50>5%", confirm=True, progress=None)
    assert asked == [(("old", "new"), True)]


def test_files_of_one_name_are_not_measured_in_one_run(monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions]):
    root = default_root()
    for name, level in (("old", EVEN), ("new", times(2))):
        store(root, {"ort": level}, plan={"name": name, "models": ["net"], "sources": [f"/{name}/net.onnx"]})

    def measure(options: RunOptions, *_: object, **__: object) -> StoredRun:
        asked.append(options)
        writer = store(root, {"ort": times(2)})
        return StoredRun(writer.document, writer.folder)

    monkeypatch.setattr(confirmation, "measure", measure)
    found = irbench.compare("old", "new", confirm=True, progress=None).confirmation
    assert found is not None
    assert (found.outcome, found.method) == ("confirmed", "new")
    assert [options.models for options in asked] == [("/new/net.onnx",)]


def test_own_code_is_measured_again_only_if_it_is_allowed(monkeypatch: pytest.MonkeyPatch, asked: list[RunOptions]):
    cells = {"mine": {"kind": "command", "target": "./loop {model}"}}
    found = confirmed(monkeypatch, asked, {"ort": times(2)}, plan={"cells": cells})
    assert found.obstacle is not None
    assert (found.outcome, found.obstacle.code, asked) == ("not-possible", "own-code", [])
    assert json.loads(msgspec.json.encode(found.obstacle)) == {
        "code": "own-code",
        "facts": {"code": ["mine=./loop {model}"]},
    }
    allowed = irbench.compare(
        "before", "after", fail_on="p50>5%", confirm=True, allow_own_code=True, progress=None
    ).confirmation
    assert allowed is not None
    assert (allowed.outcome, list(asked[0].cells)) == ("confirmed", ["mine"])
