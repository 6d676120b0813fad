"""A model whose answers depend on the other samples of a batch is told from a wrong conversion."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.core.feeds import POOL
from irbench.errors import IrbenchError
from irbench.spec import TensorSpec
from irbench_tf.reference_run import ReferenceRun, mixed_output, refuse_mixing

OUTPUT = TensorSpec("y", "float32", ("batch", 2))


def run_of(samples: np.ndarray, axis: int | None = 0) -> ReferenceRun:
    return ReferenceRun((OUTPUT,), (axis,), (samples,), ())


def test_an_answer_that_is_the_same_alone_passes() -> None:
    samples = np.arange(POOL * 2, dtype=np.float32).reshape(POOL, 2)
    assert mixed_output(run_of(samples), [samples[:1] + np.float32(1e-4)]) is None
    assert mixed_output(run_of(samples.T, 1), [samples[:1].T]) is None


@pytest.mark.parametrize("alone", [[[0.5, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], ids=["another value", "another shape"])
def test_an_answer_that_is_another_alone_is_refused_with_a_remedy(alone: list[list[float]]) -> None:
    samples = np.tile(np.array([0.0, 1.0], np.float32), (POOL, 1))
    with pytest.raises(IrbenchError, match="net mixes the samples of a batch: in TensorFlow, y of a sample") as caught:
        refuse_mixing("net", run_of(samples), [np.array(alone, np.float32)])
    assert "--batch 1" in caught.value.hint
