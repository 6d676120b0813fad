"""The TensorFlow backends on real graphs, each load in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.spec import Artifact, Load, TensorSpec
from irbench.worker import Worker, call_in_worker

pytestmark = pytest.mark.ci
pytest.importorskip("irbench_tf")
if not any(
    name.lower() == "tensorflow"
    for name in (distribution.metadata["Name"] for distribution in metadata.distributions())
):
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

KINDS = ("dense", "convolution", "recurrent", "sequence", "sum")
DEADLINE_S = 120

Ask = Callable[..., Any]


def worker(function: str, *arguments: Any) -> Any:
    return call_in_worker(f"tf_checks:{function}", *arguments, deadline_s=DEADLINE_S)


def feed_for(kind: str, batch: int) -> np.ndarray:
    random = np.random.default_rng((3, batch))
    if kind == "dense":
        return random.uniform(-1, 1, (batch, 8)).astype(np.float32)
    if kind == "convolution":
        return random.uniform(-1, 1, (batch, 16, 16, 3)).astype(np.float32)
    return random.integers(0, 11, (batch, {"recurrent": 6, "sequence": 5, "sum": 3}[kind])).astype(np.int32)


def asking(log: Path) -> Iterator[Ask]:
    with Worker(log) as process:
        yield lambda function, *arguments: process.ask(f"tf_checks:{function}", *arguments, deadline_s=DEADLINE_S)


@pytest.fixture(scope="module")
def framework(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks one process that has the whole of TensorFlow in it, as an exporter's has."""
    yield from asking(tmp_path_factory.mktemp("framework") / "log")


@pytest.fixture(scope="module", params=["tf", "tf-xla"])
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks one process of a backend for answers with one thread."""
    with Worker(tmp_path_factory.mktemp("runtime") / "log") as process:
        name = request.param
        yield lambda *arguments: process.ask("tf_checks:answer", name, *arguments, deadline_s=DEADLINE_S)


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Ask]:
    """Asks a process whose environment may narrow types."""
    yield from asking(tmp_path / "log")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory, framework: Ask) -> dict[str, Artifact]:
    return dict(zip(KINDS, framework("write_all", tmp_path_factory.mktemp("graphs"), KINDS), strict=True))


@pytest.fixture(scope="module")
def expected(framework: Ask) -> dict[tuple[str, int], list[Any]]:
    cases = [(kind, batch) for kind in KINDS for batch in (1, 3)]
    answers = framework("expected_of_all", tuple(kind for kind, _ in cases), tuple(feed_for(*case) for case in cases))
    return dict(zip(cases, answers, strict=True))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sum"])
def test_a_frozen_graph_answers_what_the_model_with_variables_answers(
    runtime: Ask, kind: str, graphs: dict[str, Artifact], expected: dict[tuple[str, int], list[Any]]
):
    for batch in (1, 3):
        outputs, effective = runtime(graphs[kind], Load(batch=batch, threads=1), (feed_for(kind, batch),))
        assert (effective["precision"], effective["threads"], effective["device"]) == ("fp32", 1, "cpu")
        assert len(outputs) == len(expected[kind, batch])
        for tensor, wanted in zip(outputs, expected[kind, batch], strict=True):
            np.testing.assert_allclose(tensor, wanted, rtol=1e-5, atol=1e-6)


def test_a_loop_answers_the_same_as_a_function(
    runtime: Ask, graphs: dict[str, Artifact], expected: dict[tuple[str, int], list[Any]]
):
    load = Load(batch=3, threads=1, options={"loops": "functional"})
    (output,), _ = runtime(graphs["recurrent"], load, (feed_for("recurrent", 3),))
    np.testing.assert_allclose(output, expected["recurrent", 3][0], rtol=1e-5, atol=1e-6)


def test_a_file_that_is_no_graph_is_refused(runtime: Ask, tmp_path: Path):
    broken = tmp_path / "graph.pb"
    broken.write_bytes(b"\xff" * 64)
    artifact = Artifact(
        "tf-graph", broken, (TensorSpec("x", "float32", (1, 8)),), (TensorSpec("y", "float32", (1, 4)),)
    )
    message, hint = runtime(artifact, Load(threads=1), (feed_for("dense", 1),))
    assert "graph.pb" in message
    assert hint


def test_freezing_leaves_no_variable_and_no_operation_that_only_one_device_has(
    framework: Ask, graphs: dict[str, Artifact]
):
    counted = framework("operations", graphs["convolution"].path)
    assert counted["Conv2D"] == 1
    assert counted["Placeholder"] == 1
    assert not [operation for operation in counted if "Variable" in operation or operation.startswith("_")]


def test_a_frozen_loop_stays_a_loop(framework: Ask, graphs: dict[str, Artifact]):
    counted = framework("operations", graphs["recurrent"].path)
    assert counted["While"] == 1
    assert counted["MatMul"] >= 2


def test_a_graph_file_has_its_digest_and_the_names_its_artifact_says(graphs: dict[str, Artifact]):
    artifact = graphs["sequence"]
    assert artifact.path.name == "graph.pb"
    assert len(artifact.sha256) == 64
    assert artifact.inputs == (TensorSpec("tokens", "int32", ("batch", "length")),)
    assert artifact.outputs == (TensorSpec("states", "float32", ("batch", "length", 8)),)


def test_free_dimensions_get_names_without_being_told_any(framework: Ask):
    inputs, outputs = framework("default_specs")
    assert inputs == (TensorSpec("tokens", "int32", ("batch", "tokens_1")),)
    assert outputs == (TensorSpec("output_0", "float32", ("batch", "tokens_1", 8)),)


def test_weights_beyond_what_a_file_can_hold_are_refused_in_words(framework: Ask):
    assert "4.3 GB" in framework("freeze_too_large")


def test_an_operation_inside_may_be_called_like_an_output(framework: Ask):
    (output,) = framework("freeze_with_a_clash")
    np.testing.assert_array_equal(output, np.full((1, 2), 4.0, np.float32))


def test_the_public_api_comes_on_demand_after_the_lean_import():
    lean, full, version, total = worker("lean_then_full")
    assert lean < full / 3
    assert version == metadata.version("tensorflow")
    assert total == 8.0


def test_bf16_really_has_operations_in_bf16_or_says_that_it_has_none(
    graphs: dict[str, Artifact], expected: dict[tuple[str, int], list[Any]], narrow: Ask
):
    for kind in ("convolution", "recurrent"):
        outcome = narrow("answer", "tf", graphs[kind], Load(precision="bf16"), (feed_for(kind, 3),))
        if isinstance(outcome[0], str):
            assert "bf16" in outcome[0]
            continue
        outputs, effective = outcome
        assert effective["precision"] == "bf16"
        assert effective["bf16_nodes"] > 0
        exact = expected[kind, 3][0]
        assert 0 < np.abs(outputs[0] - exact).max() < 0.05 * np.abs(exact).max()
    message, hint = narrow("answer", "tf", graphs["sum"], Load(precision="bf16"), (feed_for("sum", 2),))
    assert "bf16" in message
    assert "fp32" in hint


def test_native_precision_on_the_cpu_turns_out_to_be_fp32(graphs: dict[str, Artifact]):
    _, effective = worker(
        "answer", "tf", graphs["dense"], Load(precision="native", threads=None), (feed_for("dense", 1),)
    )
    assert effective["precision"] == "fp32"
    assert effective["intra_op_threads"] is None


def test_a_gpu_that_is_not_there_is_refused(graphs: dict[str, Artifact]):
    outcome = worker("answer", "tf", graphs["dense"], Load(), (feed_for("dense", 1),), "gpu")
    if isinstance(outcome[0], str):
        assert "GPU" in outcome[0]
    else:
        assert outcome[1]["device"] == "gpu"


def test_options_reach_tensorflow(graphs: dict[str, Artifact]):
    load = Load(options={"onednn": "0", "grappler": "all", "inter_op_threads": "1"})
    _, effective = worker("answer", "tf", graphs["convolution"], load, (feed_for("convolution", 1),))
    assert (effective["onednn"], effective["grappler"], effective["inter_op_threads"]) == (False, "all", 1)
