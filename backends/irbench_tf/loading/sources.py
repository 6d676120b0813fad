"""Find out what kind of model a name refers to, without TensorFlow, and load it with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.spec import InputSpec
from irbench.spi import Acceptance, ModelSource
from irbench.spi.user_functions import FIX_FUNCTION, call_user_function, import_first, is_function
from irbench_tf.loading import saved_models, signatures
from irbench_tf.loading.in_memory import is_of_framework
from irbench_tf.loading.keras_files import load_keras_file, saved_losses
from irbench_tf.loading.subclassed import with_inputs
from irbench_tf.model_errors import PYTHON_ON_TENSORS, cause_of, is_python_on_tensors

_HINT_FUNCTION = "Name a function without parameters that returns a Keras model: package.module:function."


@dataclass(frozen=True)
class Loaded:
    """A model in memory, ready to be traced.

    Attributes:
        inputs: Logical inputs; the first axis of each is the free batch.
        fixed_batch: The batch that the model itself insists on; ``None`` where it is free.
        output_names: One per output; empty where the model names none.
        defaults: Sizes of free dimensions other than the batch.
        keras_model: The Keras model; ``None`` for a SavedModel.
        keeps_alive: Whatever must outlive ``call``: a function holds its variables by weak references only.
        classifier: Whether its last layer gives scores of classes.
        imports_graph: Whether ``call`` imports a saved graph of TensorFlow 1 instead of calling a function.
        trains_classes: For each output whether its loss is of scores of classes; empty where no loss is known.
    """

    name: str
    call: Callable[[list[Any]], list[Any]]
    inputs: tuple[InputSpec, ...]
    fixed_batch: int | None
    output_names: tuple[str, ...]
    defaults: dict[str, int]
    classifier: bool
    keras_model: Any | None
    zoo: bool
    keeps_alive: Any
    imports_graph: bool = False
    source: str = ""
    trains_classes: tuple[bool | None, ...] = ()


def accepts(source: str) -> Acceptance:
    """Return whether ``source`` is a ``.keras`` file or a SavedModel folder, or may return a Keras model."""
    path = Path(source)
    if source in registry.names(registry.MODELS) or is_function(source):
        return "perhaps"
    return "certain" if path.suffix == ".keras" or saved_models.is_saved_model(path) else "no"


def load(source: str, imports: Sequence[str] = (), signature: str | None = None) -> Loaded:
    """Build or load the model that ``source`` names.

    ``imports`` are modules, or files of Python, that register layers of the model; they are imported first.
    """
    path = Path(source)
    if signature is not None and not saved_models.is_saved_model(path):
        raise IrbenchError(
            f"{source} is not a SavedModel folder, and only those have signatures.", hint="Leave --signature out."
        )
    import_first(imports)
    return replace(_loaded(source, imports, signature), source=source)


def _loaded(source: str, imports: Sequence[str], signature: str | None) -> Loaded:
    path = Path(source)
    if source in registry.names(registry.MODELS):
        return _from_zoo(registry.model(source))
    if path.suffix == ".keras":
        return _from_keras(path.stem, load_keras_file(path, imports), saved_losses(path))
    if saved_models.is_saved_model(path):
        return _from_saved_model(path, signature)
    if is_function(source):
        return _from_keras(*_from_function(source))
    raise IrbenchError(f"{source} is not a model that TensorFlow can export.", hint=_HINT_FUNCTION)


def _from_zoo(source: ModelSource) -> Loaded:
    model = source.build()
    return Loaded(
        name=source.name,
        call=signatures.keras_call(model),
        inputs=source.inputs,
        fixed_batch=None,
        output_names=signatures.keras_output_names(model),
        defaults=dict(source.defaults),
        classifier=source.classifier,
        keras_model=model,
        zoo=True,
        keeps_alive=model,
    )


def _from_keras(name: str, model: Any, losses: Any = None) -> Loaded:
    losses = model.loss if model.compiled else losses
    model = with_inputs(model)
    names = signatures.keras_output_names(model)
    inputs, fixed_batch = signatures.keras_inputs(model)
    return Loaded(
        name=name,
        call=signatures.keras_call(model),
        inputs=inputs,
        fixed_batch=fixed_batch,
        output_names=names,
        defaults=signatures.default_sizes(inputs),
        classifier=signatures.ends_in_softmax(model),
        keras_model=model,
        zoo=False,
        keeps_alive=model,
        trains_classes=signatures.trains_classes(losses, names or ("",) * len(model.outputs)),
    )


def _from_saved_model(path: Path, signature: str | None) -> Loaded:
    function = saved_models.load_signature(path, signature)
    inputs, fixed_batch = signatures.function_inputs(function.inputs)
    name = path.resolve().name
    chosen = signature is not None and signature != saved_models.DEFAULT_SIGNATURE
    return Loaded(
        name=f"{name}-{signature}".replace("/", "_") if chosen else name,
        call=function.call,
        inputs=inputs,
        fixed_batch=fixed_batch,
        output_names=function.output_names,
        defaults=signatures.default_sizes(inputs),
        classifier=False,
        keras_model=None,
        zoo=False,
        keeps_alive=function,
        imports_graph=function.imports_graph,
    )


def load_keras(source: str, imports: Sequence[str] = ()) -> tuple[str, Any]:
    """Return what tables call a Keras model, and the model itself, as its author made it.

    Raises:
        IrbenchError: It is none, or it cannot be loaded.
    """
    import_first(imports)
    path = Path(source)
    if source in registry.names(registry.MODELS):
        return source, registry.model(source).build()
    if path.suffix == ".keras":
        return path.stem, load_keras_file(path, imports)
    if is_function(source):
        return _from_function(source)
    raise IrbenchError(
        f"{source} is not a Keras model.",
        hint="Give a model of the zoo, a .keras file, or file.py:function that returns a model.",
    )


def is_zoo_classifier(source: str) -> bool:
    """Whether a source names a model of the zoo whose output are scores of classes."""
    return source in registry.names(registry.MODELS) and registry.model(source).classifier


def call_function(source: str) -> Any:
    """Return what a function of the user's returns, ``module:function``.

    Raises:
        IrbenchError: There is no such function, or it failed.
    """
    try:
        return call_user_function(source, is_of_framework)
    except IrbenchError:
        raise
    except Exception as error:
        raise IrbenchError(
            f"{source}() failed: {cause_of(error)}",
            hint=PYTHON_ON_TENSORS if is_python_on_tensors(error) else FIX_FUNCTION,
        ) from error


def _from_function(source: str) -> tuple[str, Any]:
    """Return what tables call the Keras model that a function returns, and the model."""
    import keras

    model = call_function(source)
    if not isinstance(model, keras.Model):
        raise IrbenchError(
            f"{source}() returned {type(model).__name__}, which is not a Keras model.", hint=_HINT_FUNCTION
        )
    return signatures.own_name(model) or source.rpartition(":")[2], model
