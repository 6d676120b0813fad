"""SavedModel folders: choose a signature, and load it as TensorFlow 2 or TensorFlow 1 wrote it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.core.suggestions import nearest
from irbench.errors import IrbenchError, first_line
from irbench_tf.loading.saved_graphs import frozen_call, has_pure_objects, require_pure

_MOST_BYTES = (1 << 31) - 1
"""Of one message of protobuf; TensorFlow reads these files as a whole."""


def _require_own_files(path: Path) -> None:
    """Refuse a folder that holds anything but regular files and folders, or a message that is too long for protobuf."""
    pending = [path]
    while pending:
        for entry in os.scandir(pending.pop()):
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                pending.append(Path(entry.path))
            elif stat.S_ISLNK(mode):
                raise IrbenchError(
                    f"{entry.path} is a link, and the files of a SavedModel must lie in its folder.",
                    hint=f"If you trust it, copy the folder and what its links name: cp -rL {quote(str(path))} COPY",
                )
            elif not stat.S_ISREG(mode):
                raise IrbenchError(
                    f"{entry.path} is not a regular file.", hint="Such a SavedModel is not to be trusted."
                )
            elif entry.name.endswith(".pb") and entry.stat().st_size > _MOST_BYTES:
                raise IrbenchError(
                    f"{entry.path} is larger than 2 GB, which TensorFlow cannot read.",
                    hint="Save the model again: its weights belong into the folder variables.",
                )


DEFAULT_SIGNATURE = "serving_default"
_FILE = "saved_model.pb"
_SERVING_TAG = "serve"
_HINT_SAVE_AGAIN = "Save it again with model.export(folder) or tf.saved_model.save."
_INTERNAL = "__saved_model"
"""TensorFlow keeps its own initialisers among the signatures, under names that start like this."""


@dataclass(frozen=True)
class SavedFunction:
    """One signature of a SavedModel, ready to be called.

    Attributes:
        inputs: Name, element type and shape of each input; a free axis is ``None``, and so is a shape of unknown rank.
        output_names: Sorted, in the order of what ``call`` returns.
        call: Maps input tensors, in the order of ``inputs``, to output tensors.
        imports_graph: Whether ``call`` imports the graph instead of calling a function.
    """

    inputs: tuple[tuple[str, str, tuple[int | None, ...] | None], ...]
    output_names: tuple[str, ...]
    call: Callable[[list[Any]], list[Any]]
    keeps_alive: Any = None
    imports_graph: bool = False


def is_saved_model(path: Path) -> bool:
    """Whether ``path`` is a SavedModel folder; imports no TensorFlow."""
    return (path / _FILE).is_file()


def load_signature(path: Path, name: str | None) -> SavedFunction:
    """Load one signature of the SavedModel in ``path``, for inference.

    A SavedModel of TensorFlow 1 has no objects, those of older optimizers and Keras versions cannot be restored, and
    others would run operations with side effects: all are loaded as a graph, whose variables become constants.

    Without a name it is ``serving_default``, or the only one.
    """
    _require_own_files(path)
    content = (path / _FILE).read_bytes()
    meta_graphs = _parsed(path, content).meta_graphs
    meta_graph = _choose_meta_graph(path, meta_graphs)
    chosen = _choose_signature(path, meta_graph, name)
    signature = meta_graph.signature_def[chosen]
    inputs, outputs = _tensors(path, signature.inputs), _tensors(path, signature.outputs)
    _refuse_ragged(path, meta_graph, signature)
    require_pure(path, meta_graph, inputs.values(), outputs.values())
    # of several graphs, TensorFlow restores no objects, but runs the initialiser
    if len(meta_graphs) > 1 or not meta_graph.HasField("object_graph_def") or not has_pure_objects(meta_graph):
        return _load_graph(path, meta_graph, chosen)
    try:
        with _instead_of_file(path, content):
            return _load_objects(path, meta_graph, chosen)
    except Exception as error:  # noqa: BLE001 - TensorFlow raises all kinds where it cannot restore the objects
        try:
            return _load_graph(path, meta_graph, chosen)
        except IrbenchError:
            raise _unloadable(path, error) from error


def _parsed(path: Path, content: bytes) -> Any:
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    try:
        return saved_model_pb2.SavedModel.FromString(content)
    except DecodeError as error:
        raise IrbenchError(f"{path / _FILE} is not a SavedModel.", hint=_HINT_SAVE_AGAIN) from error


@contextmanager
def _instead_of_file(path: Path, content: bytes) -> Iterator[None]:
    """Have TensorFlow load what was checked: it would read the file again, which somebody may have exchanged.

    The name that is replaced is private to TensorFlow.
    """
    from tensorflow.core.framework import graph_debug_info_pb2
    from tensorflow.python.saved_model import loader_impl

    reads = loader_impl.parse_saved_model_with_debug_info
    loader_impl.parse_saved_model_with_debug_info = lambda _: (
        _parsed(path, content),  # again, because the loader changes it
        graph_debug_info_pb2.GraphDebugInfo(),
    )
    try:
        yield
    finally:
        loader_impl.parse_saved_model_with_debug_info = reads


def _choose_meta_graph(path: Path, meta_graphs: Sequence[Any]) -> Any:
    """Return the meta graph for serving: tagged ``serve`` alone before one with more tags, or the only one."""
    if len(meta_graphs) == 1:
        return meta_graphs[0]
    serving = [graph for graph in meta_graphs if _SERVING_TAG in graph.meta_info_def.tags]
    if not serving:
        tags = "; ".join(", ".join(graph.meta_info_def.tags) for graph in meta_graphs) or "none"
        raise IrbenchError(
            f"The SavedModel {path} has no graph with the tag {_SERVING_TAG}. It has graphs with the tags: {tags}.",
            hint=_HINT_SAVE_AGAIN,
        )
    return min(serving, key=lambda graph: len(graph.meta_info_def.tags))


def _choose_signature(path: Path, meta_graph: Any, name: str | None) -> str:
    names: list[str] = sorted(key for key in meta_graph.signature_def if not key.startswith(_INTERNAL))
    if not names:
        raise IrbenchError(
            f"The SavedModel {path} has no signature, so its inputs are unknown.",
            hint="Save it with model.export(folder), or tf.saved_model.save(model, folder, signatures=function).",
        )
    if name is not None:
        if name in names:
            return name
        near = nearest(name, names)
        raise IrbenchError(
            f"The SavedModel {path} has no signature called {name}. It has: {', '.join(names)}.",
            hint=f"Did you mean --signature {near}?" if near else f"For example: --signature {names[0]}",
        )
    if DEFAULT_SIGNATURE in names:
        return DEFAULT_SIGNATURE
    if len(names) == 1:
        return names[0]
    raise IrbenchError(
        f"The SavedModel {path} has several signatures and none is called {DEFAULT_SIGNATURE}: {', '.join(names)}.",
        hint=f"Choose one, for example: irbench export {quote(str(path))} --signature {quote(names[0])}",
    )


def _load_objects(path: Path, meta_graph: Any, name: str) -> SavedFunction:
    """Load the objects of a SavedModel of TensorFlow 2, and take a signature of theirs."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path), tags=list(meta_graph.meta_info_def.tags))
    function = loaded.signatures[name]
    # TensorFlow restores them in no particular order
    named: Mapping[str, Any] = dict(sorted(function.structured_input_signature[1].items()))
    inputs = tuple((key, spec.dtype.name, _sizes(spec.shape)) for key, spec in named.items())
    output_names = tuple(sorted(function.structured_outputs))

    def call(tensors: list[Any]) -> list[Any]:
        outputs = function(**dict(zip(named, tensors, strict=True)))
        return [outputs[output] for output in output_names]

    return SavedFunction(inputs, output_names, call, keeps_alive=loaded)


def _load_graph(path: Path, meta_graph: Any, name: str) -> SavedFunction:
    import tensorflow as tf

    signature = meta_graph.signature_def[name]
    inputs, outputs = _tensors(path, signature.inputs), _tensors(path, signature.outputs)
    shaped = [(tensor, tf.TensorShape(signature.outputs[key].tensor_shape)) for key, tensor in outputs.items()]
    try:
        call = frozen_call(path, meta_graph, tuple(inputs.values()), shaped)
    except Exception as error:
        raise _unloadable(path, error) from error
    described = tuple(
        (key, tf.dtypes.as_dtype(signature.inputs[key].dtype).name, _declared_sizes(signature.inputs[key]))
        for key in inputs
    )
    return SavedFunction(described, tuple(outputs), call, imports_graph=True)


def _tensors(path: Path, described: Mapping[str, Any]) -> dict[str, str]:
    """Return the tensor of each input or output in the graph, sorted by its name in the signature."""
    for key, info in described.items():
        if info.WhichOneof("encoding") != "name":
            raise IrbenchError(
                f"{key} in the SavedModel {path} is sparse or a composite of several tensors.",
                hint="Save a signature that takes and returns dense tensors only.",
            )
    return {key: described[key].name for key in sorted(described)}


def _refuse_ragged(path: Path, meta_graph: Any, signature: Any) -> None:
    """Refuse a signature of ragged tensors, which TensorFlow saves as their values and the rows that these are in.

    The saved function says that an argument is ragged; the signature that calls it has two inputs, ``x`` and ``x_1``.
    """
    functions = meta_graph.object_graph_def.concrete_functions.values()
    if not any(_takes_ragged(function.canonicalized_input_signature) for function in functions):
        return
    for key in sorted(signature.inputs):
        base, _, number = key.rpartition("_")
        if number.isdigit() and base in signature.inputs and _is_row_splits(signature.inputs[key]):
            raise IrbenchError(
                f"Input {base} of the SavedModel {path} is a ragged tensor, which ONNX has no type for.",
                hint="Save a signature that takes a dense tensor and the lengths of its rows:"
                " tf.RaggedTensor.from_tensor(x, lengths) makes a ragged one inside.",
            )


def _is_row_splits(info: Any) -> bool:
    import tensorflow as tf

    return info.dtype in (tf.int64.as_datatype_enum, tf.int32.as_datatype_enum) and len(info.tensor_shape.dim) == 1


def _takes_ragged(value: Any) -> bool:
    """Whether a structured value of TensorFlow's saved objects holds the type of a ragged tensor."""
    match value.WhichOneof("kind"):
        case "tuple_value" | "list_value" as kind:
            return any(map(_takes_ragged, getattr(value, kind).values))
        case "dict_value":
            return any(map(_takes_ragged, value.dict_value.fields.values()))
        case "type_spec_value":
            return bool(value.type_spec_value.type_spec_class == value.type_spec_value.RAGGED_TENSOR_SPEC)
    return False


def _declared_sizes(info: Any) -> tuple[int | None, ...] | None:
    import tensorflow as tf

    return _sizes(tf.TensorShape(info.tensor_shape))


def _sizes(shape: Any) -> tuple[int | None, ...] | None:
    return None if shape.rank is None else tuple(shape.as_list())


def _unloadable(path: Path, error: Exception) -> IrbenchError:
    return IrbenchError(f"The SavedModel {path} cannot be loaded: {first_line(error)}", hint=_HINT_SAVE_AGAIN)
