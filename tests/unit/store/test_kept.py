"""Peaks and warm-ups are kept for each machine until they are measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_peaks import peaks

from irbench.core.record import WarmUp
from irbench.errors import IrbenchError
from irbench.measure.bandwidth import MemoryTimes
from irbench.roofline import BandwidthSamples
from irbench.store.kept import keep_peaks, keep_warm_ups, kept_peaks, kept_warm_ups


def test_what_was_kept_is_found_again_with_its_raw_times(tmp_path: Path):
    times = MemoryTimes(24_576, 100, (9_000, 9_100, 9_050), 128, 100, (4_000, 4_100, 4_050))
    samples = (BandwidthSamples("L1d", 1, "read", ((times,), (times,))),)
    measured = replace(peaks(), samples=samples)
    keep_peaks(tmp_path, measured)
    assert kept_peaks(tmp_path, measured.machine) == measured


def test_another_machine_has_none(tmp_path: Path):
    keep_peaks(tmp_path, peaks())
    assert kept_peaks(tmp_path, "ba9876543210") is None


def test_a_new_measurement_takes_the_place_of_the_old_one(tmp_path: Path):
    keep_peaks(tmp_path, peaks())
    newer = replace(peaks(), measured="2026-02-28T00:00:00+00:00", compute=())
    keep_peaks(tmp_path, newer)
    assert kept_peaks(tmp_path, newer.machine) == newer


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"machine": 1}', b"[]"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes):
    path = keep_peaks(tmp_path, peaks())
    path.write_bytes(content)
    assert kept_peaks(tmp_path, peaks().machine) is None


def test_a_file_that_was_copied_from_another_machine_counts_as_none(tmp_path: Path):
    path = keep_peaks(tmp_path, peaks())
    path.rename(path.with_stem("ba9876543210"))
    assert kept_peaks(tmp_path, "ba9876543210") is None


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(tmp_path: Path):
    (tmp_path / "peaks").write_text("in the way")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        keep_peaks(tmp_path, peaks())
    assert "IRBENCH_HOME" in caught.value.hint


WARM = WarmUp(calls=300, judged=True, steady_after=40, slower=0.5)


def test_warm_ups_of_other_rows_stay_and_those_of_the_same_row_are_replaced(tmp_path: Path):
    keep_warm_ups(tmp_path, "machine", {"a": WARM, "b": WARM})
    later = replace(WARM, steady_after=0)
    keep_warm_ups(tmp_path, "machine", {"b": later, "c": WARM})
    assert kept_warm_ups(tmp_path, "machine") == {"a": WARM, "b": later, "c": WARM}
    assert kept_warm_ups(tmp_path, "another") == {}


def test_a_damaged_file_of_warm_ups_is_written_again(tmp_path: Path):
    keep_warm_ups(tmp_path, "machine", {"a": WARM})
    (file,) = (tmp_path / "warm-ups").iterdir()
    file.write_text("[1]")
    assert kept_warm_ups(tmp_path, "machine") == {}
    keep_warm_ups(tmp_path, "machine", {"b": WARM})
    assert kept_warm_ups(tmp_path, "machine") == {"b": WARM}


def test_a_run_goes_on_where_warm_ups_cannot_be_kept(tmp_path: Path):
    (tmp_path / "warm-ups").write_text("in the way")
    keep_warm_ups(tmp_path, "machine", {"a": WARM})
    assert kept_warm_ups(tmp_path, "machine") == {}
