"""Transformers and recurrent layers as Keras exports them, before and after their fusions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irbench.core import feeds
from irbench.exporter.build import export
from irbench.optimizer.optimized_bundles import optimize
from irbench.optimizer.recipe import build_recipe
from irbench.options.export import ExportOptions
from irbench.spec import BATCH, Bundle
from irbench.store import bundles
from irbench.worker import call_in_worker

TESTS = Path(__file__).parents[1]
BATCH_SIZE = 2
TRANSFORMERS = {
    "transformer_base": "transformer_base",
    "bert": f"{TESTS / 'keras_transformers.py'}:bert",
    "vit": f"{TESTS / 'keras_transformers.py'}:vit",
    "gpt": f"{TESTS / 'keras_transformers.py'}:gpt",
    "bert_mini": "bert_mini",
    "vit_tiny": "vit_tiny",
}
MOST_NODES = {
    "transformer_base": {"extended": 110, "all": 44},
    "bert": {"extended": 66, "all": 33},
    "vit": {"extended": 64, "all": 31},
    "gpt": {"extended": 64, "all": 31},
    "bert_mini": {"extended": 86, "all": 42},
    "vit_tiny": {"extended": 228, "all": 96},
}
EXACT = 1e-4
ASKED = [pytest.param(name, marks=() if ":" in source else pytest.mark.zoo) for name, source in TRANSFORMERS.items()]
"""Each model of the zoo takes a minute, and is of the same layers as a smaller one here."""


def exported(source: str, folder: Path) -> Bundle:
    weights = None if ":" not in source else "random"
    return bundles.load(export(source, ExportOptions(output=folder, weights=weights, layout="keep"), lambda _: None))


def check(bundle: Bundle, level: str, sizes: dict[str, int]) -> list[str]:
    """Optimise, compare both runtimes' answers with TensorFlow's, and return the operations that are left."""
    import onnx

    found = optimize(bundle, sizes, build_recipe(level), lambda _: None)
    feed = feeds.generate(bundle.inputs, {**bundle.defaults, BATCH: feeds.POOL}, bundle.seed)
    named = {spec.name: array[:BATCH_SIZE] for spec, array in zip(found.artifact.inputs, feed, strict=True)}
    references = bundles.reference_outputs(bundle)
    assert references is not None
    for outputs in call_in_worker("fused_checks:answers", found.artifact.path, named, deadline_s=300).values():
        for tensor, reference in zip(outputs, references, strict=True):
            expected = reference[:BATCH_SIZE]
            assert np.abs(tensor - expected).max() <= EXACT * np.abs(expected).max()
    return [node.op_type for node in onnx.load(found.artifact.path, load_external_data=False).graph.node]


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_a_transformer_falls_below_a_fifth_and_answers_the_same(name, tmp_path):
    bundle = exported(TRANSFORMERS[name], tmp_path / "bundle")
    before = int(str(bundle.details["nodes"]))
    sizes = {**bundle.defaults, BATCH: BATCH_SIZE}
    for level, most in MOST_NODES[name].items():
        operations = check(bundle, level, sizes)
        assert len(operations) <= most
        assert len(operations) < before / 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth"),
    [pytest.param("transformer_base", 6, marks=pytest.mark.zoo), ("gpt", 3)],
)
def test_a_transformer_of_any_length_is_fused_too(name, depth, tmp_path):
    bundle = exported(TRANSFORMERS[name], tmp_path / "bundle")
    operations = check(bundle, "extended", {})
    assert len(operations) < int(str(bundle.details["nodes"])) / 5
    assert operations.count("Attention") == depth
    assert operations.count("LayerNormalization") == 2 * depth + (name == "gpt")
    assert operations.count("Gelu") == depth


@pytest.mark.slow
@pytest.mark.parametrize(("reset_after", "sequences"), [(True, True), (False, False)])
@pytest.mark.parametrize("direction", ["forward", "backward", "bidirectional"])
def test_a_recurrent_layer_is_one_node(direction, reset_after, sequences, tmp_path):
    text = f"return keras_transformers.gru({reset_after}, {sequences}, {direction!r})"
    file = tmp_path / "layer.py"
    file.write_text(
        f"import sys\nsys.path.insert(0, {str(TESTS)!r})\nimport keras_transformers\ndef layer():\n    {text}\n"
    )
    operations = check(exported(f"{file}:layer", tmp_path / "bundle"), "basic", {})
    assert operations.count("GRU") == 1
    assert "Loop" not in operations
    assert len(operations) <= 5
