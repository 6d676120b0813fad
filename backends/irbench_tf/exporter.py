"""TensorFlow and Keras models to bundles: one worker builds, checks, freezes, converts and writes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irbench import __version__
from irbench.errors import IrbenchError, first_line
from irbench.spec import BATCH, RANDOM_DRAWS, Artifact, Bundle, Scalar, TensorSpec
from irbench.spi import Acceptance, Array, Exporter, ExporterDescription, ExportRequest, ModelInMemory
from irbench_tf import file_reads
from irbench_tf.layer_calls import called_in_training
from irbench_tf.loading import in_memory, keras_files, sources
from irbench_tf.random_draws import blaming_draws
from irbench_tf.traced_operations import blaming_state

if TYPE_CHECKING:
    from irbench_tf.loading.sources import Loaded
    from irbench_tf.reference_run import ReferenceRun
    from irbench_tf.tracing import TracedFunction

_ONNX_FILE, _REFERENCE_FILE = "model.onnx", "reference.npz"
_TOOLS = ("tensorflow", "keras", "tf2onnx", "onnx", "numpy")
_DESCRIPTION = ExporterDescription(
    framework="TensorFlow",
    distributions=("tensorflow", "keras", "tf2onnx"),
    environment={"KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
)
_MOST_CHANNELS = 4
_FITTED_TO = 4
"""Samples that random weights are fitted to; those that the weights are then checked with are more."""
_NAMED_DRAWS = _NAMED_LAYERS = 3
"""How many of the operations that draw are named."""
_FOLDING_ROUNDS = 8
"""More than any chain of foldable operations behind a weight is long; folding stops by itself before."""

Say = Callable[[str], None]


class TensorFlowExporter:
    """Exports zoo models, ``.keras`` files, SavedModel folders and functions that return Keras models."""

    name = "tensorflow"

    def describe(self) -> ExporterDescription:
        """Say which distributions an export depends on."""
        return _DESCRIPTION

    def accepts(self, source: str) -> Acceptance:
        """Return whether ``source`` is one of those; imports no TensorFlow."""
        return sources.accepts(source)

    def owns(self, model: object, /) -> bool:
        """Whether something is a Keras model or a module of TensorFlow."""
        return in_memory.is_of_framework(model)

    def in_memory(self, model: object, /) -> ModelInMemory | None:
        """Return how a Keras model is saved; see :class:`irbench.spi.InMemoryExporter`."""
        return in_memory.in_memory(model)

    def export(self, request: ExportRequest, say: Say, /) -> Bundle:
        """Write ``model.onnx``, ``graph.pb`` and ``reference.npz``; see :class:`irbench.spi.Exporter`."""
        if request.source.endswith(".keras"):
            keras_files.require_registered(Path(request.source), request.imports)
        say(f"building {request.source}")
        _import_tensorflow()
        file_reads.announce()
        from irbench_tf.frozen import freeze
        from irbench_tf.reference_run import run_reference, with_sizes
        from irbench_tf.tracing import trace

        loaded = with_sizes(sources.load(request.source, request.imports, request.signature), request)
        notes = prepare_weights(loaded, request, say)
        traced = trace(loaded, request.batch)
        say(f"running {loaded.name} in TensorFlow for its reference outputs")
        with blaming_state(loaded.name, traced.function):
            run = run_reference(traced, loaded, request.seed)
        say("freezing the TensorFlow graph")
        with blaming_draws(loaded.name, traced.function), blaming_state(loaded.name, traced.function):
            graph = freeze(traced.function, traced.inputs, run.specs).write(request.directory)
            say("converting to ONNX")
            onnx, facts, model = _write_onnx(traced, run, request)
        classifier, class_axes = _classes(loaded, model)
        return Bundle(
            name=loaded.name,
            inputs=loaded.inputs,
            artifacts=(onnx, graph),
            defaults=loaded.defaults if traced.batch is None else {**loaded.defaults, BATCH: traced.batch},
            classifier=classifier,
            class_axes=class_axes,
            seed=request.seed,
            reference=_write_reference(run, request),
            source=request.source,
            versions={"irbench": __version__, **{name: metadata.version(name) for name in _TOOLS}},
            details={**facts, **notes, **_drawing(run), **_only_inferring(loaded)},
            batch_axes=() if set(run.axes) == {0} else run.axes,
        )


exporter: Exporter = TensorFlowExporter()


def _import_tensorflow() -> None:
    """Import it without garbage collections in between: they take a sixth of the time and find nothing."""
    gc.disable()
    import_module("tensorflow")
    gc.freeze()
    gc.enable()


def prepare_weights(loaded: Loaded, request: ExportRequest, say: Say) -> Mapping[str, Scalar]:
    """Draw or load weights where that was asked for, and look at the activations they give."""
    from irbench.core.feeds import POOL
    from irbench_tf.model_errors import blaming_model

    weights = request.weights or ("random" if loaded.zoo else None)
    if loaded.keras_model is None:
        if weights is not None:
            raise IrbenchError("A SavedModel contains its weights.", hint="Leave --weights out.")
        return {"weights": "own"}
    with blaming_model(loaded, _sizes(loaded, POOL)):
        if weights == "random":
            say(f"initialising the weights of {loaded.name} with seed {request.seed}")
            return _draw_weights(loaded, request.seed)
        return _own_weights(loaded, request.seed, weights)


def _draw_weights(loaded: Loaded, seed: int) -> Mapping[str, Scalar]:
    from irbench.core.feeds import POOL
    from irbench_tf.activations import check_activations
    from irbench_tf.weights import randomise

    randomise(loaded.keras_model, seed, _samples(loaded, _FITTED_TO, seed))
    check_activations(loaded.keras_model, _samples(loaded, POOL, seed), classifier=loaded.classifier)
    return {"weights": "random"}


def _own_weights(loaded: Loaded, seed: int, path: str | None) -> Mapping[str, Scalar]:
    from irbench.core.feeds import POOL
    from irbench_tf.activations import inspect_activations

    if path is not None:
        _load_weights(loaded.keras_model, loaded.name, path)
    # what a user's classifier says of generated inputs is no fault of its: a trained one knows none of them
    report = inspect_activations(loaded.keras_model, _samples(loaded, POOL, seed), classifier=False)
    return {"weights": path or "own", "activation_problems": "; ".join(report.problems) or None}


def _samples(loaded: Loaded, count: int, seed: int) -> tuple[Array, ...]:
    from irbench.core import feeds

    return feeds.generate(loaded.inputs, _sizes(loaded, count), seed)


def _sizes(loaded: Loaded, batch: int) -> dict[str, int]:
    return {BATCH: loaded.fixed_batch or batch, **loaded.defaults}


def _load_weights(model: Any, name: str, path: str) -> None:
    if not Path(path).is_file():
        raise IrbenchError(
            f"There is no weights file {path}.", hint="model.save_weights('name.weights.h5') writes one."
        )
    try:
        model.load_weights(path)
    except Exception as error:
        raise IrbenchError(
            f"The weights in {path} do not fit {name}: {first_line(error)}",
            hint="Give a .weights.h5 or .keras file that was saved from the same architecture.",
        ) from error


def _write_reference(run: ReferenceRun, request: ExportRequest) -> Path | None:
    """Write the answers that others are compared with, and return their file; nothing where the next ones differ."""
    import numpy as np

    if run.draws:
        return None
    np.savez(request.directory / _REFERENCE_FILE, *run.outputs)
    return Path(_REFERENCE_FILE)


def _drawing(run: ReferenceRun) -> Mapping[str, Scalar]:
    return {RANDOM_DRAWS: ", ".join(run.draws[:_NAMED_DRAWS])} if run.draws else {}


def _only_inferring(loaded: Loaded) -> Mapping[str, Scalar]:
    layers = () if loaded.keras_model is None else called_in_training(loaded.keras_model)
    return {"training_layers": ", ".join(layers[:_NAMED_LAYERS])} if layers else {}


def _write_onnx(
    traced: TracedFunction, run: ReferenceRun, request: ExportRequest
) -> tuple[Artifact, Mapping[str, Scalar], Any]:
    from irbench.onnx.rewriting.detached_weights import opset_of, write
    from irbench.onnx.rewriting.upgrade_opset import upgrade_opset
    from irbench_tf.convert import MAX_OPSET, convert, name_dimensions, nchw_spec, require_draws

    images = [spec.name for spec in traced.inputs if request.layout == "nchw" and _is_image(spec)]
    inputs = tuple(nchw_spec(spec) if spec.name in images else spec for spec in traced.inputs)
    detached = convert(traced, min(request.opset, MAX_OPSET), images)
    converted = len(detached.model.graph.node)
    if run.draws:
        require_draws(detached.model)
    name_dimensions(detached.model, inputs, run.specs)
    upgrade_opset(detached, request.opset)
    fold_detached(detached)
    digest = write(detached, request.directory / _ONNX_FILE)
    artifact = Artifact("onnx", Path(_ONNX_FILE), inputs, run.specs, sha256=digest, opset=opset_of(detached.model))
    layout: Literal["keep", "nchw"] = "nchw" if images else "keep"
    facts = {"layout": layout, "nodes_converted": converted, "nodes": len(detached.model.graph.node)}
    return artifact, facts, detached.model


def _classes(loaded: Loaded, model: Any) -> tuple[bool, tuple[int | None, ...] | None]:
    """Return whether a model declares that its answers are classes, and along which axes its outputs hold scores.

    Its operators show it, and its losses: scores of a loss have the axis of the layer that makes them, or the last,
    along which Keras's losses take classes.
    """
    from irbench.onnx.reading.class_scores import ClassScores, class_scores, known_class_axes

    shown = class_scores(model)
    is_shown = any(each.shown for each in shown)
    if loaded.zoo and loaded.classifier and not is_shown:
        return True, (-1, *[None] * (len(shown) - 1))  # logits
    trained = loaded.trains_classes if len(loaded.trains_classes) == len(shown) else [None] * len(shown)
    scores = list(shown)
    for place, (own, is_trained) in enumerate(zip(shown, trained, strict=True)):
        if is_trained and not own.shown:
            scores[place] = ClassScores(True, -1 if own.axis is None else own.axis)
        elif is_trained is False and own.shown is None:
            scores[place] = ClassScores(False)
    return loaded.classifier if loaded.zoo else is_shown, known_class_axes(scores)


def fold_detached(detached: Any) -> None:
    """Fold what is constant in a graph without its weights, until nothing more can be, and drop what nothing reads."""
    from irbench.onnx.rewriting.fold_constants import drop_unused, fold_affine, fold_constants

    for _ in range(_FOLDING_ROUNDS):
        folded = fold_constants(detached)
        if not fold_affine(detached) and not folded:
            break
    drop_unused(detached)


def _is_image(spec: TensorSpec) -> bool:
    """Whether a tensor looks like NHWC images: four axes, floating point, one to four channels in the last."""
    channels = spec.shape[-1] if len(spec.shape) == 4 else None
    return isinstance(channels, int) and 1 <= channels <= _MOST_CHANNELS and spec.dtype.startswith("float")
