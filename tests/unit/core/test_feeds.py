"""Seeded inputs: the same samples whatever the batch, and in every artifact's layout."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 and float8 by name once it is imported
import numpy as np
import pytest
from combinations import each_once

from irbench.core.feeds import (
    ALIGNMENT,
    POOL,
    constant,
    generate,
    holds_pool,
    lay_out,
    logical_inputs,
    read_sample,
    repeat_pool,
    write_sample,
)
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import Artifact, Feeding, InputSpec, TensorSpec, is_named_as_mask, is_named_as_padding

IMAGE = InputSpec(TensorSpec("image", "float32", ("batch", 4, 5, 3)), -1.0, 1.0)
TOKENS = InputSpec(TensorSpec("tokens", "int32", ("batch", "sequence")), 0, 100)


def test_equal_seeds_give_equal_values_and_other_seeds_others() -> None:
    (first,), (again,), (other,) = (generate([IMAGE], {"batch": 2}, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_sample_does_not_depend_on_the_batch_it_is_in() -> None:
    (alone,), (among_others,) = (generate([IMAGE], {"batch": batch}, 0) for batch in (1, 5))
    np.testing.assert_array_equal(alone[0], among_others[0])


def test_samples_repeat_after_the_pool() -> None:
    (images,) = generate([IMAGE], {"batch": POOL + 3}, 0)
    np.testing.assert_array_equal(images[:3], images[POOL:])
    assert len({image.tobytes() for image in images[:POOL]}) == POOL


def test_values_keep_dtype_and_range() -> None:
    image, tokens = generate([IMAGE, TOKENS], {"batch": 8, "sequence": 50}, 0)
    assert image.dtype == np.float32
    assert tokens.dtype == np.int32
    assert -1 <= image.min() < -0.5
    assert 0.5 < image.max() < 1
    assert tokens.min() >= 0
    assert 50 < tokens.max() < 100


def test_an_input_without_a_batch_axis_is_drawn_whole() -> None:
    (scale,) = generate([InputSpec(TensorSpec("scale", "float64", (3,)))], {"batch": 4}, 0)
    assert scale.shape == (3,)


def test_boolean_inputs_hold_both_values() -> None:
    (mask,) = generate([InputSpec(TensorSpec("mask", "bool", ("batch", 64)))], {"batch": 1}, 0)
    assert mask.any()
    assert not mask.all()


def test_the_same_logical_image_reaches_every_layout() -> None:
    (image,) = generate([IMAGE], {"batch": 2}, 0)
    nchw = Artifact("onnx", Path(), (TensorSpec("image", "float32", (2, 3, 4, 5), (0, 3, 1, 2)),), ())
    (laid_out,) = lay_out([image], nchw)
    assert laid_out.shape == (2, 3, 4, 5)
    assert laid_out.flags.c_contiguous
    np.testing.assert_array_equal(laid_out.transpose(0, 2, 3, 1), image)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    each_once(
        [(), (0,), (3, 0, 2), (1,), (7,), (3, 5, 7), (1, 3, 33, 17)],
        ["bool", "int8", "float16", "bfloat16", "float8_e4m3fn", "float32", "int64"],
    ),
)
def test_inputs_begin_at_aligned_addresses_whatever_their_shape_and_dtype(shape: tuple[int, ...], dtype: str) -> None:
    logical = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 + 1
    artifact = Artifact("onnx", Path(), (TensorSpec("x", dtype, shape),) * 5, ())
    for laid_out in lay_out([logical] * 5, artifact):
        assert laid_out.ctypes.data % ALIGNMENT == 0
        assert laid_out.flags.c_contiguous
        assert laid_out.flags.aligned
        assert laid_out.flags.writeable
        assert laid_out.dtype == np.dtype(dtype)
        assert laid_out.shape == shape
        np.testing.assert_array_equal(laid_out, logical.astype(dtype))


def test_a_transposed_input_is_aligned_too() -> None:
    spec = TensorSpec("image", "float32", (3, 5, 2), (2, 0, 1))
    (laid_out,) = lay_out([np.arange(30).reshape(5, 2, 3)], Artifact("onnx", Path(), (spec,), ()))
    assert laid_out.ctypes.data % ALIGNMENT == 0
    assert laid_out.flags.c_contiguous
    np.testing.assert_array_equal(laid_out, np.arange(30).reshape(5, 2, 3).transpose(2, 0, 1))


def test_text_is_laid_out_as_it_is() -> None:
    words = np.array(["a", "longer"], object)
    artifact = Artifact("onnx", Path(), (TensorSpec("words", "object", (2,)), TensorSpec("words", "str", (2,))), ())
    for laid_out in lay_out([words, words], artifact):
        assert laid_out.tolist() == ["a", "longer"]


def test_what_is_laid_out_twice_shares_no_memory() -> None:
    image, scale = np.zeros((2, 3), np.float32), np.zeros((), np.float32)
    artifact = Artifact(
        "onnx", Path(), (TensorSpec("image", "float32", (2, 3)), TensorSpec("scale", "float32", ())), ()
    )
    arrays = [image, scale, *lay_out([image, scale], artifact), *lay_out([image, scale], artifact)]
    assert not any(np.shares_memory(item, other) for item, other in combinations(arrays, 2))


def test_stored_outputs_answer_for_every_batch() -> None:
    stored = np.arange(POOL * 2).reshape(POOL, 2)
    (outputs,) = repeat_pool([stored], POOL + 1)
    np.testing.assert_array_equal(outputs[-1], stored[0])
    assert repeat_pool([stored], 3)[0].shape == (3, 2)


@pytest.mark.parametrize("rows", [1, 3])
def test_stored_outputs_are_repeated_along_the_axis_that_counts_samples(rows: int) -> None:
    samples = np.arange(POOL * rows * 2).reshape(POOL, rows, 2)
    time_first = samples.reshape(POOL * rows, 2).transpose(1, 0)
    (outputs,) = repeat_pool([time_first], POOL + 1, [1])
    np.testing.assert_array_equal(outputs, samples[[*range(POOL), 0]].reshape(-1, 2).transpose(1, 0))


def test_an_output_without_samples_is_the_same_for_every_batch() -> None:
    table, scores = np.arange(6).reshape(3, 2), np.zeros((POOL, 2))
    outputs = repeat_pool([table, scores], 3, [None, 0])
    assert outputs[0] is table
    assert outputs[1].shape == (3, 2)


@pytest.mark.parametrize(
    ("shape", "axes", "holds"),
    [
        ((POOL, 2), (), True),
        ((2 * POOL, 2), (), True),
        ((POOL - 1, 2), (), False),
        ((2, POOL), (1,), True),
        ((2, POOL), (0,), False),
        ((POOL,), (1,), False),
        ((), (None,), True),
        ((POOL,), (0, 0), False),
        ((0,), (0,), False),
    ],
)
def test_outputs_of_other_batches_than_the_pool_are_recognised(shape, axes, holds) -> None:
    assert holds_pool([np.zeros(shape)], axes) is holds


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32"])
@pytest.mark.parametrize("shape", [("batch", 64), ("batch", 1, 64, 64), (3, 64)])
def test_rows_of_a_mask_are_ones_followed_by_zeros(dtype: str, shape: tuple[int | str, ...]) -> None:
    (mask,) = generate([InputSpec(TensorSpec("mask", dtype, shape), 0, 2, is_mask=True)], {"batch": POOL}, 0)
    assert mask.dtype == np.dtype(dtype)
    rows = mask.reshape(-1, 64).astype(int)
    assert (np.diff(rows) <= 0).all()
    assert (rows[:, 0] == 1).all(), "at least one position counts"
    assert (rows[:, -1] == 0).all(), "and one does not, whatever one stands for"
    assert len(set(rows.sum(axis=1).tolist())) > 1, "lengths differ"


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_a_mask_that_marks_padding_has_zeros_followed_by_ones(dtype: str) -> None:
    spec = InputSpec(TensorSpec("key_padding_mask", dtype, ("batch", 64)), 0, 2, is_mask=True)
    (kept,) = generate([spec], {"batch": POOL}, 0)
    (padding,) = generate([replace(spec, marks_padding=True)], {"batch": POOL}, 0)
    assert padding.dtype == np.dtype(dtype)
    assert (padding.astype(int) == 1 - kept.astype(int)).all()


@pytest.mark.parametrize(
    ("name", "dtype", "marks_padding"),
    [
        ("key_padding_mask", "bool", True),
        ("src_key_padding_mask", "int64", True),
        ("encoder.memory_key_padding_mask:0", "float32", True),
        ("tgt_padding_mask_1", "int64", True),
        ("src_pad_mask", "bool", True),
        ("padding_mask", "bool", True),
        ("padding_mask", "int32", False),  # Keras's
        ("attention_mask", "bool", False),
        ("unpad_mask", "bool", False),
    ],
)
def test_names_of_pytorch_say_that_a_mask_marks_padding(name: str, dtype: str, marks_padding: bool) -> None:
    assert is_named_as_padding(name, dtype) is marks_padding


@pytest.mark.parametrize("shape", [("batch", 64, 1), ("batch", 4, 64, 1), ("batch", 64, 1, 1), (3, 64, 1)])
def test_a_mask_that_is_broadcast_over_channels_is_cut_along_the_axis_before(shape: tuple[int | str, ...]) -> None:
    (mask,) = generate([InputSpec(TensorSpec("mask", "int32", shape), 0, 2, is_mask=True)], {"batch": POOL}, 0)
    assert mask.shape == tuple(POOL if size == "batch" else size for size in shape)
    rows = mask.reshape(-1, 64)
    assert (np.diff(rows) <= 0).all()
    assert (rows[:, 0] == 1).all()
    assert (rows[:, -1] == 0).all()


@pytest.mark.parametrize("length", [0, 1])
def test_a_mask_of_at_most_one_position_keeps_it(length: int) -> None:
    spec = InputSpec(TensorSpec("mask", "int32", ("batch", length)), 0, 2, is_mask=True)
    (mask,) = generate([spec], {"batch": 2}, 0)
    assert mask.shape == (2, length)
    assert (mask == 1).all()


@pytest.mark.parametrize(
    ("name", "is_mask"),
    [
        ("mask", True),
        ("attention_mask", True),
        ("decoder.padding_mask", True),
        ("serving_default_input_mask:0", True),
        ("Mask_2", True),
        ("masked_positions", False),
        ("mask_positions", False),
        ("tokens", False),
    ],
)
def test_an_input_is_a_mask_if_its_name_ends_so(name: str, is_mask: bool) -> None:
    assert is_named_as_mask(name) is is_mask


@pytest.mark.parametrize(
    ("dtype", "given", "expected"),
    [
        ("string", ("007", "true", "1.50", 7, 0.5), ["007", "true", "1.50", "7", "0.5"]),
        ("int64", ("007", 8), [7, 8]),
        ("float32", ("1.50", "1e1", 2), [1.5, 10, 2]),
        ("bool", ("true", "FALSE", True), [True, False, True]),
    ],
)
def test_a_text_is_a_number_only_where_the_input_takes_numbers(
    dtype: str, given: tuple[str | float, ...], expected: list[object]
) -> None:
    assert constant(InputSpec(TensorSpec("x", dtype, (len(given),))), {}, given).tolist() == expected


@pytest.mark.parametrize(("dtype", "text"), [("int64", "1.50"), ("uint8", "0300"), ("float32", "cat"), ("bool", "cat")])
def test_a_text_that_the_input_cannot_hold_is_refused(dtype: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        constant(InputSpec(TensorSpec("x", dtype, (1,))), {}, (text,))


def test_samples_come_before_constants_and_constants_before_generated_values(tmp_path: Path) -> None:
    specs = [InputSpec(TensorSpec(name, "float32", (2,))) for name in "abc"]
    write_sample(tmp_path / "s.npz", specs, {"a": np.array([5, 6], np.float32)})
    feeding = Feeding(seed=3, values={"a": (1,), "b": (2,)}, samples=(tmp_path / "s.npz",))
    a, b, c = logical_inputs(specs, {}, feeding)
    assert a.tolist() == [5, 6]
    assert b.tolist() == [2, 2]
    np.testing.assert_array_equal(c, generate(specs, {}, 3)[2])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16"])
def test_a_written_sample_is_read_with_its_values_and_dtype(tmp_path: Path, dtype: str) -> None:
    spec = InputSpec(TensorSpec("a strange/name", dtype, (3,)))
    given = np.array([0, 1, 1]).astype(dtype)
    write_sample(tmp_path / "s.npz", [spec], {"a strange/name": given})
    (read,) = read_sample(tmp_path / "s.npz", [spec]).values()
    assert read.dtype == given.dtype
    np.testing.assert_array_equal(read, given)


@pytest.mark.parametrize(
    ("shape", "values", "expected"),
    [
        ((), (16000,), 16000),
        ((2, 2), (7,), [[7, 7], [7, 7]]),
        ((2, 2), (1, 2), [[1, 2], [1, 2]]),
        ((2, 2), (1, 2, 3, 4), [[1, 2], [3, 4]]),
    ],
)
def test_a_constant_fills_its_input(shape: tuple[int, ...], values: tuple[int, ...], expected: object) -> None:
    array = constant(InputSpec(TensorSpec("sr", "int64", shape)), {}, values)
    assert array.dtype == np.int64
    assert array.tolist() == expected


@pytest.mark.parametrize("values", [(0.5,), (300,), (1, 2, 3)])
def test_a_constant_that_the_input_cannot_hold_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"cannot hold|broadcast"):
        constant(InputSpec(TensorSpec("x", "uint8", (2,))), {}, values)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("int4", {0, 1}), ("uint4", {0, 1}), ("int8", {0, 1}), ("bool", {False, True}), ("string", {"0", "1"})],
)
@pytest.mark.parametrize("shape", [("batch", 64), (64,)])
def test_integers_of_any_width_and_strings_are_drawn_from_the_range(dtype, values, shape) -> None:
    spec = TensorSpec("x", dtype, shape)
    artifact = Artifact("onnx", Path("m.onnx"), (spec.bind({"batch": 2}),), ())
    (array,) = lay_out(generate([InputSpec(spec, 0, 2)], {"batch": 2}, 0), artifact)
    assert array.dtype == numpy_dtype(dtype)
    assert set(array.ravel().tolist()) == values


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int4", "int64", "bool", "string"])
def test_a_scalar_is_drawn_as_one(dtype: str) -> None:
    spec = TensorSpec("x", dtype, ())
    (array,) = lay_out(generate([InputSpec(spec)], {}, 0), Artifact("onnx", Path("m.onnx"), (spec,), ()))
    assert (array.shape, array.dtype) == ((), numpy_dtype(dtype))
