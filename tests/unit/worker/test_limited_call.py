"""Calls on data of unknown origin get most of the available memory, and no more."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from irbench.errors import IrbenchError
from irbench.worker import call_in_worker
from irbench.worker.limited_call import LIMITED_CALL


def size_of_memory(size_bytes: int) -> int:
    return np.empty(size_bytes, np.uint8).size  # whose pages are never touched


def test_what_needs_all_memory_is_refused_and_what_needs_little_is_not() -> None:
    """However much is available: the kernel alone would promise what is just below all that there is."""
    call = f"{__name__}:size_of_memory"
    assert call_in_worker(LIMITED_CALL, call, 1 << 20, deadline_s=60) == 1 << 20
    with pytest.raises(IrbenchError, match="The data need more than the"):
        call_in_worker(LIMITED_CALL, call, int(0.99 * psutil.virtual_memory().total), deadline_s=60)
