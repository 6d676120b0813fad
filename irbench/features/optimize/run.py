"""``irbench.optimize``: better graphs, each pass checked against the original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.errors import IrbenchError
from irbench.features.optimize.keywords import OptimizeKeywords
from irbench.features.optimize.options import OPTIMIZE, OptimizeOptions
from irbench.features.optimize.report import OptimizedModel
from irbench.optimizer import CheckInputs, Conversion, Optimized, Recipe, build_recipe, copy_model, drawn_from
from irbench.optimizer import optimize as optimize_graph
from irbench.options.input_request import InputRequest
from irbench.options.option import names_keywords
from irbench.options.values import Shapes
from irbench.render.optimized_graphs import in_words
from irbench.requests.class_outputs import with_classes
from irbench.requests.resolve import resolve_bundles
from irbench.runner.requested_inputs import fixed_batch, read_data, refuse_unknown_values, require_data
from irbench.spec import Bundle
from irbench.spec.requested_sizes import has_name, refuse_unknown_names
from irbench.system.file_states import exists
from irbench.worker.scratch import scratch_folder

_DYNAMIC_BATCH = 2
"""As without data: a batch of 1 would hide broadcasting along a dynamic batch."""


@names_keywords(OPTIMIZE)
def optimize(model: Model, *, progress: ProgressOption = "auto", **options: Unpack[OptimizeKeywords]) -> OptimizedModel:
    """Fuse and simplify a model's graph, each pass checked against the original before the next begins.

    Half of the samples of ``data`` calibrate static int8, and the result is judged on the others.

    Args:
        model: An exported bundle, an ONNX file, or anything that :func:`irbench.export` takes.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows progress.
        options: What is done, and what it is checked on.

    Raises:
        IrbenchError: Options contradict each other, a tool is missing, or a pass fails or breaks the model.
    """
    with reporting(progress, OPTIMIZE) as reporter:
        (optimized,) = optimize_with(
            (model_name(model),), OPTIMIZE.from_keywords(options), reporter.say, reporter.status
        )
        return optimized


def optimize_with(
    models: tuple[str, ...], options: OptimizeOptions, say: Say, status: Say
) -> tuple[OptimizedModel, ...]:
    """Optimize models one after the other, with ``status`` told each step; raises what :func:`optimize` does."""
    if options.output is not None and len(models) > 1:
        raise IrbenchError("-o is a single file.", hint="Optimize one model at a time, or leave -o out.")
    require_data(InputRequest(options.data))
    recipe = _recipe_of(options)
    optimized: list[OptimizedModel] = []
    bundles = resolve_bundles(models, everything=False, say=say, imports=options.imports)
    bundles = with_classes(bundles, options.classes)
    refuse_unknown_names(options.shape, bundles)
    refuse_unknown_values(InputRequest(options.data, options.value), bundles)
    for model, bundle in zip(models, bundles, strict=True):
        if options.output is not None:
            _refuse_overwrite(bundle, options.output)
        optimized.append(OptimizedModel(model, bundle, _optimized(bundle, options, recipe, status), options))
        if options.output is not None:
            _copy_to(optimized[-1].kept_path, options.output)
    return tuple(optimized)


def _optimized(bundle: Bundle, options: OptimizeOptions, recipe: Recipe, status: Say) -> Optimized:
    inputs = InputRequest(options.data, options.value)
    listener = in_words(lambda _line: None, status)
    with scratch_folder() as folder:
        sizes, checked = _sized_inputs(bundle, inputs, options.batch, options.shape, folder)
        return optimize_graph(bundle, sizes, recipe, listener, drawn_from(options.distribution, checked))


def _recipe_of(options: OptimizeOptions) -> Recipe:
    if options.level is not None and options.passes is not None:
        raise IrbenchError("`--passes` and `--level` cannot be combined.", hint="Leave `--level` or `--passes` out.")
    level = "basic" if options.level is None else options.level
    return build_recipe(level, options.passes, _conversion(options), options.layout)


def _conversion(options: OptimizeOptions) -> Conversion | None:
    of_int8 = [name for name in ("calibrate", "quantize") if getattr(options, name) is not None]
    if of_int8 and options.precision != "int8":
        raise IrbenchError(f"--{of_int8[0]} applies to int8 only.", hint="Add `--precision int8`, or leave it out.")
    if options.calibrate is not None and options.quantize == "dynamic":
        raise IrbenchError(
            "Dynamic int8 quantisation needs no calibration.", hint="Leave --calibrate or --quantize dynamic out."
        )
    if options.precision == "fp32":
        return None
    plain = Conversion(options.precision)
    return Conversion(options.precision, options.quantize or plain.method, options.calibrate or plain.samples)


def _sized_inputs(
    bundle: Bundle, request: InputRequest, batch: int | None, shapes: Shapes, folder: Path
) -> tuple[Mapping[str, int], CheckInputs | None]:
    """Return the sizes to bind in the graph, none without a batch or shapes, and the inputs of its checks."""
    shapes = {name: shape for name, shape in shapes.items() if has_name(bundle, name)}
    data = read_data(request, bundle, shapes)
    bound = data.bind(batch, shapes) if batch is not None or shapes else {}
    if not data.samples and not request.values:
        return bound, None
    sizes = bound or data.bind(_DYNAMIC_BATCH if fixed_batch(bundle) is None else None, {})
    return bound, CheckInputs(data.feeding(sizes, bundle.seed, folder), sizes if data.samples else {})


def _refuse_overwrite(bundle: Bundle, output: Path) -> None:
    artifact = bundle.artifact(("onnx",))
    if artifact is not None and exists(output) and output.samefile(artifact.path):
        raise IrbenchError(f"-o {output} would overwrite the input graph.", hint="Give another path with -o.")


def _copy_to(source: Path, output: Path) -> None:
    try:
        copy_model(source, output)
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error
