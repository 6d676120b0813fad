"""The commands that are printed for a setting ask for all that it was measured with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from irbench.features.tune.run import graph_command_of
from irbench.options.run import RunOptions
from irbench.spec import Artifact, Bundle, Cell, Load, Workload

ARTIFACT = Artifact("onnx", Path("kept/model.onnx"), (), (), variant="extended-int8-static")
CELL = Cell("ort", ARTIFACT, "ort", "cpu", Load(batch=2))
WORKLOAD = Workload(Bundle("shop/model", (), (ARTIFACT,)), {"batch": 2})
ASKED = RunOptions(
    models=("shop/model.keras",),
    data=Path("my photos"),
    shape={"length": (5,), "x": (2, 5)},
    value={"sr": (16000,)},
    imports=("layers", "losses"),
)


def test_an_optimised_graph_is_asked_for_with_everything_that_made_it() -> None:
    assert graph_command_of(CELL, WORKLOAD, ASKED) == (
        *("irbench", "optimize", "shop/model.keras"),
        *("--level", "extended", "--precision", "int8", "--quantize", "static"),
        *("--batch", "2", "--shape", "length=5", "--shape", "x=2x5", "--data", "my photos", "--value", "sr=16000"),
        *("--import", "layers", "--import", "losses", "-o", "shop-model.extended-int8-static.onnx"),
    )


def test_only_int8_names_how_it_is_quantised() -> None:
    words = graph_command_of(replace(CELL, artifact=replace(ARTIFACT, variant="basic-fp16")), WORKLOAD, ASKED)
    assert words[words.index("--precision") + 1] == "fp16"
    assert "--quantize" not in words


def test_no_command_is_named_that_would_write_another_graph() -> None:
    in_memory = replace(ASKED, data=({"x": np.ones(3)},))
    assert graph_command_of(CELL, WORKLOAD, in_memory) == ()
    assert graph_command_of(replace(CELL, dynamic=True), WORKLOAD, ASKED) == ()
    assert graph_command_of(replace(CELL, artifact=replace(ARTIFACT, variant="")), WORKLOAD, ASKED) == ()
