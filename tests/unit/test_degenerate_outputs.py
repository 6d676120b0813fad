"""Reference outputs that cannot tell right from wrong."""

import ml_dtypes
import numpy as np
import pytest

from irbench.core.output_check import DegenerateOutput, degenerate_outputs

USUAL = np.array([0.1, 0.7, 0.2], np.float32)


@pytest.mark.parametrize(
    ("values", "kind", "largest"),
    [
        (np.zeros(3, np.float32), "zero", 0.0),
        (np.zeros(1, ml_dtypes.bfloat16), "zero", 0.0),
        (np.full(3, 0.5), "constant", 0.5),
        (np.array([8e-6, -2e-6]), "tiny", 8e-6),
        (np.array([np.nan, np.inf]), "not-finite", None),
        (np.array([np.nan, 0.0]), "zero", 0.0),
    ],
)
def test_zeros_constants_tiny_values_and_no_numbers_at_all_are_degenerate(values, kind, largest):
    assert list(degenerate_outputs([USUAL, values])) == [DegenerateOutput(1, kind, largest)]


@pytest.mark.parametrize(
    "values",
    [
        USUAL,
        np.array([2.0]),
        np.array([np.inf, 1.0, 2.0]),
        np.zeros(3, np.int64),
        np.zeros(3, bool),
        np.array(["", ""], object),
        np.zeros(3, ml_dtypes.int4),
        np.empty((0, 4)),
    ],
    ids=repr,
)
def test_numbers_that_differ_single_numbers_and_what_is_compared_exactly_are_not(values):
    assert not list(degenerate_outputs([values]))


def test_small_inputs_make_small_outputs_usual():
    small = np.array([1e-9, 2e-9])
    assert [found.values for found in degenerate_outputs([small])] == ["tiny"]
    assert not list(degenerate_outputs([small], scale=1e-8))
