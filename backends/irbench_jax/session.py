"""One program in one process: compiled by XLA, and called."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

from irbench.spec import Artifact, Io, Load, Scalar
from irbench.spi import Feed, Outputs, Phases, Refusal, Slot

_COMPUTED = re.compile(
    r"= \(?(f64|f32|bf16|f16)\[[^=]*? "
    r"(?!(?:parameter|constant|convert|copy|bitcast|tuple|get-tuple-element|fusion|call)\()[\w-]+\("
)
"""The type of an instruction of XLA that computes something itself."""
_PRECISIONS = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}
_POOL = "tf_XLAEigen"
"""The name of the threads in which XLA computes."""


class JaxSession:
    """A program that was compiled for one shape of its inputs."""

    def __init__(self, artifact: Artifact, load: Load, phases: Phases) -> None:
        with phases("load"):
            exported = _read(artifact.path)
        with phases("compile"):
            specs = [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in artifact.inputs]
            flat = jax.jit(lambda *inputs: jax.tree.leaves(exported.call(*inputs)))
            self.call: Any = flat.lower(*specs).compile()
            jax.block_until_ready(self.call(*(jax.numpy.zeros(spec.shape, spec.dtype) for spec in specs)))
        text = self.call.as_text()
        products = re.search(r"operand_precision=\{(\w+)", text)
        computed = set(_COMPUTED.findall(text))
        precision = next((words for kind, words in _PRECISIONS.items() if kind in computed), "fp32")
        if load.precision_required and load.precision == "fp32" and precision in ("fp16", "bf16"):
            raise Refusal(
                f"The function computes in {precision} where fp32 is asked for.",
                hint="Use `--precision native`.",
            )
        self.effective: dict[str, Scalar] = {
            "precision": precision,
            "device": "cpu",
            "threads": _pool_threads(),
            "streams": load.streams,
            "version": jax.__version__,
            "matmul_precision": products[1] if products else None,
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
        }

    def open_slots(self, count: int, io: Io, /) -> Sequence[Slot]:
        """Return ``count`` slots; unless they are bound, JAX takes the arrays of the host within each run."""
        return [_Slot(self.call, is_bound=io == "bound") for _ in range(count)]

    def close(self) -> None:
        """Release the program."""
        self.call = None


def _read(path: Path) -> export.Exported:
    try:
        return export.deserialize(bytearray(path.read_bytes()))
    except Exception as error:
        raise Refusal(
            f"JAX {jax.__version__} cannot read the exported program: {error}", hint="Export the model again."
        ) from error


def _pool_threads() -> int | None:
    """Return how many threads XLA's pool has, which JAX itself does not tell."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return names.count(_POOL) or None


class _Slot:
    """One caller; XLA keeps nothing between calls, so slots share the program."""

    def __init__(self, call: Any, *, is_bound: bool) -> None:
        self._call, self._is_bound = call, is_bound
        self._inputs: Sequence[Any] = ()
        self._outputs: list[Any] = []

    def stage(self, feed: Feed, /) -> None:
        """Hold the arrays; bound, make arrays of JAX, which takes longer than to give it those of NumPy."""
        self._inputs = [jax.device_put(array) for array in feed] if self._is_bound else feed

    def run(self) -> None:
        """Run one inference; JAX returns before it is complete, so wait for it."""
        self._outputs = jax.block_until_ready(self._call(*self._inputs))

    def fetch(self) -> Outputs:
        """Return the outputs of the last run, which own their memory."""
        return [np.asarray(output) for output in self._outputs]
