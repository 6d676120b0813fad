"""Small functions of JAX, as users write them: each function returns one with its example inputs."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def weights(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape) / np.sqrt(shape[0])


def mlp():
    first, second = weights(0, 64, 128), weights(1, 128, 10)
    return jax.jit(lambda pixels: jax.nn.softmax(jax.nn.relu(pixels @ first) @ second)), (jnp.linspace(0, 1, 64)[None],)


def convolve(kernels, head, image):
    for kernel in kernels:
        image = lax.conv_general_dilated(image, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        image = jax.nn.relu(image)
    features = image.mean((1, 2))
    return {"classes": features @ head, "features": features}


def cnn():
    kernels = [weights(0, 3, 3, 3, 8), weights(1, 3, 3, 8, 16)]
    return partial(convolve, kernels, weights(2, 16, 10)), (jnp.ones((1, 16, 16, 3)),)


def attend(queries, keys):
    weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", queries, keys) / queries.shape[-1] ** 0.5)
    return {"output": jnp.einsum("bqk,bkd->bqd", weights, keys), "weights": weights}


def attention():
    inputs = (np.random.default_rng(0).random((2, 3, 8), np.float32), jnp.zeros((2, 5, 8)))
    return jax.jit(attend), inputs, {"keys": {1: "length"}}


def scan():
    matrix = weights(0, 8, 8)

    def step(state, value):
        state = jnp.tanh(state @ matrix + value)
        return state, state

    def recurrence(steps):
        last, states = lax.scan(step, jnp.zeros((steps.shape[0], 8)), steps.swapaxes(0, 1))
        return last, states.swapaxes(0, 1)

    return jax.jit(recurrence), (jnp.zeros((2, 5, 8)),)


def fixed_batch():
    return jax.jit(lambda values: values.reshape(2, 4, 6).sum(1)), (jnp.ones((2, 24)),)


def strided():
    kernel = weights(0, 3, 4, 5)

    def convolve(signal):
        return lax.conv_general_dilated(signal, kernel, (2,), "VALID", dimension_numbers=("NHC", "HIO", "NHC"))

    return jax.jit(convolve), (jnp.ones((2, 9, 4)),), {"signal": {1: "length"}}


def scalars():
    return jax.jit(lambda left, right: left * right), (np.float32(2), jnp.float32(3))


def wide():
    jax.config.update("jax_enable_x64", True)
    return jax.jit(lambda values, ids: (values * 2.5, ids + 1)), (np.ones((2, 3)), np.arange(4).reshape(2, 2))


def singular():
    def values_of(matrices):
        return jnp.linalg.svd(2 * matrices)[1]  # refused: singular

    return jax.jit(values_of), (jnp.ones((2, 4, 4)),)


def calling_python():
    def call(values):
        shape = jax.ShapeDtypeStruct(values.shape, values.dtype)
        return jax.pure_callback(np.asarray, shape, 2 * values)  # refused: calling_python

    return jax.jit(call), (jnp.ones((2, 3)),)


def branching():
    def choose(values):
        if values.sum() > 0:  # refused: branching
            return values
        return -values

    return jax.jit(choose), (jnp.ones((2, 4)),)


def without_inputs():
    return jax.jit(lambda values: values + 1)


def too_few():
    return jax.jit(lambda left, right: left + right), (jnp.ones((2, 3)),)


def unknown_name():
    return jax.jit(lambda values: values + 1), (jnp.ones((2, 3)),), {"tokens": {1: "length"}}


class Module:
    """Stands for a module of another framework, which its tensors belong to."""

    def __call__(self, values):
        return values


class Tensor:
    """Stands for a tensor of that framework."""


def foreign():
    return Module(), (Tensor(),)


def foreign_alone():
    return Module()
