"""Everything that ``irbench tune`` prints for a setting, executed: what comes out is what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import programs
import pytest
from decoders import write_decoder, write_encoder_and_decoder, write_pair
from front_door import irbench
from onnx import TensorProto, helper, numpy_helper

from irbench.core import registry
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import setting_of
from irbench.features.tune.run import use_of
from irbench.features.tune.tuning_rows import TuningRows, tuning_rows
from irbench.options.run import RunOptions
from irbench.spec import Cell, Workload
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Array
from irbench.worker.feed_turns import turns_of_streams
from irbench.worker.inference import OpenSession

BACKENDS = ("ort", "openvino")
SINGLE = {"streams": (1,), "instances": (1,)}


def write_network(path: Path, *, length: str = "length") -> Path:
    """Write two layers on sequences of a dynamic length, whose values are scaled by a constant input."""
    draw = np.random.default_rng(0)
    weights = {
        "first": draw.normal(size=(8, 32)).astype(np.float32),
        "second": draw.normal(size=(32, 4)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["scaled"]),
        helper.make_node("MatMul", ["scaled", "first"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["positive"]),
        helper.make_node("MatMul", ["positive", "second"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", length, 8]),
            helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", length, 4])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what makes the rows of a search, with the folder that commands and Python run in."""
    monkeypatch.chdir(tmp_path)

    def make(model: Path, options: dict[str, Any], **run: Any) -> tuple[TuningRows, TuneOptions]:
        asked = RunOptions(models=(str(model),), **{"backends": BACKENDS, "threads": (1,), **run})
        tuned = TuneOptions(str(model), asked, **{**SINGLE, **options})
        return tuning_rows(tuned, tmp_path / "scratch", lambda _line: None), tuned

    return make


def measured(cell: Cell, workload: Workload) -> Iterator[tuple[dict[str, Array], tuple[Array, ...]]]:
    """Yield each sample as the graph of a row takes it, with what the row answers."""
    assert cell.artifact is not None
    backend = registry.backend(cell.backend)
    (turns,) = turns_of_streams(workload.bundle, workload.sizes, workload.feeding, cell.artifact, streams=1)
    names = [spec.name for spec in cell.artifact.inputs]
    with OpenSession(backend, cell.artifact, cell.load, cell.device) as session:
        for _ in range(workload.feeding.count):
            feed = turns.next()
            yield dict(zip(names, feed, strict=True)), tuple(np.array(array) for array in session.answer(feed))


def require_same(rows: TuningRows, options: TuneOptions, cell: Cell, folder: Path) -> tuple[str, ...]:
    """Run the program that is printed for a row, compare its outputs with the row's, and return its command."""
    command, code = use_of(rows, options, setting_of(cell))
    calls = list(measured(cell, rows.planned.group.workload_of(cell)))
    program = programs.loaded(programs.written(code, cell, folder / cell.id.replace("/", "-")))
    for outputs, (_, expected) in zip(programs.answers(program, [inputs for inputs, _ in calls]), calls, strict=True):
        for output, right in zip(outputs, expected, strict=not isinstance(cell.artifact, GenerationArtifact)):
            np.testing.assert_allclose(output, right, rtol=1e-5, atol=1e-6 * max(1.0, float(np.abs(right).max())))
    return command


def of_level(rows: TuningRows, level: str) -> list[Cell]:
    found = [cell for cell in rows.space.cells if cell.artifact is not None and level in cell.artifact.variant]
    assert {cell.backend for cell in found} == set(BACKENDS)
    return found


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A thousand times as large as what is generated: a graph that was calibrated on that clips them."""
    draw = np.random.default_rng(1)
    np.savez(tmp_path / "samples.npz", x=1000 * draw.choice([-1.0, 1.0], size=(6, 5, 8)).astype(np.float32))
    return tmp_path / "samples.npz"


@pytest.mark.ci
def test_a_quantised_graph_is_made_on_the_same_data_at_the_same_sizes(
    tmp_path: Path, samples: Path, searched: Any
) -> None:
    options = {"optimize": ("none", "int8-static")}
    rows, tuned = searched(write_network(tmp_path / "net.onnx"), options, data=samples, value={"scale": (0.5,)})
    for cell in of_level(rows, "int8"):
        command = require_same(rows, tuned, cell, tmp_path)
        assert rows.planned.group.workload_of(cell).batch == 1
        assert command[command.index("--data") + 1] == str(samples)
        assert command[command.index("--value") + 1] == "scale=0.5"
        assert command[command.index("--batch") + 1] == "1"


@pytest.mark.ci
def test_dynamic_dimensions_are_bound_as_they_were(tmp_path: Path, searched: Any) -> None:
    run = {"shape": {"length": (5,)}, "value": {"scale": (0.5,)}, "batch": (3,)}
    rows, tuned = searched(write_network(tmp_path / "net.onnx"), {"optimize": ("none", "extended", "fp16")}, **run)
    for cell in rows.space.cells:
        if cell.load.precision == "fp32":
            require_same(rows, tuned, cell, tmp_path)
        assert (
            "'x': ('float32', (3, 5, 8))" in use_of(rows, tuned, setting_of(cell))[1] or cell.load.precision == "fp16"
        )


@pytest.mark.ci
def test_samples_in_memory_leave_a_program_without_a_command(tmp_path: Path, searched: Any) -> None:
    data = tuple({"x": np.full((1, 5, 8), 1000.0 * sign, np.float32)} for sign in (-1, 1))
    rows, tuned = searched(write_network(tmp_path / "net.onnx"), {"optimize": ("none", "int8-static")}, data=data)
    for cell in of_level(rows, "int8"):
        assert require_same(rows, tuned, cell, tmp_path) == ()


@pytest.mark.ci
def test_concurrent_calls_of_an_optimised_graph_answer_alike(tmp_path: Path, searched: Any) -> None:
    options = {"optimize": ("extended",), "streams": (2,)}
    run = {"shape": {"length": (5,)}, "batch": (1,), "threads": (2,)}
    rows, tuned = searched(write_network(tmp_path / "net.onnx"), options, **run)
    for cell in of_level(rows, "extended"):
        assert cell.load.streams == 2
        require_same(rows, tuned, cell, tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("write", [write_decoder, write_pair, write_encoder_and_decoder], ids=["one", "pair", "three"])
def test_a_tuned_decoder_generates_the_same_tokens(tmp_path: Path, searched: Any, write: Any) -> None:
    model = write(tmp_path / "decoder.onnx" if write is write_decoder else tmp_path)
    rows, tuned = searched(model, {"optimize": ("none", "extended")}, generate=5, prompt=(4,))
    for cell in rows.space.cells:
        command = require_same(rows, tuned, cell, tmp_path)
        assert command[command.index("--generate") + 1] == "5"


@pytest.mark.slow
def test_the_command_measures_the_same_graph_again(tmp_path: Path, samples: Path, searched: Any) -> None:
    options = {"optimize": ("none", "int8-static")}
    rows, tuned = searched(write_network(tmp_path / "net.onnx"), options, data=samples, value={"scale": (0.5,)})
    for cell in rows.space.cells:
        command = require_same(rows, tuned, cell, tmp_path)
        again = irbench(*command[1:], "--quick", "--budget", "1s", "--format", "json")
        assert again.code == 0, again.err
        (row,) = again.document["groups"][0]["cells"]
        assert cell.artifact is not None
        assert (row["backend"], row["batch"], row["requested"]["threads"]) == (cell.backend, 1, cell.load.threads)
        assert row["state"] == "ok"
        assert row["graph_files"]["sha256"] == (cell.artifact.files.sha256 if cell.artifact.files else None)
