"""A graph that the reference answers for, outside any measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from irbench import registry
from irbench.feeds import lay_out
from irbench.onnx.rewriting.bind import bind, with_sizes
from irbench.optimizer.job import OptimizationJob
from irbench.spec import BATCH, Artifact, Load, TensorSpec
from irbench.spi import Array
from irbench.worker.inference import OpenSession


class ReferenceSession:
    """A graph of a job, loaded by its reference. Use it as a context manager.

    Args:
        job: Names the reference, and gives the sizes that are bound.
        artifact: The graph.
        scratch: Where a copy with bound shapes is written; ``None`` leaves them dynamic, so that inputs may have any
            sizes.
        added_inputs: What the file of the artifact takes behind its own inputs.
        added_outputs: What it gives behind its own outputs.

    Raises:
        Exception: Each runtime reports in a way of its own that it cannot load a graph.
    """

    def __init__(
        self,
        job: OptimizationJob,
        artifact: Artifact,
        scratch: Path | None,
        added_inputs: Sequence[TensorSpec] = (),
        added_outputs: Sequence[TensorSpec] = (),
    ) -> None:
        whole = replace(
            artifact, inputs=(*artifact.inputs, *added_inputs), outputs=(*artifact.outputs, *added_outputs), sha256=""
        )
        sized = with_sizes(whole, job.sizes) if scratch is None else bind(whole, job.sizes, scratch)
        self._artifact = artifact
        load = Load(batch=job.sizes[BATCH], threads=None, precision="native")
        self._session = OpenSession(registry.reference(job.reference), sized, load)

    def answer(self, arrays: Sequence[Array], added: Sequence[Array] = ()) -> tuple[Array, ...]:
        """Return the outputs for logical inputs, and for what is added to them."""
        return self._session.answer((*lay_out(arrays, self._artifact), *added))

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._session.__exit__(*details)
