"""Data, constants and decode loops through the front door, on scripted backends that answer as the reference does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_runs
import numpy as np
import onnx
import pytest
from front_door import irbench
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import irbench as library
from irbench.errors import IrbenchError
from irbench.spi import Array

pytestmark = pytest.mark.usefixtures("known_backends")

FAKES = ("--backends", "fake-a,fake-b")
WIDTH = 4


def tensor(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def write(file: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: dict[str, Array]) -> Path:
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    return file


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    """Return a model of audio of any length and a rate that must not be 0."""
    return write(
        tmp_path / "speech.onnx",
        [
            helper.make_node("Cast", ["sr"], ["rate"], to=TensorProto.FLOAT),
            helper.make_node("Div", ["audio", "rate"], ["scaled"]),
            helper.make_node("ReduceSum", ["scaled", "axes"], ["level"]),
        ],
        [tensor("audio", "N", "length"), tensor("sr", dtype=TensorProto.INT64)],
        [tensor("level", "N", 1)],
        {"axes": np.array([1])},
    )


def test_a_metric_gets_the_labels_of_images_in_a_folder_for_each_class(tmp_path: Path) -> None:
    for name in ("a-red", "b-green", "c-blue"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (8, 6), name[2:]).save(tmp_path / "photos" / name / f"{number}.png")
    model = write(
        tmp_path / "brightest.onnx",
        [helper.make_node("ReduceMean", ["image"], ["scores"], axes=[2, 3], keepdims=0)],
        [tensor("image", "N", 3, 4, 4)],
        [tensor("scores", "N", 3)],
        {},
    )
    (tmp_path / "metric.py").write_text(
        "def accuracy(inputs, outputs, labels):\n"
        "    classes = [sample['scores'].argmax() for sample in outputs]\n"
        "    return (classes == labels).mean()\n"
    )
    metric = f"{tmp_path / 'metric.py'}:accuracy>=1"
    called = irbench("run", model, *FAKES, "--data", tmp_path / "photos", "--metric", metric, "--format", "json")
    assert called.code == 0, called.err
    rows = called.document["groups"][0]["cells"]
    assert [(row["accuracy"]["value"], row["accuracy"]["samples"]) for row in rows] == [(1.0, 9)] * 2


@pytest.mark.parametrize("command", [["run", *FAKES], ["verify"], ["optimize"], ["tune"], ["export"], ["profile"]])
def test_data_are_refused_before_a_model_is_exported_for_them(
    command: list[str], own_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    for content, said in {None: "contains no samples", b"no image": "one.png is not a readable"}.items():
        if content is not None:
            (tmp_path / "photos" / "cat" / "one.png").write_bytes(content)
        called = irbench(*command, "cnn_cifar10", "--data", tmp_path / "photos")
        assert (called.code, said in called.err) == (2, True), called.err
        assert "export" not in called.err
    assert not list(own_home.rglob("*.onnx"))


@pytest.fixture
def step(tmp_path: Path) -> Path:
    """Return one step of a recurrent network: its next state, which is also longer, and in another dtype."""
    weights = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)).astype(np.float32)
    return write(
        tmp_path / "step.onnx",
        [
            helper.make_node("MatMul", ["h0", "weights"], ["moved"]),
            helper.make_node("Add", ["moved", "x"], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["h"]),
            helper.make_node("Concat", ["h", "h"], ["longer"], axis=1),
            helper.make_node("Cast", ["h"], ["halves"], to=TensorProto.FLOAT16),
        ],
        [tensor("x", 1, WIDTH), tensor("h0", 1, WIDTH)],
        [tensor("h", 1, WIDTH), tensor("longer", 1, "any"), tensor("halves", 1, WIDTH, dtype=TensorProto.FLOAT16)],
        {"weights": weights},
    )


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """Return a model of one dense layer."""
    weights = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "weights"], ["y"])
    return write(tmp_path / "dense.onnx", [node], [tensor("x", "N", 8)], [tensor("y", "N", 4)], {"weights": weights})


def utterances(folder: Path, count: int, length: int = 9) -> Path:
    folder.mkdir()
    for number in range(count):
        audio = np.random.default_rng(number).normal(size=(1, length))
        np.savez(folder / f"utterance{number}.npz", audio=audio)
    return folder


@pytest.mark.ci
def test_samples_take_turns_and_are_recorded(speech: Path, tmp_path: Path) -> None:
    called = fake_runs.run(speech, "--data", utterances(tmp_path / "talk", 3), "--value", "sr=16000")
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    assert table["shapes"] == {"audio": [1, 9], "sr": []}
    given = table["given_inputs"]
    assert (given["source"], given["samples"], given["values"]) == (str(tmp_path / "talk"), 3, {"sr": [16000]})
    assert list(given["sha256"]) == ["audio"]
    assert {cell["state"] for cell in table["cells"]} == {"ok"}
    assert called.document["plan"]["values"] == {"sr": [16000]}
    assert "data: talk (3 samples) · sr=16000" in " ".join(irbench("show").out.split())


@pytest.mark.ci
def test_models_of_one_table_are_fed_the_same_samples_and_checked_against_one_reference(
    dense: Path, tmp_path: Path
) -> None:
    changed = onnx.load(dense)
    weights = numpy_helper.to_array(changed.graph.initializer[0])
    changed.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * weights, "weights"))
    onnx.save(changed, tmp_path / "other.onnx")
    np.savez(tmp_path / "two.npz", x=np.ones((2, 8), np.float32))
    files = (dense, tmp_path / "other.onnx", "--data", tmp_path / "two.npz")
    called = irbench("run", *files, "--backends", "fake-a", "--format", "json", *fake_runs.FASTEST)
    (table,) = called.document["groups"]
    assert {cell["model"]: cell["state"] for cell in table["cells"]} == {"dense": "ok", "other": "mismatch"}
    assert all(cell["given_inputs"] is None and cell["verified_against"] is None for cell in table["cells"])


@pytest.mark.ci
def test_a_sample_that_fills_several_batches_is_told_of_each(dense: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", x=np.ones((1, 8), np.float32))
    called = fake_runs.run(dense, "--data", tmp_path / "one.npz", "--batch", "1,8")
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    given = {cell["batch"]: cell["given_inputs"] for cell in table["cells"]}
    assert table["given_inputs"]["rows_per_call"] == 0
    assert (given[1], given[8]["rows"], given[8]["rows_per_call"]) == (None, 1, 8)
    title = " ".join(irbench("show").out.split())
    assert "batch 1: data: one.npz (1 sample) · batch 8: data: one.npz (1 sample in 1 call of 8" in title


@pytest.mark.ci
def test_a_loop_is_measured_and_named_in_the_title(step: Path) -> None:
    looped = irbench("run", step, "--backends", "fake-a", *fake_runs.FASTEST, "--feedback", "h=h0")
    assert looped.code == 0, looped.err
    assert "decode loop: h -> h0" in " ".join(looped.out.split())


@pytest.mark.ci
def test_a_scalar_is_fed_back_to_every_runtime(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["t", "x"], ["later"])]
    scalar = [tensor("t"), tensor("x")]
    model = write(tmp_path / "clock.onnx", nodes, scalar, [tensor("later")], {})
    called = irbench(
        "run", model, "--backends", "ort,openvino", *fake_runs.FASTEST, "--feedback", "later=t", "--format", "json"
    )
    assert called.code == 0, called.err
    assert {cell["state"] for cell in called.document["groups"][0]["cells"]} == {"ok"}


@pytest.mark.parametrize(
    "asynchronous", [pytest.param("0", marks=pytest.mark.ci), pytest.param("1", marks=pytest.mark.slow)]
)
def test_streams_take_samples_and_loops(speech: Path, step: Path, tmp_path: Path, asynchronous: str) -> None:
    settings = ("--streams", "3", "--set", f"fake-a.async={asynchronous}")
    data = ("--data", utterances(tmp_path / "talk", 2), "--value", "sr=8000")
    for called in (fake_runs.run(speech, *data, *settings), fake_runs.run(step, "--feedback", "h=h0", *settings)):
        assert called.code == 0, called.err
        assert {cell["state"] for cell in called.document["groups"][0]["cells"]} == {"ok"}


@pytest.mark.ci
def test_a_backend_that_is_wrong_for_one_sample_gets_no_speedup(speech: Path, tmp_path: Path) -> None:
    data = ("--data", utterances(tmp_path / "talk", 3), "--value", "sr=8000")
    called = fake_runs.run(speech, *data, "--set", "fake-b.fault=wrong")
    assert called.code == 1
    assert fake_runs.cell(called, "fake-b")["state"] == "mismatch"


@pytest.mark.ci
def test_a_model_that_needs_a_constant_and_data_is_soaked(speech: Path, tmp_path: Path) -> None:
    data = ("--data", utterances(tmp_path / "talk", 3), "--value", "sr=16000", "--seed", 3)
    asked = ("soak", speech, "--backends", "fake-a", "--calls", 10, "--format", "json", *data)
    called = irbench(*asked)
    assert called.code == 0, called.err
    (table,) = called.document["soaks"]
    assert (table["given_inputs"]["samples"], table["given_inputs"]["values"]) == (3, {"sr": [16000]})
    assert table["verified_against"] is not None
    assert irbench(*asked, "--feedback", "level=audio").code == 2


@pytest.mark.parametrize("command", ["run", "verify"])
@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--data", "nowhere"), "There is no file or folder nowhere", "--data"),
        (("--value", "srr=1"), "no model has an input called 'srr'", "Did you mean sr?"),
        (("--value", "sr=0.5"), "int64 cannot hold 0.5", "one number"),
        (("--value", "sr=1", "--value", "sr=2"), "cannot be combined", "Leave one"),
        (("--feedback", "level=audio"), "cannot be fed back", "equal shapes"),
        (("--feedback", "levels=audio"), "no output called 'levels'", "Did you mean level?"),
        (("--feedback", "level"), "lacks an output or an input", ""),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(
    speech: Path, command: str, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    called = irbench(command, speech, *FAKES, "--shape", "audio=1x9", *arguments)
    assert called.code == 2
    assert message in " ".join(called.err.split())
    assert hint in " ".join(called.err.split())


def test_samples_of_several_lengths_are_refused(speech: Path, tmp_path: Path) -> None:
    data = utterances(tmp_path / "talk", 2)
    np.savez(data / "utterance7.npz", audio=np.zeros((1, 5)))
    called = irbench("run", speech, *FAKES, "--data", data)
    assert called.code == 2
    assert "'length' has the size 9" in called.err
    assert "One size" in called.err or "one size" in called.err


def test_copies_cannot_be_left_out_where_inputs_change(speech: Path, step: Path, tmp_path: Path) -> None:
    data = ("--data", utterances(tmp_path / "talk", 2))
    for model, given in ((speech, data), (step, ("--feedback", "h=h0"))):
        called = irbench("run", model, *FAKES, "--io", "bound", *given)
        assert called.code == 2
        assert "--io bound does not time copies" in called.err


@pytest.mark.ci
def test_one_sample_may_be_bound(speech: Path, tmp_path: Path) -> None:
    called = fake_runs.run(speech, "--data", utterances(tmp_path / "talk", 1), "--value", "sr=8000", "--io", "bound")
    assert called.code == 0, called.err


@pytest.mark.ci
def test_a_loop_is_verified_step_by_step_against_the_loop_of_the_reference(step: Path) -> None:
    right = irbench("verify", step, "--backends", "ort,fake-a", "--feedback", "h=h0", "--format", "json")
    assert right.code == 0, right.err
    assert all(cell["output_error"]["max_rel"] < 1e-5 for cell in right.document["cells"])


@pytest.mark.ci
@pytest.mark.parametrize("output", ["longer", "halves"])
def test_an_output_that_is_no_input_of_the_next_step_is_refused(step: Path, output: str) -> None:
    called = irbench("verify", step, "--backends", "fake-a", "--feedback", f"{output}=h0")
    assert called.code == 2
    assert "cannot be fed back" in " ".join(called.err.split())


@pytest.mark.ci
def test_verify_compares_every_sample_with_the_reference(speech: Path, tmp_path: Path) -> None:
    data = utterances(tmp_path / "talk", 3)
    called = irbench("verify", speech, "--backends", "ort,fake-a", "--data", data, "--value", "sr=8000")
    assert called.code == 0, called.err
    assert called.out.count("match") == 2


@pytest.mark.ci
def test_python_takes_arrays_in_memory(speech: Path) -> None:
    samples = [{"audio": np.full((2, 6), level)} for level in (1.0, 2.0)]
    asked = {"backends": "fake-a", "data": samples, "value": {"sr": 8000}}
    run = library.run(speech, progress=None, quick=True, budget="0.01s", **asked)  # type: ignore[arg-type]
    (table,) = run.document.groups
    assert table.given_inputs is not None
    assert (table.given_inputs.source, table.given_inputs.samples, table.batch) == (None, 4, 1)
    assert "data in memory (4 samples)" in " ".join(str(run).split())
    assert library.verify(speech, progress=None, **asked).ok  # type: ignore[arg-type]
    with pytest.raises(IrbenchError, match="data="):
        library.run(speech, data=[np.zeros(3)])  # type: ignore[list-item]


@pytest.mark.ci
def test_a_graph_is_calibrated_and_judged_on_data(dense: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.tile(np.random.default_rng(1).normal(size=(2, 8)), (5, 1)))
    asked = ("optimize", dense, "--precision", "int8", "--quantize", "static", "--format", "json")
    seeded = irbench(*asked)
    given = irbench(*asked, "--data", tmp_path / "rows.npy")
    assert (seeded.code, given.code) == (0, 0), given.err
    (without,), (with_data,) = (called.document["optimized"] for called in (seeded, given))
    assert without["key"] != with_data["key"]
    assert with_data["data"] == str(tmp_path / "rows.npy")
    assert list(with_data["data_sha256"]) == ["x"]
    assert with_data["agreement"]["samples"] == 6  # five pairs of rows: two calibrate, three judge
    assert "add -o FILE" in given.err


@pytest.mark.ci
def test_a_run_on_data_measures_graphs_that_were_calibrated_on_the_data(dense: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", 1000 * np.random.default_rng(1).choice([-1.0, 1.0], size=(16, 8)))
    asked = ("run", dense, "--backends", "ort", "--optimize", "none,int8-static", "--quick", "--budget", "1s")
    called = irbench(*asked, "--data", tmp_path / "rows.npy", "--format", "json")
    (group,) = called.document["groups"]
    # generated inputs are a thousand times smaller: a graph that was calibrated on them would clip these samples
    assert {cell["label"]: cell["state"] for cell in group["cells"]} == {"ort": "ok", "ort+basic-int8-static": "ok"}
