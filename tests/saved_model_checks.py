"""What the tests of SavedModels run inside workers: folders as TensorFlow 1 and older optimizers wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from irbench.errors import IrbenchError

__all__ = ["MARKER", "WEIGHTS", "Answer", "load_all", "save", "write_all"]

WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2)
MARKER = "written-by-the-model"
"""How a file is called, or ends, that some of the graphs write beside their folder."""

Parts = tuple[dict[str, Any], dict[str, dict[str, Any]], Any]
"""Inputs, the outputs of each signature, and the initialiser."""


class Answer(NamedTuple):
    """One signature, called with ones at batch 2."""

    inputs: tuple[tuple[str, str, tuple[int | None, ...] | None], ...]
    outputs: Mapping[str, Any]


def load_all(folder: Path, cases: Mapping[str, tuple[str, str | None]]) -> dict[str, Answer | str]:
    """Load a signature of each kind of SavedModel; return what it answers, or why it is refused.

    Args:
        folder: Where they are written.
        cases: By name, the kind and the signature.
    """
    return {name: _load(folder, kind, signature) for name, (kind, signature) in cases.items()}


def save(kind: str, folder: Path) -> Path:
    """Write the SavedModel of one kind into ``folder``."""
    path = folder / kind
    if not path.exists():
        _KINDS[kind](path)
    return path


def write_all(folder: Path, kinds: tuple[str, ...]) -> list[Path]:
    """Write several in one process."""
    return [save(kind, folder) for kind in kinds]


def _load(folder: Path, kind: str, signature: str | None) -> Answer | str:
    import tensorflow as tf

    from irbench_tf import signatures, sources
    from irbench_tf.saved_models import load_signature

    path = save(kind, folder)
    try:
        function = load_signature(path, signature)
        signatures.function_inputs(function.inputs)
        loaded = sources.load(str(path), signature=signature)
    except IrbenchError as error:
        return f"{error.message} {error.hint}"
    ones = [tf.ones([2 if size is None else size for size in shape or ()]) for _, _, shape in function.inputs]
    from irbench_tf.tracing import trace

    results = trace(loaded, None).function(*ones)
    outputs = {name: result.numpy() for name, result in zip(function.output_names, results, strict=True)}
    return Answer(function.inputs, outputs)


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


def _objects(path: Path) -> None:
    """Write a SavedModel of TensorFlow 2, whose variable an optimizer once kept a slot for."""
    import tensorflow as tf

    class Product(tf.Module):
        def __init__(self) -> None:
            self.weights = tf.Variable(WEIGHTS)

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "rows")])
        def __call__(self, rows: Any) -> dict[str, Any]:
            return {"product": self.inner(rows)}

        @tf.function
        def inner(self, rows: Any) -> Any:
            return rows @ self.weights

    module = Product()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.__call__})


def _acting(act: str, *, elsewhere: bool = False) -> Callable[[Path], None]:
    """Return what writes a SavedModel of TensorFlow 2 that uses a file, in its signature or in another function."""

    def write(path: Path) -> None:
        import tensorflow as tf

        acts = {
            "write": lambda: tf.io.write_file(f"{path}-{MARKER}", "objects"),
            "read": lambda: tf.io.read_file("/etc/hostname"),
            "match": lambda: tf.io.matching_files("/*"),
        }

        class Product(tf.Module):
            def __init__(self) -> None:
                self.weights = tf.Variable(WEIGHTS)

            @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "rows")])
            def __call__(self, rows: Any) -> dict[str, Any]:
                if elsewhere:
                    return {"product": rows @ self.weights}
                with tf.control_dependencies([acts[act]()]):
                    return {"product": rows @ self.weights}

            @tf.function(input_signature=[])
            def _initialize(self) -> Any:
                with tf.control_dependencies([acts[act]()]):
                    return tf.constant(1)

        module = Product()
        tf.saved_model.save(module, str(path), signatures={"serving_default": module.__call__})

    return write


def _filled(path: Path) -> None:
    """Write a SavedModel of TensorFlow 2 with a resource that TensorFlow initialises as it loads it: with a file."""
    import tensorflow as tf
    from tensorflow.python.trackable import resource

    class Filled(resource.TrackableResource):
        def _create_resource(self) -> Any:
            return tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)

        def _initialize(self) -> Any:
            return tf.io.write_file(f"{path}-{MARKER}", "initialiser")

    class Product(tf.Module):
        def __init__(self) -> None:
            self.weights, self.filled = tf.Variable(WEIGHTS), Filled()

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "rows")])
        def __call__(self, rows: Any) -> dict[str, Any]:
            return {"product": rows @ self.weights}

    module = Product()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.__call__})


def _twice(path: Path) -> None:
    """Write a SavedModel of TensorFlow 2 with a second graph: TensorFlow then runs the initialiser, which writes."""
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    _objects(path)
    file = path / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.raw_ops.WriteFile(filename=f"{path}-{MARKER}", contents="initialiser", name="first")
    (first,) = saved.meta_graphs
    first.graph_def.node.extend(graph.as_graph_def().node)
    first.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "first"
    other = saved.meta_graphs.add()
    other.CopyFrom(first)
    other.meta_info_def.tags.append("gpu")
    file.write_bytes(saved.SerializeToString())


def _exported(path: Path) -> None:
    """Write a model that was trained, with what it draws at random in training, as Keras exports it."""
    import keras

    rows = keras.Input((4,), name="rows")
    x = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(rows))
    model = keras.Model(rows, keras.layers.Dense(2, kernel_initializer="ones", name="product")(x))
    model.compile("adam", "mse")
    model.fit(np.zeros((2, 4)), np.zeros((2, 2)), verbose=0)
    model.export(str(path), verbose=False)


def _slots(path: Path) -> None:
    """Write the same, with the slot held by an object that TensorFlow restores as one without slots."""
    from tensorflow.core.protobuf import saved_model_pb2

    _objects(path)
    file = path / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    nodes = saved.meta_graphs[0].object_graph_def.nodes
    variable = next(number for number, node in enumerate(nodes) if node.WhichOneof("kind") == "variable")
    slot = nodes[0].slot_variables.add(original_variable_node_id=variable, slot_variable_node_id=variable)
    slot.slot_name = "momentum"
    file.write_bytes(saved.SerializeToString())


def _garbage(path: Path) -> None:
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\xff" * 64)


_KINDS: dict[str, Callable[[Path], None]] = {
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
    "objects": _objects,
    "writes as object": _acting("write"),
    "reads as object": _acting("read"),
    "looks as object": _acting("match"),
    "writes elsewhere": _acting("write", elsewhere=True),
    "writes at start": _filled,
    "writes in two graphs": _twice,
    "exported": _exported,
    "slots": _slots,
    "garbage": _garbage,
}
