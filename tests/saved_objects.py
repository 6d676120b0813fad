"""Writes SavedModels of objects, as TensorFlow 2 does, and damaged ones. Call it in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from saved_graphs import MARKER, WEIGHTS, changed


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

    _objects(path)
    with tf.Graph().as_default() as graph:
        tf.raw_ops.WriteFile(filename=f"{path}-{MARKER}", contents="initialiser", name="first")
    with changed(path) as saved:
        (first,) = saved.meta_graphs
        first.graph_def.node.extend(graph.as_graph_def().node)
        first.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "first"
        other = saved.meta_graphs.add()
        other.CopyFrom(first)
        other.meta_info_def.tags.append("gpu")


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
    _objects(path)
    with changed(path) as saved:
        nodes = saved.meta_graphs[0].object_graph_def.nodes
        variable = next(number for number, node in enumerate(nodes) if node.WhichOneof("kind") == "variable")
        slot = nodes[0].slot_variables.add(original_variable_node_id=variable, slot_variable_node_id=variable)
        slot.slot_name = "momentum"


def add_huge_constant(nodes: Any) -> None:
    """Add a constant that stores one number, and says that it is 8 billion of them."""
    huge = nodes.add(name="huge", op="Const")
    huge.attr["dtype"].type = 1
    tensor = huge.attr["value"].tensor
    tensor.dtype = 1
    tensor.float_val.append(1.0)
    tensor.tensor_shape.dim.add(size=8_000_000_000)


def _claims(path: Path) -> None:
    """Write a function that claims more memory than there is."""
    _objects(path)
    with changed(path) as saved:
        for function in saved.meta_graphs[0].graph_def.library.function:
            add_huge_constant(function.node_def)


def _claims_in_graph(path: Path) -> None:
    _objects(path)
    with changed(path) as saved:
        add_huge_constant(saved.meta_graphs[0].graph_def.node)


def _claims_elsewhere(path: Path) -> None:
    """Have a function claim it that nothing calls."""
    _objects(path)
    with changed(path) as saved:
        library = saved.meta_graphs[0].graph_def.library
        library.function.add().signature.name = "unused"
        add_huge_constant(library.function[-1].node_def)


def _linked(path: Path) -> None:
    """Write the weights elsewhere, and a link to them."""
    _objects(path)
    data = path / "variables" / "variables.data-00000-of-00001"
    data.symlink_to(data.rename(path.with_name("other-weights")))


def _piped(path: Path) -> None:
    """Put a pipe in the place of a file that TensorFlow reads, which waits for somebody to write."""
    _objects(path)
    index = path / "variables" / "variables.index"
    index.unlink()
    os.mkfifo(index)


def _ragged(path: Path) -> None:
    import tensorflow as tf

    class Sums(tf.Module):
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
        def __call__(self, rows: Any) -> dict[str, Any]:
            return {"sums": tf.reduce_sum(rows, axis=1)}

    module = Sums()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.__call__})


def _endless(path: Path) -> None:
    """Make a file long that TensorFlow reads as a whole; it takes no room."""
    _objects(path)
    with (path / "fingerprint.pb").open("ab") as file:
        file.truncate(1 << 40)


def _garbage(path: Path) -> None:
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\xff" * 64)


OBJECTS: dict[str, Callable[[Path], None]] = {
    "objects": _objects,
    "writes as object": _acting("write"),
    "reads as object": _acting("read"),
    "looks as object": _acting("match"),
    "writes elsewhere": _acting("write", elsewhere=True),
    "writes at start": _filled,
    "writes in two graphs": _twice,
    "exported": _exported,
    "slots": _slots,
    "claims": _claims,
    "claims in a graph": _claims_in_graph,
    "claims elsewhere": _claims_elsewhere,
    "garbage": _garbage,
    "ragged": _ragged,
    "linked": _linked,
    "piped": _piped,
    "endless": _endless,
}
