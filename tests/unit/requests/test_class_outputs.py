"""The user says which outputs hold scores of classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from irbench.errors import IrbenchError
from irbench.requests.class_outputs import with_classes
from irbench.spec import Artifact, Bundle, TensorSpec

OUTPUTS = (
    TensorSpec("box", "float32", ("batch", 4)),
    TensorSpec("label", "float32", ("batch", 10)),
    TensorSpec("best", "int64", ("batch",)),
)
DETECTOR = Bundle("detector", (), (Artifact("onnx", Path("a.onnx"), (), OUTPUTS),), class_axes=(-1, None, None))
OTHER = Bundle("other", (), (Artifact("onnx", Path("b.onnx"), (), OUTPUTS[:1]),))


def test_the_named_outputs_replace_those_that_were_known() -> None:
    chosen, other = with_classes((DETECTOR, OTHER), ("label",))
    assert (chosen.known_class_axes, chosen.classifier) == ((None, 1, None), True)
    assert chosen.names_of_classes(chosen.known_class_axes) == ("label",)
    assert other == OTHER
    assert with_classes((DETECTOR,), ()) == (DETECTOR,)


@pytest.mark.parametrize(("dtype", "takes"), [("uint8", True), ("int8", True), ("int64", False), ("bool", False)])
def test_quantised_numbers_may_be_scores_and_others_that_are_whole_are_not(dtype: str, takes: bool) -> None:
    quantized = Bundle(
        "quantized", (), (Artifact("onnx", Path("d.onnx"), (), (TensorSpec("label", dtype, ("batch", 10)),)),)
    )
    if takes:
        assert with_classes((quantized,), ("label",))[0].class_axes == (1,)
        return
    with pytest.raises(IrbenchError, match="holds no scores of classes"):
        with_classes((quantized,), ("label",))


@pytest.mark.parametrize(
    ("name", "said"), [("lable", "no model has an output called 'lable'"), ("best", "holds no scores of classes")]
)
def test_an_output_that_is_not_there_or_holds_no_scores_is_refused(name: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said):
        with_classes((DETECTOR, OTHER), (name,))


def test_an_output_must_hold_scores_in_every_model_that_has_it() -> None:
    numbers = Bundle(
        "numbers", (), (Artifact("onnx", Path("c.onnx"), (), (TensorSpec("label", "int64", ("batch",)),)),)
    )
    for bundles in ((DETECTOR, numbers), (numbers, DETECTOR)):
        with pytest.raises(IrbenchError, match="holds no scores of classes"):
            with_classes(bundles, ("label",))


def maps(folder: Path, nodes: str, **facts: Any) -> Bundle:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[N,3,8,8] x) => (float[N,5,8,8] y)
        <float[5,3,1,1] w = {{{",".join(["1"] * 15)}}}> {{ {nodes} }}"""
    onnx.save(onnx.parser.parse_model(text), folder / "maps.onnx")
    graph = Artifact("onnx", folder / "maps.onnx", (), (TensorSpec("y", "float32", ("batch", 5, 8, 8)),))
    return Bundle("maps", (), (graph,), **facts)


def test_the_classes_of_maps_are_along_the_axis_that_the_graph_shows(tmp_path: Path) -> None:
    for nodes in ("y = Conv(x, w)", "c = Conv(x, w) y = Relu(c)"):
        (chosen,) = with_classes((maps(tmp_path, nodes),), ("y",))
        assert chosen.class_axes == (1,)


def test_the_only_axis_with_several_values_needs_no_graph_to_show_it() -> None:
    pooled = Artifact("onnx", Path("e.onnx"), (), (TensorSpec("y", "float32", ("batch", 10, 1, 1)),))
    assert with_classes((Bundle("pooled", (), (pooled,)),), ("y",))[0].class_axes == (1,)
    single = replace(pooled, outputs=(TensorSpec("y", "float32", ("batch", 1, 1, 1)),))
    with pytest.raises(IrbenchError, match="holds no scores of classes"):
        with_classes((Bundle("single", (), (single,)),), ("y",))


def test_an_axis_that_is_known_is_kept(tmp_path: Path) -> None:
    (chosen,) = with_classes((maps(tmp_path, "y = Conv(x, w)", class_axes=(3,)),), ("y",))
    assert chosen.class_axes == (3,)


def test_maps_whose_axis_of_classes_nothing_shows_are_refused(tmp_path: Path) -> None:
    bundle = maps(tmp_path, "c = Conv(x, w) d = Conv(x, w) y = Add(c, d)")
    with pytest.raises(IrbenchError, match=r"class axis of output y \(batch x 5 x 8 x 8\) is unknown") as caught:
        with_classes((bundle,), ("y",))
    assert "Softmax" in caught.value.hint
