import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.onnx.sizes import Size, parse, product, quotient, text
from irbench.optimizer.pass_tools.layout import reshape, start, steps, transpose

SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@pytest.mark.ci
@given(SIZES, st.data())
def test_the_fewest_steps_put_every_element_where_the_chain_does(sizes, data):
    array = np.arange(int(np.prod(sizes))).reshape(sizes)
    layout, wanted, length = start([Size(size) for size in sizes]), array, 0
    for _ in range(data.draw(st.integers(0, 4))):
        if data.draw(st.booleans()):
            permutation = data.draw(st.permutations(range(wanted.ndim)))
            layout, wanted = transpose(layout, permutation), wanted.transpose(permutation)
        else:
            shape = _regrouped(wanted.shape, data)
            cut = reshape(layout, [Size(size) for size in shape])
            if cut is None:
                continue
            layout, wanted = cut, wanted.reshape(shape)
        length += 1
    made = steps(layout)
    found = array
    for operation, target in made:
        numbers = [item.factor if isinstance(item, Size) else item for item in target]
        found = found.transpose(numbers) if operation == "Transpose" else found.reshape(numbers)
    assert np.array_equal(found, wanted)
    assert len(made) <= min(length, 3) or length == 0


def test_axes_of_the_source_are_joined_where_the_result_holds_them_as_one():
    regrouped = reshape(start([Size(2), Size(2), Size(4)]), [Size(4), Size(2), Size(2)])
    assert steps(transpose(regrouped, [0, 2, 1])) == [
        ("Reshape", (Size(4), Size(2), Size(2))),
        ("Transpose", (0, 2, 1)),
    ]


def _regrouped(shape, data):
    """Split every axis into its primes, 2 and 3, and group neighbours again."""
    primes = [prime for size in shape for prime in _primes(size)]
    groups, group = [], 1
    for prime in primes:
        group *= prime
        if data.draw(st.booleans()):
            groups.append(group)
            group = 1
    return [*groups, group]


def _primes(size):
    prime = next((item for item in (2, 3) if size % item == 0), None)
    return [] if prime is None else [prime, *_primes(size // prime)]


def test_axes_that_are_cut_crosswise_are_not_followed():
    layout = transpose(start([Size(2), Size(3)]), [1, 0])
    assert reshape(layout, [Size(2), Size(3)]) is None


@pytest.mark.parametrize(
    ("dimension", "size"), [(6, Size(6)), ("batch", Size(1, ("batch",))), ("4*b*a", Size(4, ("a", "b")))]
)
def test_a_size_is_read_from_a_dimension_and_written_back(dimension, size):
    assert parse(dimension) == size
    assert parse(text(size)) == size


def test_free_sizes_multiply_and_divide():
    whole = product([Size(4), parse("batch"), parse("2*length")])
    assert text(whole) == "8*batch*length"
    assert quotient(whole, parse("2*batch")) == parse("4*length")
    assert quotient(whole, Size(3)) is None
    assert quotient(whole, parse("width")) is None
    assert quotient(whole, Size(0)) is None
