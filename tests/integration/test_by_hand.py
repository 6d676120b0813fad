"""Graphs by hand of what the zoo exports: found as passes of a plugin, checked like any other, answering the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NODES = {
    "transformer_base": {"hand": 110, "hand-vendor": 44},
    "bert_mini": {"hand": 84, "hand-vendor": 36},
    "vit_tiny": {"hand": 225, "hand-vendor": 93},
}
SMALLEST = "bert_mini"
EXACT = 1e-5


def by_hand(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Call irbench with the two levels more."""
    command = [sys.executable, "-m", "benchmarks.by_hand", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [name if name == SMALLEST else pytest.param(name, marks=pytest.mark.zoo) for name in NODES]
)
def test_graphs_by_hand_answer_what_the_export_answers(model: str) -> None:
    for level, nodes in NODES[model].items():
        called = by_hand("optimize", model, "--level", level, "--batch", 1, *_shape(model), "--format", "json")
        assert called.returncode == 0, called.stderr
        last: dict[str, Any] = json.loads(called.stdout)["optimized"][0]["steps"][-1]
        assert sum(last["operators"].values()) == nodes
        assert last["max_rel_error"] <= EXACT


@pytest.mark.ci
def test_the_levels_by_hand_are_there_only_where_they_are_asked_for() -> None:
    assert "hand-vendor" in by_hand("run", "none.onnx", "--optimize", "nothing").stderr
    command = [sys.executable, "-m", "irbench", "run", "none.onnx", "--optimize", "nothing"]
    plain = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "extended" in plain.stderr
    assert "hand-vendor" not in plain.stderr


def _shape(model: str) -> tuple[str, ...]:
    return () if model == "vit_tiny" else ("--shape", "tokens=1x32")
