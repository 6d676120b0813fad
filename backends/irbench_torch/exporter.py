"""PyTorch modules to bundles: one worker builds, traces, runs, converts and writes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from irbench import __version__
from irbench.errors import IrbenchError
from irbench.spec import BATCH, RANDOM_DRAWS, Artifact, Bundle
from irbench.spi import Acceptance, Array, Exporter, ExporterDescription, ExportRequest, Feed, ModelInMemory
from irbench_torch import sources

if TYPE_CHECKING:
    from irbench_torch.sources import Loaded
    from irbench_torch.tracing import Traced

_PROGRAM_FILE, _ONNX_FILE, _REFERENCE_FILE = "model.pt2", "model.onnx", "reference.npz"
_TOOLS = ("torch", "onnxscript", "onnx", "numpy")
_DESCRIPTION = ExporterDescription(
    framework="PyTorch",
    distributions=("torch", "onnxscript"),
    environment={"CUDA_VISIBLE_DEVICES": "-1"},
)

Say = Callable[[str], None]


class TorchExporter:
    """Exports functions that return modules, exported programs, and folders of Hugging Face's transformers."""

    name = "torch"

    def describe(self) -> ExporterDescription:
        """Say which distributions an export depends on."""
        return _DESCRIPTION

    def accepts(self, source: str) -> Acceptance:
        """Return whether ``source`` is one of those; imports no PyTorch."""
        return sources.accepts(source)

    def owns(self, model: object, /) -> bool:
        """Whether something is a module or a program of PyTorch, alone or with its example inputs."""
        return sources.owns(model)

    def in_memory(self, model: object, /) -> ModelInMemory | None:
        """Return how a module with its example inputs is saved; see :class:`irbench.spi.InMemoryExporter`."""
        if not sources.owns(model):
            return None
        import torch
        from torch.utils._pytree import tree_leaves

        from irbench_torch.tracing import trace

        module = model[0] if isinstance(model, tuple) else model
        loaded = sources.loaded_of(model, type(module).__name__, "The model")
        traced = trace(loaded, None)
        program = traced.program
        examples = {str(place): leaf for place, leaf in enumerate(tree_leaves(program.example_inputs))}
        digest = hashlib.sha256(str(program).encode())  # with shapes, dtypes and ranges
        for name, tensor in {**program.state_dict, **program.constants, **examples}.items():
            digest.update(name.encode())
            if isinstance(tensor, torch.Tensor):
                digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        names = {
            tensor.name: {axis: size for axis, size in enumerate(tensor.shape) if isinstance(size, str)}
            for tensor in (spec.tensor for spec in traced.inputs)
        }
        digest.update(repr(names).encode())
        save = partial(sources.save, program, names)
        return ModelInMemory(loaded.name, digest.hexdigest(), sources.PROGRAM_SUFFIX, save)

    def export(self, request: ExportRequest, say: Say, /) -> Bundle:
        """Write ``model.pt2``, ``model.onnx`` and ``reference.npz``; see :class:`irbench.spi.Exporter`."""
        say(f"building {request.source}")
        from irbench.core import feeds
        from irbench.onnx.reading.class_scores import class_scores, known_class_axes
        from irbench_torch.conversion import write_onnx
        from irbench_torch.tracing import trace

        loaded = sources.load(request)
        say(f"tracing {loaded.name}")
        traced = _with_sizes(trace(loaded, request.batch), request)
        if traced.why_fixed:
            say(f"{loaded.name} takes batches of {traced.batch} alone: {traced.why_fixed}")
        say(f"running {loaded.name} in PyTorch for its reference outputs")
        answers = _answers(loaded, traced, request.seed)
        draws = not feeds.same_answers(answers, _answers(loaded, traced, request.seed))
        outputs = feeds.joined_pool(answers, traced.batch_axes, traced.defaults)
        sources.save(traced.program, {}, request.directory / _PROGRAM_FILE)
        say("converting to ONNX")
        model, facts = write_onnx(traced, loaded, request.directory / _ONNX_FILE, request.opset)
        scores = class_scores(model)
        return Bundle(
            name=loaded.name,
            inputs=traced.inputs,
            artifacts=(
                _artifact("onnx", request.directory / _ONNX_FILE, traced, model.opset_import[0].version),
                _artifact("torch-export", request.directory / _PROGRAM_FILE, traced),
            ),
            defaults=traced.defaults,
            classifier=any(score.shown for score in scores),
            class_axes=known_class_axes(scores),
            seed=request.seed,
            reference=None if draws else _write_reference(outputs, request.directory),
            source=request.source,
            versions={"irbench": __version__, **{name: metadata.version(name) for name in _TOOLS}},
            details={
                "weights": request.weights or "own",
                **facts,
                **({"fixed_batch": traced.why_fixed} if traced.why_fixed else {}),
                **({RANDOM_DRAWS: "PyTorch"} if draws else {}),
            },
            batch_axes=() if set(traced.batch_axes) == {0} else traced.batch_axes,
        )


exporter: Exporter = TorchExporter()


def _artifact(kind: str, path: Path, traced: Traced, opset: int | None = None) -> Artifact:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Artifact(kind, Path(path.name), traced.input_tensors, traced.outputs, sha256=digest, opset=opset)


def _with_sizes(traced: Traced, request: ExportRequest) -> Traced:
    """Return what was traced with the default sizes that a request asks for."""
    sizes: dict[str, int] = {}
    by_name = {spec.tensor.name: spec.tensor.shape for spec in traced.inputs}
    for name, given in request.shapes.items():
        wanted = by_name.get(name, (name,))
        if len(wanted) != len(given) or (name not in by_name and name not in traced.defaults):
            raise IrbenchError(
                f"{name} is no input with {len(given)} axes, and no dynamic dimension.",
                hint=f"Dynamic dimensions: {', '.join(traced.defaults) or 'none'}. Inputs: {', '.join(by_name)}.",
            )
        for dimension, size in zip(wanted, given, strict=True):
            if isinstance(dimension, int) and dimension != size:
                raise IrbenchError(
                    f"{name} has a size of {dimension} where {size} is asked for.",
                    hint="Name that dimension in what the function returns, as a dynamic one.",
                )
            sizes |= {dimension: size} if isinstance(dimension, str) and dimension != BATCH else {}
    return replace(traced, defaults={**traced.defaults, **sizes})


def _answers(loaded: Loaded, traced: Traced, seed: int) -> list[tuple[Array, ...]]:
    """Return what the module itself answers to each batch of the first :data:`irbench.core.feeds.POOL` samples."""
    import numpy as np

    from irbench.core import feeds
    from irbench_torch.running import as_array, as_tensor, call

    def answer(feed: Feed) -> list[Array]:
        return [np.array(as_array(tensor)) for tensor in call(loaded.module, traced.program, [*map(as_tensor, feed)])]

    return feeds.answers_of_pool(answer, traced.inputs, traced.defaults, seed)


def _write_reference(outputs: tuple[Array, ...], directory: Path) -> Path:
    import numpy as np

    np.savez(directory / _REFERENCE_FILE, *outputs)
    return Path(_REFERENCE_FILE)
