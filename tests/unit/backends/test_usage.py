"""The Python that runs a model without irbench really runs it."""

from __future__ import annotations

from typing import Any

import models
import numpy as np
import pytest

from irbench.core import registry
from irbench.spec import Load
from irbench.spi import UsageWriter, UsedModel

BATCH = 3
SHAPE = (BATCH, 3, 8, 8)
LOADS = {
    "threads": Load(batch=BATCH, threads=2, precision="fp32"),
    "native": Load(batch=BATCH, threads=None, precision="native"),
    "streams": Load(batch=BATCH, threads=2, streams=2),
}


def run(name: str, model: UsedModel, load: Load) -> dict[str, Any]:
    """Execute what a backend says of a load, and return the variables that it leaves."""
    backend = registry.backend(name)
    assert isinstance(backend, UsageWriter)
    feed = {"pixels": np.ones(SHAPE, np.float32)}
    variables: dict[str, Any] = {"inputs": feed, "batches": [feed] * 4}
    exec(backend.usage(model, load, "cpu").program, variables)
    return variables


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> UsedModel:
    path = models.mlp(tmp_path_factory.mktemp("model")).path
    return UsedModel(str(path), {"pixels": SHAPE}, {"batch": BATCH})


@pytest.mark.parametrize("name", ["ort", "openvino"])
@pytest.mark.parametrize("kind", ["threads", "native"])
def test_a_call_at_a_time_answers(name: str, kind: str, mlp: UsedModel):
    outputs = run(name, mlp, LOADS[kind])["outputs"]
    first = outputs[0]
    assert np.asarray(first).shape[0] == BATCH


@pytest.mark.parametrize("name", ["ort", "openvino"])
def test_concurrent_calls_answer(name: str, mlp: UsedModel):
    answers = [outputs[0] for outputs in run(name, mlp, LOADS["streams"])["outputs"]]
    assert len(answers) == 4
    for answer in answers:
        np.testing.assert_allclose(answer, answers[0])


def test_options_and_sizes_are_set_as_they_were_measured(mlp: UsedModel):
    load = Load(batch=BATCH, threads=2, options={"intra_op.allow_spinning": "0", "graph_optimization_level": "basic"})
    options = run("ort", mlp, load)["session"].get_session_options()
    assert options.intra_op_num_threads == 2
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    compiled = run("openvino", mlp, Load(batch=BATCH, threads=1, precision="fp32"))["compiled"]
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    assert compiled.get_property("INFERENCE_PRECISION_HINT").to_string() == "f32"
    assert list(compiled.input(0).shape) == list(SHAPE)
