"""An artifact whose graph takes images as NCHW is fed so."""

from pathlib import Path

import numpy as np

from irbench.core.feeds import lay_out
from irbench.optimizer.inputs_to_nchw import as_nchw
from irbench.spec import Artifact, TensorSpec

OTHER = TensorSpec("scale", "float32", ("batch",))


def artifact(*inputs):
    return Artifact("onnx", Path("model.onnx"), inputs, ())


def test_a_turned_input_is_fed_turned_and_others_are_not():
    image = TensorSpec("image", "float32", ("batch", 4, 5, 3))
    found = as_nchw(artifact(image, OTHER), ["image"])
    assert found.inputs == (TensorSpec("image", "float32", ("batch", 3, 4, 5), (0, 3, 1, 2)), OTHER)
    fed, _ = lay_out((np.zeros((2, 4, 5, 3)), np.zeros(2)), found)
    assert fed.shape == (2, 3, 4, 5)


def test_an_input_that_was_turned_the_other_way_before_is_fed_as_it_is():
    image = TensorSpec("image", "float32", (2, 4, 5, 3), (0, 2, 3, 1))
    assert as_nchw(artifact(image), ["image"]).inputs[0] == TensorSpec("image", "float32", (2, 3, 4, 5))
