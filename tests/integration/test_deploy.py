"""``irbench deploy``: folders of measured rows, which run without irbench and are checked by their own check."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fake_runs
import models
import numpy as np
import onnx
import programs
import pytest
from decoders import write_decoder
from front_door import Called, irbench
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

GENEROUS = ("--tolerance", "1000")
"""Speed is compared and printed, and may be anything on a busy machine."""
OWN_CODE = """\
import onnxruntime


def load(cell):
    session = onnxruntime.InferenceSession(str(cell.model))
    return lambda inputs: session.run(None, inputs)
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    return models.mlp(tmp_path).path


def run(model: Path, *arguments: str) -> Called:
    called = irbench("run", model, *fake_runs.FASTEST, *arguments)
    assert called.code == 0, called.err
    return called


def deploy(row: str, folder: Path) -> Called:
    called = irbench("deploy", "latest", row, "-o", folder)
    assert called.code == 0, called.err
    return called


def require_agreement(folder: Path) -> None:
    checked = programs.checked(folder, *GENEROUS)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "was measured" in checked.stdout
    assert "outputs agree with" in checked.stdout
    assert "speed agrees" in checked.stdout


@pytest.mark.ci
def test_rows_of_onnx_runtime_and_openvino_run_without_irbench_as_they_were_measured(model: Path, tmp_path: Path):
    run(model, "--backends", "ort,openvino", "--streams", "1,2", "--batch", "3", "--threads", "2")
    for number, row in enumerate(("ort", "ort x2", "openvino", "openvino x2")):
        folder = tmp_path / str(number)
        said = deploy(row, folder)
        assert f"python {folder}/check.py" in said.out
        require_agreement(folder)
    shown = irbench("show", "latest", "--code", "openvino x2")
    assert shown.code == 0, shown.err
    assert shown.out == (folder / "infer.py").read_text()
    assert "irbench deploy" in shown.err
    without_code = irbench("show", "latest", "openvino")
    assert without_code.code == 2
    listed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert listed >= {
        "README.md",
        "check.py",
        "check/measured.json",
        "infer.py",
        "model/model.onnx",
        "requirements.txt",
    }
    assert "numpy==" in (folder / "requirements.txt").read_text()
    assert "openvino==" in (folder / "requirements.txt").read_text()
    card = (folder / "README.md").read_text()
    assert "openvino x2" in card
    assert "## Repeat the measurement" in card


@pytest.mark.ci
def test_bound_buffers_and_processes_are_deployed_as_they_were_measured(model: Path, tmp_path: Path):
    bound = run(model, "--backends", "ort,openvino", "--io", "bound", "--threads", "1", "--format", "json")
    assert {row["io"] for row in bound.document["groups"][0]["cells"]} == {"bound"}
    for row in ("ort", "openvino"):
        deploy(row, tmp_path / row)
        require_agreement(tmp_path / row)
    assert "io_binding" in (tmp_path / "ort" / "infer.py").read_text()
    if len(os.sched_getaffinity(0)) > 1:
        run(model, "--backends", "ort", "--instances", "2", "--threads", "1")
        deploy("ort 2x1", tmp_path / "two")
        require_agreement(tmp_path / "two")


KERAS = """\
import keras
from keras import layers


def build():
    image = keras.Input((8, 8, 3), name="image")
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3, activation="relu")(image))
    return keras.Model(image, layers.Dense(5, activation="softmax")(x))
"""


@pytest.mark.ci
def test_tensorflow_and_xla_run_the_frozen_graph_that_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    (tmp_path / "small.py").write_text(KERAS)
    called = irbench("run", "small.py:build", *fake_runs.FASTEST, "--backends", "tf,tf-xla", "--batch", "2")
    assert called.code == 0, called.err
    for row in ("tf", "tf-xla"):
        deploy(row, tmp_path / row)
        require_agreement(tmp_path / row)
        assert (tmp_path / row / "model" / "graph.pb").is_file()
    assert "tensorflow==" in (tmp_path / row / "requirements.txt").read_text()


@pytest.mark.ci
def test_a_decoder_is_deployed_with_its_loop_and_passes_its_caches_on(model: Path, tmp_path: Path):
    decoder = write_decoder(tmp_path / "decoder.onnx")
    run(decoder, "--backends", "ort,openvino", "--generate", "6", "--prompt", "4", "--batch", "2", "--threads", "1")
    for row in ("ort", "openvino"):
        deploy(row, tmp_path / row)
        require_agreement(tmp_path / row)
    program = programs.loaded(tmp_path / "ort")
    ((tokens,),) = programs.answers(program, [{"input_ids": np.ones((2, 4), np.int64)}])
    assert tokens.shape == (2, 6)
    assert (tokens[0] == tokens[1]).all(), "equal prompts give equal texts"


@pytest.mark.ci
def test_a_decoder_whose_runtime_kept_its_caches_is_refused_with_what_to_measure_instead(model: Path, tmp_path: Path):
    decoder = write_decoder(tmp_path / "decoder.onnx")
    run(decoder, "--backends", "ort", "--generate", "4", "--prompt", "4", "--io", "bound", "--threads", "1")
    refused = irbench("deploy", "latest", "-o", tmp_path / "winner")
    assert refused.code == 2
    assert "its runtime kept the caches between calls" in refused.err
    assert "--io copy" in refused.err
    assert not (tmp_path / "winner").exists()


@pytest.mark.ci
def test_another_graph_in_the_folder_is_found_by_its_check(model: Path, tmp_path: Path):
    run(model, "--backends", "ort", "--threads", "1")
    folder = tmp_path / "winner"
    deploy("ort", folder)
    path = folder / "model" / "model.onnx"
    other = onnx.load(path)
    weights = other.graph.initializer[0]
    weights.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weights), weights.name))
    onnx.save(other, path)
    checked = programs.checked(folder, "--no-speed")
    assert checked.returncode == 1
    assert "another file than was measured" in checked.stdout
    assert "outputs differ from" in checked.stdout
    assert "tolerance 0.001" in checked.stdout
    path.unlink()
    checked = programs.checked(folder, "--no-speed")
    assert checked.returncode == 1
    assert "model/model.onnx: missing" in checked.stdout


@pytest.mark.ci
def test_a_slower_program_is_found_by_its_check(model: Path, tmp_path: Path):
    run(model, "--backends", "ort", "--threads", "1")
    folder = tmp_path / "winner"
    deploy("ort", folder)
    measured = json.loads((folder / "check" / "measured.json").read_text())
    measured["speed"] |= {"value": 1e-9, "low": 1e-9, "high": 1e-9}
    (folder / "check" / "measured.json").write_text(json.dumps(measured))
    program = folder / "infer.py"
    program.write_text(
        program.read_text().replace("    def run(self):\n", "    def run(self):\n        time.sleep(0.01)\n")
    )
    checked = programs.checked(folder)
    assert checked.returncode == 1
    assert "speed differs" in checked.stdout


@pytest.mark.ci
def test_an_optimised_graph_with_its_weights_beside_it_is_copied_and_not_made_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    loaded = onnx.load(model)
    (tmp_path / "weights").mkdir()
    onnx.save(loaded, model, save_as_external_data=True, location="weights/all.bin", size_threshold=0)
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    run(model, "--backends", "ort", "--optimize", "none,basic", "--threads", "1")
    deploy("ort", tmp_path / "plain")
    require_agreement(tmp_path / "plain")
    assert (tmp_path / "plain" / "model" / "weights" / "all.bin").is_file()
    deploy("ort+basic", tmp_path / "basic")
    require_agreement(tmp_path / "basic")
    shutil.rmtree(tmp_path / "home")
    gone = irbench("deploy", "latest", "ort+basic", "-o", tmp_path / "again")
    assert gone.code == 2
    assert "is not kept any more" in gone.err
    assert "measure again and use that run" in gone.err
    assert not (tmp_path / "again").exists()


@pytest.mark.ci
def test_a_graph_that_was_changed_or_removed_since_is_refused(model: Path, tmp_path: Path):
    run(model, "--backends", "ort", "--threads", "1")
    kept = model.read_bytes()
    changed = onnx.load(model)
    changed.doc_string = "another one"
    onnx.save(changed, model)
    refused = irbench("deploy", "latest", "-o", tmp_path / "winner")
    assert refused.code == 2
    assert "was changed since" in refused.err
    model.unlink()
    refused = irbench("deploy", "latest", "-o", tmp_path / "winner")
    assert refused.code == 2
    assert "there is no file" in refused.err
    model.write_bytes(kept)
    assert irbench("deploy", "latest", "-o", tmp_path / "winner").code == 0
    refused = irbench("deploy", "latest", "-o", tmp_path / "winner")
    assert refused.code == 2
    assert "is not an empty folder" in refused.err


@pytest.mark.ci
def test_own_code_and_own_data_are_deployed_with_it(model: Path, tmp_path: Path):
    (tmp_path / "own_loop.py").write_text(OWN_CODE)
    draw = np.random.default_rng(3)
    np.savez(tmp_path / "data.npz", pixels=draw.normal(size=(4, 3, 8, 8)).astype(np.float32))
    run(model, "--backends", "ort", "--cell", "mine=own_loop.py:load", "--data", "data.npz", "--batch", "2")
    for row in ("mine", "ort"):
        deploy(row, tmp_path / row)
        require_agreement(tmp_path / row)
        assert len(list((tmp_path / row / "check").glob("inputs-*.npz"))) == 2
    assert (tmp_path / "mine" / "own_loop.py").read_text() == OWN_CODE


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_what_cannot_be_deployed_is_refused_with_a_line(model: Path, tmp_path: Path):
    called = fake_runs.run(model)
    assert called.code == 0, called.err
    without = irbench("deploy", "latest", "fake-a", "-o", tmp_path / "winner")
    assert without.code == 2
    assert "fake-a does not tell how its runtime is used without irbench" in without.err
    unknown = irbench("deploy", "latest", "fake-c", "-o", tmp_path / "winner")
    assert unknown.code == 2
    assert "Rows: fake-a, fake-b" in unknown.err
    assert not (tmp_path / "winner").exists()


@pytest.mark.ci
def test_a_search_ends_with_the_folder_of_the_setting_that_it_recommends(model: Path, tmp_path: Path):
    asked = ("--backends", "ort", "--objective", "latency", "--threads", "1", "--optimize", "none", "--budget", "15s")
    called = irbench("tune", model, *asked, "--deploy", tmp_path / "winner", "--format", "json")
    assert called.code == 0, called.err
    assert called.document["setting"]["backend"] == "ort", "standard output is the report alone"
    assert f"check it: python {tmp_path}/winner/check.py" in called.err
    require_agreement(tmp_path / "winner")


def test_a_search_refuses_a_folder_that_it_could_not_write_before_it_begins(model: Path, tmp_path: Path):
    (tmp_path / "winner").mkdir()
    (tmp_path / "winner" / "mine").touch()
    refused = irbench("tune", model, "--backends", "ort", "--deploy", tmp_path / "winner")
    assert refused.code == 2
    assert "Name a new folder with --deploy" in refused.err
    refused = irbench("tune", model, "--backends", "ort", "--slo", "p99<=50ms", "--deploy", tmp_path / "other")
    assert refused.code == 2
    assert "Leave --deploy out" in refused.err


def write_photos(folder: Path) -> list[Path]:
    folder.mkdir()
    draw = np.random.default_rng(5)
    sizes = {"landscape.png": (31, 57), "portrait.jpg": (90, 40), "grey.png": (16, 16)}
    for name, size in sizes.items():
        pixels = draw.integers(0, 256, size if name == "grey.png" else (*size, 3), np.uint8)
        Image.fromarray(pixels).save(folder / name)
    return sorted(folder.iterdir())


@pytest.mark.ci
@pytest.mark.parametrize("options", [(), ("--streams", "2"), ("--batch", "2")], ids=["one", "streams", "batch"])
def test_the_program_of_an_image_model_reads_photos_as_they_were_read_for_the_measurement(
    options: tuple[str, ...], model: Path, tmp_path: Path
):
    photos = write_photos(tmp_path / "photos")
    run(model, "--backends", "ort", "--data", "photos", "--threads", "1", *options)
    folder = tmp_path / "winner"
    deploy(irbench("show", "--format", "json").document["groups"][0]["cells"][0]["label"], folder)
    require_agreement(folder)
    program = programs.loaded(folder)
    batch = 2 if "--batch" in options else 1
    (name,) = program.INPUTS
    for call in range(len(photos) // batch):
        stored = np.load(folder / "check" / f"inputs-{call}.npz")["0"]
        read = program.read_images(photos[batch * call : batch * (call + 1)])[name]
        assert read.dtype == stored.dtype
        assert read.flags.c_contiguous, "OpenVINO reads an array in place"
        np.testing.assert_array_equal(read, stored)
    command = [sys.executable, str(folder / "infer.py"), *map(str, photos)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.partition(":")[0] for line in said.splitlines()] == list(map(str, photos))
    assert "pillow" in (folder / "requirements.txt").read_text()


@pytest.mark.ci
def test_images_in_the_layout_of_tensorflow_are_read_for_both_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    (tmp_path / "small.py").write_text(KERAS)
    photos = write_photos(tmp_path / "photos")
    run(Path("small.py:build"), "--backends", "tf,ort", "--data", "photos", "--threads", "1")
    for row in ("tf", "ort"):
        deploy(row, tmp_path / row)
        stored = np.load(tmp_path / row / "check" / "inputs-0.npz")["0"]
        command = (
            f"import infer, numpy; numpy.save('read.npy', infer.read_images(['{photos[0]}'])[next(iter(infer.INPUTS))])"
        )
        subprocess.run([sys.executable, "-c", command], check=True, cwd=tmp_path / row)
        np.testing.assert_array_equal(np.load(tmp_path / row / "read.npy"), stored)


def write_step(path: Path) -> Path:
    """Write a step of a recurrent network, whose new state is the next step's."""
    nodes = [helper.make_node("Add", ["x", "h0"], ["sum"]), helper.make_node("Tanh", ["sum"], ["h"])]
    given, state, found = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in ("x", "h0", "h"))
    graph = helper.make_graph(nodes, "step", [given, state], [found])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.ci
def test_a_loop_that_is_fed_its_outputs_is_checked_step_by_step(model: Path, tmp_path: Path):
    run(write_step(tmp_path / "step.onnx"), "--backends", "ort", "--threads", "1", "--feedback", "h=h0")
    deploy("ort", tmp_path / "winner")
    require_agreement(tmp_path / "winner")
    measured = json.loads((tmp_path / "winner" / "check" / "measured.json").read_text())
    assert measured["feedback"] == {"h0": "h"}
    assert measured["calls"] > 1


STAGES = """\
def normalise(inputs):
    return inputs


stages = {"normalise": normalise, "model": "ort"}
"""


@pytest.mark.ci
def test_a_pipeline_of_stages_is_refused_and_the_row_of_its_model_is_deployed(model: Path, tmp_path: Path):
    (tmp_path / "service.py").write_text(STAGES)
    run(model, "--backends", "ort", "--cell", "mine=service.py:stages", "--threads", "1")
    refused = irbench("deploy", "latest", "mine", "-o", tmp_path / "mine")
    assert refused.code == 2
    assert "mine is a pipeline of stages, which is a program already: normalise, model" in refused.err
    assert "Deploy a row of the backend that its model stage names" in refused.err
    assert not (tmp_path / "mine").exists()
    deploy("ort", tmp_path / "ort")
    require_agreement(tmp_path / "ort")


@pytest.mark.ci
def test_a_row_of_two_versions_is_deployed_with_the_version_of_its_environment(model: Path, tmp_path: Path):
    called = irbench(
        "ab", model, "--backend", "ort", "--b", sys.executable, *fake_runs.FASTEST, "--threads", "1", "--format", "json"
    )
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    row = next(row for row in table["cells"] if row["environment"]["key"] == "b")
    deploy(row["label"], tmp_path / "winner")
    require_agreement(tmp_path / "winner")
    version = row["environment"]["distributions"]["onnxruntime"]
    assert f"onnxruntime=={version}" in (tmp_path / "winner" / "requirements.txt").read_text()
