"""Run in workers: create the files of a bundle, and compare them with the original model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from irbench import bundles, feeds, registry
from irbench.errors import IrbenchError
from irbench.exporter.reads import ReadRecorder, Reads, ReadsRequest
from irbench.onnx.reading.check import check_file
from irbench.onnx.rewriting.bind import bind
from irbench.output_check import compare, input_scale, judge
from irbench.record import OutputError
from irbench.spec import BATCH, Artifact, Bundle, Feeding
from irbench.spi import Array, ExportRequest
from irbench.worker.reference import answers
from irbench.worker.scratch import scratch_folder
from irbench.worker.temporary_files import own_temporary_files

__all__ = ["accept", "make"]

_HINT = "Either the conversion went wrong, or the model mixes the samples of a batch; nothing was kept."
_BATCHES = (1, 3)
"""One alone, and one that no kernel is written for."""


def make(
    exporter: str, request: ExportRequest, folder: Path, counted: ReadsRequest, say: Callable[[str], None]
) -> tuple[Bundle, Reads]:
    """Have the named exporter write a bundle's files.

    Args:
        exporter: Its name.
        request: What it is to make; relative paths belong to ``folder``.
        folder: The folder in which the model was named.
        counted: Which files count of those that the exporter reads.
        say: Hears progress.

    Returns:
        The bundle, and the files that were read.
    """
    os.chdir(folder)
    recorder = ReadRecorder()  # first: it knows the usual folder for temporary files
    own_temporary_files()
    with recorder:
        bundle = registry.exporter(exporter).export(request, say)
    return bundle, recorder.reads(replace(counted, ignored=(*counted.ignored, request.directory)))


def accept(bundle: Bundle, reference: str, say: Callable[[str], None]) -> OutputError:
    """Check the ONNX file of ``bundle`` and run it on a backend whose answers may be trusted.

    Args:
        bundle: Its paths are absolute.
        reference: Name of the reference backend.
        say: Hears progress.

    Returns:
        The worst error over all batches.

    Raises:
        IrbenchError: The file is invalid, or its outputs are not those of the original.
    """
    artifact = bundle.artifact(("onnx",))
    expected = bundles.reference_outputs(bundle)
    assert artifact is not None
    assert expected is not None
    say("checking the ONNX file")
    check_file(artifact.path, shapes=True)
    fixed = not any(BATCH in spec.dynamic_dimensions for spec in artifact.inputs)
    worst: OutputError | None = None
    for batch in (bundle.defaults[BATCH],) if fixed else _BATCHES:
        say(f"comparing with the original at batch {batch}")
        sizes = {**bundle.defaults, BATCH: batch}
        answer = _run(bundle, artifact, reference, sizes)
        scale = input_scale(feeds.logical_inputs(bundle.inputs, sizes, Feeding(bundle.seed)))
        error = _compare(bundle, answer, feeds.repeat_pool(expected, batch), scale)
        wrong = judge(error, "fp32")
        if wrong is not None:
            raise IrbenchError(
                f"The ONNX model of {bundle.name} differs from the original model: at batch {batch} its"
                f" {wrong.message}.",
                hint=_HINT,
            )
        worst = error if worst is None or error.max_rel > worst.max_rel else worst
    assert worst is not None
    return worst


def _compare(bundle: Bundle, answer: tuple[Array, ...], expected: tuple[Array, ...], scale: float) -> OutputError:
    try:
        return compare(answer, expected, bundle.classifier, scale)
    except ValueError as error:
        raise IrbenchError(
            f"The ONNX model of {bundle.name} differs from the original model: {error}.", hint=_HINT
        ) from error


def _run(bundle: Bundle, artifact: Artifact, reference: str, sizes: Mapping[str, int]) -> tuple[Array, ...]:
    with scratch_folder() as scratch:
        (outputs,) = answers(reference, bind(artifact, sizes, scratch), bundle, sizes, Feeding(bundle.seed))
        return outputs
