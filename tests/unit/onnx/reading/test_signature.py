from __future__ import annotations

import models
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.errors import IrbenchError
from irbench.onnx.reading import signature


def write(path, inputs, outputs, initializers=(), opset=17):
    nodes = [helper.make_node("Identity", [inputs[0].name], [outputs[0].name])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
    return path


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def test_names_types_shapes_opset_and_nodes_are_read(tmp_path):
    artifact = models.two_inputs(tmp_path)
    read = signature.read(artifact.path)
    assert read.inputs == artifact.inputs
    assert read.outputs == artifact.outputs
    assert read.opset == 17
    assert read.nodes == 4


def shapes(tmp_path, inputs, outputs=(("y", ["N"]),)):
    path = write(tmp_path / "m.onnx", [value(*given) for given in inputs], [value(*made) for made in outputs])
    read = signature.read(path)
    return [spec.shape for spec in (*read.inputs, *read.outputs)][: len(inputs) + (outputs != (("y", ["N"]),))]


@pytest.mark.parametrize("free", ["N", "unk__401", None, 0, -1, "?", "", " ", "-1"])
def test_a_free_leading_axis_is_the_batch_whatever_it_is_called(free, tmp_path):
    assert shapes(tmp_path, [("x", [free, 3])]) == [("batch", 3)]


def test_the_batch_has_its_name_in_outputs_and_in_arithmetic_too(tmp_path):
    assert shapes(tmp_path, [("x", ["N", 3])], [("y", ["N * 3 + N", 3])])[1] == ("batch * 3 + batch", 3)


@pytest.mark.parametrize("free", ["unk__8", None, "?", -1])
def test_an_output_axis_without_a_name_is_not_taken_for_the_batch(free, tmp_path):
    """It may depend on the data: the boxes that a detector finds."""
    assert shapes(tmp_path, [("x", ["unk__7", 3])], [("y", [free, 4])])[1][0] in ("y_0", "unk__8")


@pytest.mark.parametrize("unknown", ["?", "", "-1", "None", 0, -1])
def test_two_unknown_sizes_of_one_shape_have_two_names(unknown, tmp_path):
    assert shapes(tmp_path, [("x", [1, unknown, unknown])]) == [(1, "x_1", "x_2")]


def test_the_same_unknown_in_two_inputs_is_two_sizes(tmp_path):
    assert shapes(tmp_path, [("x", [1, "?"]), ("z", [2, "?"])]) == [(1, "x_1"), (2, "z_1")]


def test_a_name_for_an_unknown_size_is_never_one_that_the_file_uses(tmp_path):
    assert shapes(tmp_path, [("x", [1, "?"]), ("z", [2, "x_1"])]) == [(1, "x_1_"), (2, "x_1")]


def test_a_name_for_an_unknown_size_reads_as_a_name(tmp_path):
    assert shapes(tmp_path, [("a/b:0", [1, "?"])]) == [(1, "a_b_0_1")]


def test_leading_dimensions_with_different_names_are_not_one_batch(tmp_path):
    assert shapes(tmp_path, [("x", ["frames", 3]), ("z", ["words", 3])]) == [("frames", 3), ("words", 3)]


@pytest.mark.parametrize(("named", "seen"), [("N", ["batch", "batch"]), ("frames", ["x_0", "frames"])])
def test_a_leading_dimension_without_a_name_is_the_batch_beside_one_that_is_called_so(named, seen, tmp_path):
    assert shapes(tmp_path, [("x", ["?", 3]), ("z", [named, 3])]) == [(seen[0], 3), (seen[1], 3)]


def test_of_different_leading_dimensions_the_one_called_batch_is_the_batch(tmp_path):
    inputs = [("x", ["batch_size", "n"]), ("memory", ["steps", "batch_size", 8]), ("scale", [1])]
    assert shapes(tmp_path, inputs) == [("batch", "n"), ("steps", "batch", 8), (1,)]


def test_a_second_dimension_that_is_called_batch_keeps_its_name(tmp_path):
    assert shapes(tmp_path, [("x", ["rows", "batch"])]) == [("rows", "batch")]


def test_an_output_length_that_depends_on_the_data_keeps_its_name(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N", 3])], [value("y", ["boxes", 4])])
    assert signature.read(path).outputs[0].shape == ("boxes", 4)


def test_another_unnamed_axis_is_named_after_its_tensor(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N", None, "width"])], [value("y", ["N", None, "width"])])
    read = signature.read(path)
    assert read.inputs[0].shape == ("batch", "x_1", "width")
    assert read.outputs[0].shape == ("batch", "y_1", "width")


def test_a_fixed_leading_axis_is_no_batch(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", [2, "N"])], [value("y", [2, "N"])])
    assert signature.read(path).inputs[0].shape == (2, "N")


def test_an_input_that_only_names_a_weight_is_no_input(tmp_path):
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    path = write(tmp_path / "m.onnx", [value("x", ["N"]), value("w", [1])], [value("y", ["N"])], [weight])
    assert [spec.name for spec in signature.read(path).inputs] == ["x"]


@pytest.mark.parametrize("content", [b"", b"not a model", b"\xff" * 64, b"\x3a\xff\xff\xff\xff\x7f", b"PK\x03\x04zip"])
def test_a_file_that_is_no_model_is_one_clear_error(content, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(IrbenchError):
        signature.read(path)


def test_every_prefix_of_a_model_is_read_or_refused(tmp_path):
    whole = models.mlp(tmp_path).path.read_bytes()
    path = tmp_path / "cut.onnx"
    for size in range(1, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(IrbenchError):
            signature.read(path)


def test_a_missing_file_is_one_clear_error(tmp_path):
    with pytest.raises(IrbenchError, match="There is no file"):
        signature.read(tmp_path / "none.onnx")


@pytest.mark.parametrize(
    ("element", "name"),
    [
        (TensorProto.STRING, "string"),
        (TensorProto.INT4, "int4"),
        (TensorProto.UINT4, "uint4"),
        (TensorProto.BFLOAT16, "bfloat16"),
        (TensorProto.FLOAT8E4M3FN, "float8_e4m3fn"),
        (TensorProto.FLOAT4E2M1, "float4_e2m1fn"),
    ],
)
def test_strings_and_types_that_numpy_lacks_keep_their_names(element, name, tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N"], element)], [value("y", ["N"], element)])
    read = signature.read(path)
    assert (read.inputs[0].dtype, read.outputs[0].dtype) == (name, name)


def test_complex_inputs_are_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", [2], TensorProto.COMPLEX64)], [value("y", [2])])
    with pytest.raises(IrbenchError, match="is a tensor of complex numbers"):
        signature.read(path)


@pytest.mark.parametrize("unnamed", ["?", "*", "-"])
def test_dimensions_with_a_name_that_says_nothing_are_not_one_dimension(unnamed, tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", [-1, 3, unnamed, unnamed])], [value("y", [-1])])
    assert signature.read(path).inputs[0].shape == ("batch", 3, "x_2", "x_3")


@pytest.mark.parametrize(
    ("domains", "opset"),
    [({"ai.onnx.ml": 3}, None), ({"com.microsoft": 1}, None), ({"ai.onnx": 17}, 17), ({"ai.onnx.ml": 3, "": 18}, 18)],
)
def test_a_model_need_not_use_onnxs_own_operators_nor_its_short_name(domains, opset, tmp_path):
    graph = helper.make_graph([], "g", [value("x", [1])], [value("y", [1])])
    imports = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), tmp_path / "m.onnx")
    assert signature.read(tmp_path / "m.onnx").opset == opset


def test_a_model_without_any_operator_set_is_none(tmp_path):
    model = helper.make_model(helper.make_graph([], "g", [value("x", [1])], [value("y", [1])]), ir_version=9)
    del model.opset_import[:]
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(IrbenchError, match="not an ONNX model"):
        signature.read(tmp_path / "m.onnx")


def test_sequences_are_refused(tmp_path):
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, ["N"])
    path = write(tmp_path / "m.onnx", [sequence], [sequence])
    with pytest.raises(IrbenchError, match="is a sequence"):
        signature.read(path)


def test_a_list_of_dictionaries_of_scikit_learn_is_refused_with_the_option_that_makes_it_a_tensor(tmp_path):
    scores = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    listed = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, scores))
    path = write(tmp_path / "m.onnx", [value("x", [1])], [helper.make_value_info("probabilities", listed)])
    with pytest.raises(IrbenchError) as caught:
        signature.read(path)
    assert "zipmap" in (caught.value.hint or "")


def test_an_unknown_rank_is_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", None)], [value("y", ["N"])])
    with pytest.raises(IrbenchError, match="no known rank"):
        signature.read(path)


@pytest.mark.parametrize("lacks", ["shape", "type"])
def test_an_output_without_a_shape_has_that_which_follows(lacks, tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N", 3])], [value("y", None)])
    if lacks == "type":
        model = onnx.load(path)
        model.graph.output[0].ClearField("type")
        onnx.save(model, path)
    (output,) = signature.read(path).outputs
    assert (output.dtype, output.shape) == ("float32", ("batch", 3))


def test_an_axis_of_which_nothing_follows_has_a_name_of_its_own(tmp_path):
    nodes = [helper.make_node("NonZero", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", ["N", 3])], [value("y", None, TensorProto.INT64)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    assert signature.read(tmp_path / "m.onnx").outputs[0].shape == (2, "y_1")


def test_an_output_whose_rank_does_not_follow_is_refused_unless_only_inputs_are_wanted(tmp_path):
    nodes = [helper.make_node("Reshape", ["x", "target"], ["y"])]
    inputs = [value("x", ["N", 3]), value("target", ["rank"], TensorProto.INT64)]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    with pytest.raises(IrbenchError, match=r"'y' of .* has no known rank"):
        signature.read(tmp_path / "m.onnx")
    assert len(signature.read(tmp_path / "m.onnx", every_output=False).inputs) == 2


def test_an_impossible_size_is_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N", 2**40])], [value("y", ["N"])])
    with pytest.raises(IrbenchError, match="invalid size"):
        signature.read(path)


def test_an_input_named_twice_is_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["N"]), value("x", ["N"])], [value("y", ["N"])])
    with pytest.raises(IrbenchError, match="twice"):
        signature.read(path)


def test_a_model_without_outputs_is_refused(tmp_path):
    graph = helper.make_graph([], "g", [value("x", ["N"])], [])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    with pytest.raises(IrbenchError, match="no outputs"):
        signature.read(tmp_path / "m.onnx")


def test_a_dimension_whose_name_is_no_text_is_refused(tmp_path):
    path = write(tmp_path / "m.onnx", [value("x", ["length", 3])], [value("y", [3])])
    path.write_bytes(path.read_bytes().replace(b"length", b"\xff\xfength"[:6]))
    with pytest.raises(IrbenchError, match="whose name is not valid text"):
        signature.read(path)
