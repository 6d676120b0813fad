"""Sizes of a check: common ones where nobody gave any, lengths that are sums of others, and other sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.optimizer.check_sizes import (
    CheckSizes,
    all_ones,
    base_sizes,
    one_sample,
    other_sizes,
    varied,
    with_computed,
)
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
    tried = [candidate.sizes for candidate in base_sizes([sound], {"batch": 2, "rate": 8})]
    assert [sizes["time"] for sizes in tried] == [128, 16, 4, 1024, 16384]
    assert all(sizes["batch"] == 2 and sizes["rate"] == 8 for sizes in tried)


def test_a_common_size_that_makes_an_input_large_is_not_tried():
    image = TensorSpec("image", "float32", ("batch", "height", "width", 64))
    assert [candidate.sizes["width"] for candidate in base_sizes([image], {"batch": 2})] == [128, 16, 4]


def test_sizes_stay_as_they_are_where_all_are_known():
    assert list(base_sizes([TensorSpec("x", "float32", ("batch", 4))], {"batch": 2})) == [CheckSizes({"batch": 2})]


def test_a_dimension_that_is_computed_from_others_follows_them():
    spec = TensorSpec("x", "float32", ("batch", "2*rows"))
    first = next(base_sizes([spec], {"batch": 2}))
    assert first.sizes == {"batch": 2, "rows": 128}
    assert varied([spec], first.sizes) == ("batch", "rows")


TOKENS = TensorSpec("tokens", "int64", ("batch", "new"))
CACHE = TensorSpec("past_key", "float32", ("batch", 4, "past", 8))
STEP = TensorSpec("token", "int64", ("batch", 1))


def mask(length):
    return TensorSpec("attention_mask", "int64", ("batch", length))


@pytest.mark.parametrize(
    ("inputs", "computed"),
    [
        ((TOKENS, CACHE, mask("total_sequence_length")), {"total_sequence_length": "new + past"}),
        ((TOKENS, CACHE, mask("mask_axis")), {"mask_axis": "new + past"}),
        ((STEP, CACHE, mask("all")), {"all": "past + 1"}),
    ],
)
def test_the_length_of_a_mask_alone_is_first_taken_for_that_of_the_cache_and_the_new_tokens(inputs, computed):
    first, *others = base_sizes(inputs, {"batch": 2})
    assert first.computed == computed
    *_, tokens_of_mask = first.apply(inputs)[-1].shape
    assert tokens_of_mask == next(iter(computed.values()))
    assert others[-1].computed == {}


def test_a_mask_as_long_as_the_tokens_is_taken_for_nothing_else():
    inputs = (TOKENS, mask("new"))
    assert all(not candidate.computed for candidate in base_sizes(inputs, {"batch": 2}))


def test_a_length_whose_parts_are_known_is_computed_from_them():
    assert with_computed({"past": 7}, {"all": "past + 1"}) == {"past": 7, "all": 8}
