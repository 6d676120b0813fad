import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.onnx.sizes import Size, parse, product, quotient, text

NAMES = st.sampled_from(["batch", "s0", "unk__12", "2*s0 + 1", "s0**2", "floor(s0/2)", "length + 1", "7", "2*3"])
SIZES = st.builds(lambda factor, names: Size(factor, tuple(sorted(names))), st.integers(1, 9), st.lists(NAMES))


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (4, Size(4)),
        ("batch", Size(1, ("batch",))),
        ("4*length*batch*2", Size(8, ("batch", "length"))),
        ("3*(length + 1)", Size(3, ("length + 1",))),
        ("3*(7)*batch", Size(3, ("7", "batch"))),
    ],
)
def test_a_product_is_taken_apart(written, size):
    assert parse(written) == size


@pytest.mark.parametrize(
    "written", ["2*s0 + 1", "s0**2", "2*s0//3", "2*(s0 + 1) + 4*(s0)", "2*-s0", "2*", "", "12", "2*6"]
)
def test_anything_else_is_one_name(written):
    assert parse(written) == Size(1, (written,))


def test_half_of_what_is_one_more_than_a_multiple_is_not_known():
    assert quotient(parse("2*s0 + 1"), Size(2)) is None


@given(SIZES)
def test_what_is_written_means_the_same(size):
    again = parse(text(size))
    assert text(again) == text(size)
    if not any("(" in name for name in size.names):
        assert again == size


def test_a_multiple_of_a_sum_is_no_other_dimension():
    multiple = product([Size(2), parse("2*s0 + 1")])
    assert text(multiple) != "2*2*s0 + 1"
    assert parse(text(multiple)) == multiple
