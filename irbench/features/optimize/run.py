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
from irbench.features.optimize.check_inputs import sized_inputs
from irbench.features.optimize.keywords import OptimizeKeywords
from irbench.features.optimize.options import OPTIMIZE, OptimizeOptions
from irbench.features.optimize.output_graph import copy_to, refuse_overwrite
from irbench.features.optimize.view import advice
from irbench.optimizer import Conversion, Lineage, Optimized, Recipe, build_recipe, drawn_from
from irbench.optimizer import optimize as optimize_graph
from irbench.options.input_request import InputRequest
from irbench.options.option import names_keywords
from irbench.render.optimization_record import in_words
from irbench.requests.resolve import resolve_bundles
from irbench.runner.inputs import refuse_unknown_values
from irbench.spec import BATCH, Bundle
from irbench.spec.requested_sizes import refuse_unknown_names
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

_LEVEL = "basic"


class OptimizedModel(Displayable):
    """A graph that passes made of a model's.

    Attributes:
        model: The model as the user named it.
        bundle: The model.
        lineage: How the graph was made: each pass with what it changed, and what that costs in accuracy.
        path: The graph; the copy where one was asked for.
    """

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
        options = self._options
        return tuple(advice(self.model, self.bundle, self._optimized, options.output, _input_options(options)))

    @property
    def bound(self) -> Mapping[str, int]:
        """The size of each dimension that was dynamic and was bound, in the order of the inputs' axes."""
        artifact = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        names = dict.fromkeys(name for spec in artifact.inputs for name in spec.dynamic_dimensions)
        return {name: self.lineage.sizes[name] for name in names if name in self.lineage.sizes}

    @property
    def bound_by_default(self) -> tuple[str, ...]:
        """Which of the bound dimensions no option gave a size."""
        given = {*self._options.shape, *([BATCH] if self._options.batch is not None else [])}
        for tensor in self.bundle.inputs:
            if tensor.tensor.name in self._options.shape:
                given |= set(tensor.tensor.dynamic_dimensions)
        return tuple(name for name in self.bound if name not in given)

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
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        from irbench.features.optimize.check_view import check_lines
        from irbench.notices.conversions import agreement_lines
        from irbench.render.optimization_record import sizes_line, steps_view

        lineage = self.lineage
        lines = [sizes_line(self.bound, list(self.bound_by_default))] if self.bound else []
        lines += check_lines(lineage.checked) if lineage.checked is not None else []
        if lineage.agreement is not None and lineage.recipe.conversion is not None:
            lines += agreement_lines(lineage.recipe.conversion.precision, lineage.agreement)
        view = steps_view(self.bundle.name, lineage.recipe.name, lineage.steps, self._opsets())
        return Group(view, *(Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines))

    def _opsets(self) -> tuple[int, int]:
        """Return ONNX's operator set of the graph as it came and as it is."""
        from irbench.worker.model_files import read_inventory

        original = self.bundle.artifact(("onnx",)) or self._optimized.artifact
        before, after = (read_inventory(path).opsets.get("ai.onnx", 0) for path in (original.path, self.kept_path))
        return before, after


@names_keywords(OPTIMIZE)
def optimize(
    model: str | PathLike[str], *, progress: ProgressOption = "auto", **options: Unpack[OptimizeKeywords]
) -> OptimizedModel:
    """Fuse and simplify a model's graph, each pass checked against the original before the next begins.

    Half of the samples of ``data`` calibrate static int8, and the result is judged on the others.

    Args:
        model: An exported bundle, an ONNX file, or anything that :func:`irbench.export` takes.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook hears how it goes.
        options: What is done, and what it is checked on.

    Raises:
        IrbenchError: Options contradict each other, a tool is missing, or a pass fails or breaks the model.
    """
    asked = OPTIMIZE.asked(options)
    with reporting(progress) as reporter:
        (made,) = optimize_with((str(model),), asked, reporter.say, reporter.status)
        return made


def optimize_with(
    models: tuple[str, ...], options: OptimizeOptions, say: Say, status: Say
) -> tuple[OptimizedModel, ...]:
    """Optimize models one after the other, with ``status`` told each step; raises what :func:`optimize` does."""
    if options.output is not None and len(models) > 1:
        raise IrbenchError("-o is a single file.", hint="Optimize one model at a time, or leave -o out.")
    InputRequest(options.data).require_data()
    asked = recipe_of(options)
    made: list[OptimizedModel] = []
    bundles = resolve_bundles(models, everything=False, say=say)
    refuse_unknown_names(options.shape, bundles)
    refuse_unknown_values(InputRequest(options.data, options.value), bundles)
    for model, bundle in zip(models, bundles, strict=True):
        if options.output is not None:
            refuse_overwrite(bundle, options.output)
        found = OptimizedModel(model, bundle, _optimized(bundle, options, asked, status), options)
        if options.output is not None:
            copy_to(found.kept_path, options.output)
        made.append(found)
    return tuple(made)


def _optimized(bundle: Bundle, options: OptimizeOptions, asked: Recipe, status: Say) -> Optimized:
    inputs = InputRequest(options.data, options.value)
    with scratch_folder() as folder:
        sizes, given = sized_inputs(bundle, inputs, options.batch, options.shape, folder)
        return optimize_graph(bundle, sizes, asked, in_words(_silent, status), drawn_from(options.distribution, given))


def _silent(_line: str) -> None:
    """Say nothing at the end of a graph: its report follows."""


def _input_options(options: OptimizeOptions) -> tuple[str, ...]:
    """Return data from files and constants as they are typed."""
    data = [f"--data {quote(str(options.data))}"] if isinstance(options.data, Path) else []
    given = ((name, ",".join(map(str, values))) for name, values in options.value.items())
    return (*data, *(f"--value {quote(f'{name}={values}')}" for name, values in given))


def recipe_of(options: OptimizeOptions) -> Recipe:
    """Return what is to be done.

    Raises:
        IrbenchError: A level is given together with passes, or settings contradict each other.
    """
    if options.level is not None and options.passes is not None:
        raise IrbenchError("--passes and --level cannot be combined.", hint="Leave --level or --passes out.")
    level = _LEVEL if options.level is None else options.level
    return build_recipe(level, options.passes, _conversion(options), options.layout)


def _conversion(options: OptimizeOptions) -> Conversion | None:
    """Return what the graphs are converted to, if to anything.

    Raises:
        IrbenchError: An option of int8 is given for another precision.
    """
    given = {"calibrate": options.calibrate, "quantize": options.quantize}
    given = {name: value for name, value in given.items() if value is not None}
    if given and options.precision != "int8":
        raise IrbenchError(
            f"--{next(iter(given))} applies to int8 only.", hint="Add --precision int8, or leave it out."
        )
    if "calibrate" in given and options.quantize == "dynamic":
        raise IrbenchError(
            "Dynamic int8 quantisation needs no calibration.", hint="Leave --calibrate or --quantize dynamic out."
        )
    if options.precision == "fp32":
        return None
    plain = Conversion(options.precision)
    return Conversion(options.precision, options.quantize or plain.method, options.calibrate or plain.samples)
