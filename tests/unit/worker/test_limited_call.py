"""Calls on data of unknown origin get most of the available memory, and no more."""

from __future__ import annotations

import pytest

from irbench.errors import IrbenchError
from irbench.system.host import available_memory_bytes
from irbench.worker import call_in_worker
from irbench.worker.limited_call import LIMITED_CALL


def length_of_zeros(size_bytes: int) -> int:
    return len(bytearray(size_bytes))  # whose pages are never touched


def test_what_needs_all_memory_is_refused_and_what_needs_little_is_not() -> None:
    call = f"{__name__}:length_of_zeros"
    assert call_in_worker(LIMITED_CALL, call, 1 << 20, deadline_s=60) == 1 << 20
    with pytest.raises(IrbenchError, match="The data need more than the"):
        call_in_worker(LIMITED_CALL, call, int(0.97 * available_memory_bytes()), deadline_s=60)
