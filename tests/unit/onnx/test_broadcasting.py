import pytest

from irbench.onnx.sizes import ONE, Size, parse, product, text
from irbench.onnx.slices import broadcast, end_of_slice

N, M, FIVE = Size(1, ("n",)), Size(1, ("m",)), Size(5)
LIMITED = Size(1, ("n<=5",))


@pytest.mark.parametrize(
    ("size", "end", "length"),
    [
        (FIVE, Size(3), Size(3)),
        (FIVE, Size(9), FIVE),
        (FIVE, N, LIMITED),
        (N, N, N),
        (N, Size(2**31 - 1), N),
        (N, Size(10**9), N),
        (N, Size(3), None),
        (N, M, None),
        (FIVE, Size(-1), None),
        (FIVE, Size(2, ("n",)), None),
        (FIVE, None, None),
        (ONE, N, None),
    ],
)
def test_a_slice_is_as_long_as_its_end_and_its_axis_allow(size, end, length):
    assert end_of_slice(size, end) == length


@pytest.mark.parametrize(
    ("column", "length"),
    [
        ((N, ONE), N),
        ((N, N), N),
        ((N, LIMITED), N),
        ((LIMITED, N, ONE), N),
        ((LIMITED, LIMITED), LIMITED),
        ((LIMITED, ONE), LIMITED),
        ((N, FIVE), FIVE),
        ((None, FIVE), FIVE),
        ((ONE, ONE), ONE),
        ((N, M), None),
        ((M, LIMITED), None),
        ((N, None), None),
        ((ONE, None), None),
        ((Size(3), FIVE), None),
        ((Size(2, ("n",)), LIMITED), None),
    ],
)
def test_lengths_that_meet_are_equal_or_one(column, length):
    assert broadcast(*([size] for size in column)) == [length]


def test_axes_that_are_missing_in_front_count_as_one():
    assert broadcast([N, FIVE], [FIVE], []) == [N, FIVE]


def test_a_length_that_is_limited_can_be_written_in_a_product():
    size = product((Size(2), LIMITED))
    assert parse(text(size)) == size
