"""Binding free dimensions from the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.runner.requested_inputs import bind_sizes, fixed_batch
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.spec.requested_sizes import refuse_unknown_names, size_options
from irbench.system import host


def bundle(*shape: int | str, defaults: dict[str, int] | None = None, name: str = "tokens") -> Bundle:
    spec = TensorSpec(name, "int32", shape)
    return Bundle("model", (InputSpec(spec),), (Artifact("onnx", Path(), (spec,), ()),), defaults or {})


TRANSFORMER = bundle("batch", "sequence", defaults={"sequence": 128})


def test_defaults_and_a_batch_of_one_bind_everything() -> None:
    assert bind_sizes(TRANSFORMER, None, {}) == {"batch": 1, "sequence": 128}


def test_a_shape_binds_each_axis_it_names() -> None:
    assert bind_sizes(TRANSFORMER, None, {"tokens": (4, 32)}) == {"batch": 4, "sequence": 32}


def test_a_shape_for_another_model_is_left_alone() -> None:
    assert bind_sizes(TRANSFORMER, 2, {"image": (1, 3, 8, 8)}) == {"batch": 2, "sequence": 128}


def test_a_model_made_for_one_batch_runs_at_that_batch() -> None:
    assert fixed_batch(bundle(4, 10)) == 4
    assert bind_sizes(bundle(4, 10), None, {})["batch"] == 4


def test_a_batch_the_model_was_not_made_for_is_refused_with_the_command_that_helps() -> None:
    with pytest.raises(IrbenchError, match="batch of 4, not 8") as caught:
        bind_sizes(bundle(4, 10), 8, {})
    assert "--batch dynamic" in caught.value.hint


def test_an_onnx_file_is_not_to_be_exported_by_irbench_again() -> None:
    with pytest.raises(IrbenchError, match="batch of 4, not 8") as caught:
        bind_sizes(replace(bundle(4, 10), source="/models/fixed4.onnx"), 8, {})
    assert "irbench export" not in caught.value.hint
    assert "dynamic batch" in caught.value.hint


@pytest.mark.parametrize(
    ("shape", "said"),
    [((1, 2, 3), "has 3 axes"), ((2, 64), "contradicts the size 32 of 'sequence'")],
)
def test_a_shape_that_contradicts_is_refused(shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(IrbenchError, match=said):
        bind_sizes(TRANSFORMER, 1, {"tokens": shape, "sequence": (32,)})


def test_the_batch_of_a_shape_gives_way_to_the_one_asked_for() -> None:
    for batch in (1, 8):
        assert bind_sizes(TRANSFORMER, batch, {"tokens": (4, 64)}) == {"batch": batch, "sequence": 64}


def test_a_dimension_is_set_by_its_name() -> None:
    assert bind_sizes(TRANSFORMER, 8, {"sequence": (16,)}) == {"batch": 8, "sequence": 16}
    assert bind_sizes(TRANSFORMER, None, {"batch": (3,)}) == {"batch": 3, "sequence": 128}


def test_the_batch_is_set_by_the_name_that_the_file_gives_it() -> None:
    named = replace(TRANSFORMER, details={"batch_in_file": "N"})
    refuse_unknown_names({"N": (4,)}, (named,))
    assert bind_sizes(named, None, {"N": (4,)}) == {"batch": 4, "sequence": 128}


def test_two_batches_by_name_are_a_contradiction() -> None:
    with pytest.raises(IrbenchError, match=r"--shape batch=4 and --batch 8 cannot be combined"):
        bind_sizes(TRANSFORMER, 8, {"batch": (4,)})


def test_a_dimension_has_one_size() -> None:
    with pytest.raises(IrbenchError, match="sequence is a dynamic dimension, which has one size") as caught:
        bind_sizes(TRANSFORMER, None, {"sequence": (1, 16)})
    assert caught.value.hint.startswith("Write --shape sequence=16;")


def test_a_name_of_an_input_and_of_a_dimension_means_the_input() -> None:
    both = bundle("batch", "tokens")
    assert bind_sizes(both, None, {"tokens": (2, 9)}) == {"batch": 2, "tokens": 9}
    with pytest.raises(IrbenchError, match="has 3 axes"):
        bind_sizes(both, None, {"tokens": (9, 9, 9)})


def test_one_size_of_an_input_is_that_of_its_only_dynamic_dimension_besides_the_batch() -> None:
    assert bind_sizes(TRANSFORMER, 2, {"tokens": (64,)}) == {"batch": 2, "sequence": 64}
    assert bind_sizes(bundle("batch", "tokens"), None, {"tokens": (9,)}) == {"batch": 1, "tokens": 9}
    with pytest.raises(IrbenchError, match="has 1 axes"):
        bind_sizes(bundle("batch", "height", "width"), None, {"tokens": (9,)})


def test_two_sizes_of_one_dimension_are_refused_whatever_it_was_called() -> None:
    with pytest.raises(IrbenchError, match="--shape sequence=32 contradicts the size 64 of 'sequence'"):
        bind_sizes(TRANSFORMER, None, {"tokens": (64,), "sequence": (32,)})


def test_a_name_of_neither_is_refused_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(IrbenchError, match="an input or a dynamic dimension called 'sequense'") as caught:
        refuse_unknown_names({"sequense": (9,)}, (TRANSFORMER,))
    assert caught.value.hint == "Did you mean sequence? Inputs: tokens. Dynamic dimensions: batch, sequence."


def test_a_name_that_is_nearly_the_one_in_the_file_is_refused_with_that() -> None:
    named = replace(TRANSFORMER, details={"batch_in_file": "rows"})
    with pytest.raises(IrbenchError) as caught:
        refuse_unknown_names({"row": (9,)}, (named,))
    dimensions = "batch (rows in the file), sequence"
    assert caught.value.hint == f"Did you mean rows? Inputs: tokens. Dynamic dimensions: {dimensions}."


def decoder(*mask: int | str) -> Bundle:
    """Return a model with a mask before what the mask's length is computed from."""
    specs = (
        TensorSpec("mask", "int64", mask),
        TensorSpec("past", "float32", ("batch", 2, "past_len", 8)),
    )
    return Bundle("decoder", tuple(map(InputSpec, specs)), (Artifact("onnx", Path(), specs, ()),))


def test_arithmetic_of_names_is_computed() -> None:
    model = decoder("batch", "past_len + 1")
    assert bind_sizes(model, 2, {"past_len": (16,)}) == {"batch": 2, "past_len": 16}
    assert bind_sizes(model, None, {"past": (1, 2, 5, 8)}) == {"batch": 1, "past_len": 5}


def test_a_shape_must_agree_with_arithmetic_of_names() -> None:
    shapes = {"mask": (1, 9), "past": (1, 2, 5, 8)}
    with pytest.raises(IrbenchError, match="--shape mask=1x9 contradicts the size 6 of 'past_len \\+ 1'"):
        bind_sizes(decoder("batch", "past_len + 1"), None, shapes)
    assert bind_sizes(decoder("batch", "past_len + 1"), None, {**shapes, "mask": (1, 6)})


def test_arithmetic_of_the_batch_follows_the_batch_asked_for() -> None:
    model = decoder("batch*past_len")
    assert bind_sizes(model, 4, {"mask": (5,), "past": (1, 2, 5, 8)}) == {"batch": 4, "past_len": 5}


def test_arithmetic_of_unknown_names_is_an_unknown_of_its_own() -> None:
    model = bundle("batch", "total - 1")
    assert bind_sizes(model, None, {"tokens": (2, 9)}) == {"batch": 2, "total - 1": 9}
    assert bind_sizes(model, None, {"total": (10,)}) == {"batch": 1, "total": 10}
    with pytest.raises(IrbenchError, match=r"^Input tokens of model needs a size .* 'total - 1'") as caught:
        bind_sizes(model, None, {})
    assert "--shape total=128" in caught.value.hint


def test_arithmetic_without_a_whole_result_is_refused() -> None:
    with pytest.raises(IrbenchError, match="'past_len/2' of input mask of decoder cannot be computed"):
        bind_sizes(decoder("batch", "past_len/2"), None, {"past_len": (5,)})


def test_a_model_without_a_batch_is_told_of_its_dimensions() -> None:
    with pytest.raises(IrbenchError, match="has no dimension called batch") as caught:
        bind_sizes(bundle("frames", 3), 8, {"frames": (4,)})
    assert "--shape frames=8" in caught.value.hint


def test_a_shape_that_contradicts_a_fixed_size_is_refused() -> None:
    with pytest.raises(IrbenchError, match="has 11 where the model needs 10: the input is batch x 10"):
        bind_sizes(bundle("batch", 10), None, {"tokens": (1, 11)})


def test_a_dimension_that_stays_dynamic_is_named_with_the_option_that_binds_it() -> None:
    with pytest.raises(IrbenchError, match=r"^Input tokens of model needs a size .* 'length'") as caught:
        bind_sizes(bundle("batch", "length"), 2, {})
    assert caught.value.hint == "Add a size, for example: --shape length=128"


def test_all_sizes_that_are_missing_are_in_the_hint_as_a_shell_takes_them() -> None:
    inputs = (
        InputSpec(TensorSpec("my mask", "float32", ("batch", "my mask", 4))),
        InputSpec(TensorSpec("x", "float32", ("batch", "seq len", "past + 1"))),
    )
    with pytest.raises(IrbenchError) as caught:
        bind_sizes(Bundle("net", inputs, ()), None, {})
    assert caught.value.hint == (
        "Add a size, for example: --shape 'my mask=1x128x4' --shape 'seq len=128' --shape past=128"
    )
    sizes = bind_sizes(Bundle("net", inputs, ()), None, {"my mask": (1, 128, 4), "seq len": (128,), "past": (128,)})
    assert sizes == {"batch": 1, "my mask": 128, "seq len": 128, "past": 128}


def test_sizes_that_are_not_the_defaults_are_options_as_a_shell_takes_them() -> None:
    model = replace(bundle("batch", "my length", "width"), defaults={"width": 8})
    assert size_options(model, {"batch": 2, "my length": 16, "width": 8}) == ("--shape 'my length=16'",)
    assert size_options(model, {"width": 4}) == ("--shape width=4",)


def test_inputs_that_would_fill_the_memory_are_refused_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "available_memory_bytes", lambda: 1000)
    assert bind_sizes(bundle(4, 10), None, {})
    with pytest.raises(IrbenchError, match="tokens of model has 4x100 values") as caught:
        bind_sizes(bundle(4, 100), None, {})
    assert "--shape" in caught.value.hint


def test_a_batch_behind_a_fixed_first_axis_is_free() -> None:
    time_major = bundle(7, "batch", 6)
    assert fixed_batch(time_major) is None
    assert bind_sizes(time_major, None, {}) == {"batch": 1}
    assert bind_sizes(time_major, 3, {}) == {"batch": 3}
    assert bind_sizes(time_major, None, {"tokens": (7, 5, 6)}) == {"batch": 5}


def turned(*shape: int | str) -> Bundle:
    """Return a model of images as NHWC, and a graph of it that takes them as NCHW."""
    logical = TensorSpec("image", "float32", shape)
    order = (0, 3, 1, 2)
    graph = TensorSpec("image", "float32", tuple(shape[axis] for axis in order), order)
    return Bundle("model", (InputSpec(logical),), (Artifact("onnx", Path(), (graph,), ()),))


def test_a_shape_in_the_order_of_the_graph_binds_the_same_sizes() -> None:
    image = turned("batch", "height", "width", 3)
    assert bind_sizes(image, None, {"image": (2, 3, 32, 48)}) == {"batch": 2, "height": 32, "width": 48}


def test_a_shape_that_fits_both_orders_is_in_that_of_the_original() -> None:
    image = turned("batch", "height", "width", 3)
    assert bind_sizes(image, None, {"image": (2, 3, 32, 3)}) == {"batch": 2, "height": 3, "width": 32}


def test_a_shape_that_fits_neither_order_is_refused_in_that_of_the_original() -> None:
    with pytest.raises(IrbenchError, match="the input is batch x 32 x 32 x 3") as caught:
        bind_sizes(turned("batch", 32, 32, 3), None, {"image": (1, 3, 64, 64)})
    assert "order of the original model" in caught.value.hint
