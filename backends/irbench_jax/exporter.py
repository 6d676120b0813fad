"""Functions of JAX to bundles: one worker builds, traces, converts, runs and writes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from irbench import __version__
from irbench.errors import IrbenchError
from irbench.spec import BATCH, Artifact, Bundle
from irbench.spec.tensors import shape_text
from irbench.spi import Acceptance, Array, Exporter, ExporterDescription, ExportRequest, Feed
from irbench.spi.user_functions import is_function
from irbench_jax import sources

if TYPE_CHECKING:
    from irbench_jax.sources import Loaded
    from irbench_jax.tracing import Traced

_PROGRAM_FILE, _ONNX_FILE, _REFERENCE_FILE = "model.jax", "model.onnx", "reference.npz"
_TOOLS = ("jax", "jaxlib", "jax2onnx", "onnx", "numpy")
_DESCRIPTION = ExporterDescription(
    framework="JAX",
    distributions=("jax", "jax2onnx"),
    environment={"JAX_PLATFORMS": "cpu", "JAX_TRACEBACK_FILTERING": "off"},  # errors keep the frames of primitives
)


class JaxExporter:
    """Exports what functions return: a function of JAX with its example inputs."""

    name = "jax"

    def describe(self) -> ExporterDescription:
        """Say which distributions an export depends on."""
        return _DESCRIPTION

    def accepts(self, source: str) -> Acceptance:
        """Return whether ``source`` names a function; imports no JAX."""
        return "perhaps" if is_function(source) else "no"

    def owns(self, model: object, /) -> bool:
        """Whether something is a jitted function, or a function with inputs of JAX."""
        return sources.owns(model)

    def export(self, request: ExportRequest, say: Callable[[str], None], /) -> Bundle:
        """Write ``model.jax``, ``model.onnx`` and ``reference.npz``; see :class:`irbench.spi.Exporter`."""
        say(f"building {request.source}")
        import numpy as np

        from irbench.onnx.reading.class_scores import class_scores, known_class_axes
        from irbench_jax.tracing import trace, write

        loaded = sources.load(request)
        say(f"tracing {loaded.name}")
        traced = trace(loaded, request.batch)
        defaults = _sizes(traced, request.shapes)
        say("converting to ONNX")
        files = (request.directory / _PROGRAM_FILE, request.directory / _ONNX_FILE)
        model = write(loaded, traced, *files, request.opset)
        say(f"running {loaded.name} in JAX for its reference outputs")
        np.savez(request.directory / _REFERENCE_FILE, *_reference(loaded, traced, defaults, request.seed))
        scores = class_scores(model)

        def artifact(kind: str, file: str, opset: int | None = None) -> Artifact:
            digest = hashlib.sha256((request.directory / file).read_bytes()).hexdigest()
            return Artifact(kind, Path(file), traced.taken, traced.outputs, sha256=digest, opset=opset)

        return Bundle(
            name=loaded.name,
            inputs=traced.inputs,
            artifacts=(
                artifact("onnx", _ONNX_FILE, model.opset_import[0].version),
                artifact("jax-export", _PROGRAM_FILE),
            ),
            defaults=defaults,
            classifier=any(score.shown for score in scores),
            class_axes=known_class_axes(scores),
            seed=request.seed,
            reference=Path(_REFERENCE_FILE),
            source=request.source,
            versions={"irbench": __version__, **{name: metadata.version(name) for name in _TOOLS}},
            details={
                "weights": "own",
                "onnx_exporter": "jax2onnx",
                "nodes": len(model.graph.node),
                **({"fixed_batch": traced.why_fixed} if traced.why_fixed else {}),
            },
            batch_axes=() if set(traced.batch_axes) == {0} else traced.batch_axes,
        )


exporter: Exporter = JaxExporter()


def _sizes(traced: Traced, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
    """Return the default sizes of dynamic dimensions, with those that a request asks for."""
    sizes = dict(traced.defaults)
    known = {**{name: (name,) for name in sizes}, **{spec.tensor.name: spec.tensor.shape for spec in traced.inputs}}
    for name, given in shapes.items():
        wanted = known.get(name, ())
        fits = len(wanted) == len(given) and all(
            isinstance(left, str) or left == right for left, right in zip(wanted, given, strict=False)
        )
        if not wanted or not fits:
            raise IrbenchError(
                f"{name} cannot have the shape {shape_text(given)}.",
                hint=f"It takes: {', '.join(f'{name} {shape_text(shape)}' for name, shape in known.items())}.",
            )
        sizes |= {
            size: own for size, own in zip(wanted, given, strict=False) if isinstance(size, str) and size != BATCH
        }
    return sizes


def _reference(loaded: Loaded, traced: Traced, sizes: Mapping[str, int], seed: int) -> tuple[Array, ...]:
    """Return the function's own outputs for the first :data:`irbench.core.feeds.POOL` samples."""
    import jax
    import numpy as np

    from irbench.core import feeds

    def answer(feed: Feed) -> list[Array]:
        return [np.asarray(leaf) for leaf in jax.tree.leaves(loaded.function(*feed))]

    return feeds.joined_pool(feeds.answers_of_pool(answer, traced.inputs, sizes, seed), traced.batch_axes, sizes)
