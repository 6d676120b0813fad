"""Data for a model: in the layout of its ONNX graph, whatever that of its other forms."""

from __future__ import annotations

from pathlib import Path

import launches
import numpy as np
import pytest

from irbench.core.feeds import lay_out
from irbench.errors import IrbenchError
from irbench.features.verify import model as conformance
from irbench.features.verify.model import as_logical, require_fit
from irbench.runner.plan import PlannedGroup
from irbench.spec import Artifact, TensorSpec

NCHW = TensorSpec("image", "float32", ("batch", 3, 8, 9), permutation=(0, 3, 1, 2))


def test_what_was_given_in_the_graphs_layout_gets_there_as_it_was():
    given = np.random.default_rng(0).random((2, 3, 8, 9), np.float32)
    logical = as_logical(given, NCHW)
    assert logical.shape == (2, 8, 9, 3)
    (laid_out,) = lay_out([logical], Artifact("onnx", None, (NCHW,), ()))  # type: ignore[arg-type]
    assert (laid_out == given).all()


@pytest.mark.parametrize("given", [np.zeros((2, 8, 9, 3), np.float32), np.float32(0), np.zeros((2, 3, 8, 9))])
def test_what_does_not_fit_is_refused_with_what_would(given: np.ndarray):
    require_fit(NCHW, np.zeros((5, 3, 8, 9), np.float32), "a free dimension takes any size")
    with pytest.raises(IrbenchError, match="float32 of batch x 3 x 8 x 9") as caught:
        require_fit(NCHW, np.asarray(given), "test_data_set_0")
    assert "by order" in caught.value.hint


def test_a_trial_knows_the_other_graphs_of_its_group() -> None:
    graph = Artifact("onnx", Path("model.onnx"), (NCHW,), ())
    trial = conformance.trial_of("", (), (), PlannedGroup(launches.group("a", "b"), others={"b": graph}), 6.0)
    assert trial.deadline_s == 6.0
    assert {cell.id for cell in trial.cells} == {"a", "b"}
    assert set(trial.others) == {"b"}
