"""``irbench.optimize``: better graphs, each pass checked against the original."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from irbench.api.display import Displayable
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.core.plain_text import plain
from irbench.errors import IrbenchError
from irbench.features.optimize.keywords import OptimizeKeywords
from irbench.features.optimize.options import OPTIMIZE, OptimizeOptions
from irbench.optimizer import CheckInputs, Conversion, Lineage, Optimized, Recipe, build_recipe, copy_model, drawn_from
from irbench.optimizer import optimize as optimize_graph
from irbench.options.input_request import InputRequest
from irbench.options.option import names_keywords
from irbench.options.values import Shapes
from irbench.render.optimized_graphs import in_words
from irbench.requests.resolve import resolve_bundles
from irbench.runner.requested_inputs import fixed_batch, read_data, refuse_unknown_values
from irbench.spec import BATCH, Bundle
from irbench.spec.requested_sizes import has_name, refuse_unknown_names
from irbench.system.file_states import exists
from irbench.worker.model_files import read_inventory
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

_DYNAMIC_BATCH = 2
"""As without data: a batch of 1 would hide broadcasting along a dynamic batch."""


class OptimizedModel(Displayable):
    """A graph that passes made of a model's.

    Attributes:
        model: The model as the user named it.
        bundle: The model.
        lineage: How the graph was made: each pass with what it changed, and what that costs in accuracy.
        path: The graph; the copy where one was asked for.
    """

    _command = OPTIMIZE

    def __init__(self, model: str, bundle: Bundle, optimized: Optimized, options: OptimizeOptions) -> None:
        self.model = model
        self.bundle = bundle
        self._optimized = optimized
        self._options = options
        self.path: Path = options.output or optimized.artifact.path

    @property
    def lineage(self) -> Lineage:
        """How the graph was made."""
        return self._optimized.lineage

    @property
    def kept_path(self) -> Path:
        """The graph in the cache."""
        return self._optimized.artifact.path

    @property
    def advice(self) -> tuple[str, ...]:
        """Warnings of the result, each with its remedy, and how to go on."""
        from irbench.features.optimize.view import advice

        options = self._options
        files = [f"--data {quote(str(options.data))}"] if isinstance(options.data, Path) else []
        constants = ((name, ",".join(map(str, values))) for name, values in options.value.items())
        inputs = (*files, *(f"--value {quote(f'{name}={values}')}" for name, values in constants))
        return tuple(advice(self.model, self.bundle, self._optimized, options.output, inputs))

    @property
    def bound(self) -> Mapping[str, int]:
        """The size of each dimension that was dynamic and was bound, in the order of the inputs' axes."""
        artifact = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        names = dict.fromkeys(name for spec in artifact.inputs for name in spec.dynamic_dimensions)
        return {name: self.lineage.sizes[name] for name in names if name in self.lineage.sizes}

    @property
    def bound_by_default(self) -> tuple[str, ...]:
        """Which of the bound dimensions no option gave a size."""
        sized = {*self._options.shape, *([BATCH] if self._options.batch is not None else [])}
        for tensor in self.bundle.inputs:
            if tensor.tensor.name in self._options.shape:
                sized |= set(tensor.tensor.dynamic_dimensions)
        return tuple(name for name in self.bound if name not in sized)

    def to_dict(self) -> dict[str, Any]:
        """Return all that is known of it as JSON values."""
        return {
            "model": self.bundle.name,
            "path": str(self.kept_path),
            "sizes_by_default": list(self.bound_by_default),
            **msgspec.to_builtins(self.lineage),
        }

    def __repr__(self) -> str:
        """Return the model, the recipe and the file."""
        return plain(f"<OptimizedModel {self.bundle.name}+{self.lineage.recipe.name}: {self.path}>")

    def __rich__(self) -> RenderableType:
        """Return the passes with what each changed, as ``irbench optimize`` prints them; called by rich."""
        from irbench.features.optimize.view import steps_view

        original = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        before, after = (read_inventory(path).opsets.get("ai.onnx", 0) for path in (original.path, self.kept_path))
        return steps_view(self.bundle.name, self.lineage, (before, after), self.bound, self.bound_by_default)


@names_keywords(OPTIMIZE)
def optimize(
    model: str | PathLike[str], *, progress: ProgressOption = "auto", **options: Unpack[OptimizeKeywords]
) -> OptimizedModel:
    """Fuse and simplify a model's graph, each pass checked against the original before the next begins.

    Half of the samples of ``data`` calibrate static int8, and the result is judged on the others.

    Args:
        model: An exported bundle, an ONNX file, or anything that :func:`irbench.export` takes.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows progress.
        options: What is done, and what it is checked on.

    Raises:
        IrbenchError: Options contradict each other, a tool is missing, or a pass fails or breaks the model.
    """
    with reporting(progress) as reporter:
        (optimized,) = optimize_with((str(model),), OPTIMIZE.from_keywords(options), reporter.say, reporter.status)
        return optimized


def optimize_with(
    models: tuple[str, ...], options: OptimizeOptions, say: Say, status: Say
) -> tuple[OptimizedModel, ...]:
    """Optimize models one after the other, with ``status`` told each step; raises what :func:`optimize` does."""
    if options.output is not None and len(models) > 1:
        raise IrbenchError("-o is a single file.", hint="Optimize one model at a time, or leave -o out.")
    InputRequest(options.data).require_data()
    recipe = _recipe_of(options)
    optimized: list[OptimizedModel] = []
    bundles = resolve_bundles(models, everything=False, say=say)
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
        raise IrbenchError("--passes and --level cannot be combined.", hint="Leave --level or --passes out.")
    level = "basic" if options.level is None else options.level
    return build_recipe(level, options.passes, _conversion(options), options.layout)


def _conversion(options: OptimizeOptions) -> Conversion | None:
    of_int8 = [name for name in ("calibrate", "quantize") if getattr(options, name) is not None]
    if of_int8 and options.precision != "int8":
        raise IrbenchError(f"--{of_int8[0]} applies to int8 only.", hint="Add --precision int8, or leave it out.")
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
