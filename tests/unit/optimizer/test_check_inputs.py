"""Edge values reach every input, and constants of the user stay."""

from dataclasses import replace

import numpy as np
import pytest

from irbench.optimizer.check_plan import CheckCase, arrays_of, edge_kinds, perturbed
from irbench.spec import Feeding, InputSpec, TensorSpec

X = InputSpec(TensorSpec("x", "float32", ("batch", 3, 4)), -1.0, 1.0)
TOKENS = InputSpec(TensorSpec("tokens", "int64", ("batch", 5)), 2, 100)
MASK = InputSpec(TensorSpec("attention_mask", "int64", ("batch", 5)), 0, 2, is_mask=True)
POSITIONS = InputSpec(TensorSpec("masked_positions", "int64", ("batch", 5)), 2, 100)
KEEP = InputSpec(TensorSpec("keep", "bool", ("batch", 5)))
WORDS = InputSpec(TensorSpec("words", "string", ("batch", 2)))
SIZES = {"batch": 2}


def drawn(kind, *specs, feeding=None):
    return arrays_of(CheckCase(kind, SIZES), specs, feeding or Feeding())


@pytest.mark.parametrize(
    ("specs", "kinds"),
    [
        ([X], {"constant-rows", "large", "zeros"}),
        ([TOKENS], {"constant-rows", "large", "zeros"}),
        ([POSITIONS], {"constant-rows", "large", "zeros"}),
        ([TOKENS, MASK], {"constant-rows", "large", "zeros", "mask-half", "mask-none", "mask-ones"}),
        ([KEEP], {"mask-half", "mask-none", "mask-ones"}),
        ([WORDS], set()),
    ],
)
def test_inputs_have_the_edges_that_their_types_have(specs, kinds):
    assert set(edge_kinds(specs)) == kinds


def test_constant_rows_are_constant_along_the_last_axis_and_differ_from_each_other():
    (x,) = drawn("constant-rows", X)
    assert (x == x[..., :1]).all()
    assert len(np.unique(x)) > 1


def test_large_values_are_a_thousand_times_as_large():
    assert np.allclose(drawn("large", X)[0], 1000 * drawn("seeded", X)[0])


def test_integers_stay_in_their_range_at_both_ends():
    assert set(np.unique(drawn("large", TOKENS)[0])) == {99}
    assert set(np.unique(drawn("zeros", TOKENS)[0])) == {2}


@pytest.mark.parametrize("spec", [MASK, KEEP])
@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("mask-half", [[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]),
        ("mask-none", [[0, 0, 0, 0, 0]] * 2),
        ("mask-ones", [[1, 1, 1, 1, 1]] * 2),
    ],
)
def test_a_mask_keeps_either_half_nothing_or_everything_and_other_inputs_stay(spec, kind, kept):
    mask, x = drawn(kind, spec, X)
    assert mask.astype(int).tolist() == kept
    assert (x == drawn("seeded", spec, X)[1]).all()


def test_a_mask_of_padding_keeps_the_same_positions():
    padding = replace(MASK, marks_padding=True)
    for kind in ("mask-half", "mask-none", "mask-ones"):
        assert (drawn(kind, padding, X)[0] == 1 - drawn(kind, MASK, X)[0]).all()


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_a_mask_that_is_broadcast_over_channels_is_cut_along_the_axis_before(dtype):
    spec = InputSpec(TensorSpec("mask", dtype, ("batch", 4, 1)), 0, 2, is_mask=True)
    assert drawn("mask-half", spec)[0].tolist() == [[[1], [1], [0], [0]], [[0], [0], [1], [1]]]


def test_positions_of_masked_tokens_are_no_mask():
    assert drawn("mask-ones", POSITIONS, MASK)[0].max() > 2


def test_a_constant_of_the_user_stays_at_every_edge():
    assert drawn("zeros", X, feeding=Feeding(values={"x": (0.5,)}))[0].min() == 0.5


def test_seeds_give_other_values():
    first, second = (arrays_of(CheckCase("seeded", SIZES, seed), [X], Feeding()) for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_perturbed_values_differ_by_some_roundings_and_integers_stay():
    tokens, x = drawn("large", TOKENS, X)
    same, shaken = perturbed((tokens, x)) or ()
    assert same is tokens
    assert 0 < np.abs(shaken - x).max() < 1e-5 * np.abs(x).max()


def test_a_perturbed_number_is_still_an_array():
    (found,) = perturbed((np.array(1.5, np.float32),)) or ()
    assert isinstance(found, np.ndarray)


def test_inputs_without_rounding_cannot_be_perturbed():
    assert perturbed(drawn("seeded", TOKENS, KEEP, WORDS)) is None
