"""Dynamic dimensions are checked at sizes that none of them had before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.optimizer.check_plan import all_ones, base_sizes, one_sample, other_sizes
from irbench.spec import TensorSpec

BASE = {"batch": 2, "length": 128, "memory": 128, "fixed": 7}


def test_all_dimensions_change_first_and_differ_from_each_other():
    first = next(other_sizes(BASE, ["batch", "length", "memory"]))
    assert first["fixed"] == 7
    assert all(first[name] != BASE[name] for name in ("batch", "length", "memory"))
    assert first["length"] != first["memory"]


def test_sizes_that_a_model_wants_equal_change_alike_next_and_one_by_one_at_last():
    _, alike, *alone = other_sizes(BASE, ["batch", "length", "memory"])
    assert alike["length"] == alike["memory"] != 128
    assert [[name for name in BASE if sizes[name] != BASE[name]] for sizes in alone] == [
        ["batch"],
        ["length"],
        ["memory"],
    ]


def test_lengths_shrink_because_models_have_a_greatest_one():
    assert next(other_sizes(BASE, ["length"]))["length"] < 128


def test_without_dynamic_dimensions_there_are_no_other_sizes():
    assert list(other_sizes(BASE, [])) == []


@given(st.integers(1, 10_000), st.integers(1, 4))
def test_every_size_changes_and_stays_positive(size, count):
    names = [f"n{place}" for place in range(count)]
    for sizes in other_sizes(dict.fromkeys(names, size), names):
        assert any(sizes[name] != size for name in names)
        assert min(sizes.values()) >= 1


@pytest.mark.parametrize(("dynamic", "batch"), [(["batch"], 1), (["length"], 2)])
def test_one_sample_is_taken_where_the_batch_may_change(dynamic, batch):
    assert one_sample(BASE, dynamic)["batch"] == batch


def test_all_that_may_change_is_one():
    assert all_ones(BASE, ["batch", "length"]) == {"batch": 1, "length": 1, "memory": 128, "fixed": 7}


def test_dimensions_whose_size_nobody_gave_have_common_ones():
    sound = TensorSpec("sound", "float32", ("batch", "time", 1))
    tried = list(base_sizes([sound], {"batch": 2, "rate": 8}))
    assert [sizes["time"] for sizes in tried] == [128, 16, 1024, 16384]
    assert all(sizes["batch"] == 2 and sizes["rate"] == 8 for sizes in tried)


def test_a_common_size_that_makes_an_input_large_is_not_tried():
    image = TensorSpec("image", "float32", ("batch", "height", "width", 3))
    assert [sizes["width"] for sizes in base_sizes([image], {"batch": 2})] == [128, 16, 1024]


@pytest.mark.parametrize("shape", [("batch", 4), ("batch", "2*rows")])
def test_sizes_stay_as_they_are_where_all_are_known_or_one_is_computed(shape):
    assert list(base_sizes([TensorSpec("x", "float32", shape)], {"batch": 2})) == [{"batch": 2}]
