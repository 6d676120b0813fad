"""Giving up privileges for good, those of root and of programs that it could start: prctl(2), capabilities(7)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 23, 24, 38
_VERSION_3 = 0x20080522
"""Of the structures that tell the kernel what a process is able to do: two words of 32 capabilities."""
_WORDS = 2
READS_ALL_FILES = 1
"""``CAP_DAC_OVERRIDE``, by which root reads and writes files whoever owns them."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Word(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def give_up_privileges() -> None:
    """Promise to gain no privileges by starting programs.

    Raises:
        OSError: The kernel refuses.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise last_error()


def drop_capabilities(kept: Collection[int]) -> None:
    """Leave this thread, and what it starts, no capabilities but some: what makes root more than its files' owner.

    Args:
        kept: Numbers of those that stay where they are held.

    Raises:
        OSError: The kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    number = 0
    while (is_bounded := libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0)) >= 0:  # up to the last that the kernel knows
        if is_bounded and number not in kept:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # fails where none are held that programs could bring back
        number += 1
    header, words = _Header(_VERSION_3, 0), (_Word * _WORDS)()
    if libc.capget(ctypes.byref(header), words):
        raise last_error()
    for place, word in enumerate(words):
        mask = sum(1 << number % 32 for number in kept if number // 32 == place)
        word.effective, word.permitted, word.inheritable = word.effective & mask, word.permitted & mask, 0
    if libc.capset(ctypes.byref(header), words):
        raise last_error()


def last_error() -> OSError:
    """Return why the last call of the C library that said so failed."""
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
