"""Sizes of outputs that follow dynamic dimensions, found by running a model at several sizes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from irbench_tf.output_axes import OutputAxes, axes_of_fixed_batch, follow, is_batch_first

SIZES = {"batch": 2, "sequence": 16}


def axes_of(shape_at, static, sizes: Mapping[str, int] = SIZES) -> OutputAxes:
    (found,) = follow(["y"], [static], lambda given: [shape_at(**given)], sizes)
    return found


@pytest.mark.parametrize(
    ("shape_at", "static", "expected"),
    [
        (lambda batch, sequence: (batch, sequence, 4), (None, None, 4), OutputAxes(("batch", "sequence", 4), 0)),
        (lambda batch, sequence: (sequence, batch), (None, None), OutputAxes(("sequence", "batch"), 1)),
        (lambda batch, sequence: (batch, sequence - 1), (None, None), OutputAxes(("batch", "y_1"), 0)),
        (lambda batch, sequence: (5 * batch, 4), (None, 4), OutputAxes(("5*batch", 4), 0)),
        (lambda batch, sequence: (batch * sequence, 4), (None, 4), OutputAxes(("y_0", 4), 0)),
        (lambda batch, sequence: (), (), OutputAxes((), None)),
        (lambda batch, sequence: (10, 4), (10, 4), OutputAxes((10, 4), None)),
        (lambda batch, sequence: (batch, batch), (None, None), OutputAxes(("batch", "batch"), None)),
        (lambda batch, sequence: (batch, sequence), None, OutputAxes(("batch", "sequence"), 0)),
        (lambda batch, sequence: (batch, 7), (None, None), OutputAxes(("batch", "y_1"), 0)),
    ],
)
def test_an_axis_has_the_name_of_the_dimension_that_it_follows(shape_at, static, expected) -> None:
    assert axes_of(shape_at, static) == expected


@pytest.mark.parametrize(
    "takes",
    [lambda sequence: sequence <= 16, lambda sequence: sequence % 8 == 0 and sequence <= 32, lambda s: s in (8, 16)],
    ids=["a greatest size", "multiples", "half of it"],
)
def test_a_model_that_refuses_sizes_is_run_at_others(takes) -> None:
    def shape_at(batch: int, sequence: int) -> tuple[int, ...]:
        if not takes(sequence):
            raise ValueError(sequence)
        return batch, sequence

    assert axes_of(shape_at, (None, None)) == OutputAxes(("batch", "sequence"), 0)


def test_an_axis_of_a_model_that_takes_one_size_only_has_a_name_of_its_own() -> None:
    def shape_at(batch: int, sequence: int) -> tuple[int, ...]:
        if sequence != 16:
            raise ValueError(sequence)
        return batch, sequence

    assert axes_of(shape_at, (None, None)) == OutputAxes(("batch", "y_1"), 0)


def test_a_model_that_cannot_be_run_at_its_own_sizes_fails() -> None:
    def shape_at(batch: int, sequence: int) -> tuple[int, ...]:
        raise ValueError(sequence)

    with pytest.raises(ValueError, match="16"):
        axes_of(shape_at, (None, None))


@pytest.mark.parametrize(
    ("static", "shape", "is_first"),
    [
        ((None, 4), (8, 4), True),
        ((None, None), (8, 4), False),
        ((None, 4), (40, 4), False),
        ((8, 4), (8, 4), False),
        ((), (), False),
        (None, (8, 4), False),
    ],
)
def test_only_outputs_that_begin_with_the_batch_need_no_further_look(static, shape, is_first) -> None:
    assert is_batch_first([static], [shape], 8) is is_first


@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 4), 0), ((4, 3), 1), ((3, 3), 0), ((12, 4), 0), ((10, 4), None), ((), None)]
)
def test_of_a_fixed_batch_the_axis_is_found_by_its_size(shape, axis) -> None:
    assert list(axes_of_fixed_batch([shape], 3)) == [axis]
