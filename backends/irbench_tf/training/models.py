"""Models that are trained: loaded as they were compiled, or compiled as the user asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec.training import ModelFacts, TrainedModel, TrainingPrecision
from irbench_tf.loading import sources
from irbench_tf.loading.keras_files import compile_as_saved
from irbench_tf.model_errors import cause_of

OF_CLASSIFIERS = "sparse_categorical_crossentropy"
USUAL_OPTIMIZER = "adam"
_USUAL_SIZE = 32
"""Height and width of images for a model that takes images of any size."""
_CHANNELS = (1, 3)
_ONE_HOT_OR_NUMBER = ("sparse", "Sparse")
"""How names of losses begin whose labels are numbers of classes."""


def load_trained(model: TrainedModel, precision: TrainingPrecision = "fp32", seed: int = 0) -> Any:
    """Return the model, compiled, with initial weights that follow from the seed.

    Raises:
        IrbenchError: It cannot be loaded, or has no loss, or there is no such loss or optimizer.
    """
    return _named(model, precision, seed)[1]


def _named(model: TrainedModel, precision: TrainingPrecision, seed: int) -> tuple[str, Any]:
    import keras

    keras.utils.set_random_seed(seed)
    policy = "float32" if precision == "fp32" else precision
    keras.config.set_dtype_policy(policy)
    name, made = sources.load_keras(model.source, model.imports)
    if precision != "fp32":
        _set_policy(made, policy)
    if model.source.endswith(".keras"):
        compile_as_saved(made, Path(model.source))
    return name, _compiled(made, model, is_classifier=sources.is_zoo_classifier(model.source))


def model_facts(model: TrainedModel) -> ModelFacts:
    """Return what is known of a model once it was loaded; raises as :func:`load_trained` does."""
    name, made = _named(model, "fp32", 0)
    optimizers = optimizers_of(made) if has_own_step(made) else {}
    return ModelFacts(
        name=name,
        input_shape=image_shape(made),
        classes=class_count(made),
        parameters=sum(int(weight.shape.num_elements()) for weight in made.trainable_variables),
        loss=_name_of(made.loss),
        optimizer=_name_of(optimizers if len(optimizers) > 1 else made.optimizer),
        is_jit_compiled=bool(made.jit_compile),
        steps_per_execution=made.steps_per_execution,
    )


def has_own_step(model: Any) -> bool:
    """Whether the class of a model has a ``train_step`` of its own."""
    import keras

    return type(model).train_step is not keras.Model.train_step


def unused_option(model: Any, trained: TrainedModel) -> str:
    """Return the first option of the user's that the steps of a model do not use, of which at least one was made.

    A class may compute its loss or change its weights in a way of its own, and only its steps show whether that is so:
    they call the loss, and build the optimizer.
    """
    if trained.loss and not model.given_by_user.loss.is_used:
        return f"--loss {trained.loss}"
    if trained.optimizer and not model.given_by_user.optimizer.built:
        return f"--optimizer {trained.optimizer}"
    if trained.learning_rate is not None and not model.optimizer.built:
        return f"--learning-rate {trained.learning_rate}"
    return ""


def has_own_loss(model: Any) -> bool:
    """Whether the class of a model computes what it is trained with, so that it is compiled without a loss."""
    import keras

    return has_own_step(model) or type(model).compute_loss is not keras.Model.compute_loss


def optimizers_of(model: Any) -> dict[str, Any]:
    """Return the optimizers that a model has, by its attributes: a step of its own may use several."""
    import keras

    found: dict[str, Any] = {}
    for layer in model._flatten_layers():  # noqa: SLF001 - there is no public way
        place = "" if layer is model else f"{layer.name}."
        for name, value in vars(layer).items():
            if name.startswith("_self_"):  # what TensorFlow tracks: everything a second time
                continue
            parts = (
                value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
            )
            for part in parts:
                if isinstance(part, keras.optimizers.Optimizer) and not any(part is own for own in found.values()):
                    found[f"{place}{name}"] = part
    return found


def image_shape(model: Any) -> tuple[int, ...]:
    """Return height, width and channels of a sample; empty where the model takes something else than one image."""
    inputs = list(getattr(model, "inputs", None) or [])
    if len(inputs) != 1:
        return ()
    sizes = tuple(inputs[0].shape[1:])
    if len(sizes) != 3 or sizes[-1] not in _CHANNELS:
        return ()
    return tuple(_USUAL_SIZE if size is None else int(size) for size in sizes)


def class_count(model: Any) -> int:
    """Return how many scores the only output has for a sample; 0 where that is not known."""
    outputs = list(getattr(model, "outputs", None) or [])
    if len(outputs) != 1 or len(outputs[0].shape) != 2 or outputs[0].shape[-1] is None:
        return 0
    return int(outputs[0].shape[-1])


def takes_class_numbers(model: Any) -> bool:
    """Whether labels are numbers of classes; otherwise they are one value for each score."""
    return _name_of(model.loss).startswith(_ONE_HOT_OR_NUMBER)


def _set_policy(model: Any, policy: str) -> None:
    """Set the policy of every layer: a loaded model keeps that of its file, whatever the global one is."""
    import keras

    for layer in model._flatten_layers(include_self=True, recursive=True):  # noqa: SLF001 - there is no public way
        if str(layer.dtype_policy.name) == "float32":
            layer.dtype_policy = keras.dtype_policies.get(policy)


def _compiled(made: Any, model: TrainedModel, *, is_classifier: bool) -> Any:
    """Return a model as it was compiled, but for what the user changes of that; or compiled with what they give.

    Its ``given_by_user`` has the loss and the optimizer that it was compiled with here, each ``None`` where none was.
    """
    if made.compiled:
        _refuse_several_optimizers(made, model)
        loss, optimizer = model.loss, model.optimizer
    else:
        loss, optimizer = model.loss or (OF_CLASSIFIERS if is_classifier else ""), model.optimizer or USUAL_OPTIMIZER
    # out of the model's sight: an optimizer among its attributes would count as one of its own
    made.given_by_user = given = SimpleNamespace(
        loss=_loss_called(loss) if loss else None, optimizer=_optimizer_called(optimizer) if optimizer else None
    )
    if not made.compiled:
        _compile(made, model.source, given.loss, given.optimizer)
    else:
        if given.loss is not None:
            _recompile(made, given.loss)
        if given.optimizer is not None:
            _replace_optimizer(made, given.optimizer)
    if model.learning_rate is not None:
        _set_learning_rate(made, model)
    return made


def _compile(made: Any, source: str, loss: Any, optimizer: Any) -> None:
    if loss is None and not has_own_loss(made):
        raise IrbenchError(
            f"{source} is not compiled, and has no loss to train with.",
            hint=f"Compile the model before you save or return it, or give a loss: `--loss {OF_CLASSIFIERS}`.",
        )
    try:
        made.compile(optimizer=optimizer, **({} if loss is None else {"loss": loss}))
    except TypeError as error:
        raise IrbenchError(
            f"{source} is not compiled, and its compile() method requires other arguments: {cause_of(error)}",
            hint="Give a function that compiles the model and returns it: path/to/file.py:function.",
        ) from error


def _refuse_several_optimizers(made: Any, model: TrainedModel) -> None:
    """Refuse an optimizer or a learning rate where a step of the model's own has several optimizers."""
    optimizers = optimizers_of(made) if has_own_step(made) else {}
    if len(optimizers) > 1 and (model.optimizer or model.learning_rate is not None):
        flag = "--optimizer" if model.optimizer else "--learning-rate"
        raise IrbenchError(
            f"{flag} cannot be used with {model.source}, which has several optimizers: {', '.join(optimizers)}.",
            hint=f"Leave out {flag}, and set it in the code that compiles the model.",
        )


def _recompile(model: Any, loss: Any) -> None:
    """Compile a compiled model again with another loss, for each output that has one, and everything else as it was.

    What a ``compile`` of its own class did besides, and the optimizer as it is now, stay.
    """
    import keras

    compiled = model._compile_config.config  # noqa: SLF001 - what there is in public is serialised
    optimizer = {"optimizer": model.optimizer, "auto_scale_loss": False}
    own = compiled["loss"]
    losses = loss if own is None else keras.tree.map_structure(lambda part: None if part is None else loss, own)
    keras.Model.compile(model, **{**compiled, **optimizer, "loss": losses})


def _replace_optimizer(model: Any, optimizer: Any) -> None:
    """Put an optimizer in the place of another, by all its names, and scale its loss where that was scaled."""
    import keras

    own = model.optimizer
    scales = isinstance(own, keras.optimizers.LossScaleOptimizer)
    model.optimizer = keras.optimizers.LossScaleOptimizer(optimizer) if scales else optimizer
    for name in [name for name, value in vars(model).items() if value is own and own is not None]:
        setattr(model, name, model.optimizer)


def _set_learning_rate(made: Any, model: TrainedModel) -> None:
    """Set the rate of the optimizer; one whose rate follows a schedule is made again, with the rate in its place."""
    import keras

    own = made.optimizer
    inner = own.inner_optimizer if isinstance(own, keras.optimizers.LossScaleOptimizer) else own
    try:
        config = inner.get_config()
        if isinstance(config["learning_rate"], float):
            inner.learning_rate = model.learning_rate
        else:
            _replace_optimizer(made, type(inner).from_config({**config, "learning_rate": model.learning_rate}))
    except Exception as error:
        raise IrbenchError(
            f"The optimizer of {model.source}, {_name_of(own)}, takes no learning rate: {cause_of(error)}",
            hint="Leave out --learning-rate, and set the rate where the model is compiled; or give an --optimizer.",
        ) from error


def _loss_called(name: str) -> Any:
    """Return a loss by its name, whose ``is_used`` says whether a step called it."""
    import keras

    try:
        loss: Any = keras.losses.get(name)
    except ValueError as error:
        raise IrbenchError(
            f"Keras has no loss called {name!r}.", hint=_one_of(name, known_losses(), f"--loss {OF_CLASSIFIERS}")
        ) from error
    is_object = isinstance(loss, keras.losses.Loss)
    compute = loss.call if is_object else loss

    @wraps(compute)
    def called(*values: Any, **options: Any) -> Any:
        given.is_used = True
        return compute(*values, **options)

    if is_object:
        loss.call = called
    given: Any = loss if is_object else called
    given.is_used = False
    return given


def _optimizer_called(name: str) -> Any:
    import keras

    try:
        return keras.optimizers.get(name)
    except ValueError as error:
        raise IrbenchError(
            f"Keras has no optimizer called {name!r}.",
            hint=_one_of(name, known_optimizers(), f"--optimizer {USUAL_OPTIMIZER}"),
        ) from error


def known_losses() -> list[str]:
    """Return the names of the losses of Keras, in the form that its documentation trains with."""
    import keras

    return _made_by(keras.losses.get, filter(str.islower, dir(keras.losses)))


def known_optimizers() -> list[str]:
    """Return the names of the optimizers of Keras that can be made from their names alone."""
    import keras

    return _made_by(keras.optimizers.get, sorted(map(str.lower, dir(keras.optimizers))))


def _made_by(get: Callable[[str], Any], names: Iterable[str]) -> list[str]:
    """Return the names that Keras makes something of: its modules also have functions, and classes without a name."""
    made: list[str] = []
    for name in names:
        with suppress(ValueError, TypeError, KeyError):
            get(name)
            made.append(name)
    return made


def _one_of(name: str, known: Sequence[str], example: str) -> str:
    return f"{did_you_mean(name, known)}Give `{example}`, for example, or one of {', '.join(known)}."


def _name_of(part: Any) -> str:
    """Return what a loss or an optimizer is called; of several losses, each with its output where these have names."""
    if part is None:
        return ""
    if isinstance(part, Mapping):
        return ", ".join(f"{output}: {_name_of(own)}" for output, own in part.items() if own is not None)
    if isinstance(part, list | tuple):
        return ", ".join(_name_of(own) for own in part if own is not None)
    name = getattr(part, "name", None) or getattr(part, "__name__", None)
    return str(name or (part if isinstance(part, str) else type(part).__name__))
