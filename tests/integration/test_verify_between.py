"""``irbench verify --between``: what two versions of a scripted runtime answer differently."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_environments import RUNTIME, make_environment
from front_door import irbench

import irbench as package

ONE_CASE = ("--suite", "onnx", "--only", "test_abs")
CHOSEN = ("--backends", "fake-versioned")


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return Pythons by what their runtime does."""
    folder = tmp_path_factory.mktemp("environments")
    wrong = make_environment(folder / "wrong", "1.1", {"fault": "wrong"})
    return {"right": make_environment(folder / "right", "1.0"), "wrong": wrong}


@pytest.mark.slow
def test_an_operator_whose_answers_changed_has_a_row(pythons: dict[str, Path]) -> None:
    called = irbench("verify", *ONE_CASE, "--between", pythons["right"], pythons["wrong"], *CHOSEN)
    assert called.code == 1
    table = " ".join(called.out.split())
    assert f"fake-versioned 1.0 {RUNTIME} 1.0 1 0 0 0 0" in table
    assert f"fake-versioned 1.1 {RUNTIME} 1.1 0 1 0 0 0" in table
    assert "operator cases fake-versioned 1.0 fake-versioned 1.1 most frequent reason" in table
    assert "Abs 1 passed wrong off by " in table


@pytest.mark.slow
def test_versions_that_answer_the_same_have_nothing_to_tell(pythons: dict[str, Path]) -> None:
    called = irbench("verify", *ONE_CASE, "--between", pythons["wrong"], pythons["wrong"], *CHOSEN)
    assert called.code == 0  # wrong before and after is no change
    assert "No case has another outcome in fake-versioned 1.1 b than in fake-versioned 1.1 a." in called.out


@pytest.mark.slow
def test_python_has_the_changes_as_values(pythons: dict[str, Path]) -> None:
    between = (str(pythons["right"]), str(pythons["wrong"]))
    found = package.verify(suite="onnx", only="test_abs", between=between, backends="fake-versioned", progress=None)
    assert not found.ok
    (change,) = found.report.changes  # type: ignore[union-attr]
    assert (change.operator, change.before, change.after, change.cases) == ("Abs", "passed", "wrong", ("test_abs",))


@pytest.mark.ci
def test_a_model_is_verified_in_both_versions(pythons: dict[str, Path], tmp_path: Path) -> None:
    model = models.mlp(tmp_path).path
    called = irbench("verify", model, "--between", pythons["right"], pythons["wrong"], *CHOSEN, "--format", "json")
    assert called.code == 1
    states = {cell["label"]: cell["state"] for cell in called.document["cells"]}
    assert states == {"fake-versioned 1.0": "ok", "fake-versioned 1.1": "mismatch"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--between", "installed"), "requires 2 arguments"),
        (("--between", "installed", "1.0"), "'1.0' does not name a runtime to measure"),
        (("--between", "installed", "installed", "--backends", "fake-a,fake-b"), "compared on one backend"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(arguments: tuple[str, ...], said: str) -> None:
    called = irbench("verify", *ONE_CASE, *arguments)
    assert called.code == 2
    assert said in called.err


def test_python_refuses_what_is_no_pair() -> None:
    with pytest.raises(package.IrbenchError, match="these are not two"):
        package.verify(suite="onnx", between=("installed",))  # type: ignore[arg-type]
