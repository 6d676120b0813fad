"""Which share of its machine's peak the matrix products and convolutions of a cell attain."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.joining import JoinedOperator
from irbench.profiling.record import ProfiledCell
from irbench.roofline import MachinePeaks


def matrix_peak(cell: ProfiledCell, peaks: MachinePeaks | None) -> float | None:
    """Return the peak of matrix products in a cell's precision with its threads, in operations per second.

    Args:
        cell: That ran on the machine.
        peaks: Of the machine.

    Returns:
        ``None`` on other devices than the CPU, and where no peak is known of the precision with so many threads.
    """
    precision, threads = cell.effective.get("precision"), cell.effective.get("threads")
    if peaks is None or cell.device != "cpu" or not isinstance(threads, int):
        return None
    peak = peaks.compute_peak(str(precision), threads)
    return 1e9 * peak.gflop_per_s if peak is not None and peak.gflop_per_s > 0 else None


def peak_share(operators: Sequence[JoinedOperator], time_ns: float, peak: float | None) -> float | None:
    """Return the share of the peak that operators attain, as a fraction.

    Args:
        operators: All of a part in a cell.
        time_ns: What they take in an inference together.
        peak: From :func:`matrix_peak`.

    Returns:
        ``None`` without a peak, of other classes than matrix products and convolutions, and where the operations of
        some operator are unknown.
    """
    if peak is None or time_ns <= 0 or not all(map(_is_counted_product, operators)):
        return None
    flops = sum(operator.flops or 0 for operator in operators)
    return 1e9 * flops / time_ns / peak if flops else None


def _is_counted_product(operator: JoinedOperator) -> bool:
    """Whether it belongs to the class, and all of its work is counted for it or for another operator."""
    counted = bool(operator.nodes) and all(node.flops is not None for node in operator.nodes)
    return operator.operator_class is OperatorClass.MATRIX and counted
