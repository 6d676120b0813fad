"""The user says which outputs hold scores of classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.requests.class_outputs import with_classes
from irbench.spec import Artifact, Bundle, TensorSpec

OUTPUTS = (
    TensorSpec("box", "float32", ("batch", 4)),
    TensorSpec("label", "float32", ("batch", 10)),
    TensorSpec("best", "int64", ("batch",)),
)
DETECTOR = Bundle("detector", (), (Artifact("onnx", Path("a.onnx"), (), OUTPUTS),), class_outputs=(0,))
OTHER = Bundle("other", (), (Artifact("onnx", Path("b.onnx"), (), OUTPUTS[:1]),))


def test_the_named_outputs_replace_those_that_were_known() -> None:
    chosen, other = with_classes((DETECTOR, OTHER), ("label",))
    assert (chosen.class_places, chosen.classifier) == ((1,), True)
    assert chosen.names_among_others(chosen.class_places) == ("label",)
    assert other == OTHER
    assert with_classes((DETECTOR,), ()) == (DETECTOR,)


@pytest.mark.parametrize(("dtype", "takes"), [("uint8", True), ("int8", True), ("int64", False), ("bool", False)])
def test_quantised_numbers_may_be_scores_and_others_that_are_whole_are_not(dtype: str, takes: bool) -> None:
    quantized = Bundle(
        "quantized", (), (Artifact("onnx", Path("d.onnx"), (), (TensorSpec("label", dtype, ("batch", 10)),)),)
    )
    if takes:
        assert with_classes((quantized,), ("label",))[0].class_places == (0,)
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
