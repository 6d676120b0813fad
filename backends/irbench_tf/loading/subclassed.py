"""Subclassed Keras models: those that were built know the shapes of their inputs, but have no inputs."""

from __future__ import annotations

from typing import Any


def with_inputs(model: Any) -> Any:
    """Return a model that has inputs, made of one that was built or called; a model as it is where that is impossible.

    Keras keeps the shapes of arguments, not their types, and takes them for numbers of the model's own type. Where
    something is looked up, integers are meant, so such a model is left to its author.
    """
    import keras

    if getattr(model, "inputs", None) or not model.built or _looks_up(model):
        return model
    config = model.get_build_config() or {}
    shapes = config.get("shapes_dict") or {"inputs": config.get("input_shape")}
    if not all(shapes.values()):
        return model
    inputs = {name.removesuffix("_shape"): _inputs(shape, model.input_dtype) for name, shape in shapes.items()}
    only = next(iter(inputs.values()))
    try:
        outputs = model(only) if len(inputs) == 1 else model(**inputs)
    except Exception:  # noqa: BLE001 - of a model that takes more, Keras may keep the first shape alone
        return model
    return keras.Model(only if len(inputs) == 1 else list(inputs.values()), outputs, name=model.name)


def _inputs(shape: Any, dtype: str) -> Any:
    """Return inputs for a shape, or for a structure of shapes."""
    import keras

    if isinstance(shape, dict):
        return {name: _inputs(own, dtype) for name, own in shape.items()}
    if shape and not all(size is None or isinstance(size, int) for size in shape):
        return [_inputs(own, dtype) for own in shape]
    return keras.Input(tuple(shape[1:]), dtype=dtype)


def _looks_up(model: Any) -> bool:
    import keras

    layers = model._flatten_layers(include_self=False)  # noqa: SLF001 - Keras has no public way to reach nested layers
    return any(isinstance(layer, keras.layers.Embedding) for layer in layers)
