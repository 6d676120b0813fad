"""Energy that cannot be measured is refused with its reason, before anything is measured."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.measure.energy import EnergyAccess
from irbench.notices import Context
from irbench.notices.notes import EnergyIncomplete
from irbench.requests import requested_energy as instruments
from irbench.requests.requested_energy import energy_notes

COUNTER: Any = object()


def found(monkeypatch: pytest.MonkeyPatch, *counters: Any, **absent: Any) -> None:
    monkeypatch.setattr(instruments, "find_energy_counters", lambda: EnergyAccess(counters, absent))


@pytest.mark.parametrize(
    ("reason", "message", "hint"),
    [
        ("no-counters", "this machine has no counters", "sudo modprobe intel_rapl_msr"),
        ("not-permitted", "only root may read", "sudo chmod a+r /sys/class/powercap"),
        ("not-counting", "stand still", "virtual machines"),
    ],
)
def test_a_machine_that_cannot_be_read_is_refused_with_what_helps(
    monkeypatch: pytest.MonkeyPatch, reason: str, message: str, hint: str
) -> None:
    found(monkeypatch, processors=reason, gpus="no-driver")
    with pytest.raises(IrbenchError, match=message) as caught:
        energy_notes(measures_energy=True)
    assert hint in caught.value.hint
    assert "nvidia-ml-py" not in caught.value.hint


def test_a_gpu_that_lacks_its_package_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, processors="no-counters", gpus="no-package")
    with pytest.raises(IrbenchError) as caught:
        energy_notes(measures_energy=True)
    assert "pip install 'nvidia-ml-py>=12'" in caught.value.hint


@pytest.mark.parametrize(
    ("reason", "said"), [("not-visible", "hides"), ("unknown-order", "PCI_BUS_ID"), ("unreadable", "nvidia-smi")]
)
def test_gpus_that_cannot_be_read_are_told_with_their_reason(
    monkeypatch: pytest.MonkeyPatch, reason: str, said: str
) -> None:
    found(monkeypatch, processors="no-counters", gpus=reason)
    with pytest.raises(IrbenchError) as caught:
        energy_notes(measures_energy=True)
    assert said in caught.value.hint
    found(monkeypatch, COUNTER, gpus=reason)
    (note,) = energy_notes(measures_energy=True)
    text = note.text(Context())
    assert said in text
    assert "they have no counters" not in text


def test_a_part_that_cannot_be_read_is_noted_and_a_missing_gpu_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, COUNTER, processors="not-permitted")
    expected = EnergyIncomplete(source="processors", reason="not-permitted")
    assert energy_notes(measures_energy=True) == (expected,)
    found(monkeypatch, COUNTER, gpus="no-driver")
    assert energy_notes(measures_energy=True) == ()


def test_nothing_is_looked_for_unless_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(instruments, "find_energy_counters")
    assert energy_notes(measures_energy=False) == ()
