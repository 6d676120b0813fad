"""From samples to the feeds of one batch size."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.data.model_inputs import ModelInput
from irbench.data.samples import Sample, bound_dimensions, digests, feeds_of_batch, rows
from irbench.errors import IrbenchError
from irbench.spec import InputSpec, TensorSpec

X = ModelInput(InputSpec(TensorSpec("x", "float32", ("batch", "length"))), ("x",), 0, ())
SR = ModelInput(InputSpec(TensorSpec("sr", "int64", ())), ("sr",), None, ())


def sample(place: str, *values: float, sr: int = 1, length: int = 1) -> Sample:
    x = np.repeat(np.array(values, np.float32)[:, None], length, 1)
    return Sample(place, {"x": x, "sr": np.array(sr)})


def batches(feeds: tuple[Sample, ...]) -> list[list[float]]:
    return [feed.arrays["x"][:, 0].tolist() for feed in feeds]


def test_samples_of_the_batch_size_stay_as_they_are() -> None:
    given = (sample("a", 1, 2), sample("b", 3, 4))
    assert feeds_of_batch(given, (X, SR), 2) == given


@pytest.mark.parametrize(
    ("batch", "expected"),
    [(1, [[1], [2], [3]]), (2, [[1, 2], [3, 1]]), (4, [[1, 2, 3, 1]]), (7, [[1, 2, 3, 1, 2, 3, 1]])],
)
def test_rows_take_turns_in_batches(batch: int, expected: list[list[float]]) -> None:
    assert batches(feeds_of_batch((sample("a", 1, 2), sample("b", 3)), (X, SR), batch)) == expected


def test_samples_with_another_value_of_an_input_without_a_batch_are_not_joined() -> None:
    with pytest.raises(IrbenchError, match="a and b cannot be one batch: the input sr"):
        feeds_of_batch((sample("a", 1, sr=1), sample("b", 2, sr=2)), (X, SR), 2)


def test_a_batch_may_lie_along_any_axis() -> None:
    later = ModelInput(InputSpec(TensorSpec("x", "float32", (2, "batch"))), ("x",), 1, ())
    given = [Sample("a", {"x": np.array([[1.0, 2], [3, 4]])})]
    assert [feed.arrays["x"].tolist() for feed in feeds_of_batch(given, (later,), 1)] == [[[1], [3]], [[2], [4]]]


def test_inputs_of_a_sample_with_different_batches_are_refused() -> None:
    other = ModelInput(InputSpec(TensorSpec("y", "float32", ("batch",))), ("y",), 0, ())
    with pytest.raises(IrbenchError, match="batch of 2 for the input x and of 3 for y"):
        rows(Sample("a", {"x": np.zeros((2, 1)), "y": np.zeros(3)}), (X, other))


def test_dimensions_are_bound_by_the_data() -> None:
    assert bound_dimensions([sample("a", 1, length=17), sample("b", 1, 2, length=17)], (X, SR)) == {"length": 17}


def test_samples_of_different_sizes_are_refused_with_both_files() -> None:
    with pytest.raises(IrbenchError, match="'length' has the size 17 in a and 12 in b") as caught:
        bound_dimensions([sample("a", 1, length=17), sample("b", 1, length=12)], (X, SR))
    assert "one size" in caught.value.hint


def test_digests_change_with_values_shapes_and_order() -> None:
    known = digests([sample("a", 1, 2), sample("b", 3, 4)])
    assert digests([sample("elsewhere", 1, 2), sample("b", 3, 4)]) == known
    for other in ([sample("b", 3, 4), sample("a", 1, 2)], [sample("a", 1, 2)], [sample("a", 1), sample("b", 2, 3, 4)]):
        assert digests(other)["x"] != known["x"]
