"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.sweep.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TypedDict


class SweepKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.sweep`; ``None`` is the default of each.

    Attributes:
        resume: Go on where the sweep stopped: nothing is measured twice, and an interrupted table goes on after its
            last launch. Tables that could not be measured are tried again.
        only: Measure only these cells: batch=8,backends=ort, or the beginning of an id (for example
            ``"batch=8,backends=ort"``).
        skip: Leave these cells out (for example ``"batch=8,backends=ort"``).
        name: Name the sweep (for example ``"before"``; default: that of the plan).
        seed: Seed for the order of the tables (for example ``0``; default: that of the plan).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    resume: bool | None
    only: str | Iterable[str] | None
    skip: str | Iterable[str] | None
    name: str | None
    seed: int | None
    no_lock: bool | None
    results: str | PathLike[str] | None
