"""The inputs that were asked for: data read once for each model, and made into the feeds of each batch size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.core.feeds import constant, write_sample
from irbench.core.suggestions import did_you_mean
from irbench.data.model_inputs import ModelInput, model_inputs
from irbench.data.sample_reading import MOST_SAMPLES, DataTarget, find_samples, match_arrays
from irbench.data.samples import Sample, bound_dimensions, digests, feeds_of_batch, rows, rows_to_join
from irbench.errors import IrbenchError
from irbench.onnx.reading.signature import may_be_batch
from irbench.options.input_request import InputRequest
from irbench.spec import BATCH, BATCH_IN_FILE, Bundle, Feeding, Number, TensorSpec, names_in, shape_text, size_of
from irbench.spec.requested_sizes import dynamic_names, example_sizes, requested_sizes
from irbench.system import host
from irbench.worker.failures import WorkerDied
from irbench.worker.feed_turns import EQUAL_SHAPES
from irbench.worker.limited_call import LIMITED_CALL
from irbench.worker.process import call_in_worker

_DRAWING_BYTES = 16
"""Of memory for each value of an input: it is drawn in double precision, and copied."""


def fixed_batch(bundle: Bundle) -> int | None:
    """Return the batch that every artifact of the bundle was made for, or ``None`` where it is dynamic.

    The batch need not be the first axis: sequences may come first. A model whose first input has no batch axis at
    all counts as fixed to a batch of 1.
    """
    if any(BATCH in spec.dynamic_dimensions for artifact in bundle.artifacts for spec in artifact.inputs):
        return None
    batches = {_leading_size(spec) for artifact in bundle.artifacts for spec in artifact.inputs[:1]}
    if len(batches) == 1:
        (batch,) = batches
        return batch
    return None


def bind_sizes(
    bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]], data: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return a size for every dynamic dimension of the bundle's logical inputs, ``batch`` included.

    Args:
        bundle: The model.
        batch: The batch asked for, whatever shapes say of it; ``None`` takes the fixed one, that of ``shapes``, or 1.
        shapes: Shapes and sizes asked for, by name: :func:`irbench.spec.requested_sizes.requested_sizes`.
        data: Sizes of dynamic dimensions that data have, which count before the model's defaults.
    """
    sizes = known_sizes(bundle, batch, shapes, data)
    _refuse_free(bundle, sizes)
    _refuse_too_large(bundle, sizes)
    return sizes


def known_sizes(
    bundle: Bundle, batch: int | None, shapes: Mapping[str, tuple[int, ...]], data: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Do as :func:`bind_sizes` for a model that is only looked at: its inputs may stay dynamic, or be too large."""
    fixed = fixed_batch(bundle)
    if fixed is not None and batch not in (None, fixed):
        raise _no_such_batch(bundle, fixed, batch)
    sizes: dict[str, int] = {**bundle.defaults, BATCH: 1, **(data or {})}
    if fixed is not None:
        sizes[BATCH] = fixed
    sizes |= requested_sizes(bundle, batch, shapes)
    order = dict.fromkeys((BATCH, *dynamic_names(bundle), *sizes))
    return {name: sizes[name] for name in order if name in sizes}


def _no_such_batch(bundle: Bundle, fixed: int, batch: int | None) -> IrbenchError:
    names, source = dynamic_names(bundle), bundle.source or bundle.name
    if names:
        way = f"set a dimension ({', '.join(names)}): --shape {quote(f'{names[0]}={batch}')}"
        return IrbenchError(f"{bundle.name} has no dimension called {BATCH}.", hint=f"Leave --batch out, or {way}")
    message = f"{bundle.name} was exported with a batch of {fixed}, not {batch}."
    if source.endswith(".onnx"):  # irbench cannot export a graph again
        way = "Leave --batch out, or write the ONNX file again from its framework with a dynamic batch dimension."
        return IrbenchError(message, hint=way)
    return IrbenchError(message, hint=f"Leave --batch out, or run: irbench export {quote(source)} --batch dynamic")


def _refuse_free(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    for spec in (spec.tensor for spec in bundle.inputs):
        for dimension in spec.dynamic_dimensions:
            if dimension not in sizes and any(name not in sizes for name in names_in(dimension)):
                raise _no_size(bundle, spec, dimension, sizes)
            if not size_of(dimension, sizes):
                facts = ", ".join(f"{name}={sizes[name]}" for name in names_in(dimension))
                raise IrbenchError(
                    f"The dimension {dimension!r} of input {spec.name} of {bundle.name} cannot be computed: it is not a"
                    f" whole number above 0 with {facts}.",
                    hint="Give other sizes with --shape.",
                )


def _no_size(bundle: Bundle, spec: TensorSpec, dimension: str, sizes: Mapping[str, int]) -> IrbenchError:
    options = example_sizes([model_input.tensor for model_input in bundle.inputs], sizes)
    return IrbenchError(
        f"Input {spec.name} of {bundle.name} needs a size for its dynamic dimension {dimension!r}.",
        hint=f"Add a size, for example: {options}",
    )


def _refuse_too_large(bundle: Bundle, sizes: Mapping[str, int]) -> None:
    free_bytes = host.available_memory_bytes()
    for spec in bundle.inputs:
        shape = [size for size in spec.tensor.bind(sizes).shape if isinstance(size, int)]
        needed_bytes = math.prod(shape) * _DRAWING_BYTES
        if needed_bytes > free_bytes:
            raise IrbenchError(
                f"Input {spec.tensor.name} of {bundle.name} has {shape_text(shape)} values: generating them"
                " needs "
                f"{needed_bytes / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB of memory are available.",
                hint="Use a smaller --batch or --shape.",
            )


def _leading_size(spec: TensorSpec) -> int | None:
    if not spec.shape:
        return 1
    size = spec.shape[0]
    return size if isinstance(size, int) else (None if size == BATCH else 1)


def check_feedback(feedback: Mapping[str, str], bundle: Bundle, sizes: Mapping[str, int]) -> None:
    """Refuse a decode loop that a model cannot run.

    An output whose shape the model does not tell is checked when it was computed once.
    """
    places = {spec.tensor.name: place for place, spec in enumerate(bundle.inputs)}
    for input_name, output_name in feedback.items():
        if input_name not in places:
            raise _unknown("input", input_name, bundle, list(places))
        for artifact in bundle.artifacts:
            outputs = {spec.name: spec for spec in artifact.outputs}
            if output_name not in outputs:
                raise _unknown("output", output_name, bundle, list(outputs))
            _require_equal(outputs[output_name].bind(sizes), bundle.inputs[places[input_name]].tensor.bind(sizes))


def _require_equal(output: TensorSpec, model_input: TensorSpec) -> None:
    pairs = list(zip(output.shape, model_input.shape, strict=False))
    differ = any(
        isinstance(output_size, int) and isinstance(size, int) and output_size != size for output_size, size in pairs
    )
    if differ or len(output.shape) != len(model_input.shape) or output.dtype != model_input.dtype:
        raise IrbenchError(
            f"The output {output.name} ({output.dtype}, {shape_text(output.shape)}) cannot be fed back: the input "
            f"{model_input.name} is {model_input.dtype}, {shape_text(model_input.shape)}.",
            hint=EQUAL_SHAPES,
        )


def _unknown(role: str, name: str, bundle: Bundle, known: Sequence[str]) -> IrbenchError:
    return IrbenchError(
        f"--feedback: {bundle.name} has no {role} called {name!r}.",
        hint=f"{did_you_mean(name, known)}{role.capitalize()}s: {', '.join(known)}. Write it like output=input.",
    )


_DEADLINE_S = 600.0
_MEMORY_SHARE = 8
"""Of the available memory, the part that data may need: every backend's process holds them."""


def refuse_unknown_values(request: InputRequest, bundles: Sequence[Bundle]) -> None:
    """Refuse constants for inputs that none of the models has."""
    inputs = sorted({spec.tensor.name for bundle in bundles for spec in bundle.inputs})
    for name in request.values:
        if name not in inputs:
            raise IrbenchError(
                f"--value {name}: no model has an input called {name!r}.",
                hint=f"{did_you_mean(name, inputs)}Inputs: {', '.join(inputs)}.",
            )


@dataclass(frozen=True)
class ModelData:
    """The samples of one model, of any batch size.

    Attributes:
        samples: With all axes of the inputs; empty without data.
    """

    bundle: Bundle
    inputs: tuple[ModelInput, ...]
    samples: tuple[Sample, ...]
    request: InputRequest

    def bind(self, batch: int | None, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Return a size for every dynamic dimension: what was asked for, otherwise what the data have.

        Args:
            batch: The batch asked for; ``None`` takes the fixed one, that of ``shapes``, or 1: each sample of the data
                is a call. A first dimension that the file calls by another name, such as ``length``, has the size of
                the data.
            shapes: Shapes asked for, by input name.
        """
        known = {**self._sizes_of_values(), **bound_dimensions(self.samples, self.inputs)}
        if batch is None and self.samples and self._has_other_leading_axis and not self._gives_batch(shapes):
            batch = self._common_rows()
        sizes = bind_sizes(self.bundle, batch, shapes, known)
        for name, size in known.items():
            if sizes[name] != size:
                raise IrbenchError(
                    f"The dimension {name!r} has the size {size} in the data, and {sizes[name]} by --shape.",
                    hint="Leave --shape out, or give data of that size.",
                )
        return sizes

    def feeding(self, sizes: Mapping[str, int], seed: int, folder: Path) -> Feeding:
        """Return the inputs at one size; what is made of data is written to a folder."""
        own = {model_input.name for model_input in self.inputs}
        values = {name: value for name, value in self.request.values.items() if name in own}
        self._check_values(values, sizes)
        check_feedback(self.request.feedback, self.bundle, sizes)
        feeding = Feeding(seed, values, feedback=self.request.feedback)
        if not self.samples:
            return feeding
        feeds = feeds_of_batch(self.samples, self.inputs, sizes[BATCH])
        _refuse_too_many(len(feeds), sizes[BATCH])
        folder.mkdir(parents=True, exist_ok=True)
        paths = tuple(folder / f"sample-{number}.npz" for number in range(len(feeds)))
        for path, feed in zip(paths, feeds, strict=True):
            write_sample(path, self.bundle.inputs, feed.arrays)
        of_samples = replace(
            feeding,
            samples=paths,
            source=self.request.source,
            sha256=digests(feeds),
            labels=tuple(sample.label for sample in self.samples if sample.label is not None),
        )
        joined = rows_to_join(self.samples, self.inputs, sizes[BATCH])
        if not joined and sizes[BATCH] > 1 and not self._has_other_leading_axis:
            joined = sizes[BATCH] * len(feeds)
        return replace(of_samples, rows=joined, rows_per_call=sizes[BATCH]) if joined else of_samples

    @property
    def _has_other_leading_axis(self) -> bool:
        """Whether the dynamic dimension that irbench calls the batch is one that the file calls otherwise."""
        called = self.bundle.details.get(BATCH_IN_FILE)
        return called is not None and not may_be_batch(str(called))

    def _gives_batch(self, shapes: Mapping[str, tuple[int, ...]]) -> bool:
        return any(item.name in shapes and item.batch_axis is not None for item in self.inputs)

    def _common_rows(self) -> int:
        counts = {rows(sample, self.inputs): sample.place for sample in self.samples}
        if len(counts) > 1:
            (first, place), (second, other), *_ = counts.items()
            raise IrbenchError(
                f"{place} has a batch of {first}, and {other} of {second}.",
                hint="Give --batch: samples are divided and joined to that size. --batch 1 takes each row alone.",
            )
        return next(iter(counts))

    def _sizes_of_values(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for model_input in self.inputs:
            values, shape = self.request.values.get(model_input.name, ()), model_input.spec.tensor.shape
            if len(values) > 1 and len(shape) == 1 and isinstance(shape[0], str) and model_input.batch_axis is None:
                sizes[shape[0]] = len(values)
        return sizes

    def _check_values(self, values: Mapping[str, tuple[Number, ...]], sizes: Mapping[str, int]) -> None:
        names = self.samples[0].arrays.keys() if self.samples else frozenset[str]()
        for model_input in self.inputs:
            name, constants = model_input.name, values.get(model_input.name)
            if constants is None:
                continue
            if name in names:
                raise IrbenchError(f"`--data` and --value both give the input {name}.", hint="Leave one of them out.")
            try:
                constant(model_input.spec, sizes, constants)
            except (ValueError, TypeError, OverflowError) as error:
                shape = "x".join(map(str, model_input.spec.tensor.bind(sizes).shape)) or "a scalar"
                raise IrbenchError(
                    f"--value {name}={','.join(map(str, constants))} does not fit the input: {error}.",
                    hint=f"The input takes {model_input.spec.tensor.dtype}, {shape}: give one number, or a list of that"
                    " size.",
                ) from error


def require_data(request: InputRequest) -> None:
    """Refuse files that no model could take, before models are exported for them; a worker reads their headers.

    Raises:
        IrbenchError: They are not there, are of several kinds, are too many, or one is not what its name says.
    """
    if isinstance(request.data, Path):
        _in_worker(request.data, "require_headers", find_samples(request.data), memory_for_data_bytes())


def _in_worker(path: Path, function: str, *args: Any) -> Any:
    try:
        return call_in_worker(LIMITED_CALL, f"irbench.data.sample_reading:{function}", *args, deadline_s=_DEADLINE_S)
    except WorkerDied as death:
        raise death.during(f"The data in {path} could not be read.") from death


def memory_for_data_bytes() -> int:
    """Return what all samples together may need."""
    return host.available_memory_bytes() // _MEMORY_SHARE


def read_data(request: InputRequest, bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> ModelData:
    """Read the data for a model, files in a worker; without data there are no samples.

    Images are resized to ``shapes``.
    """
    inputs = model_inputs(bundle, fixed_batch(bundle))
    target = DataTarget(
        model=bundle.name,
        inputs=inputs,
        elsewhere=frozenset((*request.values, *request.feedback)),
        sizes={**bundle.defaults, **_sizes_of_shapes(inputs, shapes)},
        most_bytes=memory_for_data_bytes(),
    )
    if request.data is None:
        return ModelData(bundle, inputs, (), request)
    if not isinstance(request.data, Path):
        return ModelData(bundle, inputs, match_arrays(request.data, target), request)
    samples: tuple[Sample, ...] = _in_worker(request.data, "read_files", request.data, target)
    return ModelData(bundle, inputs, samples, request)


def _sizes_of_shapes(inputs: Sequence[ModelInput], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    return {
        name: size
        for model_input in inputs
        for name, size in zip(model_input.spec.tensor.shape, shapes.get(model_input.name, ()), strict=False)
        if isinstance(name, str)
    }


def _refuse_too_many(feeds: int, batch: int) -> None:
    if feeds > MOST_SAMPLES:
        raise IrbenchError(
            f"The data make {feeds} samples of batch {batch}; at most {MOST_SAMPLES} can take turns.",
            hint="Give fewer, or a larger --batch.",
        )
