"""Sizes that a user gives for the run of a model that is exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.spec import InputSpec, TensorSpec
from irbench.spi import ExportRequest
from irbench_tf.loading.sources import Loaded
from irbench_tf.reference_run import with_sizes

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
