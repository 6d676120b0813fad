"""The optimiser leaves graphs alone that are fused already and whose weights have four bits, and still checks them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import genai_graphs
import onnx

from irbench.onnx.reading import signature
from irbench.optimizer.check_sizes import base_sizes
from irbench.optimizer.job import MODEL_FILE, OptimizationJob
from irbench.optimizer.pipeline import run_job
from irbench.optimizer.recipe import Recipe
from irbench.spec import Artifact, Bundle, InputSpec, is_named_as_mask


def fused_operators(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(path).graph.node if node.op_type not in ("Identity", "Cast"))


def test_a_decoder_with_4_bit_weights_keeps_its_operators_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    genai_graphs.write_decoder(path)
    read = signature.read(path)
    artifact = Artifact("onnx", path, read.inputs, read.outputs, opset=read.opset)
    inputs = tuple(InputSpec(spec, 0, 2, is_named_as_mask(spec.name)) for spec in read.inputs)
    bundle = Bundle("decoder", inputs, (artifact,))
    known = {"batch": 1}
    recipe = Recipe("custom", ("fold_shapes", "join_equal_sizes", "remove_redundant", "split_packed"))
    (tmp_path / "result").mkdir()
    job = OptimizationJob(
        artifact, bundle, known, recipe, tmp_path / "result", "ort", candidates=tuple(base_sizes(read.inputs, known))
    )
    outcome = run_job(job, lambda _: None)
    assert outcome.checked is not None
    assert outcome.checked.computed == {"total_sequence_length": "sequence_length + past_sequence_length"}
    assert outcome.steps[-1].nodes < outcome.steps[0].nodes  # the Identity before the output
    assert fused_operators(tmp_path / "result" / MODEL_FILE) == fused_operators(path)
