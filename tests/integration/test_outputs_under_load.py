"""Outputs that are right at first and go bad later: such a row has its reason, wherever it is timed, and no speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import decoders
import fake_runs
import models
import pytest
from front_door import Called, irbench
from model_server import model_server

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]

CODE = """
import os
from pathlib import Path
import numpy as np
from onnx.reference import ReferenceEvaluator

def goes_bad(cell, after, value):
    answer, calls = [], [0]
    def call(inputs):
        calls[0] += 1
        if not answer:
            answer.extend(ReferenceEvaluator(str(cell.model)).run(None, inputs))
        return answer if calls[0] <= after else [np.full_like(array, value) for array in answer]
    return call

def to_nan(cell):
    return goes_bad(cell, 3, np.nan)

def to_zeros(cell):
    return goes_bad(cell, 3, 0)

def later(cell):  # its first process is right throughout
    launches = Path("launches")
    launches.write_text("x" if not launches.exists() else launches.read_text() + "x")
    return goes_bad(cell, 3 if len(launches.read_text()) > 1 else 10**9, 0)

def stages(cell):
    return {"prepare": lambda inputs: inputs, "infer": goes_bad(cell, 3, 0)}
"""
CHANGED = "its answers to the same inputs change between calls: "


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return models.mlp(tmp_path).path


def served(model: Path, *arguments: object) -> dict[str, dict[str, Any]]:
    called = irbench(
        "serve", model, "--backends", "fake-a", "--rate", "20", "--for", "2s", "--budget", "3s", "--format", "json",
        *arguments,
    )  # fmt: skip
    assert called.code == 1, called.err
    (table,) = called.document["serving"]
    rows = {row["backend"]: row for row in table["rows"]}
    assert len(rows) == len(table["rows"])
    return rows


def rows(called: Called) -> dict[str, dict[str, Any]]:
    assert called.code == 1, called.err
    return {row["backend"]: row for row in called.document["groups"][0]["cells"]}


def test_requests_whose_answers_go_bad_are_a_mismatch_without_a_load_that_names_the_request(model: Path) -> None:
    found = served(model, "--cell", "nan=code.py:to_nan", "--cell", "zeros=code.py:to_zeros")
    assert found["fake-a"]["state"] == "ok"
    for name, wrong in (("nan", "output 0 holds NaN"), ("zeros", "wrong outputs")):
        assert found[name]["state"] == "mismatch"
        assert found[name]["load"] is None
        message = found[name]["failure"]["message"]
        assert message.startswith(CHANGED + wrong)
        assert message.endswith("(first seen at request 1 of 40 at 20/s in launch 1)")


def test_a_model_server_whose_answers_go_bad_during_a_load_is_a_mismatch(model: Path) -> None:
    with model_server(model, wrong_after=20) as address:
        row = served(model, "--cell", f"server={address}", "--streams", "1")["server"]
    assert row["state"] == "mismatch"
    assert CHANGED in row["failure"]["message"]


def test_instances_have_their_answers_compared_too(model: Path) -> None:
    found = served(model, "--set", "fake-a.fault=drift", "--instances", "2", "--threads", "1", "--cpus", "0,1")
    assert found["fake-a"]["state"] == "mismatch"
    assert "first seen at request" in found["fake-a"]["failure"]["message"]


@pytest.mark.parametrize("function", ["to_zeros", "stages"])
def test_a_row_that_goes_bad_in_a_block_has_no_speedup_and_names_the_block(model: Path, function: str) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--format", "json", *fake_runs.FASTEST, "--cell",
        f"mine=code.py:{function}",
    )  # fmt: skip
    row = rows(called)["mine"]
    assert (row["state"], row["speedup"]) == ("mismatch", None)
    assert row["failure"]["message"].startswith(CHANGED)
    assert row["failure"]["message"].endswith("(first seen in block 1 of launch 1)")
    assert row["output_error"]["max_rel"] == pytest.approx(1)


def test_a_row_that_goes_bad_in_a_later_launch_has_no_speedup(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--format", "json", "--quick", *fake_runs.ENOUGH, "--cell",
        "mine=code.py:later",
    )  # fmt: skip
    row = rows(called)["mine"]
    assert (row["state"], row["speedup"]) == ("mismatch", None)
    assert row["failure"]["message"].endswith("(first seen in block 1 of launch 2)")
    again = irbench("show", called.document["run_id"])
    assert "first seen in block 1 of launch 2" in " ".join(again.out.split())


def test_a_row_that_goes_bad_beside_a_neighbour_is_a_mismatch(model: Path) -> None:
    called = irbench(
        "corun", model, "--backends", "fake-a", "--format", "json", *fake_runs.FASTEST, "--with", "cpu",
        "--set", "fake-a.fault=drift",
    )  # fmt: skip
    assert called.code == 1, called.err
    for row in called.document["groups"][0]["cells"]:
        assert row["state"] == "mismatch"
        assert "first seen in" in row["failure"]["message"]


def test_a_soak_says_after_how_many_calls_outputs_were_wrong_and_ends_there(model: Path) -> None:
    called = irbench(
        "soak", model, "--backends", "fake-a", "--calls", 6_000, "--format", "json", "--set", "fake-a.fault=drift"
    )
    assert called.code == 1, called.err
    (row,) = called.document["soaks"][0]["rows"]
    assert row["state"] == "mismatch"
    assert row["calls"] < 200
    assert row["failure"]["message"].endswith(f"(first seen after {row['calls']} calls)")


def test_texts_whose_tokens_change_are_a_mismatch(tmp_path: Path) -> None:
    decoder = decoders.write_decoder(tmp_path / "decoder.onnx")
    called = irbench(
        "run", decoder, "--backends", "fake-a", "--generate", "8", "--format", "json",
        *fake_runs.FASTEST, "--set", "fake-a.fault=decay",
    )  # fmt: skip
    row = rows(called)["fake-a"]
    assert row["state"] == "mismatch"
    assert row["failure"]["message"].endswith("(first seen in block 1 of launch 1)")
