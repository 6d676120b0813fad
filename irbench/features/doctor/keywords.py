"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.doctor.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from os import PathLike
from typing import TypedDict


class DoctorKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.doctor`; ``None`` is the default of each.

    Attributes:
        peak: Also measure the peak performance of this machine: matrix products per precision, and bandwidth of caches
            and memory. This takes at most about eight minutes; the result is kept, unless the machine was busy.
        backend: Backend for --aa and ``peak`` (for example ``"ort"``; default: a reference backend, such as ort; for
            ``peak``, each that reads ONNX).
        threads: For --aa: threads per process in total, or native (for example ``4, or "native"``; default: the
            available physical cores).
        cpus: For --aa and ``peak``: processors to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        budget: For --aa: time limit (for example ``"90s", or 90``; default: 90s).
        no_lock: For --aa and ``peak``: measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    peak: bool | None
    backend: str | None
    threads: str | int | None
    cpus: str | int | Iterable[int] | None
    budget: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None
