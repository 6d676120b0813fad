"""Dimensions that are numbers, names and arithmetic of names."""

from __future__ import annotations

import pytest

from irbench.spec import TensorSpec, names_in, renamed, shape_text, size_of

SIZES = {"batch": 2, "past_len": 16, "h": 7, "sequence": 5}


@pytest.mark.parametrize(
    ("dimension", "size"),
    [
        (3, 3),
        ("batch", 2),
        ("batch*sequence", 10),
        ("past_len + 1", 17),
        ("floor(h/2)", 3),
        ("h//2 + 1", 4),
        ("ceiling(h/2)", 4),
        ("Max(h, past_len - 10)", 7),
        ("-(1 - h)", 6),
        ("h % 4", 3),
        ("(h - 1)/2", 3),
        ("floordiv(h, 2) + mod(h, 4)", 6),
    ],
)
def test_arithmetic_of_known_names_has_a_size(dimension: int | str, size: int) -> None:
    assert size_of(dimension, SIZES) == size


@pytest.mark.parametrize(
    "dimension",
    ["width", "h/2", "h/0", "1 - h", "width + 1", "h.real", "h ** 9", "open('x')", "floor()", "(" * 150 + "h", "é+",
     "h if h else 1", "h\n", "'h' * 3", "2.5*h", "floor(h, h)", "h" + "*999999" * 25],
)  # fmt: skip
def test_what_is_unknown_no_size_or_no_arithmetic_has_none(dimension: str) -> None:
    assert size_of(dimension, SIZES) is None


def test_a_size_that_is_given_for_the_text_itself_is_the_size() -> None:
    assert size_of("past_len + 1", {"past_len": 16, "past_len + 1": 20}) == 20


def test_the_names_of_a_dimension_are_those_it_is_computed_from() -> None:
    assert names_in("floor(h/2) + past_len*h") == ("h", "past_len")
    assert names_in("p2o.DynamicDimension.0") == ("p2o.DynamicDimension.0",)
    assert names_in(3) == ()


def test_names_in_arithmetic_are_replaced_as_whole_words() -> None:
    assert renamed("N*N_frames + größe + N", {"N": "batch", "größe": "size"}) == "batch*N_frames + size + batch"
    assert renamed("no-name!", {"no-name!": "batch"}) == "batch"
    assert renamed("floor(floor/2)", {"floor": "height"}) == "floor(height/2)"


def test_shapes_with_names_have_spaces_and_those_of_digits_have_none() -> None:
    assert shape_text((1, 3, 224, 224)) == "1x3x224x224"
    assert shape_text(("batch", 3, "height", "width")) == "batch x 3 x height x width"
    assert shape_text(("batch", "past_len + 1")) == "batch x (past_len + 1)"
    assert shape_text(()) == "scalar"


def test_binding_a_tensor_computes_the_sizes_that_follow() -> None:
    spec = TensorSpec("mask", "int64", ("batch", "past_len + 1", "width"))
    assert spec.bind(SIZES).shape == (2, 17, "width")
