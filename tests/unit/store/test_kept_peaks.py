"""Peaks are kept for each machine until they are measured again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_peaks import peaks

from irbench.errors import IrbenchError
from irbench.measure.bandwidth import MemoryTimes
from irbench.roofline import BandwidthSamples
from irbench.store.kept_peaks import keep_peaks, kept_peaks


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
