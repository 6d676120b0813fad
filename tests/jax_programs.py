"""A program of JAX that the contract of backends is tried on, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from irbench.spec import Artifact, TensorSpec
from irbench.spi import Feed, Outputs


def write_dense(folder: Path) -> Artifact:
    first, second = np.random.default_rng(0).uniform(-0.1, 0.1, (2, 64, 64)).astype(np.float32)
    values = jax.ShapeDtypeStruct(export.symbolic_shape("batch, 64"), jnp.float32)
    program = export.export(jax.jit(lambda values: jnp.tanh(values @ first) @ second))(values)
    path = folder / "model.jax"
    path.write_bytes(program.serialize())
    inputs, outputs = (TensorSpec(name, "float32", ("batch", 64)) for name in ("values", "output"))
    return Artifact("jax-export", path, (inputs,), (outputs,))


def outputs(artifact: Artifact, feeds: Sequence[Feed]) -> list[Outputs]:
    program = export.deserialize(bytearray(artifact.path.read_bytes()))
    return [[np.asarray(program.call(*feed))] for feed in feeds]
