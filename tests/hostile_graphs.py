"""Graphs of TensorFlow that do more than compute. Everything here imports TensorFlow: call it in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from saved_objects import add_huge_constant
from tf_checks import Answer, answer

from irbench.spec import Artifact, Load, TensorSpec

MARKER = "written-by-the-graph"
"""How a file is called that some of the graphs write in the folder of their process."""


def answers(name: str, folder: Path, kinds: Iterable[str]) -> dict[str, Answer | tuple[str, str]]:
    """Write a graph of each kind, and return what a backend answers, or why it refuses it.

    Args:
        name: ``tf`` or ``tf-xla``.
        folder: Where the graphs are written, and files that they name lie.
        kinds: Names of :data:`HARMFUL` and :data:`HARMLESS`.
    """
    import numpy as np

    found = {}
    for kind in kinds:
        artifact = _write(folder / kind, {**HARMFUL, **HARMLESS}[kind], folder / MARKER)
        found[kind] = answer(name, artifact, Load(threads=1), (np.ones((2, 3), np.float32),))
    return found


def answers_of_claims(name: str, folder: Path) -> list[Answer | tuple[str, str]]:
    """Return what a backend says of graphs whose constant claims 32 GB, in the graph and in a function."""
    import numpy as np
    from tensorflow.core.framework import graph_pb2

    found = []
    for where in ("graph", "function"):
        artifact = _write(folder / f"claims in a {where}", _draws, folder / MARKER)
        graph_def = graph_pb2.GraphDef.FromString(artifact.path.read_bytes())
        add_huge_constant(graph_def.node if where == "graph" else graph_def.library.function.add().node_def)
        artifact.path.write_bytes(graph_def.SerializeToString())
        found.append(answer(name, artifact, Load(threads=1), (np.ones((2, 3), np.float32),)))
    return found


def accepted(operators: Iterable[str]) -> list[str]:
    """Return those of the operators that would be run."""
    from irbench_tf.pure_operators import is_pure

    return [operator for operator in operators if is_pure(operator)]


def unknown() -> list[str]:
    """Return names on the lists of harmless operators that TensorFlow does not have."""
    from tensorflow.python.framework import op_def_registry

    from irbench_tf import pure_operators

    listed = (*pure_operators.STATEFUL, *pure_operators.WITH_TEXT, *pure_operators.RESTORING)
    return sorted(operator for operator in listed if op_def_registry.get(operator) is None)


def _write(path: Path, build: Callable[[Any, Path], Any], marker: Path) -> Artifact:
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.identity(build(x, marker), name="y")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    x_spec, y_spec = TensorSpec("x", "float32", ("batch", 3)), TensorSpec("y", "float32", ("batch", 3))
    return Artifact("tf-graph", path, (x_spec,), (y_spec,))


def _after(operation: Any, x: Any) -> Any:
    """Return ``x``, computed once an operation has run."""
    import tensorflow as tf

    with tf.control_dependencies([operation]):
        return tf.identity(x)


def _writes(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return _after(tf.io.write_file(str(marker), "written"), x)


def _writes_in_a_function(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    @tf.function
    def inner(value: Any) -> Any:
        return _writes(value, marker)

    return inner(x)


def _writes_in_a_branch(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return tf.cond(tf.reduce_sum(x) > 0, lambda: _writes(x, marker), lambda: x)


def _reads(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return x + tf.cast(tf.strings.length(tf.io.read_file("/etc/passwd")), tf.float32)


def _looks(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return x + tf.cast(tf.size(tf.io.matching_files("/etc/*")), tf.float32)


def _prints(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return _after(tf.print("hello", output_stream=f"file://{marker}"), x)


def _calls_python(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return tf.reshape(tf.numpy_function(lambda value: value, [x], tf.float32), tf.shape(x))


def _restores(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    (found,) = tf.raw_ops.RestoreV2(prefix=str(marker), tensor_names=["a"], shape_and_slices=[""], dtypes=[tf.float32])
    return x + found


def _saves(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    saved = tf.raw_ops.SaveV2(prefix=str(marker), tensor_names=["a"], shape_and_slices=[""], tensors=[x])
    return _after(saved, x)


def _fills_a_table(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    filled = tf.raw_ops.InitializeTableFromTextFileV2(
        table_handle=table, filename="/etc/passwd", key_index=-2, value_index=-1
    )
    return _after(filled, x)


def _maps_memory(x: Any, marker: Path) -> Any:
    import tensorflow as tf

    return x + tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[3], memory_region_name="/etc/passwd")


HARMFUL: dict[str, Callable[[Any, Path], Any]] = {
    "WriteFile": _writes,
    "WriteFile in a function": _writes_in_a_function,
    "WriteFile in a branch": _writes_in_a_branch,
    "ReadFile": _reads,
    "MatchingFiles": _looks,
    "PrintV2": _prints,
    "PyFunc": _calls_python,
    "RestoreV2": _restores,
    "SaveV2": _saves,
    "InitializeTableFromTextFileV2": _fills_a_table,
    "ImmutableConst": _maps_memory,
}
"""By the operator that is refused, perhaps with where it stands, what builds the graph."""


def _draws(x: Any, _: Path) -> Any:
    import tensorflow as tf

    return x + 0 * tf.random.uniform(tf.shape(x))


def _loops(x: Any, _: Path) -> Any:
    import tensorflow as tf

    return tf.while_loop(lambda turn, _: turn < 3, lambda turn, value: (turn + 1, value * 2), [0, x])[1] / 8


def _contracts(x: Any, _: Path) -> Any:
    import tensorflow as tf

    return tf.einsum("bi,ij->bj", x, tf.eye(3))


HARMLESS: dict[str, Callable[[Any, Path], Any]] = {"draws": _draws, "loops": _loops, "contracts": _contracts}
"""Graphs that use operators with state or with text, and only compute."""
