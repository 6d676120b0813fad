"""``irbench optimize`` and ``irbench run --optimize`` through their front door."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_runs import FASTEST
from front_door import irbench


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def test_each_pass_is_a_row_and_the_result_is_copied_where_it_is_wanted(model: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.onnx"
    called = irbench("optimize", model, "--passes", "fake-idle,fake-harmless", "--batch", "1", "-o", better)
    assert called.code == 0, called.err
    title, _, original, idle, harmless, path = called.out.splitlines()
    assert title.split() == ["mlp", "custom:", "6", "to", "7", "nodes"]
    assert original.split()[:2] == ["original", "6"]
    assert "nothing to do" in idle
    assert harmless.split() == ["fake-harmless", "7", "+1", "0", "+1", "Identity"]
    assert Path(path.strip()).read_bytes() == better.read_bytes()
    assert irbench("inspect", better, "--format", "json").document["graphs"][0]["operators"]["Identity"] == 1


def test_a_pass_that_breaks_the_model_is_one_line_and_its_remedy(model: Path) -> None:
    called = irbench("optimize", model, "--passes", "fake-harmless,fake-wrong")
    assert called.code == 2
    *_, problem, remedy = called.err.splitlines()
    assert problem.startswith("error: The pass fake-wrong breaks mlp: wrong outputs")
    assert remedy == "hint: Leave it out: --passes fake-harmless"


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--level", "most"), "'most'", "none, basic, extended, all"),
        (("--passes", "fake-armless"), "fake-armless", "fake-harmless"),
        (("--batch", "1,2"), "one size", "in turn"),
        (("another.onnx", "-o", "x.onnx"), "one file", "one model at a time"),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(model: Path, arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("optimize", model, *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy


@pytest.mark.slow
def test_a_run_measures_graphs_before_and_after_side_by_side(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--optimize", "none,basic", "--format", "json", *FASTEST
    )
    assert called.code == 0, called.err
    (group,) = called.document["groups"]
    labels = [cell["label"] for cell in group["cells"]]
    assert labels == ["fake-a", "fake-a+basic", "fake-b", "fake-b+basic"]
    assert [cell["artifact"] for cell in group["cells"]] == ["onnx", "onnx+basic"] * 2
    assert all(cell["state"] == "ok" for cell in group["cells"])
