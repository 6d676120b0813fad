"""What the tests of SavedModels run inside workers: folders as TensorFlow 1 and older optimizers wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from saved_graphs import GRAPHS
from saved_objects import OBJECTS

from irbench.errors import IrbenchError


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


def load_exchanged(folder: Path) -> Mapping[str, Any]:
    """Load a SavedModel whose file another takes the place of once it was checked; return what it answers."""
    import tensorflow as tf

    from irbench_tf.loading import saved_models

    path, other = folder / "exchanged", save("writes at start", folder)
    _KINDS["objects"](path)
    content, checked = (other / "saved_model.pb").read_bytes(), saved_models.has_pure_objects

    def exchange(meta_graph: Any) -> bool:
        is_pure = checked(meta_graph)
        (path / "saved_model.pb").write_bytes(content)
        return is_pure

    saved_models.has_pure_objects = exchange  # type: ignore[assignment]
    try:
        function = saved_models.load_signature(path, None)
    finally:
        saved_models.has_pure_objects = checked
    return dict(zip(function.output_names, (value.numpy() for value in function.call([tf.ones([2, 4])])), strict=True))


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

    from irbench_tf.loading import signatures, sources
    from irbench_tf.loading.saved_models import load_signature

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


_KINDS = {**GRAPHS, **OBJECTS}
