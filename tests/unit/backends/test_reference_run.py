"""A model whose answers depend on the other samples of a batch is told from a wrong conversion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irbench.core.feeds import POOL
from irbench.errors import IrbenchError
from irbench.spec import InputSpec, TensorSpec
from irbench.spi import ExportRequest
from irbench_tf.loading.sources import Loaded
from irbench_tf.reference_run import ReferenceRun, mixed_output, refuse_mixing, with_sizes

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


TOKENS = InputSpec(TensorSpec("tokens", "int32", ("batch", "sequence")), 0, 50)


def sizes_of(shapes: dict[str, tuple[int, ...]], batch: int | None = None) -> dict[str, int]:
    loaded = Loaded("net", lambda _: [], (TOKENS,), None, (), {"sequence": 128}, False, None, False, None)
    return with_sizes(loaded, ExportRequest("net", Path(), 18, batch, 0, None, "keep", shapes=shapes)).defaults


@pytest.mark.parametrize(
    ("shapes", "length"),
    [({}, 128), ({"tokens": (64,)}, 64), ({"sequence": (64,)}, 64), ({"tokens": (1, 64)}, 64)],
)
def test_a_size_may_be_given_by_the_name_of_an_input_or_of_a_dimension(shapes, length) -> None:
    assert sizes_of(shapes) == {"sequence": length}


def test_the_batch_of_a_shape_is_that_of_the_export() -> None:
    assert sizes_of({"tokens": (4, 64)}, batch=4) == {"sequence": 64}
    with pytest.raises(IrbenchError, match="--shape gives a batch of 4") as caught:
        sizes_of({"tokens": (4, 64)})
    assert "--batch 4" in caught.value.hint


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(IrbenchError, match="called 'token'") as caught:
        sizes_of({"token": (64,)})
    assert "Did you mean tokens?" in caught.value.hint
