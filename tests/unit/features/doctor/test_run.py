"""What the doctor does one after the other, with scripted measurements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from documents import cell, document, group
from machines import OVERHEAD, facts
from made_peaks import peaks

from irbench.api.progress import Reporter
from irbench.core.result import StoppedBy
from irbench.errors import ExitCode
from irbench.features.doctor import run as doctor
from irbench.features.doctor.options import DoctorOptions
from irbench.features.doctor.report import Diagnosis
from irbench.features.doctor.run import diagnose
from irbench.runs.measurement import StoredRun
from irbench.store import bundles
from irbench.store.kept_peaks import kept_peaks

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[StoppedBy], tuple[Diagnosis, list[str]]]:
    """Return what the doctor finds, and what it measured, where a self-comparison ended for some reason."""

    def called(stopped_by: StoppedBy) -> tuple[Diagnosis, list[str]]:
        done: list[str] = []

        def compared(*_: object) -> StoredRun:
            done.append("against itself")
            return StoredRun(document(group(cell("ort"), stopped_by=stopped_by)), Path())

        def measured(*_: object) -> object:
            done.append("peaks")
            return peaks()

        answers: dict[str, Any] = {
            "self_comparison_request": lambda *_: SimpleNamespace(timing=None),
            "_look": lambda _say: (facts(), OVERHEAD),
            "prepare": lambda *_: None,
            "plan": lambda *_: (),
            "measure_planned": compared,
            "judge_self_comparison": lambda *_: None,
            "measure_peaks": measured,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(doctor, name, answer)
        silent = Reporter(lambda _line: None, lambda _progress: None)
        return diagnose("", DoctorOptions(peak=True, no_lock=True), silent), done

    return called


def test_an_interrupted_self_comparison_begins_no_measurement_of_peaks(
    both: Callable[[StoppedBy], tuple[Diagnosis, list[str]]],
):
    found, done = both("interrupt")
    assert done == ["against itself"]
    assert found.exit_code == ExitCode.INTERRUPTED
    assert found.report.peak is not None
    assert found.report.peak.outcome == "interrupted"


def test_peaks_are_measured_after_a_self_comparison_and_kept(
    both: Callable[[StoppedBy], tuple[Diagnosis, list[str]]],
):
    found, done = both("budget")
    assert done == ["against itself", "peaks"]
    assert found.peaks == peaks()
    assert found.report.peak is not None
    assert found.report.peak.not_kept is None
    assert kept_peaks(bundles.home(), peaks().machine) == peaks()
