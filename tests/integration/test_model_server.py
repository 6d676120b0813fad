"""A model server as a row beside backends, through the front door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import models
import pytest
from fake_runs import FASTEST
from front_door import Called, irbench
from model_server import model_server

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def run(model: Path, address: str, results: Path) -> Called:
    cell = f"server={address}"
    return irbench(
        "run", model, "--backends", "ort", "--cell", cell, "--format", "json", "--results", results, *FASTEST
    )


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_a_server_is_a_row_whose_outputs_are_verified_and_whose_parts_are_shown(
    model: Path, tmp_path: Path, binary: bool
) -> None:
    with model_server(model, binary=binary) as address:
        called = run(model, address, tmp_path)
    assert called.code == 0, called.err
    (row,) = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "server"]
    assert row["state"] == "ok"
    assert row["output_error"]["max_rel"] < 1e-5
    assert [stage["name"] for stage in row["stages"]] == ["encode", "server", "decode"]


def test_a_server_with_wrong_answers_has_no_speed(model: Path, tmp_path: Path) -> None:
    with model_server(model, wrong_after=0) as address:
        called = run(model, address, tmp_path)
    assert called.code == 1
    (row,) = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "server"]
    assert row["state"] == "mismatch"


@pytest.mark.parametrize(("ending", "says"), [("net", "did not answer"), ("none", "404")])
def test_a_server_that_is_not_there_or_lacks_the_model_is_a_row_with_the_reason(
    model: Path, tmp_path: Path, ending: str, says: str
) -> None:
    with model_server(model) as address:
        gone = address
        if ending != "net":
            called = run(model, address.replace("/net", f"/{ending}"), tmp_path)
    if ending == "net":
        called = run(model, gone, tmp_path)
    (row,) = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "server"]
    assert row["state"] == "failed"
    assert says in row["failure"]["message"]


def test_an_address_that_is_none_is_refused(model: Path) -> None:
    called = irbench("run", model, "--cell", "server=http://localhost:8000/net")
    assert called.code == 2
    assert "/v2/models/NAME" in called.err


def test_a_server_is_given_requests_as_they_arrive(model: Path, tmp_path: Path) -> None:
    with model_server(model) as address:
        called = irbench(
            "serve", model, "--backends", "none", "--cell", f"server={address}", "--rate", "20", "--for", "1s",
            "--budget", "3s", "--streams", "2", "--format", "json", "--results", tmp_path,
        )  # fmt: skip
    assert called.code == 0, called.err
    (row,) = called.document["serving"][0]["rows"]
    assert row["load"]["requests"] >= 20
    assert row["load"]["server"] is None


def test_what_a_server_says_of_its_queue_stands_beside_the_rest_of_a_call(model: Path, tmp_path: Path) -> None:
    with model_server(model, statistics=True) as address:
        called = irbench(
            "serve", model, "--backends", "none", "--cell", f"server={address}", "--rate", "20", "--for", "1s",
            "--budget", "3s", "--format", "json", "--results", tmp_path,
        )  # fmt: skip
    assert called.code == 0, called.err
    (row,) = called.document["serving"][0]["rows"]
    server = row["load"]["server"]
    assert (server["queue_ms"], server["compute_ms"]) == (pytest.approx(2), pytest.approx(3))
    shown = irbench("show", called.document["run_id"], "--results", tmp_path)
    assert "server queue ms" in shown.out


def every_third(number: int) -> bool:
    return number % 3 == 0


def test_a_request_that_a_server_refuses_counts_as_refused_and_so_does_none_of_the_warm_up(
    model: Path, tmp_path: Path
) -> None:
    with model_server(model, refuses=every_third) as address:
        called = irbench(
            "serve", model, "--backends", "none", "--cell", f"server={address}", "--rate", "20", "--for", "1s",
            "--budget", "3s", "--streams", "2", "--format", "json", "--results", tmp_path,
        )  # fmt: skip
    assert called.code == 0, called.err
    (row,) = called.document["serving"][0]["rows"]
    load = row["load"]
    assert 0 < load["refused"] < load["requests"]
    assert load["given_up"] < load["requests"] - load["refused"]
    assert "refused" in irbench("show", called.document["run_id"], "--results", tmp_path).out


def test_calls_of_the_warm_up_that_a_server_refuses_are_repeated_and_the_row_says_how_many(
    model: Path, tmp_path: Path
) -> None:
    with model_server(model, refuses=lambda number: number in {2, 4, 5}) as address:
        called = run(model, address, tmp_path)
    (row,) = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "server"]
    assert row["state"] == "ok"
    assert {"code": "refused-in-warm-up", "facts": {"calls": 3}} in row["marks"]


@pytest.mark.parametrize(
    ("refuses", "where"),
    [(every_third, "measure"), (lambda number: number > 1, "warm-up"), (lambda _: True, "compile")],
    ids=["timed calls", "all calls of the warm-up", "all calls"],
)
def test_a_run_of_calls_that_a_server_refuses_is_a_row_with_the_reason(
    model: Path, tmp_path: Path, refuses: Callable[[int], bool], where: str
) -> None:
    with model_server(model, refuses=refuses) as address:
        called = run(model, address, tmp_path)
    (row,) = [row for row in called.document["groups"][0]["cells"] if row["backend"] == "server"]
    assert row["state"] == "failed"
    assert row["failure"]["stage"] == where
    assert "refused a request: 503" in row["failure"]["message"]
    assert "irbench serve counts refused requests" in row["failure"]["hint"]
