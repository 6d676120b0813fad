"""Binding rewrites a signature and nothing else."""

from __future__ import annotations

import contextlib
import errno
import sys
from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from irbench.errors import IrbenchError
from irbench.onnx.reading import external_data, signature
from irbench.onnx.reading.protobuf import GraphField, Model, encode_length_delimited
from irbench.onnx.rewriting.bind import BoundCopy, bind, write_copy
from irbench.spec import Artifact


def stated_shapes(path: Path) -> dict[str, list[int | str]]:
    graph = onnx.load(path).graph
    return {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }


def test_every_free_dimension_becomes_concrete_and_the_model_stays_valid(tmp_path: Path):
    bound = bind(models.two_inputs(tmp_path), {"batch": 2, "length": 7}, tmp_path / "scratch")
    assert stated_shapes(bound.path) == {"tokens": [2, 7], "scale": [2, 4], "mixed": [2, 7, 4], "total": [2, 4]}
    assert [tensor.shape for tensor in bound.inputs] == [(2, 7), (2, 4)]
    assert [tensor.shape for tensor in bound.outputs] == [(2, 7, 4), (2, 4)]
    onnx.checker.check_model(onnx.load(bound.path), full_check=True)


def test_everything_but_the_signature_is_kept_byte_for_byte(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    bound = onnx.load(bind(artifact, {"batch": 5}, tmp_path / "scratch").path)
    original = onnx.load(artifact.path)
    for graph in (bound.graph, original.graph):
        del graph.input[:], graph.output[:]
    assert bound.SerializeToString(deterministic=True) == original.SerializeToString(deterministic=True)


def test_the_bound_model_answers_as_the_free_one_does(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    pixels = np.random.default_rng(0).uniform(-1, 1, (3, 3, 8, 8)).astype(np.float32)
    answers = [
        ReferenceEvaluator(str(path)).run(None, {"pixels": pixels})[0]
        for path in (artifact.path, bind(artifact, {"batch": 3}, tmp_path / "scratch").path)
    ]
    np.testing.assert_array_equal(*answers)


def test_dimensions_go_by_their_place_whatever_the_file_calls_them(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    model = onnx.load(artifact.path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "unk__401"
    model.graph.output[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    onnx.save(model, artifact.path)
    bound = bind(artifact, {"batch": 4}, tmp_path / "scratch")
    assert stated_shapes(bound.path) == {"pixels": [4, 3, 8, 8], "scores": [4, 5]}


def test_shapes_that_were_inferred_for_another_size_are_dropped(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    onnx.save(onnx.shape_inference.infer_shapes(onnx.load(artifact.path)), artifact.path)
    assert onnx.load(artifact.path).graph.value_info
    assert not onnx.load(bind(artifact, {"batch": 4}, tmp_path / "scratch").path).graph.value_info


def test_an_output_that_depends_on_the_data_stays_free(tmp_path: Path):
    artifact = models.two_inputs(tmp_path)
    free = replace(artifact, outputs=(replace(artifact.outputs[0], shape=("batch", "found", 4)), artifact.outputs[1]))
    bound = bind(free, {"batch": 2, "length": 7}, tmp_path / "scratch")
    assert bound.outputs[0].shape == (2, "found", 4)


def test_a_size_that_is_missing_is_named_with_the_argument_that_gives_it(tmp_path: Path):
    with pytest.raises(IrbenchError, match="'tokens' has a dynamic dimension 'length'") as caught:
        bind(models.two_inputs(tmp_path), {"batch": 2}, tmp_path / "scratch")
    assert caught.value.hint == "Add a size, for example: --shape length=128"


def test_a_size_below_one_is_refused(tmp_path: Path):
    with pytest.raises(IrbenchError, match="cannot be 0"):
        bind(models.mlp(tmp_path), {"batch": 0}, tmp_path / "scratch")


def test_a_model_without_free_dimensions_is_used_where_it_lies(tmp_path: Path):
    once = bind(models.mlp(tmp_path), {"batch": 2}, tmp_path / "scratch")
    assert bind(once, {"batch": 2}, tmp_path / "elsewhere") == once
    assert not (tmp_path / "elsewhere").exists()


def test_other_kinds_are_bound_in_their_specs_alone(tmp_path: Path):
    artifact = replace(models.mlp(tmp_path), kind="tf-graph", path=tmp_path / "never-read.pb")
    bound = bind(artifact, {"batch": 6}, tmp_path / "scratch")
    assert bound.path == artifact.path
    assert bound.inputs[0].shape == (6, 3, 8, 8)


def test_equal_requests_share_a_file_and_a_changed_model_gets_a_new_one(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    first = bind(artifact, {"batch": 2}, tmp_path / "scratch")
    assert bind(artifact, {"batch": 2}, tmp_path / "scratch").path == first.path
    assert bind(artifact, {"batch": 3}, tmp_path / "scratch").path != first.path
    artifact.path.write_bytes(artifact.path.read_bytes() + b"\x12\x01x")
    assert bind(artifact, {"batch": 2}, tmp_path / "scratch").path != first.path


def with_external_weights(folder: Path, location: str) -> Artifact:
    artifact = models.mlp(folder)
    model = onnx.load(artifact.path)
    onnx.save(model, artifact.path, save_as_external_data=True, location=location, size_threshold=16)
    return artifact


def test_weights_outside_the_file_come_along(tmp_path: Path):
    artifact = with_external_weights(tmp_path, "weights.bin")
    pixels = np.ones((2, 3, 8, 8), np.float32)
    expected = ReferenceEvaluator(onnx.load(artifact.path)).run(None, {"pixels": pixels})[0]
    bound = bind(artifact, {"batch": 2}, tmp_path / "scratch")
    assert bound.path.parent != artifact.path.parent
    answer = ReferenceEvaluator(external_data.load(bound.path)).run(None, {"pixels": pixels})[0]
    np.testing.assert_array_equal(answer, expected)
    assert (bound.path.parent / "weights.bin").samefile(tmp_path / "weights.bin")


def test_weights_are_copied_where_they_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    bound = bind(with_external_weights(tmp_path, "weights.bin"), {"batch": 2}, tmp_path / "scratch")
    copied = bound.path.parent / "weights.bin"
    assert copied.read_bytes() == (tmp_path / "weights.bin").read_bytes()
    assert not copied.samefile(tmp_path / "weights.bin")


def test_weights_outside_the_models_folder_are_refused(tmp_path: Path):
    artifact = with_external_weights(tmp_path / "model", "abcdefgh.bin")
    (tmp_path / "secret.bin").write_bytes(b"\0" * 10_000)
    changed = artifact.path.read_bytes().replace(b"abcdefgh.bin", b"../secret.bin"[:12])
    artifact.path.write_bytes(changed)
    with pytest.raises(IrbenchError, match="outside its own folder"):
        bind(artifact, {"batch": 2}, tmp_path / "scratch")


def test_missing_weights_are_named(tmp_path: Path):
    artifact = with_external_weights(tmp_path, "weights.bin")
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(IrbenchError, match=r"'weights\.bin' are missing"):
        bind(artifact, {"batch": 2}, tmp_path / "scratch")


@given(st.binary(max_size=200))
def test_whatever_the_file_holds_the_answer_is_a_model_or_one_clear_error(tmp_path_factory, content: bytes):
    folder = tmp_path_factory.mktemp("hostile")
    artifact = replace(models.mlp(folder), path=folder / "hostile.onnx")
    artifact.path.write_bytes(content)
    with contextlib.suppress(IrbenchError):
        assert bind(artifact, {"batch": 2}, folder / "scratch").path.is_file()


def test_a_signature_that_cannot_be_read_is_one_clear_error(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    graph = encode_length_delimited(GraphField.INPUT, 3) + b"\x0a\x09x"  # a name of nine bytes of which one is there
    artifact.path.write_bytes(encode_length_delimited(Model.GRAPH, len(graph)) + graph)
    with pytest.raises(IrbenchError, match="not an ONNX model"):
        bind(artifact, {"batch": 2}, tmp_path / "scratch")


def test_sizes_without_a_name_and_arithmetic_are_written_as_numbers(tmp_path):
    given = [_value("x", [-1, "?", "?"]), _value("mask", ["steps", "steps + 1"])]
    made = [_value("y", [0, "?", "?"]), _value("m", ["steps", "steps + 1"])]
    names = zip(given, made, strict=True)
    nodes = [onnx.helper.make_node("Relu", [value.name], [output.name]) for value, output in names]
    graph = onnx.helper.make_graph(nodes, "g", given, made)
    onnx.save(onnx.helper.make_model(graph), tmp_path / "m.onnx")
    read = signature.read(tmp_path / "m.onnx")
    artifact = Artifact("onnx", tmp_path / "m.onnx", read.inputs, read.outputs)
    bound = bind(artifact, {"x_0": 2, "x_1": 3, "x_2": 4, "steps": 5}, tmp_path / "bound")
    assert [spec.shape for spec in bound.inputs] == [(2, 3, 4), (5, 6)]
    written = signature.read(bound.path)
    assert written.inputs == bound.inputs
    assert [spec.shape for spec in written.outputs] == [("y_0", "y_1", "y_2"), (5, 6)]


def test_what_else_the_file_says_of_a_dimension_is_kept_and_onnx_is_not_needed(tmp_path: Path, monkeypatch):
    artifact = models.mlp(tmp_path)
    model = onnx.load(artifact.path)
    model.graph.input[0].doc_string = "images"
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    onnx.save(model, artifact.path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    bound = bind(artifact, {"batch": 300}, tmp_path / "scratch")
    monkeypatch.undo()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 300
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 300
    assert onnx.load(bound.path) == model


def test_a_copy_that_cannot_be_written_is_one_clear_error(tmp_path: Path):
    (tmp_path / "scratch").write_text("a file in the place of the folder")
    with pytest.raises(IrbenchError, match="with fixed shapes can be written") as caught:
        bind(models.mlp(tmp_path), {"batch": 2}, tmp_path / "scratch")
    assert "needs as much room as the file" in caught.value.hint


def _value(name, shape):
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def test_a_size_of_zero_that_the_file_states_stays_and_one_that_is_given_is_refused(tmp_path: Path):
    artifact = models.two_inputs(tmp_path)
    stated = replace(artifact.inputs[0], shape=("batch", 0))
    bound = bind(replace(artifact, inputs=(stated, *artifact.inputs[1:])), {"batch": 2, "length": 7}, tmp_path / "a")
    assert bound.inputs[0].shape == (2, 0)
    with pytest.raises(IrbenchError, match="Dimension 'batch' of input 'tokens' cannot be 0"):
        bind(artifact, {"batch": 0, "length": 7}, tmp_path / "b")


CONTENT = b"0123456789"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(CONTENT)
    return path


def test_what_stays_and_what_is_new_are_written_in_turn(source: Path, tmp_path: Path) -> None:
    write_copy(BoundCopy(((0, 3), b"new", (3, 3), (5, 10)), ()), source, tmp_path / "copy.onnx")
    assert (tmp_path / "copy.onnx").read_bytes() == b"012new56789"


@pytest.mark.parametrize(
    "pieces",
    [
        ((0, 11),),
        ((-1, 4),),
        ((4, 2),),
        ((0, 10), (0, 10)),
        ((5, 10), b"new", (0, 5)),
        ((10**15, 0), (0, 10), (0, 10)),
        ((0, 10), (0, 10), (10**15, 0)),
    ],
)
def test_pieces_outside_the_file_and_out_of_order_are_refused_before_anything_is_written(
    pieces: tuple[bytes | tuple[int, int], ...], source: Path, tmp_path: Path
) -> None:
    with pytest.raises(IrbenchError, match="changed while it was read"):
        write_copy(BoundCopy(pieces, ()), source, tmp_path / "copy.onnx")
    assert list(tmp_path.iterdir()) == [source]
