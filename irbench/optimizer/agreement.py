"""The cost of a conversion: outputs of the converted graph compared with those of the fp32 graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from irbench.core import registry
from irbench.core.feeds import lay_out
from irbench.core.graph_record import Agreement, AgreementElsewhere
from irbench.core.output_check import (
    are_class_scores,
    compare,
    degenerate_outputs,
    input_scale,
    is_exact,
    judge,
    tolerance,
)
from irbench.core.record import OutputError
from irbench.errors import IrbenchError, first_line
from irbench.onnx.rewriting.bind import bind, is_rewritten, with_sizes
from irbench.optimizer.calibration_samples import CheckSamples
from irbench.optimizer.check_plan import ExpectedAnswer, arrays_of
from irbench.spec import BATCH, Artifact, Disagreement, Distribution, Load
from irbench.spi import Array, Backend
from irbench.worker.inference import OpenSession

LEAST_AGREEMENT = 0.9
"""Top-1 agreement below which a conversion counts as failed.

It must not be missed by chance with 64 inputs: a conversion that agrees on 98 of 100 inputs falls below with a
probability of 3e-4, one that agrees on 95 of 100 with 0.04.
"""


_AXES_OF_CLASSES = (2, 3)
"""A class for each sample, or for each position of one; weights of attention, which also add up to one, have four."""
_SAMPLES_ELSEWHERE = 16
"""Inputs from each further distribution: they show a loss of another order, which needs no more of them."""


class FailsAtSizes(IrbenchError):
    """A converted graph does not run at sizes at which the graph in fp32 does."""

    def __init__(self, sizes: Mapping[str, int], reason: str) -> None:
        words = ", ".join(f"{name} {size}" for name, size in sizes.items())
        super().__init__(
            f"The converted graph does not run at {words}: {reason.rstrip('.')}.",
            hint="Fix the sizes that it shall run at with --batch and --shape, or leave `--precision` out.",
        )


def disagreement(error: OutputError, precision: str) -> Disagreement | None:
    """Return what a converted graph fails in; ``None`` where its outputs agree with fp32."""
    if error.top1_agreement is not None and error.top1_agreement < LEAST_AGREEMENT:
        return Disagreement("top1-agreement", error.top1_agreement, LEAST_AGREEMENT)
    if judge(error, precision) is not None:
        return Disagreement("max-rel", error.max_rel, tolerance(precision))
    return None


def measure_agreement(
    samples: CheckSamples,
    converted: Artifact,
    reference: str,
    scratch: Path,
    at_other_sizes: Sequence[ExpectedAnswer] = (),
    elsewhere: Sequence[Distribution] = (),
) -> Agreement:
    """Return how closely the outputs of ``converted`` follow those of ``samples.artifact``.

    Args:
        samples: The inputs, and the graph in fp32.
        converted: The same graph in another precision.
        reference: The backend that answers for fp32, and for the other precision if it has kernels for it; otherwise
            the first installed backend that has does.
        scratch: Where copies with bound shapes are written.
        at_other_sizes: What the graph in fp32 answers at other sizes; the converted one is asked the same, its shapes
            dynamic. Where samples are given, it only has to run there.
        elsewhere: Other distributions of generated floats, from each of which some inputs are drawn.

    Raises:
        FailsAtSizes: The converted graph does not run at one of them.
        ValueError: The answers cannot be compared, because some are not finite for example.
    """
    wide, narrow = _sized(samples, converted, reference, scratch)
    name, backend, answers, computed_in = _first_answers(narrow, samples, reference)
    right = registry.reference(reference)
    (expected,), _ = answers_of(right, wide, [samples])
    if not any(map(_has_numbers, expected)):
        raise ValueError("the fp32 graph answers no finite number to these inputs: give real ones with --data")
    scale = max(input_scale(inputs) for inputs in samples.logical_inputs())
    class_axes = samples.bundle.known_class_axes or _recognised(samples, expected)
    errors = [compare(*pair, class_axes, scale) for pair in zip(answers, expected, strict=True)]
    further = _errors_at_other_sizes(at_other_sizes, samples, converted, backend)
    sizes, compared = tuple(other.case.sizes for other in at_other_sizes), len(further)
    return Agreement(
        samples.count,
        name,
        _worst(errors, further),
        _says_little(expected, scale),
        sizes=sizes[:compared],
        runs_at=sizes[compared:],
        source="data" if samples.feeding.samples else "generated",
        drawn=samples.feeding.drawn,
        ranges=samples.generated_ranges,
        is_recognised=bool(class_axes) and not samples.bundle.classifier,
        outputs=samples.bundle.names_of_classes(class_axes),
        elsewhere=tuple(_agreements_elsewhere(elsewhere, samples, (wide, narrow), (right, backend), class_axes)),
        computed_in=computed_in,
    )


def _recognised(samples: CheckSamples, expected: Sequence[Sequence[Array]]) -> tuple[int | None, ...]:
    """Return the last axis of outputs whose values are probabilities of classes along it, where nobody knows more."""
    if samples.bundle.class_axes is not None:
        return ()
    few_axes = [np.ndim(output) in _AXES_OF_CLASSES for output in expected[0]]
    axes = tuple(
        -1 if has_few and all(are_class_scores(outputs[place]) for outputs in expected) else None
        for place, has_few in enumerate(few_axes)
    )
    return axes if any(axis is not None for axis in axes) else ()


def _agreements_elsewhere(
    distributions: Sequence[Distribution],
    samples: CheckSamples,
    graphs: tuple[Artifact, Artifact],
    backends: tuple[Backend, Backend],
    class_axes: Sequence[int | None],
) -> Iterator[AgreementElsewhere]:
    """Yield how closely two graphs agree on inputs of each distribution, which a session of each answers."""
    if not distributions:
        return
    variants = [
        replace(samples, feeding=replace(samples.feeding, drawn=drawn), min_count=_SAMPLES_ELSEWHERE)
        for drawn in distributions
    ]
    expected, answers = (answers_of(*pair, variants)[0] for pair in zip(backends, graphs, strict=True))
    for own, right, answer in zip(variants, expected, answers, strict=True):
        scale = max(input_scale(inputs) for inputs in own.logical_inputs())
        yield AgreementElsewhere(own.feeding.drawn, own.count, _error_elsewhere(answer, right, class_axes, scale))


def _error_elsewhere(
    answers: Sequence[tuple[Array, ...]],
    expected: Sequence[tuple[Array, ...]],
    class_axes: Sequence[int | None],
    scale: float,
) -> OutputError | None:
    """Return the worst error; ``None`` where some answer is finite in one precision alone."""
    try:
        return _worst([compare(*pair, class_axes, scale) for pair in zip(answers, expected, strict=True)], ())
    except ValueError:
        return None


def _first_answers(
    converted: Artifact, samples: CheckSamples, reference: str
) -> tuple[str, Backend, tuple[tuple[Array, ...], ...], str]:
    """Return the first backend that answers, its answers, and the precision that it computes in."""
    reasons: list[str] = []
    for name, backend in _candidates(reference):
        try:
            (answers,), computed_in = answers_of(backend, converted, [samples])
        except Exception as problem:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot load a graph
            reasons.append(f"{name}: {first_line(problem)}")
        else:
            return name, backend, answers, computed_in
    raise IrbenchError(
        f"No backend here can run the converted graph: {'; '.join(reasons)}.",
        hint="Try another precision, or install a runtime that supports this one.",
    )


def _errors_at_other_sizes(
    at_other_sizes: Sequence[ExpectedAnswer], samples: CheckSamples, converted: Artifact, backend: Backend
) -> list[OutputError]:
    """Return the errors at other sizes, all answered by one session; none where samples are given.

    Their inputs are seeded ones, on which a graph that was calibrated on real data may err by anything.
    """
    answers = _answers_at_other_sizes(at_other_sizes, samples, converted, backend) if at_other_sizes else []
    if samples.feeding.samples:
        return []
    return [
        compare(answer, expected.outputs, samples.bundle.known_class_axes, expected.scale)
        for answer, expected in zip(answers, at_other_sizes, strict=True)
    ]


def _answers_at_other_sizes(
    at_other_sizes: Sequence[ExpectedAnswer], samples: CheckSamples, converted: Artifact, backend: Backend
) -> list[tuple[Array, ...]]:
    feeding = replace(samples.feeding, seed=samples.bundle.seed)
    sizes = at_other_sizes[0].case.sizes
    answers: list[tuple[Array, ...]] = []
    try:
        with OpenSession(backend, with_sizes(converted, sizes), _load(sizes)) as session:
            for expected in at_other_sizes:
                sizes = expected.case.sizes
                inputs = arrays_of(expected.case, samples.bundle.inputs, feeding)
                answers.append(session.answer(lay_out(inputs, converted)))
    except Exception as problem:  # each runtime reports in a way of its own that it cannot run a graph
        raise FailsAtSizes(sizes, first_line(problem)) from problem
    return answers


def _sized(samples: CheckSamples, converted: Artifact, reference: str, scratch: Path) -> tuple[Artifact, ...]:
    """Return both graphs with the sizes of the samples: bound, or dynamic where the reference refuses them bound."""
    graphs = (samples.artifact, converted)
    bound = tuple(bind(artifact, samples.sizes, scratch) for artifact in graphs)
    if not is_rewritten(samples.artifact) or _loads(registry.reference(reference), bound[0], samples):
        return bound
    return tuple(with_sizes(artifact, samples.sizes) for artifact in graphs)


def _loads(backend: Backend, artifact: Artifact, samples: CheckSamples) -> bool:
    try:
        with OpenSession(backend, artifact, _load(samples.sizes)):
            return True
    except Exception:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot load a graph
        return False


def _load(sizes: Mapping[str, int]) -> Load:
    return Load(batch=sizes[BATCH], threads=None, precision="native")


def _candidates(reference: str) -> Iterator[tuple[str, Backend]]:
    yield reference, registry.reference(reference)
    for name in registry.installed_backends():
        backend = registry.backend(name)
        if name != reference and "onnx" in backend.consumes:
            yield name, backend


def answers_of(
    backend: Backend, artifact: Artifact, bundles: Sequence[CheckSamples]
) -> tuple[list[tuple[tuple[Array, ...], ...]], str]:
    """Return the outputs of a graph to each sample of each bundle, and the precision that the backend reads back."""
    with OpenSession(backend, artifact, _load(bundles[0].sizes)) as session:
        answers = [tuple(session.answer(feed) for feed in samples.feeds(artifact)) for samples in bundles]
        return answers, str(session.effective.get("precision") or "")


def _says_little(expected: Sequence[Sequence[Array]], scale: float) -> bool:
    return all(len(tuple(degenerate_outputs(right, scale))) == len(right) for right in expected)


def _has_numbers(outputs: Sequence[Array]) -> bool:
    return any(
        isinstance(output, list) or is_exact(output.dtype) or bool(np.isfinite(output).any()) for output in outputs
    )


def _worst(errors: Sequence[OutputError], further: Sequence[OutputError]) -> OutputError:
    every = [*errors, *further]
    agreements = [error.top1_agreement for error in errors if error.top1_agreement is not None]
    return OutputError(
        max_abs=max(error.max_abs for error in every),
        max_rel=max(error.max_rel for error in every),
        cosine=min(error.cosine for error in every),
        top1_agreement=fmean(agreements) if agreements else None,
    )
