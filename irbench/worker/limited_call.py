"""A call on data that may come from anywhere, in most of the memory that is available."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import psutil

from irbench.errors import IrbenchError
from irbench.system.confinement import limit_memory
from irbench.system.host import available_memory_bytes

LIMITED_CALL = "irbench.worker.limited_call:limited_call"
_SHARE = 0.9
"""Of the available memory; the rest is for the system, which would otherwise end any process that is large."""


def limited_call(target: str, *args: Any) -> Any:
    """Call ``module:function`` and return its result; limits the memory of this process for good.

    Raises:
        IrbenchError: It needs more; and what the function raises.
    """
    module, _, name = target.partition(":")
    function = getattr(import_module(module), name)  # whose libraries reserve memory when they are imported
    most_bytes = int(_SHARE * available_memory_bytes())
    limit_memory(psutil.Process().memory_info().data + most_bytes)
    try:
        return function(*args)
    except MemoryError as error:
        raise IrbenchError(
            f"The data need more than the {most_bytes / 1e9:.1f} GB of memory that are left for reading them.",
            hint="Give fewer or smaller samples.",
        ) from error
