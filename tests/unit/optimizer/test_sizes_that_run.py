"""Sizes that nobody gave are searched until the original runs, and a graph that runs at none says what to give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import graph

from irbench.onnx.reading import signature
from irbench.optimizer.check_sizes import base_sizes
from irbench.optimizer.job import OptimizationJob, OptimizationOutcome
from irbench.optimizer.pipeline import run_job
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.step_check import OriginalRefused
from irbench.spec import Artifact, Bundle

CACHED = """(float[batch,4,new,8] x, float[batch,4,past,8] past_keys, float[batch,1,1,total] attention_mask)
=> (float[batch,4,new,8] y, float[batch,4,total,8] present) {
    present = Concat <axis=2> (past_keys, x)
    turned = Transpose <perm=[0,1,3,2]> (present)
    scores = MatMul (x, turned)
    masked = Add (scores, attention_mask)
    kept = Softmax <axis=-1> (masked)
    answer = MatMul (kept, present)
    y = Identity (answer)
}"""
POSITIONS = """(int64[batch,length] tokens) => (float[batch,length,2] y) {
    sizes = Shape (tokens)
    one = Constant <value_int=1> ()
    zero = Constant <value_int=0> ()
    length = Gather (sizes, one)
    places = Range (zero, length, one)
    rows = Gather (table, places)
    words = Gather (vocabulary, tokens)
    sums = Add (words, rows)
    y = Identity (sums)
}"""


def optimised(folder: Path, text: str, weights: dict[str, Any] | None = None) -> OptimizationOutcome:
    path = folder / "model.onnx"
    onnx.save(ir.to_proto(graph(text, weights, 18)), path)
    read = signature.read(path)
    artifact = Artifact("onnx", path, read.inputs, read.outputs, opset=read.opset)
    bundle = Bundle("tiny", models.logical_inputs(artifact), (artifact,))
    (folder / "result").mkdir()
    known = {"batch": 2}
    job = OptimizationJob(
        artifact,
        bundle,
        known,
        Recipe("custom", ("remove_redundant",)),
        folder / "result",
        "ort",
        candidates=tuple(base_sizes(artifact.inputs, known)),
    )
    return run_job(job, lambda _: None)


def test_a_decoder_is_checked_at_a_total_length_that_follows_from_its_parts(tmp_path: Path) -> None:
    checked = optimised(tmp_path, CACHED).checked
    assert checked is not None
    assert checked.computed == {"total": "new + past"}
    assert all(case.sizes["total"] == case.sizes["new"] + case.sizes["past"] for case in checked.inputs)
    assert len({(case.sizes["new"], case.sizes["past"]) for case in checked.inputs}) > 1
    assert checked.unvaried == ()


@pytest.mark.parametrize(("rows", "first"), [(64, 16), (5, 4)])
def test_a_table_of_positions_bounds_the_length(tmp_path: Path, rows: int, first: int) -> None:
    drawn = np.random.default_rng(0).standard_normal((100, 2)).astype(np.float32)
    weights = {"vocabulary": drawn, "table": drawn[:rows]}
    checked = optimised(tmp_path, POSITIONS, weights).checked
    assert checked is not None
    assert max(case.sizes["length"] for case in checked.inputs) == first


def test_a_graph_that_runs_at_no_size_is_refused_with_the_dimensions_to_give(tmp_path: Path) -> None:
    text = "(float[batch,length] x) => (float[batch,77] y) { sums = Add (x, row)\n y = Identity (sums) }"
    with pytest.raises(OriginalRefused) as caught:
        optimised(tmp_path, text, {"row": np.ones(77, np.float32)})
    assert "--shape length=SIZE" in (caught.value.hint or "")
