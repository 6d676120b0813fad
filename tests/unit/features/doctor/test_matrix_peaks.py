"""Which matrix products are measured, and the peaks that a run of them shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from documents import cell, document, failed, group
from launches import measured, synchronous

from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import RunDocument
from irbench.core.row import CellResult
from irbench.features.doctor.peaks import (
    disturbed_share,
    fastest_rows,
    matrix_chains,
    matrix_peaks,
    runtime_versions,
)
from irbench.onnx.matrix_chain import MatrixChain

SMALL, LARGE, INTEGERS = MatrixChain(100, 10), MatrixChain(200, 10), MatrixChain(100, 10, quantised=True)
CHAINS = (SMALL, LARGE, INTEGERS)


def row(backend: str, milliseconds: float, precision: str = "fp32", threads: int = 1, **changes: Any) -> CellResult:
    """Return a row whose fastest calls take so long."""
    row_id = f"{backend}-{precision}-t{threads}"
    return cell(backend, milliseconds, precision=precision, threads=threads, **{"id": row_id, **changes})


def run(launches: int = 6, **tables: tuple[CellResult, ...]) -> tuple[RunDocument, list[LaunchRecord]]:
    """Return a run and its launches, each a little slower than the one before and all with a disturbed call."""
    names = {"small": SMALL.name, "large": LARGE.name, "integers": INTEGERS.name}
    document_ = document(*(group(*rows, model=names[name]) for name, rows in tables.items()))
    records = [
        LaunchRecord(number, launch, tuple(launched(each, launch) for each in rows if each.latency_ms), {}, ())
        for number, rows in enumerate(tables.values())
        for launch in range(launches)
    ]
    return document_, records


def launched(row_: CellResult, launch: int) -> CellLaunch:
    assert row_.latency_ms is not None
    fastest_ns = row_.latency_ms.p50 * 1e6 * (1 + launch / 100)
    rounds = [synchronous(0, [9 * fastest_ns, 2 * fastest_ns]), synchronous(1, [fastest_ns, 3 * fastest_ns])]
    return measured(row_.id, rounds)


def test_the_rate_is_the_operations_over_the_time_of_the_fastest_call_of_a_launch():
    (peak,) = matrix_peaks(*run(small=(row("ort", 2.0),)), CHAINS)
    assert peak.gflop_per_s == pytest.approx(10 / 1.025, rel=1e-3)
    assert (peak.low, peak.high) == (pytest.approx(10 / 1.05), pytest.approx(10.0))
    assert (peak.backend, peak.side, peak.launches, peak.confidence) == ("ort", 100, 6, 0.95)


def test_samples_of_several_calls_are_divided_by_them():
    found, records = run(small=(row("ort", 2.0),))
    several = [replace(each, cells=(replace(each.cells[0], calls_per_sample=4),)) for each in records]
    (peak,) = matrix_peaks(found, several, CHAINS)
    assert peak.high == pytest.approx(40.0)


def test_the_fastest_of_all_sizes_and_backends_is_the_peak():
    found = run(small=(row("ort", 2.0), row("openvino", 1.0)), large=(row("ort", 10.0), row("openvino", 20.0)))
    (peak,) = matrix_peaks(*found, CHAINS)
    assert (peak.backend, peak.side, peak.high) == ("openvino", 100, pytest.approx(20.0))


def test_precisions_and_numbers_of_threads_have_peaks_of_their_own():
    found = run(
        integers=(row("ort", 0.5, "int8"), row("ort", 0.3, "int8", 2)),
        small=(row("ort", 2.0), row("ort", 1.1, threads=2), row("openvino", 1.0, "bf16")),
    )
    keys = [(peak.precision, peak.threads) for peak in matrix_peaks(*found, CHAINS)]
    assert keys == [("fp32", 1), ("fp32", 2), ("bf16", 1), ("int8", 1), ("int8", 2)]


def test_what_was_computed_counts_and_not_what_was_asked():
    computed = row("ort", 2.0, "int8", effective={"precision": "fp32"})
    (peak,) = matrix_peaks(*run(integers=(computed,)), CHAINS)
    assert peak.precision == "fp32"


def test_wrong_answers_and_failures_are_no_peak():
    wrong = row("openvino", 0.001, state="mismatch")
    assert [peak.backend for peak in matrix_peaks(*run(small=(wrong, row("ort", 2.0), failed("tf"))), CHAINS)] == [
        "ort"
    ]
    assert matrix_peaks(*run(small=(wrong,)), CHAINS) == ()
    assert fastest_rows(*run(small=(wrong,)), CHAINS) == {}


def test_the_fastest_row_of_each_precision_and_threads_is_measured_again():
    found = run(
        small=(row("ort", 2.0), row("openvino", 1.9), row("ort", 1.0, threads=2)),
        large=(row("ort", 10.0), row("openvino", 20.0), row("ort", 9.0, threads=2)),
        integers=(row("ort", 0.5, "int8"),),
    )
    assert fastest_rows(*found, CHAINS) == {
        LARGE.name: {"ort-fp32-t1"},
        SMALL.name: {"ort-fp32-t2"},
        INTEGERS.name: {"ort-int8-t1"},
    }


def test_the_share_of_disturbed_blocks_is_that_of_all_tables():
    tables = [group(row("ort", 2.0), blocks_measured=30, blocks_disturbed=disturbed) for disturbed in (0, 15)]
    assert disturbed_share(document(*tables)) == 0.25
    assert disturbed_share(document(group(failed(), blocks_measured=0))) is None


def test_versions_are_those_of_backends_with_right_answers():
    versioned = row("ort", 2.0, effective={"precision": "fp32", "version": "1.23.0"})
    wrong = row("openvino", 1.0, state="mismatch", effective={"precision": "fp32", "version": "2025.3"})
    found, _ = run(small=(versioned, wrong, row("other", 2.0), failed("tf")))
    assert runtime_versions(found) == {"ort": "1.23.0"}


def test_fewer_launches_than_an_interval_needs_give_no_confidence():
    (peak,) = matrix_peaks(*run(launches=5, small=(row("ort", 2.0),)), CHAINS)
    assert (peak.launches, peak.confidence) == (5, None)


@pytest.mark.parametrize("threads", [1, 2, 8, 64])
def test_every_graph_has_work_for_milliseconds_and_copies_count_for_little(threads: int):
    for chain in matrix_chains(threads):
        copied = 2 * 4 * chain.side**2
        assert chain.operations > 1e9
        assert chain.operations / copied > 500


def test_many_threads_get_larger_matrices():
    assert max(chain.side for chain in matrix_chains(64)) > max(chain.side for chain in matrix_chains(2))
