"""The sizes of a model at each shape that a session meets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.options.input_request import InputRequest
from irbench.runner.prepare import sizes_of_sweep, swept_sizes
from irbench.runner.requested_inputs import read_data
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec

INPUTS = (TensorSpec("scale", "float32", (4,)), TensorSpec("tokens", "int64", ("batch", "length")))
MODEL = Bundle("model", tuple(map(InputSpec, INPUTS)), (Artifact("onnx", Path(), INPUTS, ()),))

DATA = read_data(InputRequest(), MODEL, {})


def test_each_shape_of_an_input_gives_sizes() -> None:
    found = sizes_of_sweep(DATA, None, {}, ("tokens", ((1, 8), (2, 16))))
    assert found == ({"batch": 1, "length": 8}, {"batch": 2, "length": 16})


def test_without_a_name_it_is_the_first_input_with_dynamic_dimensions() -> None:
    assert sizes_of_sweep(DATA, None, {}, ("", ((3, 8),))) == ({"batch": 3, "length": 8},)


def test_a_dimension_is_swept_at_the_batch_asked_for() -> None:
    found = sizes_of_sweep(DATA, 4, {}, ("length", ((8,), (16,))))
    assert found == ({"batch": 4, "length": 8}, {"batch": 4, "length": 16})


def test_without_a_sweep_there_are_the_sizes_of_a_run() -> None:
    assert sizes_of_sweep(DATA, None, {"length": (8,)}, None) == ({"batch": 1, "length": 8},)


def test_a_model_that_has_not_what_is_swept_has_one_table() -> None:
    assert len(sizes_of_sweep(DATA, None, {"length": (8,)}, ("image", ((1, 3), (1, 4))))) == 1


def test_shapes_that_the_batch_makes_equal_are_refused() -> None:
    with pytest.raises(IrbenchError, match="the same sizes") as caught:
        sizes_of_sweep(DATA, 4, {}, ("tokens", ((1, 8), (2, 8))))
    assert "--batch" in caught.value.hint


def test_two_sources_of_one_shape_are_refused() -> None:
    with pytest.raises(IrbenchError, match="--shapes and --shape both set length"):
        sizes_of_sweep(DATA, None, {"length": (8,)}, ("length", ((8,), (16,))))


def test_a_model_with_fixed_shapes_cannot_be_swept() -> None:
    fixed = replace(MODEL, inputs=(InputSpec(INPUTS[0]),))
    with pytest.raises(IrbenchError, match="has no dynamic dimensions"):
        sizes_of_sweep(read_data(InputRequest(), fixed, {}), None, {}, ("", ((4,), (5,))))


def test_lists_of_constants_give_sizes_to_each_shape() -> None:
    scales = TensorSpec("scales", "float32", ("count",))
    inputs = (*INPUTS, scales)
    model = Bundle("model", tuple(map(InputSpec, inputs)), (Artifact("onnx", Path(), inputs, ()),))
    data = read_data(InputRequest(values={"scales": (1, 2, 3)}), model, {})
    found = sizes_of_sweep(data, None, {}, ("length", ((8,), (16,))))
    assert found == tuple({"batch": 1, "length": length, "count": 3} for length in (8, 16))


def test_a_table_of_a_sweep_is_told_from_the_others_by_what_differs() -> None:
    short, long = {"batch": 1, "length": 8, "width": 4}, {"batch": 1, "length": 16, "width": 4}
    assert swept_sizes(short, (long,)) == {"length": 8}
    assert swept_sizes(short, ()) == {}
