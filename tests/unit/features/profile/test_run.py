"""Which backends a profile has: those that tell how long operators take, and those that were asked for by name."""

from __future__ import annotations

import pytest
from launches import group

from irbench.features.profile.run import with_capable_backends
from irbench.notices.notes import NoOperatorTimes
from irbench.runner.plan import PlannedGroup

pytestmark = pytest.mark.usefixtures("known_backends")


def test_a_backend_that_nobody_named_is_left_out_with_a_note() -> None:
    found = with_capable_backends(PlannedGroup(group("fake-f", "fake-a")), were_named=False)
    assert [cell.id for cell in found.group.cells] == ["fake-a"]
    assert found.group.baseline == "fake-a"
    assert found.absent == {}
    assert found.notes == (NoOperatorTimes(backends=("fake-f",)),)


def test_a_backend_that_was_named_fails_with_the_reason() -> None:
    found = with_capable_backends(PlannedGroup(group("fake-f", "fake-a")), were_named=True)
    assert [cell.id for cell in found.group.cells] == ["fake-f", "fake-a"]
    assert set(found.absent) == {"fake-f"}
    assert found.notes == ()


def test_where_no_backend_can_the_reason_is_kept() -> None:
    found = with_capable_backends(PlannedGroup(group("fake-f")), were_named=False)
    assert set(found.absent) == {"fake-f"}
    assert not found.can_run
