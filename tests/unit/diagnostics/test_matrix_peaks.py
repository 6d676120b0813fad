"""Which matrix products are measured, and the peaks that a run of them shows."""

from __future__ import annotations

from typing import Any

import pytest
from documents import cell, document, failed, group

from irbench.diagnostics.matrix_peaks import disturbed_share, fastest_rows, matrix_chains, matrix_peaks
from irbench.onnx.matrix_chain import MatrixChain
from irbench.result import CellResult
from irbench.row import Spans

SMALL, LARGE, INTEGERS = MatrixChain(100, 10), MatrixChain(200, 10), MatrixChain(100, 10, quantised=True)
CHAINS = (SMALL, LARGE, INTEGERS)


def row(backend: str, milliseconds: float, precision: str = "fp32", threads: int = 1, **changes: Any) -> CellResult:
    span = Spans(milliseconds, 0.9 * milliseconds, 1.2 * milliseconds)
    made = {"id": f"{backend}-{precision}-t{threads}", "p50_over_launches": span, "launches_measured": 6}
    return cell(backend, milliseconds, precision=precision, threads=threads, **{**made, **changes})


def run(**tables: tuple[CellResult, ...]) -> Any:
    names = {"small": SMALL.name, "large": LARGE.name, "integers": INTEGERS.name}
    return document(*(group(*rows, model=names[name]) for name, rows in tables.items()))


def test_the_rate_is_the_operations_over_the_median_time():
    (peak,) = matrix_peaks(run(small=(row("ort", 2.0),)), CHAINS)
    assert peak.gflop_per_s == pytest.approx(10.0)
    assert (peak.low, peak.high) == (pytest.approx(10 / 1.2), pytest.approx(10 / 0.9))
    assert (peak.backend, peak.side, peak.launches, peak.confidence) == ("ort", 100, 6, 0.95)


def test_the_fastest_of_all_sizes_and_backends_is_the_peak():
    found = run(small=(row("ort", 2.0), row("openvino", 1.0)), large=(row("ort", 10.0), row("openvino", 20.0)))
    (peak,) = matrix_peaks(found, CHAINS)
    assert (peak.backend, peak.side, peak.gflop_per_s) == ("openvino", 100, pytest.approx(20.0))


def test_precisions_and_numbers_of_threads_have_peaks_of_their_own():
    found = run(
        integers=(row("ort", 0.5, "int8"), row("ort", 0.3, "int8", 2)),
        small=(row("ort", 2.0), row("ort", 1.1, threads=2), row("openvino", 1.0, "bf16")),
    )
    keys = [(peak.precision, peak.threads) for peak in matrix_peaks(found, CHAINS)]
    assert keys == [("fp32", 1), ("fp32", 2), ("bf16", 1), ("int8", 1), ("int8", 2)]


def test_what_was_computed_counts_and_not_what_was_asked():
    computed = row("ort", 2.0, "int8", effective={"precision": "fp32"})
    (peak,) = matrix_peaks(run(integers=(computed,)), CHAINS)
    assert peak.precision == "fp32"


def test_wrong_answers_and_failures_are_no_peak():
    wrong = row("openvino", 0.001, state="mismatch")
    assert [peak.backend for peak in matrix_peaks(run(small=(wrong, row("ort", 2.0), failed("tf"))), CHAINS)] == ["ort"]
    assert matrix_peaks(run(small=(wrong,)), CHAINS) == ()
    assert fastest_rows(run(small=(wrong,)), CHAINS) == {}


def test_the_fastest_row_of_each_precision_and_threads_is_measured_again():
    found = run(
        small=(row("ort", 2.0), row("openvino", 1.9), row("ort", 1.0, threads=2)),
        large=(row("ort", 10.0), row("openvino", 20.0), row("ort", 9.0, threads=2)),
        integers=(row("ort", 0.5, "int8"),),
    )
    assert fastest_rows(found, CHAINS) == {
        LARGE.name: {"ort-fp32-t1"},
        SMALL.name: {"ort-fp32-t2"},
        INTEGERS.name: {"ort-int8-t1"},
    }


def test_the_share_of_disturbed_blocks_is_that_of_all_tables():
    tables = [group(row("ort", 2.0), blocks_measured=30, blocks_disturbed=disturbed) for disturbed in (0, 15)]
    assert disturbed_share(document(*tables)) == 0.25
    assert disturbed_share(document(group(failed(), blocks_measured=0))) is None


def test_fewer_launches_than_an_interval_needs_give_no_confidence():
    (peak,) = matrix_peaks(run(small=(row("ort", 2.0, launches_measured=5),)), CHAINS)
    assert peak.confidence is None


@pytest.mark.parametrize("threads", [1, 2, 8, 64])
def test_every_graph_has_work_for_milliseconds_and_copies_count_for_little(threads: int):
    for chain in matrix_chains(threads):
        copied = 2 * 4 * chain.side**2
        assert chain.operations > 1e9
        assert chain.operations / copied > 500


def test_many_threads_get_larger_matrices():
    assert max(chain.side for chain in matrix_chains(64)) > max(chain.side for chain in matrix_chains(2))
