"""How far graphs of a model are from the exported one, on every runtime and under every kind of mask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from irbench.core import registry
from irbench.core.feeds import generate, lay_out
from irbench.core.output_check import compare, input_scale, judge
from irbench.errors import first_line
from irbench.spec import BATCH, Artifact, InputSpec, Load
from irbench.spi import Array, Backend
from irbench.worker.inference import OpenSession

MASKS = ("ones", "zeros", "half", "random")
_REFERENCE = "ort"
_THREADS = 2


@dataclass(frozen=True)
class CheckRequest:
    """Which graphs are compared, and on what.

    Attributes:
        exported: The graph that answers what is expected, by ONNX Runtime without optimisations.
        graphs: Those that are compared with it, by level; all of the same signature, with every dimension bound.
        inputs: Logical inputs.
        sizes: Of all dynamic dimensions.
        seed: Of the inputs.
        backends: What runs the graphs.
    """

    exported: Artifact
    graphs: Mapping[str, Artifact]
    inputs: tuple[InputSpec, ...]
    sizes: Mapping[str, int]
    seed: int
    backends: tuple[str, ...]


@dataclass(frozen=True)
class GraphError:
    """A graph on a backend.

    Attributes:
        level: What was done to the graph.
        backend: What ran it.
        max_rel: The largest error of an output over all masks, relative to the largest value of that output; ``None``
            where it gave no answer.
        failure: Why the answers are wrong, or why there is none; empty where they are right.
        ran: Whether there is an answer.
        by_mask: The same error for each mask; masks whose answers cannot be compared are left out.
        wrong_masks: Those whose answers are wrong.
    """

    level: str
    backend: str
    max_rel: float | None
    failure: str = ""
    ran: bool = True
    by_mask: Mapping[str, float] = field(default_factory=dict[str, float])
    wrong_masks: tuple[str, ...] = ()


def feeds_of(inputs: Sequence[InputSpec], sizes: Mapping[str, int], seed: int) -> dict[str, tuple[Array, ...]]:
    """Return logical inputs for each of :data:`MASKS`; for a model without masks, one that is called ``random``.

    ``half`` keeps the first half of each text, ``random`` keeps each
    token by chance. All else is drawn, and the same for every mask.
    """
    drawn = generate(inputs, sizes, seed)
    are_masks = [spec.is_mask for spec in inputs]
    kinds = MASKS if any(are_masks) else ("random",)
    return {
        kind: tuple(
            _mask(kind, array, seed) if is_mask else array for is_mask, array in zip(are_masks, drawn, strict=True)
        )
        for kind in kinds
    }


def check_graphs(request: CheckRequest) -> tuple[GraphError, ...]:
    """Run every graph on every backend and compare; call it in a worker, because it imports runtimes."""
    feeds = feeds_of(request.inputs, request.sizes, request.seed)
    expected = _answers(registry.reference(_REFERENCE), request.exported, request, feeds)
    return tuple(_errors(request, feeds, expected))


def _errors(
    request: CheckRequest, feeds: Mapping[str, tuple[Array, ...]], expected: Mapping[str, tuple[Array, ...]]
) -> Iterator[GraphError]:
    for backend in request.backends:
        for level, artifact in request.graphs.items():
            try:
                answers = _answers(registry.backend(backend), artifact, request, feeds)
                yield _judged(GraphError(level, backend, 0.0), feeds, answers, expected)
            except Exception as error:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot run a graph
                yield GraphError(level, backend, None, first_line(error), ran=False)


def _judged(
    graph: GraphError,
    feeds: Mapping[str, tuple[Array, ...]],
    answers: Mapping[str, tuple[Array, ...]],
    expected: Mapping[str, tuple[Array, ...]],
) -> GraphError:
    failures = dict[str, str]()
    by_mask = dict[str, float]()
    for kind, outputs in answers.items():
        try:
            error = compare(outputs, expected[kind], class_axes=(), scale=input_scale(feeds[kind]))
        except ValueError as problem:  # an answer of another shape, or that is not finite
            failures[kind] = str(problem)
            continue
        by_mask[kind] = error.max_rel
        failure = judge(error, "fp32")
        if failure is not None:
            failures[kind] = failure.message
    first = next((f"masks of {kind}: {message}" for kind, message in failures.items()), "")
    largest = max(by_mask.values(), default=None)
    return replace(graph, max_rel=largest, failure=first, by_mask=by_mask, wrong_masks=tuple(failures))


def _answers(
    backend: Backend, artifact: Artifact, request: CheckRequest, feeds: Mapping[str, tuple[Array, ...]]
) -> dict[str, tuple[Array, ...]]:
    load = Load(batch=request.sizes[BATCH], threads=_THREADS)
    with OpenSession(backend, artifact, load) as session:
        return {kind: session.answer(lay_out(arrays, artifact)) for kind, arrays in feeds.items()}


def _mask(kind: str, drawn: Array, seed: int) -> Array:
    mask = np.zeros_like(drawn)
    if kind == "random":
        mask[:] = np.random.default_rng(seed).integers(0, 2, drawn.shape)
    else:
        kept = {"ones": drawn.shape[-1], "zeros": 0, "half": drawn.shape[-1] // 2}[kind]
        mask[..., :kept] = 1
    return mask
