"""Writes SavedModels as TensorFlow 1 did: graphs in sessions. It imports TensorFlow: call it in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2)
MARKER = "written-by-the-model"
"""How a file is called, or ends, that some of the graphs write beside their folder."""
Parts = tuple[dict[str, Any], dict[str, dict[str, Any]], Any]
"""Inputs, the outputs of each signature, and the initialiser."""


@contextmanager
def changed(path: Path) -> Iterator[Any]:
    """Yield a SavedModel as its message, and write back what became of it."""
    from tensorflow.core.protobuf import saved_model_pb2

    file = path / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    yield saved
    file.write_bytes(saved.SerializeToString())


def _graph(build: Callable[[], Parts], tags: tuple[tuple[str, ...], ...] = (("serve",),)) -> Callable[[Path], None]:
    """Return what writes a SavedModel of TensorFlow 1, the same graph under each set of tags."""

    def write(path: Path) -> None:
        import tensorflow as tf

        v1 = tf.compat.v1
        v1.disable_control_flow_v2()
        builder = v1.saved_model.Builder(str(path))
        with tf.Graph().as_default(), v1.Session() as session:
            inputs, outputs, initialiser = build()
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            signatures = {
                name: v1.saved_model.predict_signature_def(inputs, results) for name, results in outputs.items()
            }
            first, *others = map(list, tags)
            builder.add_meta_graph_and_variables(
                session, first, signature_def_map=signatures, main_op=None if initialiser is None else initialiser(path)
            )
            for more in others:
                builder.add_meta_graph(more, signature_def_map=signatures)
        builder.save()

    return write


def _rows() -> Any:
    import tensorflow as tf

    return tf.compat.v1.placeholder(tf.float32, [None, 4], name="rows")


def _variable(*, resource: bool = False) -> Any:
    import tensorflow as tf

    return tf.compat.v1.get_variable("weights", initializer=tf.constant(WEIGHTS), use_resource=resource)


def _serving(inputs: dict[str, Any], outputs: dict[str, Any]) -> Parts:
    return inputs, {"serving_default": outputs}, None


def _product(*, resource: bool = False) -> Parts:
    import tensorflow as tf

    rows = _rows()
    return _serving({"rows": rows}, {"product": tf.matmul(rows, _variable(resource=resource))})


def _two_signatures() -> Parts:
    import tensorflow as tf

    rows = _rows()
    product = tf.matmul(rows, _variable())
    return {"rows": rows}, {"classify": {"product": product}, "embed": {"negative": -product}}, None


def _partitioned() -> Parts:
    import tensorflow as tf

    def part(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        start = partition_info.var_offset[0]
        return tf.constant(WEIGHTS[start : start + shape[0]])

    rows, halves = _rows(), tf.compat.v1.fixed_size_partitioner(2)
    weights = tf.compat.v1.get_variable("weights", shape=[4, 2], initializer=part, partitioner=halves)
    return _serving({"rows": rows}, {"product": tf.matmul(rows, tf.convert_to_tensor(weights))})


def _loop() -> Parts:
    import tensorflow as tf

    rows, step = _rows(), tf.compat.v1.get_variable("step", initializer=2.0)
    _, powers = tf.compat.v1.while_loop(lambda turn, _: turn < 3, lambda turn, x: (turn + 1, x * step), [0, rows])
    return _serving({"rows": rows}, {"powers": powers})


def _dropout() -> Parts:
    import tensorflow as tf

    rows, weight = _rows(), _variable()[0, 1]
    training = tf.compat.v1.placeholder_with_default(False, [])
    return _serving({"rows": rows}, {"kept": tf.compat.v1.cond(training, lambda: rows * 0, lambda: rows * weight)})


def _identity() -> Parts:
    rows = _rows()
    return _serving({"rows": rows}, {"rows_again": rows, "twice": rows * 2})


def _unfed() -> Parts:
    import tensorflow as tf

    rows, rate = _rows(), tf.compat.v1.placeholder(tf.float32, [], name="rate")
    return _serving({"rows": rows}, {"product": rows * rate})


def _strings() -> Parts:
    import tensorflow as tf

    text = tf.compat.v1.placeholder(tf.string, [None], name="text")
    return _serving({"text": text}, {"numbers": tf.io.decode_raw(text, tf.float32, fixed_length=4)})


def _table() -> Parts:
    import tensorflow as tf

    rows = _rows()
    pairs = tf.lookup.KeyValueTensorInitializer(tf.constant([1], tf.int64), tf.constant([7.0]))
    found = tf.lookup.StaticHashTable(pairs, 0.0).lookup(tf.cast(rows, tf.int64))
    return *_serving({"rows": rows}, {"found": found})[:2], lambda _: tf.compat.v1.tables_initializer()


def _writes() -> Parts:
    import tensorflow as tf

    rows = _rows()
    with tf.control_dependencies([tf.io.write_file(MARKER, "output")]):
        return _serving({"rows": rows}, {"twice": rows * 2})


def _writes_first() -> Parts:
    import tensorflow as tf

    inputs, outputs, _ = _product()
    return inputs, outputs, lambda path: tf.io.write_file(f"{path}-{MARKER}", "initialiser")


def _reads_and_writes(path: Path) -> None:
    """Write a graph whose variable is read, when it becomes a constant, by what waits for a file to be written."""
    import tensorflow as tf

    _graph(lambda: _product(resource=True))(path)
    with tf.Graph().as_default() as graph:
        tf.raw_ops.WriteFile(filename=f"{path}-{MARKER}", contents="reading", name="first")
    with changed(path) as saved:
        nodes = saved.meta_graphs[0].graph_def.node
        (read,) = (node for node in nodes if node.name == "weights/Read/ReadVariableOp")
        read.input.append("^first")
        nodes.extend(graph.as_graph_def().node)


def _acting_instead(arrange: Callable[[Any, Any], None]) -> Callable[[Path], None]:
    """Return what writes a graph that calls the function ``plain``, and says that ``acting``, which writes, is another.

    Args:
        arrange: Says so, in the library of functions and the node that calls; both functions are written before.
    """

    def write(path: Path) -> None:
        import tensorflow as tf

        def act(rows: Any) -> Any:
            with tf.control_dependencies([tf.io.write_file(f"{path}-{MARKER}", "instead")]):
                return tf.identity(rows)

        _graph(lambda: _product(resource=True))(path)
        with changed(path) as saved:
            graph = saved.meta_graphs[0].graph_def
            for name, function in {"plain": tf.identity, "acting": act}.items():
                traced = tf.function(function, input_signature=[tf.TensorSpec([None, 4])]).get_concrete_function()
                graph.library.function.add().CopyFrom(traced.function_def)
                graph.library.function[-1].signature.name = name
            (product,) = (node for node in graph.node if node.op == "MatMul")
            call = graph.node.add(
                name="call", op="PartitionedCall", device="/job:localhost/replica:0/task:0/device:CPU:0"
            )
            call.input.append(product.input[0])
            product.input[0] = "call"
            for types in (call.attr["Tin"], call.attr["Tout"]):
                types.list.type.append(tf.float32.as_datatype_enum)
            call.attr["f"].func.name = "plain"
            arrange(graph.library, call)

    return write


def _by_device(library: Any, _: Any) -> None:
    for function, device in zip(library.function, (b"GPU", b"CPU"), strict=True):
        function.attr["api_implements"].s, function.attr["api_preferred_device"].s = b"identity", device


def _as_gradient(library: Any, _: Any) -> None:
    library.gradient.add(function_name="plain", gradient_func="acting")


def _handed_on(_: Any, call: Any) -> None:
    call.attr["f"].func.attr["inner"].func.name = "acting"


GRAPHS: dict[str, Callable[[Path], None]] = {
    "reference variable": _graph(_product),
    "resource variable": _graph(lambda: _product(resource=True)),
    "partitioned variable": _graph(_partitioned),
    "two signatures": _graph(_two_signatures),
    "several tags": _graph(_product, (("serve", "gpu"), ("serve",), ("train",))),
    "another tag": _graph(_product, (("train",),)),
    "other tags": _graph(_product, (("train",), ("eval", "gpu"))),
    "loop": _graph(_loop),
    "dropout": _graph(_dropout),
    "identity": _graph(_identity),
    "unfed": _graph(_unfed),
    "strings": _graph(_strings),
    "table": _graph(_table),
    "writes": _graph(_writes),
    "writes first": _graph(_writes_first),
    "writes when read": _reads_and_writes,
    "writes by device": _acting_instead(_by_device),
    "writes as gradient": _acting_instead(_as_gradient),
    "writes if handed on": _acting_instead(_handed_on),
}
