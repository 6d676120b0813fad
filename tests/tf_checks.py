"""What the tests of the TensorFlow backends do inside workers, where TensorFlow may be imported."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tf_models

import irbench_tf
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Load, Scalar, TensorSpec
from irbench.spi import Array, Refusal

Answer = tuple[list[Array], dict[str, Scalar]]


@contextmanager
def no_phases(_: str) -> Iterator[None]:
    """Open no evidence."""
    yield


def answer(
    name: str, artifact: Artifact, load: Load, feed: tuple[Array, ...], device: str = "cpu"
) -> Answer | tuple[str, str]:
    """Return the outputs for ``feed`` and what the session reads back, or message and hint of a refusal."""
    backend = irbench_tf.graph if name == "tf" else irbench_tf.xla
    bound = replace(
        artifact,
        inputs=tuple(replace(spec, shape=array.shape) for spec, array in zip(artifact.inputs, feed, strict=True)),
    )
    try:
        backend.import_runtime(load, device)
        session = backend.compile(bound, load, device, no_phases)
    except Refusal as refusal:
        return refusal.message, refusal.hint
    (slot,) = session.open_slots(1, "copy")
    slot.stage(feed)
    slot.run()
    outputs = [np.array(output) for output in slot.fetch()]
    session.close()
    return outputs, dict(session.effective)


def expected_of_all(kinds: tuple[str, ...], feeds: tuple[Array, ...]) -> list[list[Array]]:
    """Return what each model answers to its feed, with variables, in one process."""
    return [tf_models.expected(kind, (feed,)) for kind, feed in zip(kinds, feeds, strict=True)]


def write_all(folder: Path, kinds: tuple[str, ...]) -> list[Artifact]:
    """Write a frozen graph of each kind into folders of their own."""
    return [getattr(tf_models, f"write_{kind}")(folder / kind) for kind in kinds]


def operations(path: Path) -> Counter[str]:
    """Return how often each operation stands in a graph file, functions included."""
    from tensorflow.core.framework import graph_pb2

    graph_def = graph_pb2.GraphDef.FromString(path.read_bytes())
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return Counter(node.op for node in nodes)


def default_specs() -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Freeze without naming anything and return what the specs became."""
    from irbench_tf.frozen import freeze

    concrete, _, _ = tf_models.build("sequence")
    frozen = freeze(concrete)
    return frozen.inputs, frozen.outputs


def freeze_too_large() -> str:
    """Freeze a function that claims more weights than a file can hold, and return the error."""
    from types import SimpleNamespace

    from irbench_tf.frozen import constant_graph

    weight = SimpleNamespace(dtype=SimpleNamespace(size=4), shape=SimpleNamespace(num_elements=lambda: 2**30))
    try:
        constant_graph(SimpleNamespace(variables=[weight]))
    except IrbenchError as error:
        return error.message
    return ""


def freeze_with_a_clash() -> list[Array]:
    """Freeze a function whose inner operation is called like its output, and run it."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import tensorflow as tf

    from irbench_tf.frozen import freeze

    def call(x: Any) -> Any:
        return tf.identity(tf.multiply(x, 3.0, name="scores") + 1.0, name="other")

    concrete = tf.function(call).get_concrete_function(tf.TensorSpec((None, 2), tf.float32, "x"))
    frozen = freeze(concrete, outputs=(TensorSpec("scores", "float32", ("batch", 2)),))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(frozen.graph_def), name="")
    with tf.compat.v1.Session(graph=graph) as session:
        return [session.run("scores:0", {"x:0": np.ones((1, 2), np.float32)})]


def lean_then_full() -> tuple[int, int, str, float]:
    """Count modules after the lean import and after the first use of the public API, and use both together."""
    irbench_tf.graph.import_runtime(Load(), "cpu")
    lean = _tensorflow_modules()
    import tensorflow as tf

    product = float(tf.reduce_sum(tf.ones((2, 2)) @ tf.ones((2, 2))))
    return lean, _tensorflow_modules(), tf.__version__, product


def _tensorflow_modules() -> int:
    return sum(name.startswith("tensorflow") for name in sys.modules)
