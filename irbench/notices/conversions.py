"""What a conversion to another precision costs and on which inputs that was measured, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from irbench.core.quantities import apart, error_size, plural
from irbench.errors import one_line
from irbench.spec import Disagreement, Distribution
from irbench.spec.feeding import RANGES

if TYPE_CHECKING:  # they bring NumPy
    from irbench.core.graph_record import Agreement, AgreementElsewhere, NarrowRange, ValueRange
    from irbench.core.record import OutputError

NOT_FINITE = "answers are not finite in one precision"


def agreement_lines(precision: str, agreement: Agreement) -> Iterator[str]:
    """Yield what a conversion costs and on which inputs, then on which others it costs most.

    ``int8 compared with fp32 on 64 generated inputs (uniform in [0, 1), as in calibration), computed by ort: max err
    0.02, ...``, and ``on 16 generated inputs, normal with mean 0 and deviation 1: max err 0.5, ...``.
    """
    error = agreement.error
    sizes = f" and at {plural(len(agreement.sizes), 'other size')}" if agreement.sizes else ""
    runs = f", runs at {plural(len(agreement.runs_at), 'other size')}" if agreement.runs_at else ""
    weights = f", weights of {agreement.weight_bits} bits" if agreement.weight_bits not in (None, 8) else ""
    figures = f"max abs {error_size(error.max_abs)}, {_error_text(error, agreement.outputs)}{weights}"
    inputs = f"{_judged_on(agreement)}{sizes}{runs}"
    if agreement.is_measured(precision):
        yield f"{precision} compared with fp32 on {inputs}, computed by {agreement.by}: {figures}"
    else:
        yield (
            f"the loss in {precision} was not measured: {agreement.by} computed this graph in {agreement.computed_in}. "
            f"Rounding weights and inputs to {precision} costs on {inputs}: {figures}"
        )
    if agreement.narrow_range is not None:
        yield narrow_range_text(agreement.narrow_range, agreement.source)
    worst = agreement.worst_elsewhere
    if worst is not None:
        yield _elsewhere(worst, len(agreement.elsewhere), agreement.outputs)


def top1_text(outputs: tuple[str, ...]) -> str:
    """Return what agrees: ``top-1 agreement``, or where a model has other outputs too ``top-1 agreement of label``."""
    return f"top-1 agreement of {' and '.join(outputs)}" if outputs else "top-1 agreement"


def narrow_range_text(fits: NarrowRange, source: str) -> str:
    """Return how the values of a graph fit into fp16, with the first of those that do not."""
    inputs = inputs_text(fits.samples, source)
    problems = [beyond_text(fits)] if fits.beyond else []
    if fits.vanishing:
        problems.append(f"below 6.1e-05, its least normal number: {_named(fits, fits.smallest, fits.vanishing)}")
    if not problems:
        return f"range on {inputs}, computed in fp32: each of {plural(fits.values, 'value')} fits into fp16"
    return f"range on {inputs}, computed in fp32: {'; '.join(problems)}"


def beyond_text(fits: NarrowRange) -> str:
    """Return which values are too large: ``above 65504, the largest number of fp16: 2 of 30 values (h5 1.2e+05)``."""
    return f"above 65504, the largest number of fp16: {_named(fits, fits.largest, fits.beyond)}"


def _named(fits: NarrowRange, values: Sequence[ValueRange], count: int) -> str:
    named = ", ".join(f"{one_line(value.name)} {value.largest:.2g}" for value in values)
    more = f" and {count - len(values)} more" if count > len(values) else ""
    return f"{count} of {fits.values} values ({named}{more})"


def inputs_text(samples: int | None, source: str) -> str:
    """Return on what something was measured: ``64 generated inputs``, ``20 samples of data``, ``64 inputs``."""
    if source == "data":
        return f"{plural(samples or 0, 'sample')} of data"
    return plural(samples or 0, "generated input" if source == "generated" else "input")


def distribution_text(drawn: Distribution, ranges: Mapping[str, tuple[float, float]]) -> str:
    """Return what generated floats are drawn from: ``uniform in [0, 1)``."""
    if drawn == "normal":
        return "normal with mean 0 and deviation 1"
    declared = {RANGES[drawn]} if drawn in RANGES else {tuple(ends) for ends in ranges.values()}
    if len(declared) > 1:
        return "uniform in the range of each input"
    ((low, high),) = declared
    return f"uniform in [{low:g}, {high:g})"


def _judged_on(agreement: Agreement) -> str:
    text = inputs_text(agreement.samples, agreement.source)
    is_drawn = agreement.source == "generated" and agreement.ranges
    drawn = [distribution_text(agreement.drawn, agreement.ranges)] if is_drawn else []
    words = ", ".join((*drawn, *_calibration(agreement)))
    return f"{text} ({words})" if words else text


def _calibration(agreement: Agreement) -> Iterator[str]:
    """Yield whether a calibration saw such inputs."""
    if agreement.is_calibrated_on_same:
        yield "calibrated on the same one"
    elif agreement.calibrated_on is not None:
        yield f"calibrated on {agreement.calibrated_on} others"


def _elsewhere(worst: AgreementElsewhere, count: int, outputs: tuple[str, ...]) -> str:
    of = f", the worst of {count} other distributions" if count > 1 else ""
    drawn = distribution_text(worst.drawn, {})
    loss = NOT_FINITE if worst.error is None else _error_text(worst.error, outputs)
    return f"on {inputs_text(worst.samples, 'generated')}, {drawn}{of}: {loss}"


def _error_text(error: OutputError, outputs: tuple[str, ...]) -> str:
    share = error.top1_agreement
    top1 = f", {top1_text(outputs)} {share * 100:.3g} %" if share is not None else ""
    return f"max err {error_size(error.max_rel)}, cosine {error.cosine:.5f}{top1}"


def disagreement_text(disagreement: Disagreement) -> str:
    """Return what a converted graph falls short in: ``top-1 agreement 63 % on 64 generated inputs``."""
    value = _known(disagreement.value)
    if disagreement.measure == "top1-agreement":
        return f"top-1 agreement {_percent(value, 3)}{_measured_on(disagreement)}"
    return f"max err {value:.2g} against fp32{_measured_on(disagreement)}"


def missed_limit_text(disagreement: Disagreement) -> str:
    """Return what was measured and the limit that it misses: ``top-1 agreement 63 % on 64 inputs, below 90 %``."""
    value, limit = _known(disagreement.value), _known(disagreement.limit)
    if disagreement.measure == "top1-agreement":
        share, least = apart(value, limit, _percent, 3)
        return f"top-1 agreement {share}{_measured_on(disagreement)}, below {least}"
    error, most = apart(value, limit, _significant, 2)
    return f"max err {error}{_measured_on(disagreement)}, above {most}"


def _measured_on(disagreement: Disagreement) -> str:
    return "" if disagreement.samples is None else f" on {inputs_text(disagreement.samples, disagreement.source)}"


def _known(value: float | None) -> float:
    return math.nan if value is None else value  # JSON has no NaN, and null in its place


def _percent(share: float, digits: int) -> str:
    return f"{share * 100:.{digits}g} %"


def _significant(value: float, digits: int) -> str:
    return f"{value:.{digits}g}"
