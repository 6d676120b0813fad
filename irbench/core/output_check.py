"""Compare outputs with a reference, and judge the error by the tolerance of a precision."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import Failure, OutputError
from irbench.spec import Accuracy, shape_text
from irbench.spi import Array

if TYPE_CHECKING:  # other interpreters compare outputs as well, and have no msgspec
    from irbench.notices.warnings import Degeneracy

TOLERANCES = {"fp64": 1e-8, "fp32": 1e-3, "tf32": 2e-2, "fp16": 2e-2, "bf16": 1e-1, "int8": 2e-1, "fp8": 2.5e-1}
"""Largest ``max_rel`` that passes, by effective precision.

Rounding errors grow with depth, about as the square root of the number of roundings on the way to an output. Deep
networks were seen to differ by 1e-6 to 1e-4 in fp32 (unit roundoff 6e-8) and by 0.006 to 0.05 in bf16 (4e-3). The
limits lie 2 to 10 times above what was seen, that of fp32 the most: Winograd and FFT convolutions are right and lose
two digits. fp16 and tf32 (5e-4 each) stand between; int8 has steps of 1/127 in every layer. fp8 rounds each value by up
to 6e-2 (e4m3) or 1e-1 (e5m2), coarser than int8's steps near the largest value and finer near zero: it gets a little
more room than int8, by this reasoning and not by observation. A wrong fusion, layout or axis gives 0.1 to 2 with seeded
weights, so that fp32 finds it.
"""

LEAST_LARGEST = 1e-3
"""What the largest value of an output is taken for at least, as a share of the scale of the inputs.

An output much smaller than the values that it was computed from consists of their rounding errors: a sigmoid whose
largest answer is 1e-5 is computed as 0.5 + 0.5 tanh by some kernels and is off by 2e-7, three times the unit roundoff
of 1 and 2 % of 1e-5. With this floor fp32 accepts an absolute error of 1e-6 at inputs of about 1, eight times the
spacing of fp32 numbers there. Zeros in place of 1e-5 are still wrong. Below 1e-6 every small answer passes, so
:func:`degenerate_outputs` reports any output that the floor applies to.
"""

_FEWEST_CLASSES = 3
"""Two numbers that add up to one may be anything."""
_SUM_TOLERANCE = 1e-3
"""By how much probabilities miss a sum of 1 in fp32, with room for tens of thousands of classes."""

_EXCUSED = 2.0
"""How many times as far off outputs may be as those that were found good enough: inputs and batches differ."""

_UNKNOWN_PRECISION = "fp32"
_EXACT_KINDS = "iubOSU"
_EXACT_EXTENSIONS = ("int2", "int4", "uint2", "uint4")
_EXACT_MISMATCH = 1.0


def compare(
    outputs: Sequence[Array], reference: Sequence[Array], class_axes: Sequence[int | None], scale: float
) -> OutputError:
    """Return how far outputs are from the reference: the worst over all of them, each relative to its own size.

    ``max_abs`` is max abs(a - b) and ``max_rel`` the same over max abs(b), or over :data:`LEAST_LARGEST` of the scale
    where that is more. The cosine is that of outputs taken as vectors; two zero vectors are equal (1), a zero and
    another are not (0). Values that are not finite must agree exactly with the reference and are then left out.
    Integers, booleans and strings are compared exactly: any difference gives a ``max_rel`` of at least 1. Computed in
    float64 (complex128).

    Args:
        outputs: What a backend answered.
        reference: What it should have answered, in the same order.
        class_axes: For each output the axis along which it holds scores of classes, so that top-1 agreement (the
            fraction of positions whose largest score is the same class's) is given: the least of all of them. ``None``
            for an output that holds none, empty where no output does.
        scale: Size of the values that outputs are computed from: :func:`input_scale`.

    Raises:
        ValueError: The number of outputs or a shape differs, or an output is not finite where the reference is. The
            message is a sentence for the cell's row.
    """
    if len(outputs) != len(reference):
        raise ValueError(f"gave {len(outputs)} outputs, the reference has {len(reference)}")
    pairs = [(np.asarray(tensor), np.asarray(other)) for tensor, other in zip(outputs, reference, strict=True)]
    least = LEAST_LARGEST * scale
    errors = [_compare_one(tensor, other, f"output {place}", least) for place, (tensor, other) in enumerate(pairs)]
    agreements = [
        _top1_agreement(*pair, axis) for pair, axis in zip(pairs, class_axes, strict=False) if axis is not None
    ]
    return OutputError(
        max_abs=max((error.max_abs for error in errors), default=0.0),
        max_rel=max((error.max_rel for error in errors), default=0.0),
        cosine=min((error.cosine for error in errors), default=1.0),
        top1_agreement=min((share for share in agreements if share is not None), default=None),
    )


def fingerprint(outputs: Sequence[Any], call: int = 0) -> str:
    """Return a digest of the outputs of a call that is checked: equal where all of their bits are.

    Args:
        outputs: Arrays, or lists of them.
        call: Which of the reference's calls they belong to.
    """
    digest = hashlib.blake2b(str(call).encode(), digest_size=16)
    for output in outputs:
        if isinstance(output, list):
            digest.update(fingerprint(output, len(output)).encode())
            continue
        array = np.asarray(output)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype.kind in "OSU" else array.tobytes())
    return digest.hexdigest()


def tolerance(precision: str) -> float:
    """Return the largest ``max_rel`` that passes in an effective precision; an unknown one is held to that of fp32."""
    return TOLERANCES.get(precision, TOLERANCES[_UNKNOWN_PRECISION])


def are_class_scores(output: Array) -> bool:
    """Whether an output holds probabilities of classes along its last axis, as a softmax gives them.

    Args:
        output: To one input; several positions each with at least three classes, none negative, whose sum is 1.
    """
    array = np.asarray(output)
    if array.ndim < 2 or array.shape[-1] < _FEWEST_CLASSES or not array.size or array.dtype.kind in "OSUcb":
        return False
    values = _wide(array).reshape(array.shape)
    return bool(values.min() >= 0 and np.allclose(values.sum(axis=-1), 1, atol=_SUM_TOLERANCE))


def is_exact(dtype: np.dtype[Any]) -> bool:
    """Whether values have no rounding errors: integers, those of two and four bits included, booleans and strings."""
    return dtype.kind in _EXACT_KINDS or dtype.name in _EXACT_EXTENSIONS


def input_scale(inputs: Iterable[Array]) -> float:
    """Return the size of the values that outputs are computed from: the largest float input, and at most 1.

    Values inside a network are about 1 whatever its inputs, because layers normalise them; a mask of -1e9 among the
    inputs says nothing of them. Only inputs that are all small make everything smaller. It is 1 without float inputs,
    and where all are zero.
    """
    floats = [_wide(array) for array in inputs if array.size and not is_exact(array.dtype)]
    largest = max((float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) for values in floats), default=0.0)
    return min(1.0, largest) or 1.0


def judge(error: OutputError, precision: str, graph_precision: str = "") -> Failure | None:
    """Return why outputs are wrong, or ``None`` where they pass.

    The tolerance is the looser of two. A runtime that computes an int8 graph in fp32 rounds less than the reference,
    which rounds to integers, so that the graph's precision says how far the two may be apart.

    Args:
        error: From :func:`compare`.
        precision: What the runtime read back, not what was asked for.
        graph_precision: What the graph holds; empty where that is unknown.
    """
    precision = _loosest(precision, graph_precision)
    allowed = tolerance(precision)
    if error.max_rel <= allowed:
        return None
    return Failure(
        "verify",
        f"wrong outputs: max_rel {error.max_rel:.2g} is above {allowed:g}, the tolerance of {precision}",
        f"A tolerance of {_round_up(error.max_rel):g} would pass; the cosine is {error.cosine:.4f}.",
    )


def _loosest(*precisions: str) -> str:
    """Return the precision with the largest tolerance; that of an unknown one where none is known."""
    known = [name for name in precisions if name in TOLERANCES] or [_UNKNOWN_PRECISION]
    return max(known, key=tolerance)


def allowed_error(precision: str, graph_precision: str, accuracy: Accuracy | None) -> float:
    """Return the largest ``max_rel`` that passes: the tolerance, or more where outputs are good enough by a measure.

    Args:
        precision: As :func:`judge` is given it.
        graph_precision: As :func:`judge` is given it.
        accuracy: By the user's measure; ``None`` where no limit was given.
    """
    allowed = tolerance(_loosest(precision, graph_precision))
    if accuracy is None or accuracy.max_rel is None or not accuracy.is_within_limit:
        return allowed
    return max(allowed, _EXCUSED * accuracy.max_rel)


def is_excused(error: OutputError | None, accuracy: Accuracy | None) -> bool:
    """Whether outputs may be off by more than the tolerance, because they are good enough by the user's measure.

    They may be about as far off as those that were measured. What is much farther off went wrong otherwise, for example
    in concurrent calls, which the measure did not see.
    """
    if error is None or accuracy is None or accuracy.max_rel is None or not accuracy.is_within_limit:
        return False
    return error.max_rel <= _EXCUSED * accuracy.max_rel


def _compare_one(output: Array, reference: Array, name: str, least_largest: float) -> OutputError:
    if output.shape != reference.shape:
        raise ValueError(f"{name} has shape {_shape(output)}, the reference {_shape(reference)}")
    if output.dtype.kind in "OSU" or reference.dtype.kind in "OSU":
        same = bool(np.all(output == reference))
        return OutputError(0.0 if same else 1.0, 0.0 if same else _EXACT_MISMATCH, 1.0 if same else 0.0, None)
    actual, expected = _finite_parts(_wide(output), _wide(reference), name)
    max_abs = float(np.abs(actual - expected).max(initial=0.0))
    max_rel = max_abs / max(float(np.abs(expected).max(initial=0.0)), least_largest)
    if max_abs == 0 and _integers_differ(output, reference):
        max_abs = _EXACT_MISMATCH
    if max_abs > 0 and is_exact(reference.dtype):
        max_rel = max(max_rel, _EXACT_MISMATCH)
    return OutputError(max_abs, max_rel, _cosine(actual, expected), None)


def _integers_differ(output: Array, reference: Array) -> bool:
    """Whether integers differ that float64 may not tell apart, those above 2^53."""
    return output.dtype.kind in "iu" and reference.dtype.kind in "iu" and not np.array_equal(output, reference)


def _wide(values: Array) -> NDArray[Any]:
    """Return the values flat in double precision; also those of types NumPy knows by extension, such as bfloat16."""
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64).ravel()


def _finite_parts(actual: NDArray[Any], expected: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both without the positions at which both are the same infinity or both NaN."""
    finite = np.isfinite(actual) & np.isfinite(expected)
    if finite.all():
        return actual, expected
    equal = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    wrong = ~finite & ~equal
    if wrong.any():
        wrong_values = "NaN" if np.isnan(actual[wrong]).any() else "infinities"
        wrong_values = (
            wrong_values if not np.isfinite(actual[wrong]).all() else "finite values where the reference has none"
        )
        raise ValueError(f"{name} holds {wrong_values} at {int(wrong.sum())} of {wrong.size} places")
    return actual[finite], expected[finite]


def _cosine(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    scale = max(float(np.abs(actual).max(initial=0.0)), float(np.abs(expected).max(initial=0.0)))
    if scale == 0:
        return 1.0
    actual, expected = actual / scale, expected / scale  # squares of very large or small values would leave float64
    norms = float(np.linalg.norm(actual) * np.linalg.norm(expected))
    if norms == 0:
        return 0.0
    return min(1.0, max(-1.0, float(np.vdot(expected, actual).real) / norms))


def _top1_agreement(output: Array, reference: Array, axis: int) -> float | None:
    if output.ndim == 0 or not output.size or output.dtype.kind in "OSUc":
        return None
    chosen, expected = (_wide(tensor).reshape(tensor.shape).argmax(axis=axis) for tensor in (output, reference))
    return float(np.mean(chosen == expected))


def _shape(values: Array) -> str:
    return shape_text(values.shape)


def _round_up(value: float) -> float:
    """Return the least number with two significant digits that is not below ``value``."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.2g}")


@dataclass(frozen=True)
class DegenerateOutput:
    """One output of the reference that cannot tell a right answer from a wrong one.

    Attributes:
        output: Its place among the outputs, from 0.
        values: What all of them are.
        largest: The largest absolute value; ``None`` where none is finite.
    """

    output: int
    values: Degeneracy
    largest: float | None


def degenerate_outputs(reference: Sequence[Array], scale: float = 1.0) -> Iterator[DegenerateOutput]:
    """Yield the float outputs that say little for these inputs."""
    for place, output in enumerate(map(np.asarray, reference)):
        if output.size and not is_exact(output.dtype):
            yield from _degenerate(place, output, scale)


def _degenerate(place: int, output: Array, scale: float) -> Iterator[DegenerateOutput]:
    values = output.astype(np.complex128 if output.dtype.kind == "c" else np.float64).ravel()
    finite = values[np.isfinite(values)]
    if not finite.size:
        yield DegenerateOutput(place, "not-finite", None)
        return
    largest = float(np.abs(finite).max())
    if largest == 0:
        yield DegenerateOutput(place, "zero", largest)
    elif largest < LEAST_LARGEST * scale:
        yield DegenerateOutput(place, "tiny", largest)
    elif finite.size > 1 and bool((finite == finite[0]).all()):
        yield DegenerateOutput(place, "constant", largest)
