"""Seeded inputs: the same samples whatever the batch, and in every artifact's layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irbench.feeds import POOL, generate, lay_out, repeat_pool
from irbench.spec import Artifact, InputSpec, TensorSpec

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


def test_stored_outputs_answer_for_every_batch() -> None:
    stored = np.arange(POOL * 2).reshape(POOL, 2)
    (outputs,) = repeat_pool([stored], POOL + 1)
    np.testing.assert_array_equal(outputs[-1], stored[0])
    assert repeat_pool([stored], 3)[0].shape == (3, 2)
