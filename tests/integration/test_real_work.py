"""Graphs of known length come in as levels of their own, for those who ask for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_work.layers import write_model

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("level", "layers"),
    [
        pytest.param("same", 40, marks=pytest.mark.slow),
        pytest.param("longer", 42, marks=pytest.mark.slow),
        pytest.param("twice", 80, marks=pytest.mark.ci),
    ],
)
def test_every_level_is_made_and_checked_by_the_optimiser(level: str, layers: int, tmp_path: Path) -> None:
    model = write_model(tmp_path / "layers.onnx")
    asked = ("optimize", model, "--level", level, "-o", tmp_path / "out.onnx", "--format", "json")
    command = [sys.executable, "-m", "benchmarks.real_work", *map(str, asked)]
    called = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert called.returncode == 0, called.stderr
    last: dict[str, Any] = json.loads(called.stdout)["optimized"][0]["steps"][-1]
    assert last["operators"]["MatMul"] == layers
    assert last["max_rel_error"] < 1e-4
