"""Run in workers: create the files of a bundle, and compare them with the original model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irbench.core import feeds, registry
from irbench.core.output_check import compare, input_scale, judge
from irbench.core.record import OutputError
from irbench.errors import IrbenchError, first_line
from irbench.exporter.reads import ReadRecorder, Reads, ReadsRequest
from irbench.onnx.reading.check import check_file
from irbench.onnx.rewriting.bind import bind
from irbench.spec import BATCH, RANDOM_DRAWS, Artifact, Bundle, Feeding, shape_text
from irbench.spi import Array, ExportRequest
from irbench.spi.user_functions import blaming_function, call_user_function, import_first
from irbench.store import bundles
from irbench.worker.reference_answers import answers
from irbench.worker.scratch import scratch_folder
from irbench.worker.watchdog import own_temporary_files

_HINT = "Either the conversion went wrong, or the model mixes the samples of a batch; nothing was kept."
_AT_OPERATOR = re.compile(
    r"running (?P<operator>\w+) node\. Name:\s*'(?P<name>[^']*)'|Node \((?P<node>[^)]*)\) Op \((?P<kind>\w+)\)"
)
"""How ONNX Runtime says which node it cannot run, or load."""
_STATUS, _CONDITION = "Status Message: ", " was false. "
"""What it writes before the reason, and before the reason in words."""
_BATCHES = (1, 3)
"""One alone, and one that no kernel is written for."""


def make(
    exporter: str, request: ExportRequest, folder: Path, counted: ReadsRequest, say: Callable[[str], None]
) -> tuple[Bundle, Reads]:
    """Have the named exporter write a bundle's files; return the bundle, and what was read."""
    os.chdir(folder)
    recorder = ReadRecorder()  # first: it knows the usual folder for temporary files
    own_temporary_files()
    with recorder:
        bundle = registry.exporter(exporter).export(request, say)
    return bundle, recorder.reads(replace(counted, ignored=(*counted.ignored, request.directory)))


def owner(
    exporters: Sequence[str], source: str, imports: Sequence[str], folder: Path, say: Callable[[str], None]
) -> str:
    """Return the exporter whose framework the model belongs to that a source names.

    Raises:
        IrbenchError: The source's function fails, or it returns a model of none of them, or of several.
    """
    os.chdir(folder)
    own_temporary_files()
    say(f"calling {source} to see whose model it makes")
    import_first(imports)

    def owners_of(made: object) -> tuple[str, ...]:
        return tuple(name for name in exporters if registry.exporter(name).owns(made))

    def is_model(named: object) -> bool:
        return bool(owners_of(named))

    with blaming_function(source):
        is_zoo = source in registry.names(registry.MODELS)
        model: Any = registry.model(source).build() if is_zoo else call_user_function(source, is_model)
    owners = owners_of(model)
    if len(owners) != 1:
        frameworks = " or ".join(registry.describe_exporter(name).framework for name in exporters)
        what = f"is a model of {' and '.join(owners)}" if owners else f"is no model of {frameworks}"
        raise IrbenchError(
            f"{source} gives {type(model).__name__}, which {what}.", hint=f"Return a model of {frameworks}."
        )
    return owners[0]


def accept(bundle: Bundle, reference: str, say: Callable[[str], None]) -> OutputError | None:
    """Check the ONNX file of ``bundle`` and run it on a backend whose answers may be trusted.

    Returns:
        The worst error over all batches; ``None`` where the model draws random numbers, and only shapes are compared.
    """
    artifact = bundle.artifact(("onnx",))
    assert artifact is not None
    say("checking the ONNX file")
    check_file(artifact.path, shapes=True)
    fixed = not any(BATCH in spec.dynamic_dimensions for spec in artifact.inputs)
    expected = None if RANDOM_DRAWS in bundle.details else bundles.reference_outputs(bundle)
    errors: list[OutputError] = []
    for batch in (bundle.defaults[BATCH],) if fixed else _BATCHES:
        say(f"comparing with the original at batch {batch}")
        sizes = {**bundle.defaults, BATCH: batch}
        answer = outputs_of(bundle, artifact, reference, sizes)
        if RANDOM_DRAWS in bundle.details:
            _require_shapes(bundle, artifact, answer, sizes)
        else:
            assert expected is not None
            errors.append(_error(bundle, answer, expected, sizes))
    return max(errors, key=lambda error: error.max_rel, default=None)


def _error(
    bundle: Bundle, answer: tuple[Array, ...], expected: tuple[Array, ...], sizes: Mapping[str, int]
) -> OutputError:
    scale = input_scale(feeds.logical_inputs(bundle.inputs, sizes, Feeding(bundle.seed)))
    error = _compare(bundle, answer, feeds.repeat_pool(expected, sizes[BATCH], bundle.batch_axes), scale)
    wrong = judge(error, "fp32")
    if wrong is not None:
        raise IrbenchError(
            f"The ONNX model of {bundle.name} differs from the original at batch {sizes[BATCH]}: {wrong.message}.",
            hint=_HINT,
        )
    return error


def _require_shapes(bundle: Bundle, artifact: Artifact, answer: tuple[Array, ...], sizes: Mapping[str, int]) -> None:
    for spec, array in zip(artifact.outputs, answer, strict=True):
        shape = spec.bind(sizes).shape
        if len(shape) != array.ndim or any(
            isinstance(size, int) and size != answered for size, answered in zip(shape, array.shape, strict=True)
        ):
            raise IrbenchError(
                f"The ONNX model of {bundle.name} differs from the original model: {spec.name} has the shape"
                f" {shape_text(array.shape)}, and should have {shape_text(shape)}.",
                hint=_HINT,
            )


def _compare(bundle: Bundle, answer: tuple[Array, ...], expected: tuple[Array, ...], scale: float) -> OutputError:
    try:
        return compare(answer, expected, bundle.known_class_axes, scale)
    except ValueError as error:
        raise IrbenchError(
            f"The ONNX model of {bundle.name} differs from the original model: {error}.", hint=_HINT
        ) from error


def outputs_of(bundle: Bundle, artifact: Artifact, reference: str, sizes: Mapping[str, int]) -> tuple[Array, ...]:
    """Return what a reference answers for a graph at some sizes, to inputs from the seed of its bundle."""
    with scratch_folder() as scratch:
        bound = bind(artifact, sizes, scratch)
        try:
            (outputs,) = answers(reference, bound, bundle, sizes, Feeding(bundle.seed))
        except IrbenchError:
            raise
        except Exception as error:
            raise _not_running(bundle, error) from error
    return outputs


def _not_running(bundle: Bundle, error: Exception) -> IrbenchError:
    """Return that a graph which was just converted does not run, and which of its operators is at fault."""
    reason = str(getattr(error, "message", "")) or first_line(error)
    match = _AT_OPERATOR.search(reason)
    where = f" at the operator {match['operator'] or match['kind']} ({match['name'] or match['node']})" if match else ""
    return IrbenchError(
        f"The conversion of {bundle.name} to ONNX went wrong: the graph does not run{where}:"
        f" {reason.rpartition(_STATUS)[2].rpartition(_CONDITION)[2]}",
        hint="The model runs in its framework, so that this is an error of the conversion; nothing was kept. Another"
        " --opset may avoid it; or write that part of the model with other operations.",
    )
