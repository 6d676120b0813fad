"""Giving up privileges for good, without which the kernel takes no restrictions from a process: prctl(2)."""

from __future__ import annotations

import ctypes
import os

__all__ = ["give_up_privileges", "last_error"]

_PR_SET_NO_NEW_PRIVS = 38


def give_up_privileges() -> None:
    """Promise to gain no privileges by starting programs.

    Raises:
        OSError: The kernel refuses.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise last_error()


def last_error() -> OSError:
    """Return why the last call of the C library that said so failed."""
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
