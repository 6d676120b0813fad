"""Inputs and outputs of Keras models and SavedModel functions, as irbench's specs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irbench.errors import IrbenchError
from irbench.spec import BATCH, InputSpec, Shape, TensorSpec, is_named_as_mask

_DEFAULT_SIZES = {"sequence": 128, "height": 224, "width": 224}
_OTHER_SIZE = 16
_LOSSES_OF_NUMBERS = frozenset(
    {
        *("mse", "mae", "mape", "msle", "meansquarederror", "meanabsoluteerror", "meanabsolutepercentageerror"),
        *("meansquaredlogarithmicerror", "huber", "logcosh", "poisson", "cosinesimilarity", "binarycrossentropy"),
        *("binaryfocalcrossentropy", "bce"),
    }
)
"""Losses of Keras whose outputs are numbers, each for itself, without underscores."""
_GIVEN_BY_KERAS = re.compile(r"(functional|sequential|model)(_\d+)?")
"""Names of models whose authors gave them none."""


def own_name(model: Any) -> str:
    """Return the name that the author of a Keras model gave it; empty where it has one of Keras's."""
    name = str(model.name)
    return "" if _GIVEN_BY_KERAS.fullmatch(name) else name


def keras_inputs(model: Any) -> tuple[tuple[InputSpec, ...], int | None]:
    """Return the logical inputs of a Keras model and the batch it insists on, if any.

    An integer input that feeds an ``Embedding`` directly is drawn from its vocabulary, other integers from [0, 2), and
    rows of what is called a mask are ones followed by zeros.
    """
    tensors = list(getattr(model, "inputs", None) or ())
    if not tensors:
        raise IrbenchError(
            f"The Keras model {model.name} does not know the shapes of its inputs.",
            hint="Return keras.Model(x, model(x)) with x = keras.Input((16,), name='x'). Several inputs are a list or a"
            " dictionary, as the model takes them: x = [keras.Input((16,), name='a'), keras.Input((8,), name='b')];"
            " model(*x) where it takes one after the other. A Sequential model can begin with a keras.Input.",
        )
    structure = _structure(model, "input")
    keys = [_path_name(path, "input") for path in _paths(structure)] if _holds_keys(structure) else [""] * len(tensors)
    names = _unique([_plain_name(tensor.name, key or "input") for tensor, key in zip(tensors, keys, strict=True)])
    highs = [_vocabulary(model, tensor) for tensor in tensors]
    specs = [(name, str(tensor.dtype), tuple(tensor.shape)) for name, tensor in zip(names, tensors, strict=True)]
    return _logical(specs, highs)


def function_inputs(
    described: Sequence[tuple[str, str, tuple[int | None, ...] | None]],
) -> tuple[tuple[InputSpec, ...], int | None]:
    """Return the logical inputs of a SavedModel's signature and the batch it insists on, if any.

    Args:
        described: Name, element type and shape of each input; a shape is ``None`` where its rank is unknown.
    """
    specs: list[tuple[str, str, tuple[int | None, ...]]] = []
    for name, dtype, shape in described:
        if shape is None:
            raise IrbenchError(
                f"Input {name} of the SavedModel has no known rank.", hint="Save it with an input signature."
            )
        specs.append((name, dtype, shape))
    return _logical(specs, [None] * len(specs))


def keras_call(model: Any) -> Callable[[list[Any]], list[Any]]:
    """Return a function from a list of tensors to the list of the model's outputs, in inference mode."""
    import keras

    structure = _structure(model, "input")

    def call(tensors: list[Any]) -> list[Any]:
        if structure is None:
            packed = tensors[0] if len(tensors) == 1 else tensors
        else:
            packed = keras.tree.pack_sequence_as(structure, tensors)
        return list(keras.tree.flatten(model(packed, training=False)))

    return call


def keras_output_names(model: Any) -> tuple[str, ...]:
    """Return the names of the outputs; empty where Keras does not tell.

    Where the model returns a dictionary they are its keys, and otherwise the names of the layers that make the outputs.
    """
    structure = _structure(model, "output")
    if _holds_keys(structure):
        return tuple(_path_name(path, "output") for path in _paths(structure))
    return tuple(getattr(model, "output_names", None) or ())


def ends_in_softmax(model: Any) -> bool:
    """Whether the model's last layer is or applies a softmax, so that its answer is a class."""
    import keras

    layers = getattr(model, "layers", None) or [model]
    last = layers[-1]
    return isinstance(last, keras.layers.Softmax) or getattr(last, "activation", None) is keras.activations.softmax


def trains_classes(losses: Any, names: Sequence[str]) -> tuple[bool | None, ...]:
    """Return for each output whether the loss that a model was compiled with is of scores of classes.

    Args:
        losses: As ``compile`` takes them or a file stores them: one for all outputs, or one for each by place or name.
        names: Of the outputs.

    Returns:
        ``None`` for an output whose loss is not known, or may be of anything.
    """
    if isinstance(losses, Mapping) and "class_name" not in losses:
        each = [losses.get(name) for name in names]
    elif isinstance(losses, list | tuple):
        each = list(losses) if len(losses) == len(names) else [None] * len(names)
    else:
        each = [losses] * len(names)
    return tuple(map(_trains_classes, each))


def _trains_classes(loss: Any) -> bool | None:
    stored = loss
    if isinstance(loss, Mapping):
        is_function = loss.get("class_name") == "function"  # stored as its name, after that of a package
        stored = loss.get("config" if is_function else "class_name")
    name = stored if isinstance(stored, str) else getattr(stored, "__name__", None) or type(stored).__name__
    plain = name.rpartition(">")[2].replace("_", "").lower()
    if "categorical" in plain:
        return True
    return False if plain in _LOSSES_OF_NUMBERS else None


def default_sizes(inputs: Sequence[InputSpec]) -> dict[str, int]:
    """Return a size for every free dimension but the batch."""
    free = {name for tensor in inputs for name in tensor.tensor.dynamic_dimensions} - {BATCH}
    return {name: _DEFAULT_SIZES.get(name, _OTHER_SIZE) for name in sorted(free)}


def _logical(
    specs: Sequence[tuple[str, str, tuple[int | None, ...]]], highs: Sequence[int | None]
) -> tuple[tuple[InputSpec, ...], int | None]:
    scalars = [name for name, _, shape in specs if not shape]
    if scalars:
        raise IrbenchError(
            f"Input {scalars[0]} is a scalar, but irbench needs a batch as every input's first axis.",
            hint="Make it a constant of the model, or give it a batch axis.",
        )
    strings = [name for name, dtype, _ in specs if dtype == "string"]
    if strings:
        raise IrbenchError(
            f"Input {strings[0]} holds strings, and the inputs of an exported model are numbers.",
            hint="Export a function or signature that takes what the strings are decoded to.",
        )
    batches = {shape[0] for _, _, shape in specs} - {None}
    if len(batches) > 1:
        raise IrbenchError(
            f"The inputs' first axes differ ({', '.join(map(str, sorted(filter(None, batches))))}), so none of them"
            " is the batch axis.",
            hint="Give every input the same first axis.",
        )
    inputs = tuple(
        InputSpec(
            TensorSpec(name, dtype, _named_shape(name, shape)), 0.0, float(_high(dtype, high)), is_named_as_mask(name)
        )
        for (name, dtype, shape), high in zip(specs, highs, strict=True)
    )
    return inputs, next(iter(batches), None)


def _named_shape(name: str, shape: tuple[int | None, ...]) -> Shape:
    def size(axis: int, length: int | None) -> int | str:
        if length is not None:
            return length
        if len(shape) in (2, 3) and axis == 1:
            return "sequence"
        if len(shape) == 4 and axis in (1, 2):
            return ("height", "width")[axis - 1]
        return f"{name}_{axis}"

    return (BATCH, *(size(axis, length) for axis, length in enumerate(shape) if axis > 0))


def _high(dtype: str, vocabulary: int | None) -> int:
    if "int" not in dtype:
        return 1
    return vocabulary if vocabulary is not None else 2


def _vocabulary(model: Any, tensor: Any) -> int | None:
    import keras

    for layer in getattr(model, "layers", ()):
        if isinstance(layer, keras.layers.Embedding) and any(
            tensor is fed for fed in keras.tree.flatten(getattr(layer, "input", None))
        ):
            return int(layer.input_dim)
    return None


def _structure(model: Any, which: str) -> Any:
    """Return how the inputs or outputs of a model are nested; ``None`` where it does not tell."""
    try:
        return getattr(model, which)
    except (AttributeError, ValueError):  # a Sequential model has inputs but no input
        return None


def _holds_keys(structure: Any) -> bool:
    if isinstance(structure, Mapping):
        return True
    return isinstance(structure, list | tuple) and any(map(_holds_keys, structure))


def _paths(structure: Any) -> list[tuple[Any, ...]]:
    import keras

    return [path for path, _ in keras.tree.flatten_with_path(structure)]


def _path_name(path: tuple[Any, ...], otherwise: str) -> str:
    """Return ``encoder_hidden`` for what is at ``["encoder"]["hidden"]``, ``output_0_hidden`` at ``[0]["hidden"]``."""
    first = () if path and isinstance(path[0], str) else (otherwise,)
    return "_".join(map(str, (*first, *path)))


def _plain_name(name: str, fallback: str) -> str:
    # keras numbers unnamed tensors over the whole process: such a name would differ from export to export
    plain = name.partition(":")[0].replace("/", "_")
    return fallback if plain.startswith(("keras_tensor", "input_layer")) else plain


def _unique(names: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for name in names:
        candidate, count = name, 1
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        taken.append(candidate)
    return taken
