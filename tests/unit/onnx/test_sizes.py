import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.onnx.sizes import Size, difference, parse, product, quotient, text, total

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


PLAIN = st.builds(
    lambda factor, names: Size(factor, tuple(sorted(names))),
    st.integers(1, 4),
    st.lists(st.sampled_from(["batch", "past", "tokens"]), max_size=2),
)


@pytest.mark.parametrize(
    ("added", "written"),
    [
        (("past", "tokens"), "past + tokens"),
        (("tokens", "past"), "past + tokens"),
        ((1, "past"), "past + 1"),
        (("past + tokens", "past", 3), "2*past + tokens + 3"),
        (("past", "past"), "2*past"),
        (("2*past", "2*tokens"), "2*(past + tokens)"),
        (("batch*past", "batch*tokens"), "batch*(past + tokens)"),
        (("batch*(past + tokens)", "batch"), "batch*(past + tokens + 1)"),
        ((3, 4), 7),
    ],
)
def test_a_sum_is_written_in_one_way(added, written):
    summed = total(map(parse, added))
    assert summed is not None
    assert text(summed) == written
    assert parse(text(summed)) == summed


@pytest.mark.parametrize("written", ["tokens + past", "past+tokens", "past + 0 + tokens"])
def test_a_sum_that_a_model_writes_is_the_same_however_it_is_written(written):
    assert parse(written) == total([parse("past"), parse("tokens")])


@pytest.mark.parametrize("part", ["length<=9", "s0//2", "length - 1", "irbench + (a)"])
def test_what_is_no_product_of_names_is_not_added_up(part):
    assert total([parse("past"), Size(1, (part,))]) is None


@pytest.mark.parametrize(
    ("whole", "part", "rest"),
    [
        ("past + tokens", "past", "tokens"),
        ("past + tokens", "past + tokens", 0),
        ("2*past + tokens", "past", "past + tokens"),
        ("past + 3", 3, "past"),
        ("past + 3", 1, "past + 2"),
        ("length - 1", "length - 1", 0),
    ],
)
def test_what_is_left_of_a_sum_is_known(whole, part, rest):
    found = difference(parse(whole), parse(part))
    assert found is not None
    assert text(found) == rest


@pytest.mark.parametrize(("whole", "part"), [("past", "past + 1"), ("past", "tokens"), ("past", 1), ("s0//2", 1)])
def test_what_may_be_negative_is_not_known(whole, part):
    assert difference(parse(whole), parse(part)) is None


@given(st.lists(PLAIN, min_size=1, max_size=4), st.randoms())
def test_a_sum_does_not_depend_on_the_order(sizes, chance):
    shuffled = chance.sample(sizes, len(sizes))
    assert total(sizes) == total(shuffled)


@given(PLAIN, PLAIN)
def test_taking_away_what_was_added_leaves_the_rest(first, second):
    summed = total([first, second])
    assert summed is not None
    assert difference(summed, second) == first
